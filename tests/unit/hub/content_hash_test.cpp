#include "hub/content_hash.h"

#include <gtest/gtest.h>

#include "hub/hexadecimal.h"

namespace augur {
namespace {

std::string hash(std::string_view text, std::size_t digits) {
  ContentHash hash(std::string(digits, '0'), text.size());
  for (const char& c : text) hash.add(std::as_bytes(std::span(&c, 1)));
  return hash.hex();
}

TEST(ContentHash, IsThatOfSha256sumAndOfGit) {
  EXPECT_EQ(hash("abc", 64), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180
  EXPECT_EQ(hash("", 64), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("hello\n", 40), "ce013625030ba8dba906f756967f9e9ca394464a");  // git hash-object
  EXPECT_EQ(hash("", 40), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

TEST(ContentHash, OtherTextsAreNone) {
  EXPECT_TRUE(is_content_hash(std::string(40, 'a')));
  EXPECT_TRUE(is_content_hash(std::string(64, '0')));
  for (const std::string& text : {std::string(), std::string(39, 'a'), std::string(41, 'a'),
                                  std::string(64, 'A'), std::string(64, 'g'), "../" + std::string(37, 'a')}) {
    EXPECT_FALSE(is_content_hash(text)) << text;
  }
}

}  // namespace
}  // namespace augur
