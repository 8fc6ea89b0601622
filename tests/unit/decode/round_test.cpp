#include "decode/round.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policy/auto/choose.h"
#include "policy/chain_policy.h"
#include "policy/eagle2_policy.h"
#include "sampling/sampler.h"
#include "support/hand_clock.h"
#include "support/parity_constraint.h"

namespace augur {
namespace {

using testing_support::HandClock;

/// Adds as many children as it is asked for, and takes so long for a level.
class TimedDrafter final : public Drafter {
 public:
  /// `group`: what those that draft together share.
  TimedDrafter(std::string_view name, const int& group, HandClock& clock, double ms, std::int64_t waiting = 0)
      : name_(name), group_(group), clock_(clock), ms_(ms), waiting_(waiting) {}
  std::string_view name() const override { return name_; }
  void reset() override {}
  void sync(const AcceptedRows&) override {}
  std::int64_t root_rows() const override { return std::max<std::int64_t>(1, waiting_); }
  bool run_chunk() override {
    if (waiting_ <= kSequenceChunk) return false;
    waiting_ -= kSequenceChunk;
    clock_.pass(kChunkMs);
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
    clock_.pass(ms_);
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

/// Proposes up to six nodes, 10 to 15, below every node of the frontier, whatever the text may be; in the
/// second half of a one-shot drafter's each is below the one three before it.
class RashDrafter final : public Drafter {
 public:
  explicit RashDrafter(bool one_shot) : one_shot_(one_shot) {}
  std::string_view name() const override { return "rash"; }
  DrafterTraits traits() const override {
    return {.one_shot = one_shot_, .branching = true, .has_probabilities = !one_shot_};
  }
  void reset() override {}
  void sync(const AcceptedRows&) override {}
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
              const ExpandOptions& options) override {
    int left = options.max_nodes;
    const int most = std::min(6, options.top_k);
    for (const std::int32_t node : frontier) {
      const std::int32_t first = tree.size();
      for (int i = 0; i < most && left > 0; ++i, --left) {
        const std::int32_t parent = one_shot_ && i >= 3 ? first + i - 3 : node;
        tree.add(parent, 10 + i, -0.1f * static_cast<float>(1 + i), options.proposer);
      }
    }
  }

 private:
  bool one_shot_;
};

/// `auto`, whose every look at a tree is looked at.
class WatchedController final : public RoundController {
 public:
  using Look = std::function<void(const DraftTree&)>;
  WatchedController(Chooser& chooser, Look look) : chooser_(chooser), look_(std::move(look)) {}
  void begin(std::span<RoundMember* const> members, int other_rows) override {
    seen_.clear();
    chooser_.begin(members, other_rows);
  }
  void plan(int level, std::span<RoundMember* const> growing) override {
    look(*growing.front()->tree);
    chooser_.plan(level, growing);
  }
  void drafted(std::span<RoundMember* const> members) override {
    look(*members.front()->tree);
    chooser_.drafted(members);
  }
  void cut(std::span<RoundMember* const> members) override { chooser_.cut(members); }
  void observe(std::span<RoundMember* const> members) override { chooser_.observe(members); }

 private:
  void look(const DraftTree& tree) {
    look_(tree);
    ASSERT_LE(std::ssize(seen_), tree.size()) << "nodes are there until the draft is pruned";
    for (std::size_t node = 0; node < seen_.size(); ++node) {
      EXPECT_EQ(tree.tokens()[node], seen_[node]) << "under the number that they had";
    }
    seen_.assign(tree.tokens().begin(), tree.tokens().end());
  }

  Chooser& chooser_;
  Look look_;
  std::vector<TokenId> seen_;
};

/// A chain that takes a millisecond of the round's clock to judge each of its nodes.
class JudgingPolicy final : public TreePolicy {
 public:
  JudgingPolicy(int levels, HandClock& clock) : chain_({.max = levels}), round_clock_(clock) {}
  void begin(const RoundInfo& round) override {
    clock_ = round.clock;
    classify_ms_ = 0;
    chain_.begin(round);
  }
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override {
    chain_.next_frontier(tree, out);
  }
  int width() const override { return chain_.width(); }
  bool branches() const override { return chain_.branches(); }
  void prune(DraftTree& tree) override {
    EXPECT_EQ(clock_, &round_clock_);
    const Stopwatch watch(*clock_);
    round_clock_.pass(tree.size() - 1);
    classify_ms_ += watch.ms();
  }
  double classify_ms() const override { return classify_ms_; }

