// The paper's theorems, on random laws, and the figures of a real run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "lab/vocabulary/acceptance_theory.h"
#include "lab/vocabulary/head_bench.h"
#include "support/stories.h"
#include "support/vocabulary_parts.h"

namespace augur {
namespace {

std::vector<float> random_law(std::mt19937& random, std::size_t n, float spread) {
  std::normal_distribution<float> normal;
  std::vector<float> law(n);
  for (float& v : law) v = std::exp(spread * normal(random));
  const float sum = std::accumulate(law.begin(), law.end(), 0.0f);
  for (float& v : law) v /= sum;
  return law;
}

TEST(Overlap, IsBoundedAsTheoremFiveOneSays) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::vector<float> p = random_law(random, 100, 2.0f);
    std::vector<TokenId> shortlist(100);
    std::iota(shortlist.begin(), shortlist.end(), 0);
    std::shuffle(shortlist.begin(), shortlist.end(), random);
    shortlist.resize(1 + random() % 99);
    const std::vector<float> q = random_law(random, shortlist.size(), 2.0f);
    const Overlap o = overlap_of(p, shortlist, q);
    EXPECT_GE(o.overlap, o.bound - 1e-6);
    EXPECT_GE(o.overlap, o.covered * (1 - o.tv_within) - 1e-6);  // what its proof shows on the way
    EXPECT_LE(o.overlap, o.covered + 1e-6);
    EXPECT_GE(o.best, o.covered - 1e-6);
    // 1 - TV over the whole vocabulary, the drafter giving nothing outside.
    double tv = 0;
    std::vector<float> whole(100);
    for (std::size_t i = 0; i < shortlist.size(); ++i) whole[static_cast<std::size_t>(shortlist[i])] = q[i];
    for (std::size_t x = 0; x < 100; ++x) tv += std::abs(static_cast<double>(p[x]) - whole[x]) / 2;
    EXPECT_NEAR(o.overlap, 1 - tv, 1e-5);
  }
}

TEST(Overlap, KnowsTheLimits) {
  const std::vector<float> p{0.5f, 0.25f, 0.25f, 0.0f};
  const std::vector<TokenId> all{0, 1, 2, 3};
  const Overlap same = overlap_of(p, all, p);
  EXPECT_DOUBLE_EQ(same.overlap, 1.0);
  EXPECT_DOUBLE_EQ(same.bound, 1.0);
  const Overlap nothing = overlap_of(p, std::vector<TokenId>{3}, std::vector<float>{1.0f});
  EXPECT_EQ(nothing.overlap, 0.0);
  EXPECT_EQ(nothing.covered, 0.0);
  EXPECT_EQ(nothing.best, 0.5);
  EXPECT_DOUBLE_EQ(expected_length(std::vector<double>{0.5, 0.5, 0.5}), 0.875);
}

/// What a round reaches: the places where a draft is made, of which the last has no draft behind it.
struct Reached {
  std::int64_t rounds = 0;
  std::int64_t accepted = 0;
  std::int64_t contexts = 0;
};

/// Of the same texts once more, counted from what the decoder says of its rounds, without looking at a head.
Reached count_again(VocabularyBench& bench, std::span<const std::vector<TokenId>> prompts,
                    const TheoryOptions& options) {
  Reached reached;
  const VocabularyChoice full;
  const std::unique_ptr<DrafterModel> drafter = bench.load(full);
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    VocabularyBench::Run how{.verification = Verification::Rejection, .max_tokens = options.max_tokens};
    how.sampling.temperature = 1.0f;
    how.sampling.seed = options.seed + p;
    how.tree = {.top_k = 1, .levels = options.levels, .size = options.levels + 1};
    std::vector<std::int64_t> places;  // of the newest token of every context
    how.on_step = [&](const Sequence&, const StepTrace& trace) {
      const auto accepted = std::ssize(trace.path) - 1;
      ++reached.rounds;
      reached.accepted += accepted;
      for (std::int64_t step = 0; step <= std::min<std::int64_t>(accepted, trace.drafted - 1); ++step) {
        places.push_back(trace.context + step);
      }
    };
    const VocabularyBench::Answers answer = bench.run(drafter.get(), prompts.subspan(p, 1), how);
    const auto length = std::ssize(prompts[p]) + std::ssize(answer.tokens[0]);
    // The last round may have gone beyond the end of the text.
    reached.contexts +=
        std::count_if(places.begin(), places.end(), [=](auto place) { return place < length; });
  }
  return reached;
}

