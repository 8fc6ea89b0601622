#include <cstring>

#include "files/gguf/model.h"
#include "files/gguf/split.h"
#include "files/gguf/split_writer.h"
#include "support/test_files.h"

namespace augur {
namespace {

using test::bytes_of;
using test::expect_error;
using test::GgufBuilder;
using test::raw;
using test::TemporaryFolder;

GgufBuilder part(std::uint16_t number, std::uint16_t count, std::int32_t tensors) {
  GgufBuilder builder;
  builder.value("split.no", GgufType::U16, raw(number))
      .value("split.count", GgufType::U16, raw(count))
      .value("split.tensors.count", GgufType::I32, raw(tensors));
  return builder;
}

/// Three parts of three tensors, of which the first has none, as --no-tensor-first-split writes them.
class GgufSplitFile : public testing::Test {
 protected:
  GgufSplitFile() {
    write(0, part(0, 3, 3).text("general.architecture", "golden"));
    write(1, part(1, 3, 3).floats("a", {2}, {1, 2}).floats("b", {1}, {3}));
    write(2, part(2, 3, 3).floats("c", {3}, {4, 5, 6}));
  }
  std::filesystem::path path(int number) const {
    return folder_ / split_name({.prefix = "m", .number = number + 1, .count = 3});
  }
  void write(int number, const GgufBuilder& builder) const {
    folder_.write(path(number).filename().string(), builder.build());
  }
  void expect_refused(std::initializer_list<std::string_view> parts) const {
    for (const int number : {0, 1, 2}) {
      if (std::filesystem::exists(path(number))) expect_error([&] { GgufFile::open(path(number)); }, parts);
    }
  }

  TemporaryFolder folder_;
};

TEST_F(GgufSplitFile, IsReadFromAnyPart) {
  for (const int number : {0, 1, 2}) {
    const GgufFile file = GgufFile::open(path(number));
    EXPECT_EQ(file.name(), path(0).string());
    EXPECT_EQ(file.architecture(), "golden");
    ASSERT_EQ(file.parts().size(), 3u);
    ASSERT_EQ(file.tensor_infos().size(), 3u);
    const StoredTensor b = file.tensor(*file.find_tensor("b"));
    EXPECT_EQ(b.file, path(1).string());
    const StoredTensor c = file.tensor(*file.find_tensor("c"));
    EXPECT_EQ(c.file, path(2).string());
    std::vector<float> values(3);
    read_rows(c, 0, 1, values.data());
    EXPECT_EQ(values, (std::vector<float>{4, 5, 6}));
  }
}

TEST_F(GgufSplitFile, AMissingPartIsNamed) {
  std::filesystem::remove(path(1));
  expect_refused({"m-00002-of-00003.gguf: is missing", "part 2 of 3"});
  write(1, part(1, 3, 3).floats("a", {2}, {1, 2}).floats("b", {1}, {3}));
  std::filesystem::remove(path(0));
  expect_refused({"m-00001-of-00003.gguf: is missing", "part 1 of 3"});
}

TEST_F(GgufSplitFile, APartThatIsThereTwiceIsNamed) {
  std::filesystem::copy_file(path(1), path(2), std::filesystem::copy_options::overwrite_existing);
  expect_error([&] { GgufFile::open(path(0)); },
               {"m-00003-of-00003.gguf", "is part 2 of 3", "part 3 was expected", "twice"});
  write(2, part(2, 3, 3).floats("a", {2}, {1, 2}));
  expect_refused({"m-00003-of-00003.gguf: tensor a is also in", "m-00002-of-00003.gguf"});
}

TEST_F(GgufSplitFile, APartOfAnotherFileIsNamed) {
  write(2, part(2, 3, 7).floats("c", {3}, {4, 5, 6}));
  expect_error([&] { GgufFile::open(path(0)); }, {"m-00003-of-00003.gguf: is a part of another file",
                                                  "split.tensors.count is 7, 3 was expected"});
  write(2, part(2, 3, 3).text("general.architecture", "silver").floats("c", {3}, {4, 5, 6}));
  expect_refused({"m-00003-of-00003.gguf: is a part of another file", "general.architecture differs"});
  write(2, part(2, 3, 3));
  expect_refused({"split.tensors.count is 3, the 3 parts have 2 tensors"});
  folder_.write(path(2).filename().string(), GgufBuilder().build());
  expect_error([&] { GgufFile::open(path(0)); }, {"m-00003-of-00003.gguf", "split.no"});
  folder_.write(path(2).filename().string(), "other bytes");
  expect_error([&] { GgufFile::open(path(0)); }, {"m-00003-of-00003.gguf", "not a GGUF file"});
}

TEST_F(GgufSplitFile, ANameMustSayWhichPartItIs) {
  const auto renamed = folder_ / "m.gguf";
  std::filesystem::copy_file(path(1), renamed);
  expect_error([&] { GgufFile::open(renamed); }, {"m.gguf: is part 2 of 3", "-00002-of-00003.gguf"});
  const auto swapped = folder_ / "m-00002-of-00004.gguf";
  std::filesystem::copy_file(path(1), swapped);
  expect_error([&] { GgufFile::open(swapped); }, {"is part 2 of 3", "-00002-of-00003.gguf"});
}

TEST_F(GgufSplitFile, CountsThatNoFileHasAreRefused) {
  for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{65536}, std::int64_t{1} << 62}) {
    GgufBuilder builder;
    builder.value("split.count", GgufType::I64, raw(count));
    const auto file = folder_.write("count.gguf", builder.build());
    expect_error([&] { GgufFile::open(file); }, {"count.gguf: split.count", std::to_string(count)});
  }
  const auto many = folder_.write("x-00001-of-65535.gguf", part(0, 65535, 1).build());
  expect_error([&] { GgufFile::open(many); }, {"x-00002-of-65535.gguf: is missing"});
}