 private:
  ChainPolicy chain_;
  HandClock& round_clock_;
  const Clock* clock_ = nullptr;
  double classify_ms_ = 0;
};

/// Expands the root, foretells what it is given to foretell, and writes down what it is told.
class TellingPolicy final : public TreePolicy {
 public:
  TellingPolicy(StepForecast forecast, std::string& calls) : forecast_(forecast), calls_(calls) {}
  void begin(const RoundInfo&) override {
    calls_ += "b";
    begun_ = false;
  }
  void next_frontier(const DraftTree&, std::vector<std::int32_t>& out) override {
    out.assign(std::exchange(begun_, true) ? 0 : 1, DraftTree::kRoot);
  }
  int width() const override { return 6; }
  void prune(DraftTree&) override { calls_ += "p"; }
  StepForecast forecast() const override { return forecast_; }
  void observe(const StepTrace&) override { calls_ += "o"; }
  void abandoned() override { calls_ += "a"; }

 private:
  StepForecast forecast_;
  std::string& calls_;
  bool begun_ = false;
};

/// Has every drafter draft one level, and tells what it was asked.
class TellingController final : public RoundController {
 public:
  struct Asked {
    int level;
    std::vector<std::size_t> drafters;  ///< of the members
  };
  void begin(std::span<RoundMember* const>, int others) override {
    asked.clear();
    other_rows = others;
  }
  void plan(int level, std::span<RoundMember* const> growing) override {
    Asked& now = asked.emplace_back(Asked{level, {}});
    for (RoundMember* member : growing) {
      now.drafters.push_back(member->drafter);
      if (level == 0) member->frontier.assign(1, DraftTree::kRoot);
      member->width = 1;
    }
  }
  void cut(std::span<RoundMember* const>) override {}
  void observe(std::span<RoundMember* const>) override {}

