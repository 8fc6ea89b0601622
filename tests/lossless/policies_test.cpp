// The promise with every policy there is: shapes of drafts change, the tokens stay those of plain decoding.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "draft/detect.h"
#include "policy/registry.h"
#include "support/generation.h"
#include "support/golden_head.h"
#include "support/policy_plan.h"
#include "support/random_parts.h"

namespace augur {
namespace {

using testing_support::generate;
using testing_support::Generated;
using testing_support::golden_head_path;
using testing_support::GoldenTarget;
using testing_support::RandomParts;

constexpr std::int64_t kHidden = 64;  // of the golden heads

class LosslessPolicies : public testing::TestWithParam<const char*> {};

TEST_P(LosslessPolicies, TokensAreThoseOfPlainDecoding) {
  const RandomParts parts("lossless", kHidden);
  const std::string policies[] = {
      "adaedl:n-max=5,threshold=0.1,gamma=0.1",
      "adaedl:tree=1,threshold=0.1,gamma=0.1",
      "svip:n-max=5,threshold=0.85",
      "dymax:n-max=5,threshold=0.02",
      "djoint:n-max=5,threshold=0.001",
      "c2t:depth=4,children=3,beta=0.5,model=" + parts.c2t.path(),
      "c2t:chain=1,depth=4,beta=0.45,model=" + parts.c2t.path(),
      "hetero:topk=3,size=16,model=" + parts.hetero.path(),
      "acceptance:topk=3,size=16,k-max=5",
      "acceptance:topk=3,size=16,k-max=5,h=0.6,model=" + parts.acceptance.path(),
      "acceptance:chain=1,k-max=5,h=0.5,model=" + parts.acceptance.path(),
  };
  const Checkpoint head = Checkpoint::open(golden_head_path(GetParam()));
  GoldenTarget target(WeightFormat::BF16);
  const auto drafters = target.load(detect_drafter_type(head), head);
  std::vector<std::vector<TokenId>> prompts;
  std::mt19937 random(1);
  for (const int length : {1, 9, 30}) {
    prompts.emplace_back();
    for (int i = 0; i < length; ++i) prompts.back().push_back(static_cast<TokenId>(random() % 192));
  }
  for (const float temperature : {0.0f, 1.0f}) {
    const SamplingParams sampling{.temperature = temperature, .seed = 5};
    const Generated plain = generate(*target.model, prompts, {.sampling = sampling, .tokens = 32});
    for (const std::string& text : policies) {
      SCOPED_TRACE(fmt::format("{}, temperature {}", text, temperature));
      const auto policy = load_policy(testing_support::policy_plan(text), target.model.get());
      const Generated fast =
          generate(*target.model, prompts,
                   {.sampling = sampling, .tokens = 32, .parallel = 2, .speculators = [&] {
                      std::vector<Speculator> speculators(1);
                      speculators[0].drafter = drafters->make({.context = target.model->context()});
                      speculators[0].policy = policy->make({GetParam(), speculators[0].drafter->traits()});
                      return speculators;
                    }});
      ASSERT_EQ(fast.tokens, plain.tokens);
      EXPECT_GT(fast.total.drafted_tokens, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, LosslessPolicies,
                         testing::Values("eagle3_official", "mtp_fastmtp", "medusa", "dflash"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace augur
