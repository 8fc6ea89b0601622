#include "decode/timed_sequences.h"

#include <gtest/gtest.h>

#include <random>

#include "draft/registry.h"
#include "model/forward_timer.h"
#include "policy/chain_policy.h"
#include "support/generation.h"
#include "support/golden_models.h"
#include "support/stories_source.h"
#include "support/ticking_clock.h"

namespace augur {
namespace {

using testing_support::one;
using testing_support::Stories;
using testing_support::TickingClock;

OverheadProbe overhead_of(Model& target) {
  return [&target](const Clock& clock) { return time_overhead(target, clock); };
}

DraftProbe drafts_of(Model& target, DrafterModel& drafter) {
  return time_drafts(target, [&](std::int64_t context) {
    return drafter.make({.context = std::min(context, target.context())});
  });
}

constexpr double kBudgetMs = 500;
constexpr double kNoBudgetMs = 0;  ///< as on a machine where the first forward takes all of it

/// By a clock that is read three times a forward, every forward takes two milliseconds.
TEST(CostProbe, TimesTheTarget) {
  Stories stories;
  const TickingClock clock;
  CostModel costs;
  measure_target(*stories.model, overhead_of(*stories.model), costs, kBudgetMs, clock);
  EXPECT_TRUE(costs.measured());
  for (const double rows : CostCurve::kRows) EXPECT_DOUBLE_EQ(costs.verify_curve().at(rows), 2.0) << rows;
  EXPECT_DOUBLE_EQ(costs.verify_ms(1, 500), 2.0) << "a longer text takes no longer";
  EXPECT_DOUBLE_EQ(costs.other_ms(), 3.0)
      << "of the six readings of a step, two are drafting and verification";
  EXPECT_GT(costs.reference_context(), 0.0);
}

TEST(CostProbe, KeepsToItsBudget) {
  Stories stories;
  const auto readings = [&](double budget_ms) {
    const TickingClock clock;
    CostModel costs;
    measure_target(*stories.model, overhead_of(*stories.model), costs, budget_ms, clock);
    return clock.readings();
  };
  const double least = readings(kNoBudgetMs);
  EXPECT_LT(least, 100) << "the most telling row counts, once";
  EXPECT_LT(readings(300), 300 + least);
  EXPECT_GT(readings(300), 2 * least);
}

/// A clock of a busy machine: in bursts whatever is timed takes up to four times as long.
class BusyClock final : public Clock {
 public:
  explicit BusyClock(unsigned seed) : random_(seed) {}
  double now_ms() const override {
    if (left_-- == 0) {
      busy_ = !busy_;
      left_ = std::uniform_int_distribution<int>(10, 90)(random_);
    }
    const double ms = busy_ ? std::uniform_real_distribution<double>(1, 4)(random_) : 1;
    return now_ += ms;
  }

 private:
  mutable std::mt19937 random_;
  mutable double now_ = 0;
  mutable int left_ = 1;
  mutable bool busy_ = false;
};

TEST(CostProbe, ABusyMachineDoesNotBendWhatItCanDo) {
  Stories stories;
  const Checkpoint head = Checkpoint::open(testing_support::stories_path());
  const DrafterSource source = testing_support::stories_source(stories, &head);
  const std::unique_ptr<DrafterModel> model = find_drafter_type("draft").load(source);
  for (unsigned seed = 1; seed <= 8; ++seed) {
    const BusyClock clock(seed);
    CostModel costs;
    measure_target(*stories.model, overhead_of(*stories.model), costs, 2 * kBudgetMs, clock);
    DraftCosts draft;
    measure_drafter(stories.model->context(), drafts_of(*stories.model, *model), draft, 2 * kBudgetMs, clock);
    for (const double rows : CostCurve::kRows) {
      EXPECT_NEAR(draft.levels().at(rows) / 3.0, 1, 0.15) << rows << " nodes, seed " << seed;
      if (rows > 48) continue;  // they are timed once or twice
      EXPECT_NEAR(costs.verify_curve().at(rows) / 2.0, 1, 0.15) << rows << " rows, seed " << seed;
    }
    EXPECT_NEAR(draft.root().at(1) / 3.0, 1, 0.15) << "seed " << seed;
  }
}

/// Time passes by the experts that the model's last forward has woken: 1 and as many for every reading.
class ExpertClock final : public Clock {
 public:
  explicit ExpertClock(const Model& model) : model_(model) {}
  double now_ms() const override { return now_ += 1 + static_cast<double>(model_.woken_experts()); }

