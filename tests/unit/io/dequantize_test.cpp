#include "io/gguf/dequantize.h"

#include <cstring>

#include "unit/io/test_files.h"

namespace augur {
namespace {

const std::string kGolden = AUGUR_SOURCE_DIR "/tests/golden/gguf_types";

TEST(Dequantize, AgreesBitForBitWithTheGgufPackage) {
  const auto file = GgufFile::open(kGolden + ".gguf");
  const std::string expected = test::read_file(kGolden + ".f32");
  std::size_t place = 0;
  ASSERT_EQ(file.tensor_infos().size(), 13u);
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

TEST(Dequantize, ReadsUnalignedBytes) {
  const std::string stored = "x" + test::raw(std::vector<double>{0.1, -2});
  float values[2];
  dequantize(DType::F64, reinterpret_cast<const std::byte*>(stored.data()) + 1, 2, values);
  EXPECT_EQ(values[0], 0.1f);
  EXPECT_EQ(values[1], -2.0f);
}

}  // namespace
}  // namespace augur
