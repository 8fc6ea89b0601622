// The promise for texts that have to be something: what may come next depends on the path, and the tokens are
// those of plain decoding under the same constraint, whatever drafts and however the draft is checked.
#include <gtest/gtest.h>

#include "support/drafter_cases.h"
#include "support/generation.h"
#include "support/parity_constraint.h"

namespace augur {
namespace {

using testing_support::DrafterCase;
using testing_support::generate;
using testing_support::Generated;
using testing_support::GenerateOptions;
using testing_support::one;
using testing_support::ParityConstraint;
using testing_support::TinyTarget;

class LosslessConstraint : public testing::TestWithParam<DrafterCase> {};

TEST_P(LosslessConstraint, TokensAreThoseOfPlainDecoding) {
  TinyTarget target(GetParam());
  const std::vector<std::vector<TokenId>> prompts(target.prompts().begin(), target.prompts().begin() + 2);
  const std::int64_t vocab = target.model().config().vocab;
  for (const float temperature : {0.0f, 0.9f}) {
    GenerateOptions options{.sampling = {.temperature = temperature, .seed = 3}, .tokens = 14};
    options.constraint = [vocab] { return std::make_unique<ParityConstraint>(vocab); };
    const Generated plain = generate(target.model(), prompts, options);
    for (const std::vector<TokenId>& text : plain.tokens) ASSERT_TRUE(ParityConstraint::allows(text));
    options.parallel = 2;
    options.speculators = [&] {
      return one(target.make(), std::make_unique<Eagle2Policy>(Eagle2Policy::Options{3, 4, 12}));
    };
    const Generated fast = generate(target.model(), prompts, options);
    EXPECT_EQ(fast.tokens, plain.tokens) << temperature;
    if (GetParam().type != "ngram") {  // the texts repeat nothing
      EXPECT_GT(fast.total.drafted_tokens, 0);
    }
    if (temperature > 0.0f) {
      options.coupling = false;
      EXPECT_EQ(generate(target.model(), prompts, options).tokens, plain.tokens) << "uncoupled";
    }
    options.verification = Verification::Rejection;
    const Generated rejected = generate(target.model(), prompts, options);
    for (const std::vector<TokenId>& text : rejected.tokens) EXPECT_TRUE(ParityConstraint::allows(text));
    if (temperature == 0.0f) {
      EXPECT_EQ(rejected.tokens, plain.tokens);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Registered, LosslessConstraint,
    testing::ValuesIn(testing_support::one_of_each_type(testing_support::tiny_drafter_cases())),
    testing_support::case_name);

/// A drafter that is as good as the target ranks under the same mask, so it proposes what will be drawn.
TEST(ConstrainedDrafts, ARightDrafterIsAlwaysRight) {
  TinyTarget target({.name = "draft", .type = "draft", .folder = testing_support::stories_path()});
  GenerateOptions options{.tokens = 48};
  options.constraint = [&] { return std::make_unique<ParityConstraint>(target.model().config().vocab); };
  options.speculators = [&] {
    return one(target.make(), std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 6}));
  };
  const Generated fast = generate(target.model(), target.prompts(), options);
  EXPECT_GT(static_cast<double>(fast.total.accepted_tokens),
            0.9 * static_cast<double>(fast.total.drafted_tokens));
}

}  // namespace
}  // namespace augur
