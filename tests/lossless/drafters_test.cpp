// The promise with every registered drafter, on tiny models: as a chain and as a tree, coupled and not,
// greedy and sampled, alone and in a batch, the tokens are those of plain decoding. Heads are untrained and
// propose nonsense. A drafter that is registered is tested; one that needs a head, with its folders in
// tests/golden/heads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/drafter_cases.h"
#include "support/generation.h"

namespace augur {
namespace {

using testing_support::DrafterCase;
using testing_support::generate;
using testing_support::Generated;
using testing_support::GenerateOptions;
using testing_support::one;
using testing_support::tiny_drafter_cases;
using testing_support::TinyTarget;

struct NamedSampling {
  const char* name;
  SamplingOptions params;
};

std::vector<NamedSampling> samplings() {
  return {
      {"greedy", {}},
      {"greedy with penalties and bias",
       {.repetition_penalty = 1.2f, .frequency_penalty = 0.1f, .logit_bias = {{7, 1.0f}, {11, -INFINITY}}}},
      {"temperature 0.8, filters",
       {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.01f, .seed = 7}},
      {"temperature 1.3 with penalties and bias",
       {.temperature = 1.3f,
        .repetition_penalty = 1.1f,
        .presence_penalty = 0.2f,
        .frequency_penalty = 0.1f,
        .penalty_window = -1,
        .logit_bias = {{7, 1.0f}, {11, -INFINITY}},
        .seed = 11}}};
}

std::unique_ptr<TreePolicy> policy(bool tree) {
  if (tree) return std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 5, 20});
  // Deeper than PositionNoise keeps at first.
  return std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 20});
}

class LosslessDrafters : public testing::TestWithParam<DrafterCase> {};

TEST_P(LosslessDrafters, TokensAreThoseOfPlainDecoding) {
  TinyTarget target(GetParam());
  for (const NamedSampling& sampling : samplings()) {
    const Generated plain =
        generate(target.model(), target.prompts(), {.sampling = sampling.params, .tokens = 40});
    for (const bool coupling : {true, false}) {
      for (const bool tree : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", sampling.name, coupling ? "coupled" : "uncoupled",
                                 tree ? "trees, 3 at once" : "chains"));
        GenerateOptions options{.sampling = sampling.params, .tokens = 40};
        options.parallel = tree ? 3 : 1;
        options.coupling = coupling;
        options.speculators = [&] { return one(target.make(), policy(tree)); };
        const Generated fast = generate(target.model(), target.prompts(), options);
        ASSERT_EQ(fast.tokens, plain.tokens);
        EXPECT_EQ(fast.total.drafted_tokens > 0, !GetParam().needs_constraint());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, LosslessDrafters, testing::ValuesIn(tiny_drafter_cases()),
                         testing_support::case_name);

TEST(LosslessRegistry, HasFilesForEveryDrafter) {
  const std::vector<DrafterCase> cases = tiny_drafter_cases();
  for (const DrafterType& type : drafter_types()) {
    EXPECT_TRUE(std::ranges::any_of(cases, [&](const DrafterCase& c) { return c.type == type.name; }))
        << type.name << " needs a head: expected one in tests/golden/heads that src/draft/detect.cpp knows";
  }
}

}  // namespace
}  // namespace augur
