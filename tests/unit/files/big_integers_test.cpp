#include "files/big_integers.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "files/json_reader.h"

namespace augur {
namespace {

std::string lists(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']');
}

TEST(ExactJson, KeepsIntegersOrderAndTheLastOfDuplicates) {
  const std::string text =
      R"({"b":340282366920938463463374607431768211456,"a":[1,{}],"b":-18446744073709551616,"c":null})";
  EXPECT_EQ(write_exact_json(parse_exact_json(text)), R"({"b":-18446744073709551616,"a":[1,{}],"c":null})");
  const std::string replaced = R"({"a":{"x":1},"b":2,"a":[{"y":{"z":3}}]})";
  EXPECT_EQ(write_exact_json(parse_exact_json(replaced)), R"({"a":[{"y":{"z":3}}],"b":2})");
}

TEST(ExactJson, IsAsDeepAsOtherJson) {
  EXPECT_TRUE(parse_exact_json(lists(kMaxJsonDepth)).is_array());
  EXPECT_TRUE(parse_exact_json(lists(kMaxJsonDepth + 1)).is_discarded());
  EXPECT_TRUE(parse_exact_json(lists(1'000'000)).is_discarded());
}

TEST(ExactJson, EndsAtNoZeroByte) {
  EXPECT_TRUE(parse_exact_json(std::string("{}\0", 3)).is_discarded());
  EXPECT_TRUE(parse_exact_json(std::string("[1]\0[2", 6)).is_discarded());
  EXPECT_THROW(parse_json(std::string("{}\0x", 4), "a file"), Error);
}

/// A member that was looked for among all before it would take hours.
TEST(ExactJson, TakesManyMembers) {
  constexpr int kMembers = 100'000;
  std::string text = "{";
  for (int i = 0; i < kMembers; ++i) text += "\"" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  const nlohmann::ordered_json value = parse_exact_json(text + "\"0\":-1}");
  ASSERT_EQ(value.size(), static_cast<std::size_t>(kMembers));
  EXPECT_EQ(value.front(), -1);
  EXPECT_EQ(value.back(), kMembers - 1);
}

}  // namespace
}  // namespace augur
