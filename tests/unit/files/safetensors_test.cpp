#include "files/safetensors.h"

#include "checkpoint/checkpoint.h"
#include "files/safetensors_writer.h"
#include "files/sharded_weights.h"
#include "files/torch_archive.h"
#include "support/test_files.h"

namespace augur {
namespace {

using test::bytes_of;
using test::expect_error;
using test::raw;
using test::safetensors_file;
using test::TemporaryFolder;

const std::string kTwoTensors = safetensors_file(
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
    R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}})",
    raw(std::vector<float>{1, 2, 3, 4}) + raw(std::vector<std::uint16_t>{0x3f80, 0x4000, 0xc040}));

/// The error of a file with one tensor "t".
void expect_refused(std::string_view entry, std::string_view data,
                    std::initializer_list<std::string_view> parts) {
  const std::string file = safetensors_file(R"({"t":)" + std::string(entry) + "}", data);
  expect_error([&] { parse_safetensors(bytes_of(file), "f.safetensors"); }, parts);
}

TEST(Safetensors, ReadsTensors) {
  const TemporaryFolder folder;
  const auto store = open_safetensors(folder.write("model.safetensors", kTwoTensors));
  ASSERT_EQ(store->tensors().size(), 2u);
  std::vector<float> values(4);
  read_rows(store->require("a", {2, 2}), 0, 2, values.data());
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4}));
  read_rows(store->require("a", {2, 2}), 1, 1, values.data());
  EXPECT_EQ(values[0], 3);
  read_rows(store->require("b", {3}), 0, 1, values.data());
  EXPECT_EQ(values[2], -3);
}

TEST(Safetensors, ReadsEveryType) {
  const std::pair<const char*, int> types[] = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
                                               {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};
  for (const auto& [type, size] : types) {
    const auto file = safetensors_file(
        fmt::format(R"({{"t":{{"dtype":"{}","shape":[3],"data_offsets":[0,{}]}}}})", type, 3 * size),
        std::string(static_cast<std::size_t>(3 * size), '\0'));
    const auto tensors = parse_safetensors(bytes_of(file), "f");
    ASSERT_EQ(tensors.size(), 1u);
    EXPECT_EQ(name(tensors[0].dtype), type);
    std::vector<float> values(3, 1);
    if (std::string_view(type).find_first_of("IUO") == std::string_view::npos) {
      read_rows(tensors[0], 0, 1, values.data());
      EXPECT_EQ(values[2], 0);
    } else {
      expect_error([&] { read_rows(tensors[0], 0, 1, values.data()); }, {"f", "tensor t", type});
    }
  }
}

TEST(Safetensors, ReadsScalarsAndEmptyTensors) {
  const auto file = safetensors_file(
      R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"e":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]}})",
      raw(2.5f));
  const auto tensors = parse_safetensors(bytes_of(file), "f");
  ASSERT_EQ(tensors.size(), 2U);
  ASSERT_NE(tensors[0].name, tensors[1].name);
  for (const auto& tensor : tensors) {
    float value = 0;
    if (tensor.name == "s") {
      read_rows(tensor, 0, 1, &value);
      EXPECT_EQ(value, 2.5f);
    } else {
      read_rows(tensor, 0, 0, &value);
      expect_error([&] { read_rows(tensor, 0, 1, &value); }, {"tensor e"});
    }
  }
}

TEST(Safetensors, RefusesBadLengths) {
  expect_error([] { parse_safetensors(bytes_of("1234567"), "f"); }, {"f", "truncated"});
  for (const std::uint64_t length : {std::uint64_t{100}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    const auto file = raw(length) + "{}";
    expect_error([&] { parse_safetensors(bytes_of(file), "f"); }, {"f", fmt::format("{} bytes", length)});
  }
}

TEST(Safetensors, RefusesBadEntries) {
  expect_refused("7", "", {"f.safetensors", "tensor t", "object"});
  expect_refused(R"({"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]})", "x", {"tensor t", "F8_E4M3"});
  expect_refused(R"({"shape":[1],"data_offsets":[0,1]})", "x", {"tensor t", "dtype is missing"});
  expect_refused(R"({"dtype":4,"shape":[1],"data_offsets":[0,1]})", "x", {"tensor t", "dtype"});
  expect_refused(R"({"dtype":"U8","shape":"1","data_offsets":[0,1]})", "x", {"tensor t", "shape"});
  expect_refused(R"({"dtype":"U8","shape":[1],"data_offsets":[0]})", "x", {"tensor t", "data_offsets"});
  expect_refused(R"({"dtype":"U8","shape":[1],"data_offsets":[0,2]})", "x", {"tensor t", "outside"});
  expect_refused(R"({"dtype":"U8","shape":[1],"data_offsets":[1,0]})", "x", {"tensor t", "outside"});
  expect_refused(R"({"dtype":"U8","shape":[2],"data_offsets":[0,1]})", "x", {"tensor t", "U8 of shape [2]"});
  expect_refused(R"({"dtype":"U8","shape":[-1],"data_offsets":[0,1]})", "x", {"tensor t", "-1"});
  expect_refused(R"({"dtype":"U8","shape":[1.0],"data_offsets":[0,1]})", "x", {"tensor t", "1.0"});
  expect_refused(R"({"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1]})", "x", {"tensor t"});
  // 2^32 * 2^32 * 1 byte would be 0 in 64 bits.
  expect_refused(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]})", "", {"tensor t"});
  expect_refused(R"({"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]})", "", {"tensor t"});
}

