// What auto decides depends on measured times, which no two runs share; what is written does not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/generation.h"
#include "support/policy_plan.h"
#include "support/stories_source.h"

namespace augur {
namespace {

using testing_support::cheap_drafts;
using testing_support::generate;
using testing_support::Generated;
using testing_support::GenerateOptions;
using testing_support::Stories;
using testing_support::TemporaryFolder;

Checkpoint disturbed(const std::filesystem::path& folder) {
  testing_support::write_disturbed_stories(folder, 0.15f);
  return Checkpoint::open(folder);
}

class Auto : public testing::Test {
 protected:
  std::unique_ptr<DrafterModel> load(const char* type) {
    return find_drafter_type(type).load(testing_support::stories_source(stories_, &head_));
  }

  /// One or several drafters, by live costs and where everything seems to pay. Whether a single run drafts is
  /// for the clock to decide.
  void expect_lossless(const std::vector<const char*>& types) {
    std::vector<std::unique_ptr<DrafterModel>> drafters;
    for (const char* type : types) drafters.push_back(load(type));
    std::int64_t accepted = 0;
    const SamplingOptions samplings[] = {
        {},
        {.temperature = 0.8f, .top_p = 0.95f, .seed = 7},
        {.temperature = 1.5f, .repetition_penalty = 1.1f, .presence_penalty = 0.2f, .seed = 11}};
    for (const SamplingOptions& sampling : samplings) {
      const Generated plain = generate(*stories_.model, prompts_, {.sampling = sampling, .tokens = 80});
      for (const bool cheap : {false, true}) {
        for (const std::size_t parallel : {std::size_t{1}, std::size_t{3}}) {
          SCOPED_TRACE(fmt::format("{} first, temperature {}, {} costs, {} at once", types.front(),
                                   sampling.temperature, cheap ? "cheap" : "live", parallel));
          const auto policy = load_policy(testing_support::policy_plan("auto"));
          GenerateOptions options{.sampling = sampling, .tokens = 80, .parallel = parallel};
          options.policy = policy.get();
          if (cheap) options.costs = cheap_drafts;
          options.speculators = [&] {
            std::vector<Speculator> speculators;
            for (const auto& d : drafters) speculators.push_back({d->make({.context = 512}), nullptr});
            return speculators;
          };
          const Generated fast = generate(*stories_.model, prompts_, options);
          ASSERT_EQ(fast.tokens, plain.tokens);
          accepted += fast.total.accepted_tokens;
        }
      }
    }
    EXPECT_GT(accepted, 0);
  }

  Stories stories_;
  TemporaryFolder folder_;
  Checkpoint head_ = disturbed(folder_.path());
  std::vector<std::vector<TokenId>> prompts_ = {
      stories_.prompt("Once upon a time"), stories_.prompt("Lily and Tom went to the park. Tom saw a big"),
      stories_.prompt("One day,"), stories_.prompt("The end. The end. The end.")};
};

TEST_F(Auto, LookUps) {
  expect_lossless({"ngram"});
  expect_lossless({"suffix"});
}

TEST_F(Auto, DraftModel) {
  expect_lossless({"draft"});
}

TEST_F(Auto, EarlyExit) {
  expect_lossless({"layerskip"});
}

TEST_F(Auto, SeveralDrafters) {
  expect_lossless({"ngram", "draft"});
  expect_lossless({"suffix", "ngram", "layerskip"});
}

/// Near the end of the context there is room for few nodes, then for none.
TEST_F(Auto, FillsTheContext) {
  const auto draft = load("draft");
  const auto policy = load_policy(testing_support::policy_plan("auto"));
  const auto run = [&](bool speculate) {
    SequenceOptions options{.context = 64, .tree_slots = 3};
    if (speculate) {
      options.speculation.drafters.push_back({draft->make({.context = 128}), nullptr});
      options.speculation.steer_by(*policy);
    }
    Sequence sequence(*stories_.model, prompts_[0], std::move(options));
    Decoder decoder(*stories_.model);
    cheap_drafts(decoder.costs());
    Sequence* const batch[] = {&sequence};
    while (!sequence.finished()) decoder.step(batch);
    if (sequence.failure()) std::rethrow_exception(sequence.failure());
    return std::vector<TokenId>(sequence.tokens().begin(), sequence.tokens().end());
  };
  const std::vector<TokenId> plain = run(false);
  EXPECT_EQ(plain.size(), 64u);
  EXPECT_EQ(run(true), plain);
}

}  // namespace
}  // namespace augur
