// The promise for texts that have to be something: what may come next depends on the path, and the tokens are
// those of plain decoding under the same constraint, whatever drafts and however the draft is checked.
#include <fmt/format.h>
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

class LosslessConstraint : public testing::TestWithParam<DrafterCase> {
 protected:
  /// Sampling, and a constraint on the target's texts.
  static GenerateOptions constrained(TinyTarget& target, float temperature) {
    GenerateOptions options{.sampling = {.temperature = temperature, .seed = 3}, .tokens = 32};
    const std::int64_t vocab = target.model().config().vocab;
    options.constraint = [vocab] { return std::make_unique<ParityConstraint>(vocab); };
    return options;
  }
  static void expect_allowed(const Generated& generated) {
    for (const std::vector<TokenId>& text : generated.tokens) EXPECT_TRUE(ParityConstraint::allows(text));
  }
};

TEST_P(LosslessConstraint, TokensAreThoseOfPlainDecoding) {
  TinyTarget target(GetParam());
  for (const float temperature : {0.0f, 0.9f}) {
    GenerateOptions options = constrained(target, temperature);
    const Generated plain = generate(target.model(), target.prompts(), options);
    expect_allowed(plain);
    options.parallel = 3;
    options.speculators = [&] {
      return one(target.make(), std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 5, 20}));
    };
    for (const bool coupling : {true, false}) {
      SCOPED_TRACE(fmt::format("temperature {}, {}", temperature, coupling ? "coupled" : "uncoupled"));
      options.coupling = coupling;
      EXPECT_EQ(generate(target.model(), target.prompts(), options).tokens, plain.tokens);
    }
  }
}

TEST_P(LosslessConstraint, RejectionKeepsToIt) {
  TinyTarget target(GetParam());
  for (const float temperature : {0.0f, 0.9f}) {
    GenerateOptions options = constrained(target, temperature);
    const Generated plain = generate(target.model(), target.prompts(), options);
    options.verification = Verification::Rejection;
    options.speculators = [&] {
      return one(target.make(), std::make_unique<Eagle2Policy>(Eagle2Policy::Options{3, 4, 12}));
    };
    const Generated fast = generate(target.model(), target.prompts(), options);
    expect_allowed(fast);
    if (temperature == 0.0f) {
      EXPECT_EQ(fast.tokens, plain.tokens);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Registered, LosslessConstraint,
    testing::ValuesIn(testing_support::one_of_each_type(testing_support::tiny_drafter_cases())),
    testing_support::case_name);

/// A drafter that is as good as the target, and ranks under the mask: nothing it proposes is refused.
TEST(ConstrainedDrafts, ARightDrafterIsAlwaysRight) {
  TinyTarget target({.name = "draft", .type = "draft", .folder = testing_support::stories_path()});
  for (const float temperature : {0.0f, 0.9f}) {
    GenerateOptions options{.sampling = {.temperature = temperature, .seed = 3}, .tokens = 48};
    options.constraint = [&] { return std::make_unique<ParityConstraint>(target.model().config().vocab); };
    options.speculators = [&] {
      return one(target.make(), std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 6}));
    };
    const Generated fast = generate(target.model(), target.prompts(), options);
    EXPECT_GT(static_cast<double>(fast.total.accepted_tokens),
              0.9 * static_cast<double>(fast.total.drafted_tokens));
  }
}

}  // namespace
}  // namespace augur