TEST(Safetensors, RefusesOverlapsAndGaps) {
  const auto two = [](std::string_view a, std::string_view b, std::size_t size) {
    return safetensors_file(fmt::format(R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":{}}},)"
                                        R"("b":{{"dtype":"U8","shape":[4],"data_offsets":{}}}}})",
                                        a, b),
                            std::string(size, 'x'));
  };
  EXPECT_NO_THROW(parse_safetensors(bytes_of(two("[4,8]", "[0,4]", 8)), "f"));
  expect_error([&] { parse_safetensors(bytes_of(two("[0,4]", "[3,7]", 7)), "f"); }, {"tensor b overlaps"});
  expect_error([&] { parse_safetensors(bytes_of(two("[0,4]", "[0,4]", 4)), "f"); }, {"overlaps"});
  expect_error([&] { parse_safetensors(bytes_of(two("[0,4]", "[5,9]", 9)), "f"); },
               {"unused bytes before tensor b"});
  expect_error([&] { parse_safetensors(bytes_of(two("[0,4]", "[4,8]", 9)), "f"); }, {"1 bytes after"});
}

TEST(Safetensors, SurvivesDamage) {
  test::expect_survives_damage(kTwoTensors, [](std::string_view file) {
    for (const auto& tensor : parse_safetensors(bytes_of(file), "f")) {
      std::vector<float> values(tensor.bytes.size());
      read_rows(tensor, 0, tensor.shape.size() < 2 ? 1 : tensor.shape[0], values.data());
    }
  });
}

TEST(Safetensors, RefusesDeepHeaders) {
  const auto file = safetensors_file(std::string(1'000'000, '['), "");
  expect_error([&] { parse_safetensors(bytes_of(file), "f"); }, {"f", "nested"});
}

class ShardsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("one.safetensors", one("a"));
    folder_.write("two.safetensors", one("b"));
  }
  static std::string one(std::string_view tensor) {
    return safetensors_file(
        fmt::format(R"({{"{}":{{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}}})", tensor), raw(1.0f));
  }
  std::filesystem::path index(std::string_view map) {
    return folder_.write("model.safetensors.index.json", R"({"weight_map":)" + std::string(map) + "}");
  }
  TemporaryFolder folder_;
};

TEST_F(ShardsTest, ReadsThem) {
  index(R"({"a":"one.safetensors","b":"two.safetensors"})");
  const auto store = open_safetensors_folder(folder_.path());
  EXPECT_EQ(store->require("a", {1}).file, (folder_ / "one.safetensors").string());
  EXPECT_EQ(store->require("b", {1}).file, (folder_ / "two.safetensors").string());
}

TEST_F(ShardsTest, RefusesWhatDoesNotFit) {
  const auto refused = [&](std::string_view map, std::initializer_list<std::string_view> parts) {
    const auto path = index(map);
    expect_error([&] { open_sharded_weights(path, open_safetensors); }, parts);
  };
  refused(R"({"a":"one.safetensors","b":"three.safetensors"})",
          {"index.json", "three.safetensors", "missing"});
  refused(R"({"a":"one.safetensors","b":"one.safetensors"})", {"tensor b", "one.safetensors"});
  refused(R"({"a":"one.safetensors","c":"two.safetensors"})", {"tensor c", "two.safetensors"});
  refused(R"({"a":"../one.safetensors"})", {"tensor a", "plain file name"});
  refused(R"({"a":"/etc/passwd"})", {"tensor a", "plain file name"});
  refused(R"({"a":7})", {"tensor a"});
  refused("[]", {"weight_map"});
  folder_.write("two.safetensors", one("a"));
  refused(R"({"a":"one.safetensors","b":"two.safetensors"})", {"tensor a", "two.safetensors", "also in"});
}

