// Rejection sampling keeps the law of plain decoding: chi-square tests of what a whole decoder writes,
// against the law that the target's own distributions multiply up to.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "support/generation.h"
#include "support/policy_plan.h"
#include "support/ticking_clock.h"
#include "vocab/token_order.h"
#include "vocab/vocabulary_choice.h"

namespace augur {
namespace {

using testing_support::one;
using testing_support::Stories;
using testing_support::TemporaryFolder;

using Text = std::vector<TokenId>;

constexpr int kTokens = 3;
/// Few tokens each, so that every text is seen often.
SamplingOptions few(std::uint64_t seed) {
  SamplingOptions params;
  params.temperature = 1.2f;
  params.top_k = 4;
  params.seed = seed;
  return params;
}

/// Probability of every continuation of `text` by kTokens tokens.
void add_law(Stories& stories, const Text& text, std::size_t end, double probability,
             std::map<Text, double>& law) {
  if (text.size() == end) {
    law[{text.end() - kTokens, text.end()}] += probability;
    return;
  }
  Sampler sampler(few(0), stories.model->config().vocab);
  SparseDistribution next;
  sampler.processed(testing_support::plain_log_probs(*stories.model, text), text, next);
  for (std::size_t i = 0; i < next.tokens.size(); ++i) {
    Text longer = text;
    longer.push_back(next.tokens[i]);
    add_law(stories, longer, end, probability * next.probs[i], law);
  }
}

/// Upper tail of chi-square, by the approximation of Wilson and Hilferty.
double tail(double chi_square, double degrees) {
  const double a = 2.0 / (9.0 * degrees);
  const double z = (std::cbrt(chi_square / degrees) - (1.0 - a)) / std::sqrt(a);
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

/// Probability of counts at least as far from the law as these; rare texts count together.
double p_value(const std::map<Text, double>& law, const std::map<Text, int>& counts, int runs) {
  double chi_square = 0.0;
  double rare = 0.0;
  double rare_found = 0.0;
  int cells = 0;
  const auto add = [&](double expected, double found) {
    chi_square += (found - expected) * (found - expected) / expected;
    ++cells;
  };
  for (const auto& [text, p] : law) {
    const auto at = counts.find(text);
    const double found = at == counts.end() ? 0.0 : at->second;
    if (p * runs < 8.0) {
      rare += p * runs;
      rare_found += found;
    } else {
      add(p * runs, found);
    }
  }
  if (rare > 0.0) add(rare, rare_found);
  return tail(chi_square, cells - 1);
}

TEST(Rejection, KeepsTheLawOfPlainDecoding) {
  Stories stories(select_isa(), 1);
  TemporaryFolder folder;
  testing_support::write_disturbed_stories(folder.path(), 0.12f);
  const Checkpoint head = Checkpoint::open(folder.path());
  // Beside a whole draft model: one that knows half of the tokens, and the target's own first layers.
  std::vector<std::int64_t> frequencies;
  for (int id = 0; id < 512; ++id) frequencies.push_back(id % 2 == 0 ? 10 : 1);
  write_token_order(folder.path() / "order", frequencies, {});
  const VocabularyChoice half(VocabularySpec::parse("frspec:" + (folder.path() / "order").string() + ":256"),
                              stories.model->fingerprint(), {});
  const auto load = [&](const char* type, const Checkpoint* weights, const VocabularyChoice* vocabulary) {
    return find_drafter_type(type).load({.backend = stories.backend,
                                         .target = *stories.model,
                                         .tokenizer = *stories.tokenizer,
                                         .target_path = "stories260k",
                                         .head = weights,
                                         .context = 128,
                                         .vocabulary = vocabulary});
  };
  const auto whole = load("draft", &head, nullptr);
  const auto reduced = load("draft", &head, &half);
  const auto early_exit = load("layerskip", nullptr, nullptr);
  const Text prompt = stories.prompt("One day, a");
  std::map<Text, double> law;
  add_law(stories, prompt, prompt.size() + kTokens, 1.0, law);

  // Its shapes follow from what earlier texts taught it about drawn candidates, and from the clock, which
  // counts: which texts are drawn must not depend on what else the machine does.
  const testing_support::TickingClock clock;
  const auto automatic = load_policy(testing_support::policy_plan("auto"));
  enum class Shape { Chain, Tree, Auto };
  const auto run = [&](const DrafterModel& drafters, Shape shape, Verification rule, std::int64_t& accepted,
                       int runs) {
    std::map<Text, int> counts;
    for (int seed = 0; seed < runs; ++seed) {
      SequenceOptions options{.sampling = few(static_cast<std::uint64_t>(seed)),
                              .max_tokens = kTokens,
                              .context = 64,
                              .verification = rule,
                              .clock = &clock};
      std::unique_ptr<TreePolicy> policy;
      if (shape == Shape::Tree) {
        policy = std::make_unique<Eagle2Policy>(Eagle2Policy::Options{3, 2, 10});
      } else if (shape == Shape::Chain) {
        policy = std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 2});
      }
      options.speculation.drafters =
          one(drafters.make({.exit_layer = &drafters == early_exit.get() ? 4 : 0, .context = 128}),
              std::move(policy));
      if (shape == Shape::Auto) options.speculation.steer_by(*automatic);
      Sequence sequence(*stories.model, prompt, std::move(options));
      Decoder decoder(*stories.model, {.clock = &clock});
      testing_support::cheap_drafts(decoder.costs());
      Sequence* const batch[] = {&sequence};
      while (!sequence.finished()) decoder.step(batch);
      accepted += sequence.statistics().accepted_tokens;
      ++counts[{sequence.generated().begin(), sequence.generated().end()}];
    }
    for (const auto& [text, count] : counts) EXPECT_TRUE(law.contains(text)) << "an impossible text";
    return counts;
  };

  constexpr int kRuns = 4000;
  for (const Shape shape : {Shape::Chain, Shape::Tree, Shape::Auto}) {
    std::int64_t accepted = 0;
    const auto counts = run(*whole, shape, Verification::Rejection, accepted, kRuns);
    EXPECT_GT(p_value(law, counts, kRuns), 1e-3) << "shape " << static_cast<int>(shape);
    // Drafts were accepted often, and rejected often; auto's trees hold most of the four candidates.
    EXPECT_GT(accepted, kRuns / 3);
    EXPECT_LT(accepted, 2 * kRuns - kRuns / (shape == Shape::Auto ? 8 : 3));

    // The test would notice a law that is a little off.
    std::map<Text, double> off = law;
    double total = 0.0;
    for (auto& [text, p] : off) total += p = std::pow(p, 0.85);
    for (auto& [text, p] : off) p /= total;
    EXPECT_LT(p_value(off, counts, kRuns), 1e-3);
  }
  for (const DrafterModel* drafters : {reduced.get(), early_exit.get()}) {
    std::int64_t accepted = 0;
    const auto counts = run(*drafters, Shape::Tree, Verification::Rejection, accepted, kRuns);
    EXPECT_GT(p_value(law, counts, kRuns), 1e-3) << (drafters == reduced.get() ? "reduced" : "early exit");
    EXPECT_GT(accepted, kRuns / 8);
    EXPECT_LT(accepted, 2 * kRuns - kRuns / 8);
  }
}

}  // namespace
}  // namespace augur
