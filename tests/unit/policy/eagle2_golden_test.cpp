// EAGLE-2's tree against tests/golden/eagle2_trees.json, which make_eagle2_golden.py computed with numpy:
// beams, candidates and survivors, many scores equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/json_reader.h"
#include "policy/eagle2_policy.h"

namespace augur {
namespace {

TEST(Eagle2Golden, BeamsAndSurvivorsAreThoseOfTheReference) {
  const auto cases =
      read_json(std::filesystem::path(AUGUR_SOURCE_DIR) / "tests" / "golden" / "eagle2_trees.json");
  ASSERT_GE(cases.size(), 200u);
  for (std::size_t c = 0; c < cases.size(); ++c) {
    SCOPED_TRACE("case " + std::to_string(c));
    const auto& golden = cases[c];
    const auto tables = golden["tables"].get<std::vector<std::vector<std::vector<int>>>>();
    Eagle2Policy policy({.top_k = golden["top_k"], .levels = golden["levels"], .size = golden["size"]});
    DraftTree tree;
    policy.begin({.room = 1 << 20, .max_depth = 1 << 20});
    std::vector<std::int32_t> frontier;
    std::size_t level = 0;
    // Candidate i is node i + 1; a node's token is its rank among its siblings.
    for (policy.next_frontier(tree, frontier); !frontier.empty();
         policy.next_frontier(tree, frontier), ++level) {
      ASSERT_LT(level, tables.size());
      std::vector<std::int32_t> beams{-1};
      if (level > 0) beams = golden["beams"][level - 1].get<std::vector<std::int32_t>>();
      ASSERT_EQ(frontier.size(), beams.size());
      for (std::size_t beam = 0; beam < beams.size(); ++beam) {
        ASSERT_EQ(frontier[beam], beams[beam] + 1);
        for (std::size_t rank = 0; rank < tables[level][beam].size(); ++rank) {
          const float log_prob = static_cast<float>(tables[level][beam][rank]) / 8.0f;
          tree.add(frontier[beam], static_cast<TokenId>(rank), log_prob, 1);
        }
      }
    }
    if (golden["size"].get<int>() > 1) {
      EXPECT_EQ(level, tables.size());
      const auto parents = golden["parents"].get<std::vector<std::int32_t>>();
      ASSERT_EQ(static_cast<std::size_t>(tree.size()), parents.size() + 1);
      for (std::size_t i = 0; i < parents.size(); ++i) ASSERT_EQ(tree.parents()[i + 1], parents[i] + 1);
    }
    DraftTree survivors = tree;
    policy.prune(tree);
    std::vector<std::int32_t> kept;
    for (const auto& k : golden["kept"]) kept.push_back(k.get<std::int32_t>() + 1);
    kept.insert(kept.begin(), DraftTree::kRoot);
    survivors.select(kept);
    EXPECT_TRUE(std::ranges::equal(tree.tokens(), survivors.tokens()));
    EXPECT_TRUE(std::ranges::equal(tree.parents(), survivors.parents()));
    EXPECT_TRUE(std::ranges::equal(tree.scores(), survivors.scores()));
  }
}

}  // namespace
}  // namespace augur
