#include "lab/corpus/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lzma.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

std::vector<std::uint8_t> xz(const std::string& text) {
  std::vector<std::uint8_t> out(text.size() / 4 + 4096);
  lzma_stream stream = LZMA_STREAM_INIT;
  EXPECT_EQ(lzma_easy_encoder(&stream, 0, LZMA_CHECK_CRC32), LZMA_OK);
  stream.next_in = reinterpret_cast<const std::uint8_t*>(text.data());
  stream.avail_in = text.size();
  stream.next_out = out.data();
  stream.avail_out = out.size();
  EXPECT_EQ(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
  out.resize(stream.total_out);
  lzma_end(&stream);
  return out;
}

class LineReaderTest : public testing::Test {
 protected:
  std::filesystem::path write(const std::vector<std::uint8_t>& bytes) {
    const auto path = folder_.path() / "data.xz";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string error_of_reading(const std::vector<std::uint8_t>& bytes) {
    return error_of([&] {
      LineReader reader(write(bytes));
      std::string line;
      while (reader.next(line)) {
      }
    });
  }

 private:
  testing_support::TemporaryFolder folder_;
};

TEST_F(LineReaderTest, ReadsCompressedLines) {
  LineReader reader(write(xz("first\n\nthird")));
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  EXPECT_THAT(lines, testing::ElementsAre("first", "", "third"));
}

TEST_F(LineReaderTest, AShortFileThatUnpacksToNoEndIsAnError) {
  const std::string error = error_of_reading(xz(std::string(std::size_t{128} << 20, '\n')));
  EXPECT_THAT(error, HasSubstr("data.xz: line "));
  EXPECT_THAT(error, HasSubstr("unpack to more than 1000 times as many"));
}

TEST_F(LineReaderTest, AFileThatClaimsADictionaryOfAGibibyteIsAnError) {
  std::vector<std::uint8_t> bytes = xz("text\n");
  // The block's header: its size, no optional fields, one filter (LZMA2), its dictionary's size, padding,
  // CRC.
  constexpr std::size_t kHeader = 12;
  ASSERT_EQ(bytes[kHeader], 2);
  ASSERT_EQ(bytes[kHeader + 1], 0);
  ASSERT_EQ(bytes[kHeader + 2], 0x21);
  bytes[kHeader + 4] = 36;
  const std::uint32_t crc = lzma_crc32(bytes.data() + kHeader, 8, 0);
  for (std::size_t i = 0; i < 4; ++i) bytes[kHeader + 8 + i] = static_cast<std::uint8_t>(crc >> (8 * i));
  EXPECT_THAT(error_of_reading(bytes), testing::AllOf(HasSubstr("data.xz: unpacking it takes 10"),
                                                      HasSubstr("MiB of memory: expected at most 256")));
}

}  // namespace
}  // namespace augur
