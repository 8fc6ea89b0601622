// Token mixing: whose tokens, at which places, how many.
#include "lab/trace/mixing.h"

#include <gtest/gtest.h>

#include <cmath>

namespace augur {
namespace {

/// 4 tokens of prompt, 400 of answer (10, 11, ...); every round drafts a chain of three tokens 1000 + place,
/// and accepts none.
TraceSequence long_answer() {
  TraceSequence sequence;
  sequence.prompt_size = 4;
  for (int i = 0; i < 404; ++i) sequence.tokens.push_back(6 + i);
  for (std::int32_t root = 3; root + 1 < 404; ++root) {
    TraceRound round;
    round.root = root;
    round.tokens = {sequence.tokens[static_cast<std::size_t>(root)], 7, 1001 + root, 1002 + root,
                    1003 + root};
    round.parents = {-1, 0, 0, 2, 3};
    round.log_probs = {0, -2.0f, -1.0f, -1.0f, -1.0f};
    sequence.rounds.push_back(round);
  }
  return sequence;
}

TEST(Mixing, ReplacesAShareByTheDraftersTokens) {
  const TraceSequence sequence = long_answer();
  const std::vector<TokenId> mixed = mixed_beginning(sequence, 0.5, 1);
  ASSERT_GE(mixed.size(), 4u + 100u);
  ASSERT_LE(mixed.size(), 4u + 300u);
  int replaced = 0;
  for (std::size_t place = 0; place < mixed.size(); ++place) {
    if (mixed[place] == sequence.tokens[place]) continue;
    EXPECT_GE(place, 4u) << "the prompt stays";
    EXPECT_EQ(mixed[place], 1000 + static_cast<TokenId>(place))
        << "the likeliest path's, of the nearest round";
    ++replaced;
  }
  const double answer = static_cast<double>(mixed.size() - 4);
  EXPECT_NEAR(replaced, 0.5 * answer, 4 * std::sqrt(0.25 * answer));
}

TEST(Mixing, DependsOnTheSeedOnly) {
  const TraceSequence sequence = long_answer();
  EXPECT_EQ(mixed_beginning(sequence, 0.5, 1), mixed_beginning(sequence, 0.5, 1));
  EXPECT_NE(mixed_beginning(sequence, 0.5, 1), mixed_beginning(sequence, 0.5, 2));
}

TEST(Mixing, LeavesWhatNoRoundDraftedFor) {
  TraceSequence sequence = long_answer();
  sequence.rounds.clear();
  const std::vector<TokenId> mixed = mixed_beginning(sequence, 1.0, 1);
  EXPECT_TRUE(std::equal(mixed.begin(), mixed.end(), sequence.tokens.begin()));
  sequence.tokens.resize(6);
  EXPECT_TRUE(mixed_beginning(sequence, 1.0, 1).empty());
}

}  // namespace
}  // namespace augur