TEST_F(GgufSplitFile, LayoutIsThatOfEachPart) {
  write(2, part(2, 3, 3).tensor_at("c", 0, {3}, 64, std::string(76, 'x')));
  const auto file = std::make_shared<const GgufFile>(GgufFile::open(path(0)));
  write(0, part(0, 3, 3).text("general.architecture", "llama"));
  const auto llama = std::make_shared<const GgufFile>(GgufFile::open(path(0)));
  expect_error([&] { open_gguf_weights(llama); }, {"m-00003-of-00003.gguf: tensor c begins 64 bytes"});
  expect_error([&] { file->tensor({.name = "far", .shape = {400}, .part = 1}); },
               {"m-00002-of-00003.gguf: tensor far", "leave the file"});
}

TEST_F(GgufSplitFile, APartAloneHasNoWeights) {
  const auto bytes = test::read_file(path(1));
  const auto alone = std::make_shared<const GgufFile>(GgufFile::parse(bytes_of(bytes), "alone"));
  expect_error([&] { open_gguf_weights(alone); }, {"alone: split.count is 3"});
}

/// Parts one behind the other, each with its length (16 bits) before it: tests/fuzz/make_seeds.py.
TEST(GgufSplit, ReadsWhatTheGgufPackageWrites) {
  const std::string bytes = test::read_file(AUGUR_SOURCE_DIR "/tests/fuzz/corpus/gguf_split/three");
  std::vector<GgufFile> parts;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint16_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    parts.push_back(GgufFile::parse(bytes_of(bytes).subspan(at + sizeof length, length), "three"));
    at += sizeof length + length;
  }
  ASSERT_EQ(parts.size(), 3u);
  const GgufFile whole = GgufFile::join(std::move(parts));
  EXPECT_EQ(whole.architecture(), "llama");
  EXPECT_EQ(whole.find_int("llama.block_count"), 1);
  ASSERT_EQ(whole.tensor_infos().size(), 3u);
  EXPECT_EQ(whole.tensor(*whole.find_tensor("blk.0.attn_norm.weight")).bytes.size(), 32u);
}

