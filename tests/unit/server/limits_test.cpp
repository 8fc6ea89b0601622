#include "server/limits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

namespace augur {
namespace {

TEST(Limits, TheTableHasEachOnce) {
  std::set<std::string_view> flags;
  const Limits limits;
  for (const Limit& limit : limit_table()) {
    EXPECT_TRUE(flags.insert(limit.flag).second) << limit.flag;
    EXPECT_TRUE(limit.flag.starts_with("--")) << limit.flag;
    EXPECT_EQ(limits.*limit.member % limit.scale, 0) << limit.flag;
    EXPECT_GE(limits.*limit.member / limit.scale, limit.lowest) << limit.flag;
    EXPECT_LE(limits.*limit.member / limit.scale, limit.highest) << limit.flag;
  }
  EXPECT_EQ(limit_table().size(), sizeof(Limits) / sizeof(std::int64_t)) << "a member without a flag";
}

TEST(Limits, ThePageOfOperationsHasThemAll) {
  std::ifstream file(std::string(AUGUR_SOURCE_DIR) + "/docs/serving_operations.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const Limits limits;
  for (const Limit& limit : limit_table()) {
    const std::string unit = limit.unit.empty() ? "" : fmt::format(" {}", limit.unit);
    EXPECT_THAT(page,
                testing::HasSubstr(fmt::format("| `{}` | {}{} | {} |\n", limit.flag,
                                               limits.*limit.member / limit.scale, unit, limit.bounds)));
  }
}

}  // namespace
}  // namespace augur