  std::vector<Asked> asked;
  int other_rows = -1;
};

/// Of the text 1, 2, 3, with room for a deep tree.
void begin(SequenceDraft& draft, Sampler& sampler) {
  static const std::vector<TokenId> text = {1, 2, 3};
  draft.sampler = &sampler;
  draft.vocab = 512;
  draft.tokens = text;
  draft.info = {.context = 2, .room = 64, .max_depth = 8};
}

/// What came of a tree, in 10 ms.
StepTrace observed(const DraftTree& tree, std::span<const std::int32_t> path, TokenId next) {
  StepTrace trace;
  trace.tree = &tree;
  trace.path = path;
  trace.next = next;
  trace.verify_ms = 10;
  return trace;
}

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
  const int quick = 0;
  const int slow = 0;
  // Two sequences, a chain of two by one drafter and a tree by the other in each.
  std::vector<SequenceDraft> drafts(2);
  std::vector<SequenceDraft*> batch;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    SequenceDraft& draft = drafts[i];
    begin(draft, sampler);
    draft.speculation.drafters.push_back({std::make_unique<TimedDrafter>("quick", quick, clock, 0.25, 4),
                                          std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 2})});
    draft.speculation.drafters.push_back({std::make_unique<TimedDrafter>("slow", slow, clock, 8.0, 7 + i),
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

class TellingRound : public testing::Test {
 protected:
  void add(StepForecast forecast) {
    draft_.speculation.drafters.push_back(
        {std::make_unique<RashDrafter>(false), std::make_unique<TellingPolicy>(forecast, calls_)});
  }
  void draft() {
    begin(draft_, sampler_);
    draft_.info.room = room_;
    SequenceDraft* const batch[] = {&draft_};
    round_.draft(batch);
    ASSERT_EQ(draft_.failure, nullptr);
  }
  void observe() {
    const std::int32_t path[] = {DraftTree::kRoot};
    const StepTrace trace = observed(draft_.tree, path, 1);
    SequenceDraft* const batch[] = {&draft_};
    round_.observe(batch, {&trace, 1});
  }

  CostModel costs_;
  Round round_{costs_};
  Sampler sampler_{{}, 512};
  SequenceDraft draft_;
  std::string calls_;
  int room_ = 64;
};

TEST_F(TellingRound, APolicyIsToldOfRoundsThatAreNotObserved) {
  add({});
  draft();
  observe();
  draft();
  draft();
  draft();
  observe();
  EXPECT_EQ(calls_,
            "bpo"
            "bp"
            "abp"
            "abp"
            "o");
  room_ = 0;
  calls_.clear();
  draft();
  observe();
  EXPECT_EQ(calls_, "bo") << "nothing was drafted";
}

TEST_F(TellingRound, TheFirstPolicyThatSaysSomethingIsHeard) {
  add({});
  add({.tokens = 2.5, .ms = 4, .choice = "six"});
  add({.tokens = 9, .choice = "others"});
  draft();
  EXPECT_EQ(draft_.forecast.choice, "six");
  EXPECT_EQ(draft_.forecast.tokens, 2.5);
  EXPECT_EQ(draft_.forecast.mode, RoundMode::Fixed);
  draft_.speculation.drafters.resize(1);
  draft();
  EXPECT_FALSE(draft_.forecast.says_something());
}

TEST_F(TellingRound, NodesBeyondTheRoomAreThoseThatWereAddedLast) {
  add({});
  room_ = 4;
  draft();
  ASSERT_EQ(draft_.tree.size(), 5);
  for (std::int32_t node = 1; node < 5; ++node) {
    EXPECT_EQ(draft_.tree.tokens()[static_cast<std::size_t>(node)], 9 + node);
  }
}

TEST(Round, AddsUpWhatItsPoliciesTakeToJudge) {
  HandClock clock;
  CostModel costs;
  Round round(costs, clock);
  Sampler sampler({}, 512);
  const int group = 0;
  SequenceDraft draft;
  begin(draft, sampler);
  for (const int levels : {2, 3}) {
    draft.speculation.drafters.push_back({std::make_unique<TimedDrafter>("some", group, clock, 8.0),
                                          std::make_unique<JudgingPolicy>(levels, clock)});
  }
  SequenceDraft* const batch[] = {&draft};
  for (int rounds = 0; rounds < 2; ++rounds) {
    round.draft(batch);
    ASSERT_EQ(draft.failure, nullptr);
    EXPECT_EQ(draft.classify_ms, 2.0 + 3.0) << "of this round alone";
  }
}

/// What a text may not be is dropped as soon as it is proposed: policies and controllers see the nodes that
/// there are, and each under one number.
TEST(Round, NobodySeesANodeThatTheTextMayNotHave) {
  using testing_support::ParityConstraint;
  for (const bool one_shot : {false, true}) {
    SCOPED_TRACE(one_shot ? "one shot" : "level by level");
    HandClock clock;
    CostModel costs;
    for (const double rows : CostCurve::kRows) costs.verify_curve().set(rows, 10 + 1e-3 * rows);
    costs.other_curve().set(1, 1e-3);
    Round round(costs, clock);
    Sampler sampler({}, 512);
    MaskTree masks(std::make_unique<ParityConstraint>(512), 512);
    Chooser chooser;
    auto known = std::make_unique<AutoSequence>();
    known->drafters.emplace_back(chooser.belief("rash"));
    SequenceDraft draft;
    begin(draft, sampler);
    draft.masks = &masks;
    int looks = 0;
    const auto look = [&](const DraftTree& tree) {
      ++looks;
      for (std::int32_t node = 1; node < tree.size(); ++node) {
        EXPECT_NE(masks.at(tree, node), MaskTree::kIllegal) << "node " << node;
      }
    };
    draft.speculation.drafters.push_back({std::make_unique<RashDrafter>(one_shot), nullptr});
    draft.speculation.steering.controller = std::make_shared<WatchedController>(chooser, look);
    draft.speculation.steering.sequence = std::move(known);
    SequenceDraft* const batch[] = {&draft};
    std::int32_t drafted = 0;
    for (int i = 0; i < 20; ++i) {
      round.draft(batch);
      ASSERT_EQ(draft.failure, nullptr);
      look(draft.tree);
      drafted += draft.tree.size() - 1;
      const std::int32_t path[] = {DraftTree::kRoot};
      const StepTrace trace = observed(draft.tree, path, 10 + i % 3);
      round.observe(batch, {&trace, 1});
    }
    EXPECT_GT(drafted, 0);
    EXPECT_GT(looks, 40);
  }
}

/// A sequence that has a drafter more than another drafts with the others together, and one controller is
/// told which of its drafters is meant.
TEST(Round, DraftersOfOneTurnDraftTogether) {
  HandClock clock;
  CostModel costs;
  Round round(costs, clock);
  Sampler sampler({}, 512);
  const int groups[3] = {};
  const char* const names[] = {"first", "second", "third"};
  const auto controller = std::make_shared<TellingController>();
  std::vector<SequenceDraft> drafts(2);
  std::vector<SequenceDraft*> batch;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    SequenceDraft& draft = drafts[i];
    begin(draft, sampler);
    draft.speculation.steering.controller = controller;
    for (int turn = 0; turn < 3; ++turn) {
      if (turn == 1 && i == 1) continue;
      draft.speculation.drafters.push_back(
          {std::make_unique<TimedDrafter>(names[turn], groups[turn], clock, 1.0), nullptr});
      draft.speculation.drafters.back().turn = turn;
    }
    batch.push_back(&draft);
  }
  round.draft(batch);
  EXPECT_EQ(clock.now_ms(), 3.0) << "one level of each";
  ASSERT_EQ(controller->asked.size(), 6u);
  const std::vector<std::size_t> expected[] = {{0, 0}, {1}, {2, 1}};
  for (std::size_t i = 0; i < controller->asked.size(); ++i) {
    EXPECT_EQ(controller->asked[i].level, static_cast<int>(i % 2));
    EXPECT_EQ(controller->asked[i].drafters, expected[i / 2]);
  }
  EXPECT_EQ(drafts[0].drafted, 3);
  EXPECT_EQ(drafts[1].drafted, 2);
}

/// What sequences verify that a controller does not decide about is foreseen as what they verified last.
TEST(Round, ControllersAreToldWhatOthersVerifiedLast) {
  HandClock clock;
  CostModel costs;
  Round round(costs, clock);
  Sampler sampler({}, 512);
  const int group = 0;
  const auto controller = std::make_shared<TellingController>();
  std::vector<SequenceDraft> drafts(3);
  std::vector<SequenceDraft*> batch;
  for (SequenceDraft& draft : drafts) {
    begin(draft, sampler);
    batch.push_back(&draft);
  }
  drafts[0].speculation.steering.controller = controller;
  drafts[0].speculation.drafters.push_back(
      {std::make_unique<TimedDrafter>("own", group, clock, 1.0), nullptr});
  drafts[1].speculation.drafters.push_back({std::make_unique<TimedDrafter>("other", group, clock, 1.0),
                                            std::make_unique<JudgingPolicy>(3, clock)});
  round.draft(batch);  // the third decodes plainly
  EXPECT_EQ(controller->other_rows, 1 + 1) << "no more than their roots is known";
  round.draft(batch);
  EXPECT_EQ(controller->other_rows, 4 + 1);
}

TEST(Round, CatchingUpWithALongTextIsTimedByTheChunk) {
  HandClock clock;
  CostModel costs;
  Round round(costs, clock);
  Sampler sampler({}, 512);
  const int group = 0;
  SequenceDraft draft;
  begin(draft, sampler);
  draft.speculation.drafters.push_back(
      {std::make_unique<TimedDrafter>("drafter", group, clock, 0.25, 2 * kSequenceChunk + 5),
       std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 1})});
  SequenceDraft* const batch[] = {&draft};
  round.draft(batch);
  EXPECT_EQ(draft.drafted, 1);
  CostModel expected;
  DraftCosts& of_drafter = expected.drafter("drafter");
  of_drafter.observe(0, kSequenceChunk, TimedDrafter::kChunkMs);
  of_drafter.observe(0, kSequenceChunk, TimedDrafter::kChunkMs);
  of_drafter.observe(0, 5, 0.25);
  expect_same(costs.drafter("drafter"), of_drafter);
}

}  // namespace
}  // namespace augur
