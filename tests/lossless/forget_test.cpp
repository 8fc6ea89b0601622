// What drafters leave for later texts changes what is drafted, never what is written, and is gone when it is
// to be forgotten: with every registered drafter, whatever the texts before were.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/drafter_cases.h"
#include "support/generation.h"
#include "support/vocabulary_parts.h"

namespace augur {
namespace {

using testing_support::DrafterCase;
using testing_support::generate;
using testing_support::Generated;
using testing_support::one;
using testing_support::tiny_drafter_cases;
using testing_support::TinyTarget;

class ForgetfulDrafters : public testing::TestWithParam<DrafterCase> {
 protected:
  /// A pass over all prompts, one after the other.
  Generated pass() {
    return generate(target_.model(), target_.prompts(),
                    {.tokens = 40, .speculators = [&] { return one(target_.make(), policy()); }});
  }
  static std::unique_ptr<TreePolicy> policy() {
    return std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 8});
  }
  static std::string told(const Generated& g) {
    return fmt::format("{} calls, {} drafted, {} verified, {} accepted", g.total.calls,
                       g.total.drafted_tokens, g.total.verified_tokens, g.total.accepted_tokens);
  }
  void check() {
    const Generated first = pass();
    const Generated second = pass();
    EXPECT_EQ(second.tokens, first.tokens);
    target_.forget();
    const Generated anew = pass();
    EXPECT_EQ(anew.tokens, first.tokens);
    EXPECT_EQ(told(anew), told(first));
    learns_ = told(second) != told(first);
  }

  TinyTarget target_{GetParam()};
  bool learns_ = false;
};

TEST_P(ForgetfulDrafters, DraftAgainAsTheFirstTime) {
  check();
  EXPECT_EQ(learns_, target_.make()->traits().learns_across_sequences) << "which it says of itself";
}

/// A list that follows the text is the one thing that drafters with a projection learn.
TEST_P(ForgetfulDrafters, ForgetTheListThatFollowsTheText) {
  if (!find_drafter_type(GetParam().type).projects) GTEST_SKIP() << "it has no projection";
  const testing_support::HotList hot(target_.model().fingerprint(), target_.model().config().vocab);
  target_.load(hot.choice());
  check();
  // Untrained heads draft nonsense with any list.
  if (GetParam().type == "draft") {
    EXPECT_TRUE(learns_) << "a model that is right is helped by what it has seen";
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, ForgetfulDrafters, testing::ValuesIn(tiny_drafter_cases()),
                         testing_support::case_name);

}  // namespace
}  // namespace augur
