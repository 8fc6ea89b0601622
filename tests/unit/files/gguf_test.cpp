#include "files/gguf/gguf.h"

#include "support/test_files.h"

namespace augur {
namespace {

using test::bytes_of;
using test::expect_error;
using test::GgufBuilder;
using test::raw;

GgufFile parse(std::string_view file) {
  return GgufFile::parse(bytes_of(file), "f.gguf");
}

void expect_refused(const std::string& file, std::initializer_list<std::string_view> parts) {
  expect_error([&] { parse(file); }, parts);
}

TEST(Gguf, ReadsWhatTheGgufPackageWrites) {
  const auto file = GgufFile::open(AUGUR_SOURCE_DIR "/tests/golden/gguf_types.gguf");
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.architecture(), "golden");
  EXPECT_EQ(file.find_int("test.uint8"), 200);
  EXPECT_EQ(file.find_int("test.int8"), -100);
  EXPECT_EQ(file.find_int("test.uint16"), 60000);
  EXPECT_EQ(file.find_int("test.int16"), -30000);
  EXPECT_EQ(file.find_int("test.uint32"), 4000000000);
  EXPECT_EQ(file.find_int("test.int32"), -2000000000);
  EXPECT_EQ(file.find_int("test.uint64"), std::int64_t{1} << 60);
  EXPECT_EQ(file.find_int("test.int64"), -(std::int64_t{1} << 60));
  EXPECT_EQ(file.find_float("test.float32"), 1e-5);  // not 9.99999974737875e-06
  EXPECT_EQ(file.find_float("test.float64"), 0.1);
  EXPECT_EQ(file.find_float("test.uint8"), 200.0);
  EXPECT_EQ(file.find_bool("test.bool"), true);
  EXPECT_EQ(file.find_string("test.string"), "grüße");
  EXPECT_EQ(file.find_strings("test.strings"), (std::vector<std::string>{"one", "", "drei"}));
  EXPECT_EQ(file.find_ints("test.ints"), (std::vector<std::int64_t>{1, -2, 3}));
  EXPECT_EQ(file.find_floats("test.floats"), (std::vector<float>{0.5, -1.5}));
  EXPECT_EQ(file.find_int("test.none"), std::nullopt);
}

TEST(Gguf, WrongTypesNameTheKey) {
  const auto file = GgufFile::open(AUGUR_SOURCE_DIR "/tests/golden/gguf_types.gguf");
  expect_error([&] { file.find_int("test.string"); },
               {"gguf_types.gguf", "test.string", "integer", "string"});
  expect_error([&] { file.find_int("test.bool"); }, {"test.bool"});
  expect_error([&] { file.find_string("test.int8"); }, {"test.int8", "a string", "int8"});
  expect_error([&] { file.find_bool("test.int8"); }, {"test.int8"});
  expect_error([&] { file.find_float("test.ints"); }, {"test.ints", "array of int32"});
  expect_error([&] { file.find_strings("test.ints"); }, {"test.ints"});
  expect_error([&] { file.find_ints("test.strings"); }, {"test.strings"});
  expect_error([&] { file.find_ints("test.floats"); }, {"test.floats"});
  expect_error([&] { file.find_floats("test.ints"); }, {"test.ints"});
}

TEST(Gguf, RefusesValuesThatCannotBeUsed) {
  const auto text = GgufBuilder().text("s", "\xff").build();
  expect_error([&] { parse(text).find_string("s"); }, {"s", "UTF-8"});
  const auto big = GgufBuilder().value("n", GgufType::U64, raw(~std::uint64_t{0})).build();
  expect_error([&] { parse(big).find_int("n"); }, {"n", "2^63"});
  const auto nan = GgufBuilder().f32("n", __builtin_nanf("")).build();
  expect_error([&] { parse(nan).find_float("n"); }, {"n", "finite"});
}

TEST(Gguf, Version2IsReadOthersAreRefused) {
  GgufBuilder builder;
  builder.version = 2;
  EXPECT_EQ(parse(builder.build()).version(), 2u);
  for (const std::uint32_t version : {0u, 1u, 4u}) {
    builder.version = version;
    expect_refused(builder.build(), {"f.gguf", fmt::format("version {}", version)});
  }
  builder.version = 0x03000000;
  expect_refused(builder.build(), {"big-endian"});
  expect_refused("GGML" + builder.build().substr(4), {"not a GGUF file"});
}

TEST(Gguf, DimensionsAreTurnedRound) {
  const auto text = GgufBuilder().floats("t", {3, 2}, {1, 2, 3, 4, 5, 6}).build();
  const auto file = parse(text);
  const StoredTensor tensor = file.tensor(*file.find_tensor("t"));
  EXPECT_EQ(tensor.shape, (Shape{2, 3}));
  std::vector<float> row(3);
  read_rows(tensor, 1, 1, row.data());
  EXPECT_EQ(row, (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(file.find_tensor("u"), nullptr);
}

TEST(Gguf, RefusesAbsurdCountsBeforeAllocating) {
  for (const std::uint64_t count : {std::uint64_t{100}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    GgufBuilder tensors;
    tensors.tensor_count = count;
    expect_refused(tensors.build(), {"f.gguf", "number of tensors"});
    GgufBuilder metadata;
    metadata.metadata_count = count;
    expect_refused(metadata.build(), {"f.gguf", "number of metadata"});
    for (const auto type : {GgufType::U8, GgufType::F64, GgufType::String, GgufType::Array}) {
      expect_refused(GgufBuilder().value("k", GgufType::Array, raw(type) + raw(count)).build(),
                     {"f.gguf", "k"});
    }
    expect_refused(GgufBuilder().value("k", GgufType::String, raw(count)).build(),
                   {"f.gguf", "k", "truncated"});
  }
}

TEST(Gguf, RefusesDeepArrays) {
  std::string nested = raw(GgufType::U8) + raw(std::uint64_t{0});
  const auto file = [&](int depth) {
    std::string value;
    for (int i = 1; i < depth; ++i) value += raw(GgufType::Array) + raw(std::uint64_t{1});
    return GgufBuilder().value("k", GgufType::Array, value + nested).build();
  };
  EXPECT_NO_THROW(parse(file(4)));
  expect_refused(file(5), {"k", "nested"});
  expect_refused(file(100'000), {"k", "nested"});
}

TEST(Gguf, RefusesBadMetadata) {
  expect_refused(GgufBuilder().value("k", static_cast<GgufType>(13), "x").build(), {"k", "type 13"});
  expect_refused(GgufBuilder().u32("k", 1).u32("k", 1).build(), {"k", "twice"});
  expect_refused(GgufBuilder().u32(std::string(70000, 'k'), 1).build(), {"70000"});
  for (const std::uint32_t alignment : {0u, 48u, 1u << 31}) {
    expect_refused(GgufBuilder().u32("general.alignment", alignment).build(), {"general.alignment"});
  }
}

TEST(Gguf, AlignmentMovesTheData) {
  auto text = GgufBuilder().u32("general.alignment", 128).floats("t", {1}, {5}).build();
  text.insert(text.size() - 4, 128 - (text.size() - 4) % 128, '\0');
  const auto file = parse(text);
  float value = 0;
  read_rows(file.tensor(file.tensor_infos()[0]), 0, 1, &value);
  EXPECT_EQ(value, 5);
}

TEST(Gguf, RefusesBadTensors) {
  const auto refused = [](const GgufBuilder& builder, std::initializer_list<std::string_view> parts) {
    const std::string text = builder.build();
    expect_error(
        [&] {
          const auto file = parse(text);
          for (const auto& info : file.tensor_infos()) file.tensor(info);
        },
        parts);
  };
  using U = std::vector<std::uint64_t>;
  refused(GgufBuilder().tensor("t", 0, U{}, ""), {"f.gguf", "tensor t", "dimensions", "0"});
  refused(GgufBuilder().tensor("t", 0, U{1, 1, 1, 1, 1}, "1234"), {"tensor t", "dimensions", "5"});
  refused(GgufBuilder().tensor("t", 0, U{~std::uint64_t{0}}, "1234"), {"tensor t", "dimensions"});
  refused(GgufBuilder().tensor("t", 0, U{1ull << 32, 1ull << 32}, "1234"), {"tensor t", "dimensions"});
  refused(GgufBuilder().tensor("t", 0, U{1ull << 62}, "1234"), {"tensor t"});
  refused(GgufBuilder().tensor("t", 0, U{2}, "1234"), {"tensor t", "8 bytes", "leave the file"});
  refused(GgufBuilder().tensor_at("t", 0, U{1}, 32, "1234"), {"tensor t", "leave the file"});
  refused(GgufBuilder().tensor_at("t", 0, U{1}, ~std::uint64_t{31}, "1234"), {"tensor t", "leave the file"});
  refused(GgufBuilder().tensor_at("t", 0, U{1}, 3, "1234567"), {"tensor t", "alignment"});
  refused(GgufBuilder().tensor("t", 2, U{33}, std::string(40, 'x')), {"tensor t", "33", "Q4_0"});
  refused(GgufBuilder().tensor("t", 41, U{256}, std::string(400, 'x')),
          {"tensor t", "Q1_0", "not supported"});
  refused(GgufBuilder().tensor("t", 999, U{1}, "1234"), {"tensor t", "999"});
  refused(GgufBuilder().tensor("t", 0, U{1}, "1234").tensor("t", 0, U{1}, "1234"), {"tensor t", "twice"});
}

TEST(Gguf, SurvivesDamage) {
  const auto whole = GgufBuilder()
                         .text("general.architecture", "llama")
                         .strings("tokens", {"a", "bc"})
                         .array("scores", GgufType::F32, std::vector<float>{1, 2})
                         .floats("t", {3, 2}, {1, 2, 3, 4, 5, 6})
                         .build();
  test::expect_survives_damage(whole, [](std::string_view text) {
    const auto file = parse(text);
    file.find_strings("tokens");
    file.find_floats("scores");
    for (const auto& info : file.tensor_infos()) {
      const auto tensor = file.tensor(info);
      if (tensor.bytes.empty()) continue;
      std::vector<float> row(static_cast<std::size_t>(tensor.bytes.size()) * 2);
      read_rows(tensor, 0, 1, row.data());
    }
  });
}

}  // namespace
}  // namespace augur
