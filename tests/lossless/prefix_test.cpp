#include <gtest/gtest.h>

#include <optional>

#include "decode/decoder.h"
#include "decode/prefix_cache.h"
#include "support/drafter_cases.h"
#include "support/generation.h"

namespace augur {
namespace {

using testing_support::DrafterCase;
using testing_support::one;
using testing_support::tiny_drafter_cases;
using testing_support::TinyTarget;

struct Written {
  std::vector<TokenId> tokens;
  std::int64_t cached_tokens = 0;
  SpeculationStatistics statistics;
};

/// Texts that begin with what was computed of others are those that are computed anew, and are drafted as
/// well.
class LosslessPrefixes : public testing::TestWithParam<DrafterCase> {
 protected:
  std::unique_ptr<Sequence> sequence(const std::vector<TokenId>& prompt, double temperature) {
    SequenceOptions options;
    options.sampling.temperature = static_cast<float>(temperature);
    options.sampling.seed = 5;
    options.max_tokens = 16;
    if (speculative_) {
      options.speculation.drafters =
          one(tiny_.make(), std::make_unique<Eagle2Policy>(Eagle2Policy::Options{}));
    }
    return std::make_unique<Sequence>(tiny_.model(), prompt, std::move(options));
  }
  /// `kept`: null for anew. `suspend_at`: step before which the sequence gives back its memory.
  Written write(const std::vector<TokenId>& prompt, double temperature, PrefixCache* kept,
                int suspend_at = -1) {
    Decoder decoder(tiny_.model(), {.prefill_rows = 2 * kKvPageSlots});
    decoder.reuse_prefixes(kept);
    const auto s = sequence(prompt, temperature);
    Sequence* const batch[] = {s.get()};
    for (int step = 0; !s->finished(); ++step) {
      if (step == suspend_at) decoder.suspend(*s);
      decoder.step(batch);
    }
    if (s->failure()) std::rethrow_exception(s->failure());
    decoder.retire(*s);
    return {.tokens = {s->generated().begin(), s->generated().end()},
            .cached_tokens = s->cached_tokens(),
            .statistics = s->statistics()};
  }
  /// Of earlier outputs these drafters learn, whatever the cache does.
  bool learns() { return tiny_.make()->traits().learns_across_sequences; }

  TinyTarget tiny_{GetParam()};
  bool speculative_ = true;
};

std::vector<TokenId> joined(std::vector<TokenId> a, std::span<const TokenId> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_P(LosslessPrefixes, TextsThatGoOn) {
  for (const double temperature : {0.0, 0.9}) {
    PrefixCache kept(std::int64_t{1} << 30);
    for (const std::size_t prompt : {0u, 4u}) {
      const std::vector<TokenId>& first = tiny_.prompts()[prompt];
      std::vector<TokenId> text = first;
      for (int turn = 0; turn < 3; ++turn) {
        const Written anew = write(text, temperature, nullptr);
        const Written again = write(text, temperature, &kept);
        ASSERT_EQ(again.tokens, anew.tokens) << "turn " << turn << " behind " << first.size();
        if (turn > 0) {
          // All but the last token that had been run, and what the next turn put behind it.
          EXPECT_GE(again.cached_tokens, std::ssize(text) - 9);
        }
        if (!learns()) {
          EXPECT_EQ(again.statistics.calls, anew.statistics.calls);
          EXPECT_EQ(again.statistics.drafted_tokens, anew.statistics.drafted_tokens);
          EXPECT_EQ(again.statistics.accepted_tokens, anew.statistics.accepted_tokens);
        }
        // The next turn begins with this one's text, or with most of it.
        text =
            joined(text, std::span(anew.tokens).first(anew.tokens.size() - static_cast<std::size_t>(turn)));
        text = joined(text, std::span(tiny_.prompts()[2]).first(4));
      }
    }
  }
}

TEST_P(LosslessPrefixes, TheSamePromptAgain) {
  PrefixCache kept(std::int64_t{1} << 30);
  const std::vector<TokenId>& prompt = tiny_.prompts().back();
  const Written first = write(prompt, 0.0, &kept);
  EXPECT_EQ(first.cached_tokens, 0);
  const Written second = write(prompt, 0.0, &kept);
  EXPECT_EQ(second.tokens, first.tokens);
  const ModelConfig& config = tiny_.model().config();
  if (config.attention_layers() == config.layers) {
    EXPECT_EQ(second.cached_tokens, std::max<std::int64_t>(0, std::ssize(prompt) - 2));
  } else {  // with states, which are kept at the borders of pages
    EXPECT_GE(second.cached_tokens, std::ssize(prompt) - 2 * kKvPageSlots);
  }
  speculative_ = false;
  EXPECT_EQ(write(prompt, 0.0, &kept).tokens, first.tokens);
  speculative_ = true;
  EXPECT_EQ(write(prompt, 0.0, &kept).tokens, first.tokens);
}

TEST_P(LosslessPrefixes, SuspendedTextsGoOnWithTheSameTokens) {
  for (const bool keeping : {false, true}) {
    PrefixCache kept(std::int64_t{1} << 30);
    for (const std::size_t prompt : {1u, 4u}) {
      const Written anew = write(tiny_.prompts()[prompt], 0.9, nullptr);
      for (const int step : {1, 5}) {
        EXPECT_EQ(write(tiny_.prompts()[prompt], 0.9, keeping ? &kept : nullptr, step).tokens, anew.tokens)
            << step;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, LosslessPrefixes, testing::ValuesIn(tiny_drafter_cases()),
                         testing_support::case_name);

/// Of prompts that begin alike, and are read at the same time, the common beginning is computed once.
TEST(SharedPrompts, AreReadOnce) {
  const testing_support::Stories stories;
  std::vector<TokenId> system;
  while (system.size() < 200) {
    const auto more = stories.prompt("Lily and Tom went to the park. Tom saw a big");
    system.insert(system.end(), more.begin(), more.end());
  }
  Decoder decoder(*stories.model);
  PrefixCache kept(std::int64_t{1} << 30);
  decoder.reuse_prefixes(&kept);
  std::vector<std::unique_ptr<Sequence>> sequences;
  std::vector<Sequence*> batch;
  for (TokenId i = 0; i < 4; ++i) {
    SequenceOptions options;
    options.max_tokens = 8;
    const std::vector<TokenId> own = {static_cast<TokenId>(40 + i), 41, 42};
    sequences.push_back(std::make_unique<Sequence>(*stories.model, joined(system, own), std::move(options)));
    batch.push_back(sequences.back().get());
  }
  const auto all_finished = [&] {
    return std::all_of(batch.begin(), batch.end(), [](const Sequence* s) { return s->finished(); });
  };
  while (!all_finished()) decoder.step(batch);
  EXPECT_EQ(batch[0]->cached_tokens(), 0);
  for (std::size_t i = 1; i < batch.size(); ++i) {
    EXPECT_GE(batch[i]->cached_tokens(), std::ssize(system) / kKvPageSlots * kKvPageSlots - 1);
    SequenceOptions options;
    options.max_tokens = 8;
    const std::vector<TokenId> prompt(batch[i]->tokens().begin(), batch[i]->tokens().end() - 8);
    Sequence alone(*stories.model, prompt, std::move(options));
    Decoder plain(*stories.model);
    Sequence* const one_sequence[] = {&alone};
    while (!alone.finished()) plain.step(one_sequence);
    EXPECT_TRUE(std::equal(alone.tokens().begin(), alone.tokens().end(), batch[i]->tokens().begin()));
  }
}

}  // namespace
}  // namespace augur