TEST_F(ShardsTest, OfPyTorchFiles) {
  const auto heads = std::filesystem::path(AUGUR_SOURCE_DIR) / "tests/golden/heads";
  const auto copy = [&](const char* from, const char* to) {
    std::filesystem::copy_file(heads / from, folder_ / to);
  };
  copy("medusa/medusa_lm_head.pt", "pytorch_model-00001-of-00002.bin");
  copy("mask_embedding/mask_embedding.pt", "pytorch_model-00002-of-00002.bin");
  folder_.write("config.json", "{}");
  const std::string alone =
      open_torch_archive(folder_ / "pytorch_model-00002-of-00002.bin")->tensors().begin()->first;
  folder_.write("pytorch_model.bin.index.json",
                fmt::format(R"({{"weight_map":{{"0.0.linear.weight":"pytorch_model-00001-of-00002.bin",)"
                            R"("{}":"pytorch_model-00002-of-00002.bin"}}}})",
                            alone));
  const Checkpoint checkpoint = Checkpoint::open(folder_.path());
  EXPECT_EQ(checkpoint.weights().require("0.0.linear.weight", {64, 64}).dtype, DType::F16);
  ASSERT_NE(checkpoint.weights().find(alone), nullptr);
  std::filesystem::remove(folder_ / "pytorch_model-00002-of-00002.bin");
  expect_error([&] { Checkpoint::open(folder_.path()).weights(); },
               {"index.json", "00002-of-00002", "missing"});
}

TEST(WeightStore, NamesWhatIsMissingOrWrong) {
  const TemporaryFolder folder;
  const auto store = open_safetensors(folder.write("model.safetensors", kTwoTensors));
  expect_error([&] { store->require("c", {4, 5}); }, {"model.safetensors", "tensor c", "missing", "[4, 5]"});
  expect_error([&] { store->require("a", {4}); }, {"model.safetensors", "tensor a", "[4]", "[2, 2]"});
  expect_error([] { open_safetensors_folder("/"); }, {"no weights"});
  const std::vector<std::string> used = {"a"};
  expect_error([&] { store->check_leftovers(used, {}); }, {"model.safetensors", "left over", "b"});
  const std::vector<std::string_view> ignorable = {"b"};
  EXPECT_NO_THROW(store->check_leftovers(used, ignorable));
}

TEST(WeightStore, StorageBytes) {
  EXPECT_EQ(storage_bytes(DType::F32, {}), 4);
  EXPECT_EQ(storage_bytes(DType::Q4_0, {3, 64}), 3 * 36);
  EXPECT_EQ(storage_bytes(DType::Q4_0, {64, 3}), std::nullopt);
  EXPECT_EQ(storage_bytes(DType::F32, {-1}), std::nullopt);
  EXPECT_EQ(storage_bytes(DType::U8, {INT64_MAX, 2}), std::nullopt);
  EXPECT_EQ(storage_bytes(DType::F32, {INT64_MAX}), std::nullopt);
  EXPECT_EQ(storage_bytes(DType::F32, {0, 5}), 0);
  EXPECT_EQ(storage_bytes(DType::U8, {0, INT64_MAX, 2}), std::nullopt);
}

TEST(WeightStore, ReadRowsStaysInTheTensor) {
  const auto tensors = parse_safetensors(bytes_of(kTwoTensors), "f");
  float value = 0;
  for (const auto& [first, count] : {std::pair{0, 3}, {2, 1}, {-1, 1}, {0, -1}, {1, 2}}) {
    EXPECT_THROW(read_rows(tensors[0], first, count, &value), Error);
  }
  EXPECT_THROW(read_rows(tensors[0], INT64_MAX, 1, &value), Error);
}

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  const TemporaryFolder folder;
  const auto path = folder / "model.safetensors";
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  {
    SafetensorsWriter writer(path, {{"x", DType::F32, {2, 3}}, {"y", DType::BF16, {1}}});
    writer.write(std::as_bytes(std::span(values).first(2)));
    writer.write(std::as_bytes(std::span(values).subspan(2)));
    const BF16 last = to_bf16(-2);
    expect_error([&] { writer.finish(); }, {"model.safetensors", "24", "26"});
    writer.write(std::as_bytes(std::span(&last, 1)));
    EXPECT_FALSE(std::filesystem::exists(path));
    writer.finish();
  }
  const auto store = open_safetensors(path);
  std::vector<float> read(6);
  read_rows(store->require("x", {2, 3}), 0, 2, read.data());
  EXPECT_EQ(read, values);
  read_rows(store->require("y", {1}), 0, 1, read.data());
  EXPECT_EQ(read[0], -2);
  expect_error([&] { SafetensorsWriter(path, {{"q", DType::Q4_0, {32}}}); }, {"tensor q", "Q4_0"});
}

}  // namespace
}  // namespace augur
