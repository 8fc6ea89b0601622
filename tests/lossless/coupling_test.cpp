// Coupled drafting changes how often drafts are accepted, never what is written: every kind of drafter,
// coupled and not, chains and trees, greedy and sampled, one at a time and several.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "draft/detect.h"
#include "support/generation.h"
#include "support/golden_head.h"

namespace augur {
namespace {

using testing_support::generate;
using testing_support::Generated;
using testing_support::GenerateOptions;
using testing_support::GoldenTarget;
using testing_support::one;
using testing_support::Stories;
using testing_support::TemporaryFolder;

struct NamedSampling {
  const char* name;
  SamplingParams params;
};

std::vector<NamedSampling> samplings() {
  return {
      {"greedy", {}},
      {"greedy with penalties and bias",
       {.repetition_penalty = 1.2f, .frequency_penalty = 0.1f, .logit_bias = {{7, 1.0f}, {11, -INFINITY}}}},
      {"temperature 1", {.temperature = 1.0f, .seed = 5}},
      {"temperature 0.8, filters",
       {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.01f, .seed = 7}},
      {"temperature 1.3 with penalties and bias",
       {.temperature = 1.3f,
        .repetition_penalty = 1.1f,
        .presence_penalty = 0.2f,
        .frequency_penalty = 0.1f,
        .repeat_last_n = -1,
        .logit_bias = {{7, 1.0f}, {11, -INFINITY}},
        .seed = 11}}};
}

std::unique_ptr<TreePolicy> policy(bool tree) {
  if (tree) return std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 5, 20});
  // Deeper than PositionNoise keeps at first.
  return std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 20});
}

/// Whether every way to draft writes `plain`'s tokens.
void expect_lossless(Model& model, const std::vector<std::vector<TokenId>>& prompts,
                     const DrafterModel& drafters, std::int64_t tokens) {
  for (const NamedSampling& sampling : samplings()) {
    const Generated plain = generate(model, prompts, {.sampling = sampling.params, .tokens = tokens});
    for (const bool coupling : {true, false}) {
      for (const bool tree : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", sampling.name, coupling ? "coupled" : "uncoupled",
                                 tree ? "tree" : "chain"));
        GenerateOptions options{.sampling = sampling.params, .tokens = tokens};
        options.parallel = tree ? 3 : 1;
        options.coupling = coupling;
        options.speculators = [&] { return one(drafters.make({.context = model.context()}), policy(tree)); };
        const Generated fast = generate(model, prompts, options);
        ASSERT_EQ(fast.tokens, plain.tokens);
        EXPECT_GT(fast.total.drafted_tokens, 0);
      }
    }
  }
}

struct Head {
  const char* folder;
  const char* type;
};

class CoupledHeads : public testing::TestWithParam<Head> {};

TEST_P(CoupledHeads, WriteWhatPlainDecodingWrites) {
  const Checkpoint head = Checkpoint::open(testing_support::golden_head_path(GetParam().folder));
  ASSERT_EQ(detect_drafter_type(head), GetParam().type);
  GoldenTarget target(WeightFormat::BF16);
  std::vector<std::vector<TokenId>> prompts;
  std::mt19937 random(1);
  for (const int length : {1, 9, 30}) {
    prompts.emplace_back();
    for (int i = 0; i < length; ++i) prompts.back().push_back(static_cast<TokenId>(random() % 192));
  }
  expect_lossless(*target.model, prompts, *target.load(GetParam().type, head), 24);
}

INSTANTIATE_TEST_SUITE_P(Heads, CoupledHeads,
                         testing::Values(Head{"eagle", "eagle"}, Head{"eagle3_official", "eagle3"},
                                         Head{"eagle3_speculators", "eagle3"}, Head{"peagle", "eagle3"},
                                         Head{"mtp_deepseek", "mtp"}, Head{"medusa", "medusa"},
                                         Head{"hydra", "hydra"}, Head{"hydra_plus_plus", "hydra"},
                                         Head{"layerskip", "layerskip"}),
                         [](const auto& test) { return std::string(test.param.folder); });

class CoupledModel : public testing::Test {
 protected:
  CoupledModel() { testing_support::write_disturbed_stories(folder_.path(), 0.15f); }

  std::unique_ptr<DrafterModel> load(const std::filesystem::path& path) {
    head_ = std::make_unique<Checkpoint>(Checkpoint::open(path));
    return find_drafter_type("draft").load({.backend = stories_.backend,
                                            .target = *stories_.model,
                                            .tokenizer = *stories_.tokenizer,
                                            .target_path = "stories260k",
                                            .head = head_.get(),
                                            .context = 512});
  }

  Stories stories_;
  TemporaryFolder folder_;
  std::unique_ptr<Checkpoint> head_;
  std::vector<std::vector<TokenId>> prompts_ = {
      stories_.prompt("Once upon a time"), stories_.prompt("Lily and Tom went to the park. Tom saw a big"),
      stories_.prompt("One day,"), stories_.prompt("The end. The end.")};
};

TEST_F(CoupledModel, WritesWhatPlainDecodingWrites) {
  expect_lossless(*stories_.model, prompts_, *load(folder_.path()), 60);
}

/// The point of it: drafts are accepted more often.
TEST_F(CoupledModel, IsAcceptedMoreOften) {
  const auto accepted = [&](const DrafterModel& drafters, bool tree, bool coupling, float temperature) {
    GenerateOptions options{.sampling = {.temperature = temperature, .seed = 3}, .tokens = 150};
    options.coupling = coupling;
    options.speculators = [&] {
      std::unique_ptr<TreePolicy> shape;
      if (tree) {
        shape = std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 4, 16});
      } else {
        shape = std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 4});
      }
      return one(drafters.make({.context = 512}), std::move(shape));
    };
    return generate(*stories_.model, prompts_, options).total.mean_accepted_length();
  };
  const auto disturbed = load(folder_.path());
  for (const bool tree : {false, true}) {
    const double uncoupled = accepted(*disturbed, tree, false, 1.0f);
    EXPECT_GT(accepted(*disturbed, tree, true, 1.0f), 1.1 * uncoupled) << (tree ? "tree" : "chain");
  }
  // Who drafts with the target itself knows nearly every draw (all of them, were it not for the sharpness
  // that suits lesser drafters): 5 tokens a call are the most there can be.
  const auto same = load(testing_support::stories_path());
  EXPECT_LT(accepted(*same, false, false, 1.0f), 3.5);
  EXPECT_GT(accepted(*same, false, true, 1.0f), 4.0);
  EXPECT_GT(accepted(*same, true, true, 1.0f), 4.5);
}

}  // namespace
}  // namespace augur
