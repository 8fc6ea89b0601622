#include "files/gguf/dequantize.h"

#include <fmt/format.h>

#include <cstring>

#include "files/gguf/ggml_types.h"
#include "support/test_files.h"

namespace augur {
namespace {

const std::string kGolden = AUGUR_SOURCE_DIR "/tests/golden/gguf_types";

TEST(Dequantize, AgreesBitForBitWithTheGgufPackage) {
  const auto file = GgufFile::open(kGolden + ".gguf");
  const std::string expected = test::read_file(kGolden + ".f32");
  std::size_t place = 0;
  ASSERT_EQ(file.tensor_infos().size(), 26u);
  for (const auto& info : file.tensor_infos()) {
    const StoredTensor tensor = file.tensor(info);
    EXPECT_EQ(name(tensor.dtype), info.name);
    ASSERT_EQ(tensor.shape, (Shape{2, 256}));
    std::vector<float> values(512);
    const std::size_t bytes = values.size() * sizeof(float);
    ASSERT_LE(place + bytes, expected.size());
    read_rows(tensor, 0, 2, values.data());
    EXPECT_EQ(std::memcmp(values.data(), expected.data() + place, bytes), 0) << info.name;
    std::vector<float> second(256);
    read_rows(tensor, 1, 1, second.data());
    EXPECT_EQ(std::memcmp(second.data(), values.data() + 256, bytes / 2), 0) << info.name << ", one row";
    place += bytes;
  }
  EXPECT_EQ(place, expected.size());
}

// Of every type with blocks: a row that is no whole ones, and bytes that end too early.
TEST(Dequantize, FilesWithBrokenBlocksAreRefused) {
  const auto read = [](std::string_view text) {
    const auto file = GgufFile::parse(test::bytes_of(text), "f.gguf");
    file.tensor(file.tensor_infos().front());
  };
  int types = 0;
  for (std::uint32_t type = 0; type < 64; ++type) {
    const std::optional<DType> dtype = ggml_dtype(type);
    if (!dtype || block_shape(*dtype).elements == 1) continue;
    ++types;
    const BlockShape shape = block_shape(*dtype);
    const auto row = static_cast<std::uint64_t>(shape.elements);
    const std::string bytes(static_cast<std::size_t>(4 * shape.bytes), '\1');
    const auto refused = [&](std::uint64_t extent, const std::string& data, std::string_view what) {
      const std::string text = test::GgufBuilder().tensor("broken", type, {extent, 2}, data).build();
      test::expect_error([&] { read(text); }, {"f.gguf", "broken", what});
    };
    refused(row + row / 2, bytes, fmt::format("whole blocks of {}", ggml_type_name(type)));
    refused(2 * row, bytes.substr(0, static_cast<std::size_t>(shape.bytes)), "leave the file");
    const std::string whole = test::GgufBuilder().tensor("whole", type, {2 * row, 2}, bytes).build();
    EXPECT_NO_THROW(read(whole));
    EXPECT_EQ(ggml_type(*dtype), type);
    EXPECT_EQ(ggml_type_name(type), name(*dtype));
  }
  EXPECT_EQ(types, 23);
}

TEST(Dequantize, ReadsUnalignedBytes) {
  const std::string stored = "x" + test::raw(std::vector<double>{0.1, -2});
  float values[2];
  dequantize(DType::F64, reinterpret_cast<const std::byte*>(stored.data()) + 1, 2, values);
  EXPECT_EQ(values[0], 0.1f);
  EXPECT_EQ(values[1], -2.0f);
}

}  // namespace
}  // namespace augur
