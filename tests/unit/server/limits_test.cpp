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
    const auto value = static_cast<double>(limits.*limit.member / limit.scale);
    EXPECT_GE(value, limit.lowest) << limit.flag;
    EXPECT_LE(value, limit.highest) << limit.flag;
  }
  EXPECT_EQ(limit_table().size(), sizeof(Limits) / sizeof(std::int64_t)) << "a member without a flag";
}

TEST(Limits, TheEnginesGoThere) {
  Limits limits;
  limits.grammar_ms = 1500;
  limits.template_steps = 7;
  EngineOptions options;
  engine_limits(limits).apply_to(options);
  EXPECT_EQ(options.grammar_budget.seconds, 1.5);
  EXPECT_EQ(options.grammar_budget.bytes, EngineOptions{}.grammar_budget.bytes);
  EXPECT_EQ(options.template_limits.steps, 7);
  EXPECT_EQ(options.template_limits.bytes, EngineOptions{}.template_limits.bytes);
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
