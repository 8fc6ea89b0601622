// The promise with every registered policy, on tiny models: it steers every kind of drafter, and the tokens
// stay those of plain decoding. A policy that is registered is tested; one that reads a part, with the random
// one of tests/support/random_parts.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/drafter_cases.h"
#include "support/generation.h"
#include "support/policy_forms.h"
#include "support/policy_plan.h"
#include "support/random_parts.h"

namespace augur {
namespace {

using testing_support::DrafterCase;
using testing_support::generate;
using testing_support::Generated;
using testing_support::GenerateOptions;
using testing_support::TemporaryFolder;
using testing_support::TinyTarget;

/// Drafters of one branch cannot fill a static tree, which it says.
bool fits(const std::string& policy, const DrafterTraits& drafter) {
  return policy != "static" || !drafter.one_shot;
}

class LosslessPolicies : public testing::TestWithParam<std::string> {};

TEST_P(LosslessPolicies, TokensAreThoseOfPlainDecoding) {
  std::int64_t drafted = 0;
  for (const DrafterCase& c : testing_support::one_of_each_type(testing_support::tiny_drafter_cases())) {
    TinyTarget target(c);
    if (!fits(GetParam(), target.make()->traits())) continue;
    TemporaryFolder parts;
    testing_support::write_random_parts(parts.path(), target.model().config().hidden);
    for (const float temperature : {0.0f, 0.8f}) {
      GenerateOptions options{.sampling = {.temperature = temperature, .seed = 5}, .tokens = 32};
      const Generated plain = generate(target.model(), target.prompts(), options);
      for (const std::string& form : testing_support::policy_forms(GetParam())) {
        SCOPED_TRACE(fmt::format("{}, {}, temperature {}", c.name, form, temperature));
        const auto policy = load_policy(testing_support::policy_plan(form), &target.model(), parts.path());
        options.parallel = 2;
        options.policy = policy.get();
        options.costs = testing_support::cheap_drafts;
        options.speculators = [&] { return testing_support::one(target.make(), nullptr); };
        const Generated fast = generate(target.model(), target.prompts(), options);
        ASSERT_EQ(fast.tokens, plain.tokens);
        drafted += fast.total.drafted_tokens;
        if (!find_policy_type(GetParam()).may_decode_plainly) {
          EXPECT_EQ(fast.total.drafted_tokens > 0, !c.needs_constraint());
        }
      }
    }
  }
  EXPECT_GT(drafted, 0);
}

INSTANTIATE_TEST_SUITE_P(Registered, LosslessPolicies, testing::ValuesIn(testing_support::policy_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace augur
