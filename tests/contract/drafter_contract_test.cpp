// Every registered drafter keeps what src/draft/drafter.h promises of it, whatever it is asked for: as a
// chain and as a tree, coupled, uncoupled and drawn, greedy and sampled. A drafter that is registered is
// tested.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/checked_drafter.h"
#include "support/drafter_cases.h"
#include "support/generation.h"
#include "support/parity_constraint.h"

namespace augur {
namespace {

using testing_support::DrafterCase;
using testing_support::generate;
using testing_support::Generated;
using testing_support::GenerateOptions;
using testing_support::TinyTarget;

std::unique_ptr<TreePolicy> policy(bool tree) {
  if (tree) return std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 4, 24});
  return std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 6});
}

/// How the target's tokens are drawn, and the drafter's candidates found.
struct Drawing {
  const char* name;
  float temperature;
  bool coupling;
  Verification verification;
};

constexpr Drawing kDrawings[] = {{"greedy, coupled", 0.0f, true, Verification::Walk},
                                 {"greedy, uncoupled", 0.0f, false, Verification::Walk},
                                 {"sampled, coupled", 0.8f, true, Verification::Walk},
                                 {"sampled, uncoupled", 0.8f, false, Verification::Walk},
                                 {"sampled, drawn", 0.8f, false, Verification::Rejection}};

class DrafterContract : public testing::TestWithParam<DrafterCase> {};

TEST_P(DrafterContract, AddsWhatItIsAskedFor) {
  TinyTarget target(GetParam());
  const std::int32_t vocab = target.model().config().vocab;
  const std::vector<std::vector<TokenId>> prompts = {target.prompts()[1], target.prompts()[3]};
  for (const Drawing& drawing : kDrawings) {
    for (const bool tree : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, {}", drawing.name, tree ? "trees" : "chains"));
      GenerateOptions options{.sampling = {.temperature = drawing.temperature, .seed = 7}, .tokens = 16};
      options.parallel = 2;
      options.coupling = drawing.coupling;
      options.verification = drawing.verification;
      options.speculators = [&] {
        return testing_support::one(std::make_unique<testing_support::CheckedDrafter>(target.make(), vocab),
                                    policy(tree));
      };
      if (GetParam().needs_constraint()) {
        options.constraint = [&] { return std::make_unique<testing_support::ParityConstraint>(vocab); };
      }
      EXPECT_GT(generate(target.model(), prompts, options).total.drafted_tokens, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, DrafterContract,
                         testing::ValuesIn(testing_support::tiny_drafter_cases()),
                         testing_support::case_name);

}  // namespace
}  // namespace augur
