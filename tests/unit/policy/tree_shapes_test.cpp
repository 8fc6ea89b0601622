#include "tree/tree_shapes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/error.h"
#include "policy/static_tree_policy.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::TemporaryFolder;

std::vector<int> by_depth(const TreePaths& paths) {
  std::vector<int> counts;
  for (const auto& path : paths) {
    if (counts.size() < path.size()) counts.resize(path.size());
    ++counts[path.size() - 1];
  }
  return counts;
}

TEST(TreeShapes, PublishedTreesHaveTheirPublishedSizes) {
  const TreePaths medusa = load_tree_paths("mc_sim_7b_63");
  EXPECT_EQ(medusa.size(), 63u);
  EXPECT_THAT(by_depth(medusa), ElementsAre(10, 28, 23, 2));
  EXPECT_EQ(StaticTreePolicy(medusa).nodes(), 63);
  const TreePaths eagle = load_tree_paths("eagle_mc_sim_7b_63");
  EXPECT_THAT(by_depth(eagle), ElementsAre(4, 8, 8, 3, 2));
  EXPECT_EQ(StaticTreePolicy(eagle).nodes(), 25);
  for (const TreePaths& paths : {medusa, eagle}) {
    const std::set<std::vector<int>> all(paths.begin(), paths.end());
    EXPECT_EQ(all.size(), paths.size());
    for (std::vector<int> path : paths) {
      path.pop_back();
      EXPECT_TRUE(path.empty() || all.count(path) == 1);
    }
  }
}

class TreeFile : public testing::Test {
 protected:
  TreePaths load(const std::string& text) {
    std::ofstream(file_) << text;
    return load_tree_paths(file_);
  }
  std::string refusal(const std::string& text) {
    try {
      load(text);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(file_));
      return error.what();
    }
    return "accepted";
  }
  TemporaryFolder folder_;
  std::string file_ = (folder_.path() / "tree.json").string();
};

TEST_F(TreeFile, IsAListOfPaths) {
  EXPECT_THAT(load("[[0], [1, 2], [0, 0, 3]]"),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2), ElementsAre(0, 0, 3)));
  EXPECT_EQ(StaticTreePolicy(load("[[0], [1, 2], [0, 0, 3]]")).nodes(), 5);
}

TEST_F(TreeFile, OfAnySize) {
  std::string text = "[";
  for (int i = 0; i < 3000; ++i) text += fmt::format("{}[{},{}]", i == 0 ? "" : ",", i / 50, i % 50);
  EXPECT_EQ(StaticTreePolicy(load(text + "]")).nodes(), 3060);
}

TEST_F(TreeFile, BadOnesAreRefusedByPath) {
  EXPECT_THAT(refusal("{}"), HasSubstr("expected a list of paths"));
  EXPECT_THAT(refusal("[]"), HasSubstr("found an empty one"));
  EXPECT_THAT(refusal("[[0], 1]"), HasSubstr("path 1: expected a list of ranks, found number"));
  EXPECT_THAT(refusal("[[0], []]"), HasSubstr("path 1: expected a list of ranks, found an empty one"));
  EXPECT_THAT(refusal("[[0], [0, -1]]"), HasSubstr("path 1: rank -1"));
  EXPECT_THAT(refusal("[[0.5]]"), HasSubstr("path 0: rank 0.5"));
  EXPECT_THAT(refusal("[[\"0\"]]"), HasSubstr("rank \"0\""));
  EXPECT_THAT(refusal("[[99999999999]]"), HasSubstr("rank 99999999999: expected 0 to 4095"));
  EXPECT_THAT(refusal("[[0], [1], [0]]"), HasSubstr("[0] is listed twice"));
  EXPECT_THAT(refusal("[[0], [1"), HasSubstr("tree.json"));
  std::string deep = "[[0";
  for (int i = 0; i < 2000; ++i) deep += ",0";
  EXPECT_THAT(refusal(deep + "]]"), HasSubstr("2001 levels"));
}

TEST(TreeShapes, UnknownNamesListTheKnownOnes) {
  try {
    load_tree_paths("mc_sim_7b_64");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'mc_sim_7b_64': neither a file nor one of mc_sim_7b_63"));
  }
}

}  // namespace
}  // namespace augur
