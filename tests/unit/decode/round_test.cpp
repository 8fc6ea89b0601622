#include "decode/round.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "policy/chain_policy.h"
#include "policy/eagle2_policy.h"
#include "sampling/sampler.h"

namespace augur {
namespace {

/// Passes when it is told to.
class HandClock final : public Clock {
 public:
  double now_ms() const override { return now; }
  double now = 0;
};

/// Adds as many children as it is asked for, and takes so long for a level.
class TimedDrafter final : public Drafter {
 public:
  /// `group`: what those that draft together share.
  TimedDrafter(std::string_view name, const int& group, HandClock& clock, double ms, std::int64_t waiting)
      : name_(name), group_(group), clock_(clock), ms_(ms), waiting_(waiting) {}
  std::string_view name() const override { return name_; }
  void reset() override {}
  void sync(const AcceptedRows&) override {}
  std::int64_t root_rows() const override { return std::max<std::int64_t>(1, waiting_); }
  bool run_chunk() override {
    if (waiting_ <= kTextChunk) return false;
    waiting_ -= kTextChunk;
    clock_.now += kChunkMs;
    return true;
  }
  static constexpr double kChunkMs = 20;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
              const ExpandOptions& options) override {
    for (const std::int32_t node : frontier) {
      for (int i = 0; i < options.top_k; ++i) tree.add(node, 10 + i, -1.0f, options.proposer);
    }
  }
  void expand_many(std::span<const ExpandJob> jobs) override {
    clock_.now += ms_;
    for (const ExpandJob& job : jobs) static_cast<TimedDrafter*>(job.drafter)->waiting_ = 0;
    Drafter::expand_many(jobs);
  }
  const void* group() const override { return &group_; }

 private:
  std::string_view name_;
  const int& group_;
  HandClock& clock_;
  double ms_;
  std::int64_t waiting_;
};

void expect_same(const DraftCosts& found, const DraftCosts& expected) {
  for (const double rows : CostCurve::kRows) {
    EXPECT_EQ(found.root().at(rows), expected.root().at(rows)) << rows << " rows";
    EXPECT_EQ(found.levels().at(rows), expected.levels().at(rows)) << rows << " rows";
  }
}

TEST(Round, EachDrafterIsChargedWithItsOwnRows) {
  HandClock clock;
  CostModel costs;
  Round round(costs, clock);
  Sampler sampler({}, 512);
  const std::vector<TokenId> text = {1, 2, 3};
  const int quick = 0;
  const int slow = 0;
  // Two sequences, a chain of two by one drafter and a tree by the other in each.
  std::vector<SequenceDraft> drafts(2);
  std::vector<SequenceDraft*> batch;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    SequenceDraft& draft = drafts[i];
    draft.sampler = &sampler;
    draft.vocab = 512;
    draft.tokens = text;
    draft.info = {.context = 2, .room = 64, .max_depth = 8};
    draft.speculators.push_back({std::make_unique<TimedDrafter>("quick", quick, clock, 0.25, 4),
                                 std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 2})});
    draft.speculators.push_back({std::make_unique<TimedDrafter>("slow", slow, clock, 8.0, 7 + i),
                                 std::make_unique<Eagle2Policy>(Eagle2Policy::Options{3, 2, 64})});
    batch.push_back(&draft);
  }
  round.draft(batch);
  for (const SequenceDraft* draft : batch) {
    EXPECT_EQ(draft->failure, nullptr);
    EXPECT_EQ(draft->drafted, 2 + (3 + 9));
  }

  CostModel expected;
  DraftCosts& of_quick = expected.drafter("quick");
  of_quick.observe(0, 4 + 4, 0.25);
  of_quick.observe(1, 1 + 1, 0.25);
  DraftCosts& of_slow = expected.drafter("slow");
  of_slow.observe(0, 7 + 8, 8.0);
  of_slow.observe(1, 3 + 3, 8.0);
  expect_same(costs.drafter("quick"), of_quick);
  expect_same(costs.drafter("slow"), of_slow);
}

TEST(Round, CatchingUpWithALongTextIsTimedByTheChunk) {
  HandClock clock;
  CostModel costs;
  Round round(costs, clock);
  Sampler sampler({}, 512);
  const std::vector<TokenId> text = {1, 2, 3};
  const int group = 0;
  SequenceDraft draft;
  draft.sampler = &sampler;
  draft.vocab = 512;
  draft.tokens = text;
  draft.info = {.context = 2, .room = 64, .max_depth = 8};
  draft.speculators.push_back(
      {std::make_unique<TimedDrafter>("drafter", group, clock, 0.25, 2 * kTextChunk + 5),
       std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 1})});
  SequenceDraft* const batch[] = {&draft};
  round.draft(batch);
  EXPECT_EQ(draft.drafted, 1);
  CostModel expected;
  DraftCosts& of_drafter = expected.drafter("drafter");
  of_drafter.observe(0, kTextChunk, TimedDrafter::kChunkMs);
  of_drafter.observe(0, kTextChunk, TimedDrafter::kChunkMs);
  of_drafter.observe(0, 5, 0.25);
  expect_same(costs.drafter("drafter"), of_drafter);
}

}  // namespace
}  // namespace augur