/// Variance of the number accepted in a round: E[L^2] is the sum of (2i - 1) P(L >= i).
double length_variance(const std::vector<double>& overlaps) {
  double mean = 0;
  double squares = 0;
  double reached = 1;
  for (std::size_t i = 0; i < overlaps.size(); ++i) {
    reached *= overlaps[i];
    mean += reached;
    squares += static_cast<double>(2 * i + 1) * reached;
  }
  return squares - mean * mean;
}

TEST(Theory, AgreesWithWhatIsAccepted) {
  testing_support::TemporaryFolder folder;
  testing_support::write_disturbed_stories(folder.path(), 0.15f);
  VocabularyBench bench({.model = testing_support::stories_path().string(),
                         .draft = folder.path().string(),
                         .type = "draft",
                         .threads = 2});
  std::vector<std::vector<TokenId>> prompts;
  for (const char* text : {"Once upon a time", "One day, Tom", "The cat and the", "Lily saw a big"}) {
    prompts.push_back(bench.tokenizer().encode(text));
    prompts.back().insert(prompts.back().begin(), *bench.tokenizer().bos);
  }
  const VocabularyChoice full;
  const VocabularyChoice half(
      {.file = "list", .tokens = by_frequency(testing_support::some_frequencies(512))}, 256, false);
  const VocabularyChoice routed(
      testing_support::some_clusters(512, 12, RouterInput::State, bench.target().config().hidden));
  const NamedVocabulary named[] = {{"full", &full}, {"half", &half}, {"routed", &routed}};
  const TheoryOptions options{.levels = 4, .max_tokens = 100};
  const TheoryResult result = measure_theory(bench, prompts, named, options);
  ASSERT_EQ(result.figures.size(), 3u);
  const TheoryFigures& whole = result.figures[0];
  const Reached reached = count_again(bench, prompts, options);
  EXPECT_EQ(whole.contexts, reached.contexts);
  EXPECT_GT(whole.contexts, 200);
  EXPECT_DOUBLE_EQ(result.measured_length,
                   static_cast<double>(reached.accepted) / static_cast<double>(reached.rounds));
  EXPECT_NEAR(whole.mean.covered, 1.0, 1e-4);
  EXPECT_EQ(whole.tokens, 512.0);
  EXPECT_EQ(whole.by_step.size(), 4u);
  // Theorem 5.3: the expected length is the sum over i of the product of the first i overlaps, and that is
  // what is accepted on average, chains being cut by the end of a text only. What was measured is a mean over
  // rounds of a length whose law the overlaps give: it is off by its standard error, which three of bound.
  const auto rounds = static_cast<double>(reached.rounds);
  EXPECT_GT(rounds, 100);
  EXPECT_NEAR(whole.expected_length, result.measured_length,
              3 * std::sqrt(length_variance(whole.by_step) / rounds));
  for (const TheoryFigures& f : result.figures) {
    EXPECT_EQ(f.contexts, whole.contexts);
    EXPECT_GE(f.mean.overlap, f.mean.bound - 1e-6);  // equal, but for rounding, where nothing is routed
    EXPECT_LE(f.mean.overlap, whole.mean.overlap + 0.05);
    EXPECT_GE(f.mean.best, f.mean.covered);
  }
  EXPECT_LT(result.figures[1].mean.covered, 0.95);
  // The best three of twelve clusters, which is the least that is routed to, have a quarter of what there is.
  EXPECT_GE(result.figures[2].best_clusters, 0.25);
  EXPECT_LE(result.figures[2].best_clusters, 1.0 + 1e-4);
  EXPECT_EQ(result.figures[1].best_clusters, 0.0) << "a list has no clusters";
}

TEST(HeadBench, ComputesWhatIsAskedFor) {
  Backend backend(2);
  const auto rows = run_head_bench(backend, {.entries = 4096,
                                             .width = 64,
                                             .size = 1024,
                                             .clusters = 64,
                                             .router_hidden = 16,
                                             .beams = {1, 3},
                                             .repeats = 2});
  ASSERT_EQ(rows.size(), 6u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].beams, i < 3 ? 1 : 3);
    EXPECT_GT(rows[i].ms, 0.0);
    const std::int64_t columns = rows[i].columns;
    EXPECT_TRUE(i % 3 == 0 ? columns == 4096 : i % 3 == 1 ? columns == 1024 : columns >= 1024) << columns;
  }
}

}  // namespace
}  // namespace augur