 private:
  const Model& model_;
  mutable double now_ = 0;
};

TEST(CostProbe, FindsWhatExpertsTake) {
  Backend backend(2);
  const auto model = Model::load(backend, Checkpoint::open(testing_support::golden_model_path("qwen3_moe")),
                                 {.context = 64});
  const ExpertClock clock(*model);
  ForwardTimer timer(*model, 64, 16, clock);
  const ExpertDemand demand = ExpertDemand::of(model->config());
  ASSERT_FALSE(demand.dense());
  const double of_one_row = demand.layers() * demand.active();
  EXPECT_EQ(timer.time(1).experts, of_one_row);
  EXPECT_EQ(timer.time_siblings(16, true).experts, of_one_row) << "equal rows choose equal experts";
  EXPECT_GT(timer.time_siblings(16, false).experts, of_one_row);
  EXPECT_LE(timer.time(16).experts, demand.layers() * demand.count());

  CostModel costs(demand);
  measure_target(*model, overhead_of(*model), costs, 1e5, clock);
  EXPECT_NEAR(costs.expert_ms(), 2, 1e-9) << "two of three readings come after the forward";
  EXPECT_NEAR(costs.verify_ms(1, costs.reference_context()), 2 + 2 * of_one_row, 1e-9);
  for (const double rows : {2.0, 8.0, 32.0}) {
    EXPECT_NEAR(costs.verify_ms(rows, costs.reference_context()), 2 + 2 * costs.experts().at(rows), 0.5)
        << rows;
  }
}

TEST(CostProbe, TimesDraftersAsTheyAreUsed) {
  Stories stories;
  const Checkpoint head = Checkpoint::open(testing_support::stories_path());
  const DrafterSource source = testing_support::stories_source(stories, &head);
  const TickingClock clock;
  const auto measure = [&](const char* type) {
    const std::unique_ptr<DrafterModel> model = find_drafter_type(type).load(source);
    DraftCosts costs;
    measure_drafter(stories.model->context(), drafts_of(*stories.model, *model), costs, kBudgetMs, clock);
    return costs;
  };
  const DraftCosts draft = measure("draft");
  EXPECT_TRUE(draft.measured());
  EXPECT_TRUE(draft.levels().observed());
  // The probe reads the clock before and after each level, and so does the round between.
  EXPECT_DOUBLE_EQ(draft.level_ms(0, 96), 3.0);
  EXPECT_DOUBLE_EQ(draft.level_ms(1, 4), 3.0);
  const DraftCosts ngram = measure("ngram");
  EXPECT_TRUE(ngram.measured());
  EXPECT_FALSE(ngram.levels().observed());
  EXPECT_DOUBLE_EQ(ngram.level_ms(0, 1), 3.0);
}

TEST(CostProbe, ContextsOfAFewTokensAreNoTrouble) {
  Stories stories;
  const Checkpoint head = Checkpoint::open(testing_support::stories_path());
  for (const std::int64_t context : {1, 2, 3, 4, 7, 8, 9, 20}) {
    SCOPED_TRACE(context);
    const auto target = Model::load(stories.backend, stories.checkpoint, {.context = context});
    CostModel costs;
    const TickingClock clock;
    measure_target(*target, overhead_of(*target), costs, kNoBudgetMs, clock);
    EXPECT_TRUE(costs.measured());
    EXPECT_GE(costs.verify_curve().at(64), 2.0 - 1e-9);
    for (const char* type : {"draft", "ngram"}) {
      const auto model = find_drafter_type(type).load({.backend = stories.backend,
                                                       .target = *target,
                                                       .tokenizer = *stories.tokenizer,
                                                       .target_path = "stories",
                                                       .head = &head,
                                                       .context = context});
      DraftCosts draft;
      measure_drafter(context, drafts_of(*target, *model), draft, kNoBudgetMs, clock);
      EXPECT_EQ(draft.measured(), context >= 8) << type;
    }
  }
}

/// Drafts a chain of two in every other round and notes what it was told.
class EveryOther final : public TreePolicy {
 public:
  explicit EveryOther(std::vector<int>& behind) : behind_(behind) {}
  void begin(const RoundInfo& round) override {
    behind_.push_back(round.behind);
    left_ = round_++ % 2 == 0 ? 2 : 0;
  }
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override {
    out.clear();
    if (left_-- > 0) out.push_back(tree.size() - 1);
  }
  int width() const override { return 1; }
  void prune(DraftTree&) override {}

 private:
  std::vector<int>& behind_;
  int round_ = 0;
  int left_ = 0;
};

TEST(CostProbe, PoliciesKnowHowFarBehindADrafterIs) {
  Stories stories;
  const std::vector<TokenId> prompt = stories.prompt("Once upon a time");
  const Checkpoint head = Checkpoint::open(testing_support::stories_path());
  const auto draft = find_drafter_type("draft").load(testing_support::stories_source(stories, &head));
  std::vector<int> behind;
  std::vector<int> paths;
  SequenceOptions options{
      .max_tokens = 40,
      .speculation = {one(draft->make({.context = 512}), std::make_unique<EveryOther>(behind))}};
  options.on_step = [&](const StepTrace& trace) { paths.push_back(static_cast<int>(trace.path.size())); };
  Sequence sequence(*stories.model, prompt, std::move(options));
  Decoder decoder(*stories.model);
  Sequence* const batch[] = {&sequence};
  while (!sequence.finished()) decoder.step(batch);
  ASSERT_GT(behind.size(), 6u);
  EXPECT_EQ(behind[0], std::ssize(prompt));
  for (std::size_t i = 1; i < behind.size(); ++i) {
    EXPECT_EQ(behind[i], i % 2 == 1 ? paths[i - 1] : paths[i - 1] + paths[i - 2]) << i;
  }
}

}  // namespace
}  // namespace augur
