#include "tree/rerank.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace augur {
namespace {

TEST(Reranker, ScoresThatAreNoNumbersComeLastAndNoAncestorIsLost) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    DraftTree tree;
    tree.reset(1, 5);
    for (TokenId token = 2; token < 60; ++token) {
      const auto parent = static_cast<std::int32_t>(random() % static_cast<unsigned>(tree.size()));
      tree.add(parent, token, -0.1f * static_cast<float>(random() % 40), 1);
    }
    for (float& score : tree.mutable_scores().subspan(1)) {
      if (random() % 3 == 0) score = std::numeric_limits<float>::quiet_NaN();
    }
    Reranker().keep_best(tree, 15);
    ASSERT_EQ(tree.size(), 16);
    for (std::size_t node = 1; node < 16; ++node) {
      ASSERT_GE(tree.parents()[node], 0);
      ASSERT_LT(tree.parents()[node], static_cast<std::int32_t>(node));
      ASSERT_GE(tree.tokens()[node], 2);
    }
  }
}

}  // namespace
}  // namespace augur
