// Once its buffers have grown, a decoding step allocates nothing: 64 rounds without one allocation.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "draft/ngram_drafter.h"
#include "heap.h"
#include "support/drafter_cases.h"
#include "support/generation.h"
#include "support/policy_forms.h"
#include "support/policy_plan.h"
#include "support/random_parts.h"
#include "support/stories_source.h"

namespace augur {
namespace {

using testing_support::DrafterCase;
using testing_support::one;
using testing_support::Stories;
using testing_support::TinyTarget;

constexpr int kWarmUp = 64;
constexpr int kRounds = 64;
constexpr int kTries = 6;

/// Allocations of kRounds steps, after others. With `tries`: the fewest of so many stretches of half as many
/// steps, where nobody knows when the largest draft comes, for which buffers grow.
std::int64_t count(Model& model, std::vector<TokenId> prompt, std::vector<Speculator> speculators,
                   const SamplingOptions& sampling, Verification rule = Verification::Walk,
                   PolicyModel* policy = nullptr, int tries = 0) {
  SequenceOptions options{.sampling = sampling,
                          .context = model.context(),
                          .speculation = {std::move(speculators)},
                          .verification = rule};
  if (policy) options.speculation.steer_by(*policy);
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

std::vector<SamplingOptions> samplings() {
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
  for (const SamplingOptions& s : samplings()) EXPECT_EQ(count(*stories_.model, prompt(), {}, s), 0);
}

TEST_F(SteadyState, DraftModelsAllocateNothing) {
  testing_support::TemporaryFolder folder;
  testing_support::write_disturbed_stories(folder.path(), 0.4f);
  const Checkpoint head = Checkpoint::open(folder.path());
  const auto shared = find_drafter_type("draft").load(testing_support::stories_source(stories_, &head));
  for (const SamplingOptions& s : samplings()) {
    EXPECT_EQ(count(*stories_.model, prompt(), one(shared->make({.context = 512}), chain(4)), s), 0);
    EXPECT_EQ(count(*stories_.model, prompt(), one(shared->make({.context = 512}), tree()), s), 0);
    EXPECT_EQ(count(*stories_.model, prompt(), one(shared->make({.context = 512}), tree()), s,
                    Verification::Rejection),
              0);
  }
}

/// How a policy drafts steadily, NAME[:SETTINGS]: with thresholds that never stop a draft early, as how deep
/// it gets must not depend on luck, or a first deep draft after the warm-up grows the buffers, which no
/// steady state forbids.
std::vector<std::string> steady_forms(const std::string& name) {
  static const std::multimap<std::string_view, const char*> kSettings = {
      {"adaedl", "n-max=3,threshold=0,target=0,step=0"},
      {"adaedl", "tree=1,depth=3,topk=2,size=8,threshold=0,target=0,step=0"},
      {"svip", "n-max=3,threshold=100"},
      {"dymax", "n-max=3,threshold=0"},
      {"djoint", "tree=1,depth=3,topk=2,size=8,threshold=0"},
      {"acceptance", "topk=3,k-max=3,h=1,model=none"},
      {"acceptance", "topk=3,k-max=3,h=1"},
      {"c2t", "depth=4,children=3,beta=0"},
  };
  std::vector<std::string> forms;
  const auto [begin, end] = kSettings.equal_range(name);
  for (auto it = begin; it != end; ++it) forms.push_back(name + ":" + it->second);
  return forms.empty() ? testing_support::policy_forms(name) : forms;
}

class SteadyPolicies : public testing::TestWithParam<std::string> {};

TEST_P(SteadyPolicies, AllocateNothing) {
  Stories stories;
  testing_support::TemporaryFolder folder;
  testing_support::write_disturbed_stories(folder.path(), 0.4f);
  const Checkpoint head = Checkpoint::open(folder.path());
  const auto shared = find_drafter_type("draft").load(testing_support::stories_source(stories, &head));
  testing_support::write_random_parts(folder.path(), stories.model->config().hidden);
  // What a clock decides may draft more than before at any time.
  const int tries = find_policy_type(GetParam()).goes_by_times ? kTries : 0;
  for (const std::string& text : steady_forms(GetParam())) {
    for (const SamplingOptions& s : samplings()) {
      const auto policy = load_policy(testing_support::policy_plan(text), stories.model.get(), folder.path());
      EXPECT_EQ(
          count(*stories.model, stories.prompt("Once upon a time"),
                one(shared->make({.context = 512}), nullptr), s, Verification::Walk, policy.get(), tries),
          0)
          << text << ", temperature " << s.temperature;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, SteadyPolicies, testing::ValuesIn(testing_support::policy_names()),
                         [](const auto& test) { return test.param; });

TEST_F(SteadyState, AutoAllocatesNothing) {
  const auto draft = find_drafter_type("layerskip").load(testing_support::stories_source(stories_));
  for (const SamplingOptions& s : samplings()) {
    const auto policy = load_policy(testing_support::policy_plan("auto"));
    std::vector<Speculator> both;
    both.push_back({std::make_unique<NgramDrafter>(1, 3, 512), nullptr});
    both.push_back({draft->make({.context = 512}), nullptr});
    EXPECT_EQ(count(*stories_.model, prompt(), std::move(both), s, Verification::Walk, policy.get(), kTries),
              0);
  }
}

class SteadyDrafters : public testing::TestWithParam<DrafterCase> {};

TEST_P(SteadyDrafters, AllocateNothing) {
  TinyTarget target(GetParam());
  // Greedily the text runs into a loop, of which look-ups draft more and more.
  const bool looks_up = target.make()->traits().learns;
  for (const SamplingOptions& s : samplings()) {
    if (looks_up && greedy(s)) continue;
    for (const bool with_tree : {false, true}) {
      EXPECT_EQ(count(target.model(), target.prompts()[1], one(target.make(), with_tree ? tree() : chain(4)),
                      s, Verification::Walk, nullptr, kTries),
                0)
          << (with_tree ? "tree" : "chain") << ", temperature " << s.temperature;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Registered, SteadyDrafters,
    testing::ValuesIn(testing_support::one_of_each_type(testing_support::tiny_drafter_cases())),
    testing_support::case_name);

}  // namespace
}  // namespace augur
