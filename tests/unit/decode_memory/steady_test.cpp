// Once its buffers have grown, a decoding step allocates nothing: 64 rounds without one allocation.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "draft/ngram_drafter.h"
#include "heap.h"
#include "support/generation.h"
#include "support/golden_head.h"
#include "support/policy_plan.h"
#include "support/random_parts.h"
#include "support/stories_source.h"

namespace augur {
namespace {

using testing_support::GoldenTarget;
using testing_support::one;
using testing_support::Stories;

constexpr int kWarmUp = 64;
constexpr int kRounds = 64;
constexpr int kTries = 6;

/// Allocations of kRounds steps, after others. With `tries`: the fewest of so many stretches of half as many
/// steps, where nobody knows when the largest draft comes, for which buffers grow.
std::int64_t count(Model& model, std::vector<TokenId> prompt, std::vector<Speculator> speculators,
                   const SamplingParams& sampling, Verification rule = Verification::Walk,
                   PolicyModel* policy = nullptr, int tries = 0) {
  SequenceOptions options{.sampling = sampling,
                          .context = model.context(),
                          .speculators = std::move(speculators),
                          .verification = rule};
  if (policy) testing_support::steer(*policy, options);
  Sequence sequence(model, std::move(prompt), std::move(options));
  Decoder decoder(model);
  testing_support::cheap_drafts(decoder.costs());
  Sequence* const batch[] = {&sequence};
  for (int i = 0; i < kWarmUp; ++i) decoder.step(batch);
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  do {
    const std::int64_t before = heap::allocations();
    for (int i = 0; i < (tries > 0 ? kRounds / 2 : kRounds); ++i) decoder.step(batch);
    const std::int64_t after = heap::allocations();
    if (sequence.finished()) break;
    fewest = std::min(fewest, after - before);
  } while (fewest > 0 && --tries > 0);
  EXPECT_LT(fewest, std::numeric_limits<std::int64_t>::max()) << "the text must be long enough";
  return fewest;
}

std::unique_ptr<TreePolicy> chain(int max) {
  return std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = max});
}

std::unique_ptr<TreePolicy> tree() {
  return std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 3, 16});
}

std::vector<SamplingParams> samplings() {
  return {{},
          {.temperature = 1.0f, .seed = 3},
          {.temperature = 0.8f, .top_p = 0.95f, .repetition_penalty = 1.1f, .seed = 1}};
}

class SteadyState : public testing::Test {
 protected:
  std::vector<TokenId> prompt() const { return stories_.prompt("Once upon a time"); }
  Stories stories_;
};

TEST_F(SteadyState, PlainDecodingAllocatesNothing) {
  for (const SamplingParams& s : samplings()) EXPECT_EQ(count(*stories_.model, prompt(), {}, s), 0);
}

TEST_F(SteadyState, DraftModelsAllocateNothing) {
  testing_support::TemporaryFolder folder;
  testing_support::write_disturbed_stories(folder.path(), 0.4f);
  const Checkpoint head = Checkpoint::open(folder.path());
  const auto shared = find_drafter_type("draft").load(testing_support::stories_source(stories_, &head));
  for (const SamplingParams& s : samplings()) {
    EXPECT_EQ(count(*stories_.model, prompt(), one(shared->make({.context = 512}), chain(4)), s), 0);
    EXPECT_EQ(count(*stories_.model, prompt(), one(shared->make({.context = 512}), tree()), s), 0);
    EXPECT_EQ(count(*stories_.model, prompt(), one(shared->make({.context = 512}), tree()), s,
                    Verification::Rejection),
              0);
  }
}

TEST_F(SteadyState, LookUpsAllocateNothing) {
  // Sampled, so that the text does not run into a loop that is drafted whole.
  const SamplingParams sampling{.temperature = 1.0f, .seed = 3};
  EXPECT_EQ(
      count(*stories_.model, prompt(), one(std::make_unique<NgramDrafter>(1, 3, 512), chain(8)), sampling),
      0);
  const auto suffix = find_drafter_type("suffix").load(testing_support::stories_source(stories_));
  EXPECT_EQ(count(*stories_.model, prompt(), one(suffix->make({.context = 512}), chain(8)), sampling,
                  Verification::Walk, nullptr, kTries),
            0);
}

TEST_F(SteadyState, PoliciesAllocateNothing) {
  testing_support::TemporaryFolder folder;
  testing_support::write_disturbed_stories(folder.path(), 0.4f);
  const Checkpoint head = Checkpoint::open(folder.path());
  const auto shared = find_drafter_type("draft").load(testing_support::stories_source(stories_, &head));
  testing_support::write_random_parts(folder.path(), stories_.model->config().hidden);
  // Thresholds that never stop a draft early: how deep it gets must not depend on luck, or a first deep draft
  // after the warm-up grows the buffers, which no steady state forbids.
  for (const char* text :
       {"adaedl:n-max=3,threshold=0,target=0,step=0",
        "adaedl:tree=1,depth=3,topk=2,size=8,threshold=0,target=0,step=0", "svip:n-max=3,threshold=100",
        "dymax:n-max=3,threshold=0", "djoint:tree=1,depth=3,topk=2,size=8,threshold=0",
        "acceptance:topk=3,k-max=3,h=1,model=none", "acceptance:topk=3,k-max=3,h=1",
        "c2t:depth=4,children=3,beta=0", "hetero:topk=3,size=16"}) {
    for (const SamplingParams& s : samplings()) {
      const auto policy =
          load_policy(testing_support::policy_plan(text), stories_.model.get(), folder.path());
      EXPECT_EQ(count(*stories_.model, prompt(), one(shared->make({.context = 512}), nullptr), s,
                      Verification::Walk, policy.get()),
                0)
          << text << ", temperature " << s.temperature;
    }
  }
}

TEST_F(SteadyState, AutoAllocatesNothing) {
  const auto draft = find_drafter_type("layerskip").load(testing_support::stories_source(stories_));
  for (const SamplingParams& s : samplings()) {
    const auto policy = load_policy(testing_support::policy_plan("auto"));
    std::vector<Speculator> both;
    both.push_back({std::make_unique<NgramDrafter>(1, 3, 512), nullptr});
    both.push_back({draft->make({.context = 512}), nullptr});
    EXPECT_EQ(count(*stories_.model, prompt(), std::move(both), s, Verification::Walk, policy.get(), kTries),
              0);
  }
}

class SteadyHeads : public testing::TestWithParam<const char*> {};

TEST_P(SteadyHeads, AllocateNothing) {
  const std::string folder = GetParam();
  const std::string type = folder.substr(0, folder.find('_'));
  const Checkpoint head = Checkpoint::open(testing_support::golden_head_path(folder));
  GoldenTarget target(WeightFormat::BF16);
  const auto shared = target.load(type, head);
  for (const SamplingParams& s : samplings()) {
    for (const bool with_tree : {false, true}) {
      EXPECT_EQ(count(*target.model, {1, 2, 3},
                      one(shared->make({.context = target.model->context()}), with_tree ? tree() : chain(4)),
                      s, Verification::Walk, nullptr, kTries),
                0)
          << (with_tree ? "tree" : "chain") << ", temperature " << s.temperature;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, SteadyHeads,
                         testing::Values("eagle", "eagle3_official", "mtp_deepseek", "medusa", "hydra",
                                         "layerskip"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace augur