TEST(GgufSplitName, IsReadAndWritten) {
  const auto name = parse_split_name("folder/a-b-00002-of-00010.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->prefix, "folder/a-b");
  EXPECT_EQ(name->number, 2);
  EXPECT_EQ(name->count, 10);
  EXPECT_EQ(split_name(*name), "folder/a-b-00002-of-00010.gguf");
  for (const char* other : {"", "a.gguf", "a-00000-of-00002.gguf", "a-00003-of-00002.gguf", "a-1-of-2.gguf",
                            "a-00001-of-00002.bin", "a-0000x-of-00002.gguf", "a-00001-of--0002.gguf",
                            "00001-of-00002.gguf", "a-00001of-00002.gguf"}) {
    EXPECT_FALSE(parse_split_name(other)) << other;
  }
}

class SplitGgufWriterTest : public testing::Test {
 protected:
  /// Tensors of 4, 8, 40, 0 and 4 bytes, with their numbers as content.
  std::vector<std::filesystem::path> write(const GgufSplit& split) const {
    const std::vector<GgufWriter::Entry> entries = {{"a", DType::F32, {1}},
                                                    {"b", DType::F32, {2}},
                                                    {"c", DType::F32, {10}},
                                                    {"d", DType::F32, {0}},
                                                    {"e", DType::F32, {1}}};
    GgufMetadata metadata;
    metadata.set("general.architecture", "golden");
    SplitGgufWriter writer(folder_ / "out.gguf", metadata, entries, split);
    std::vector<float> values(14);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const auto bytes = std::as_bytes(std::span(values));
    writer.write(bytes.first(20));  // pieces that end within tensors
    writer.write(bytes.subspan(20));
    writer.finish();
    return writer.paths();
  }
  std::vector<std::size_t> tensors_by_part(const std::filesystem::path& path) const {
    const GgufFile file = GgufFile::open(path);
    std::vector<std::size_t> counts(file.parts().size());
    float next = 0;
    for (const GgufTensorInfo& info : file.tensor_infos()) {
      ++counts[info.part];
      const StoredTensor tensor = file.tensor(info);
      std::vector<float> values(tensor.bytes.size() / sizeof(float));
      read_rows(tensor, 0, 1, values.data());
      for (const float value : values) EXPECT_EQ(value, next++) << info.name;
    }
    EXPECT_EQ(next, 14);
    return counts;
  }

  TemporaryFolder folder_;
};

using Counts = std::vector<std::size_t>;

TEST_F(SplitGgufWriterTest, WritesWhatIsRead) {
  const auto whole = write({});
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].filename(), "out.gguf");
  EXPECT_FALSE(GgufFile::open(whole[0]).contains("split.count"));
  EXPECT_EQ(tensors_by_part(whole[0]), Counts{5});

  const auto by_tensors = write({.max_tensors = 2});
  ASSERT_EQ(by_tensors.size(), 3u);
  EXPECT_EQ(by_tensors[2].filename(), "out-00003-of-00003.gguf");
  EXPECT_EQ(tensors_by_part(by_tensors[0]), (Counts{2, 2, 1}));

  const auto by_size = write({.max_bytes = 12});
  EXPECT_EQ(tensors_by_part(by_size[1]), (Counts{2, 1, 2}));
  const auto both = write({.max_bytes = 1000, .max_tensors = 4});
  EXPECT_EQ(tensors_by_part(both[0]), (Counts{4, 1}));
  const auto one = write({.max_bytes = 1000});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].filename(), "out-00001-of-00001.gguf");
  EXPECT_EQ(tensors_by_part(one[0]), Counts{5});
}

TEST_F(SplitGgufWriterTest, WithoutAnEndNothingIsLeft) {
  {
    GgufMetadata metadata;
    SplitGgufWriter writer(folder_ / "out.gguf", metadata, {{"a", DType::F32, {1}}, {"b", DType::F32, {1}}},
                           {.max_tensors = 1});
    const float value = 1;
    writer.write(std::as_bytes(std::span(&value, 1)));
    expect_error([&] { writer.finish(); }, {"out-00002-of-00002.gguf", "4 bytes"});
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(SplitGgufWriterTest, MorePartsThanTheFormatCountsAreRefused) {
  const std::vector<GgufWriter::Entry> entries(65536, {"a", DType::F32, {1}});
  expect_error([&] { SplitGgufWriter(folder_ / "out.gguf", GgufMetadata(), entries, {.max_tensors = 1}); },
               {"out.gguf", "65536 parts"});
}

}  // namespace
}  // namespace augur
