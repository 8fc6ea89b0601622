#include "policy/auto/auto_policy.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace augur {
namespace {

constexpr std::size_t kUsual = 512;
constexpr int kMostLevels = 24;
constexpr int kBranchTokens = 48;   ///< of a one-shot drafter's branch
constexpr int kBranchNodes = 64;    ///< of a one-shot drafter's tree
constexpr int kFewestChildren = 4;  ///< so that lower ranks are known about
constexpr int kWidths[] = {1, 2, 3, 4, 6, 8, 12, 16};

}  // namespace

AutoPolicy::AutoPolicy(AutoController& controller, std::size_t seat, std::span<NodeScore* const> scores)
    : controller_(controller), seat_(seat), scores_(controller.belief(seat).scores, scores) {
  acceptance_.reserve(kUsual);
  chance_.reserve(kUsual);
  newest_.reserve(kUsual);
  fresh_.reserve(kUsual);
  hypothetical_.reserve(2 * kUsual);
}

void AutoPolicy::begin(const RoundInfo& round) {
  round_ = round;
  levels_ = std::min({round.max_depth, round.drafter.max_depth, kMostLevels});
  level_ = 0;
  level_begin_ = 0;
  acceptance_.assign(1, 1.0f);
  chance_.assign(1, 1.0f);
  scores_.begin_round();
  expanded_.clear();
  wanted_ = levels_ > 0 && round.room > 0 && controller_.wants(seat_, round);
}

double AutoPolicy::level_ms(int level, int width) const {
  // The sequences of a batch draft a level together.
  const int sequences = controller_.sequences();
  const int rows = level == 0 ? round_.behind : width;
  return round_.draft_costs->level_ms(level, rows * sequences) / sequences;
}

void AutoPolicy::next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) {
  out.clear();
  if (!wanted_) return;
  if (level_ == 0) {
    out.push_back(DraftTree::kRoot);
    drawn_ = tree.law() == ProposalLaw::Sampled;
    if (round_.drafter.one_shot) {
      width_ = round_.drafter.branching ? std::min(kBranchNodes, round_.room)
                                        : std::min({kBranchTokens, round_.room, round_.max_depth});
    } else {
      width_ = children_worth(1.0, 1);
    }
  } else {
    absorb(tree);
    if (round_.drafter.one_shot || level_ == levels_) return;
    choose_frontier(out);
    if (out.empty()) return;
    width_ = children_worth(static_cast<double>(chance_[static_cast<std::size_t>(out.front())]), level_ + 1);
  }
  controller_.spend(level_ms(level_, static_cast<int>(out.size())));
  if (!scores_.empty()) expanded_.assign(out.begin(), out.end());
  level_begin_ = tree.size();
  ++level_;
}

/// Weighs the nodes of the last frontier again: their expansion may have told more of them.
void AutoPolicy::reconsider(const DraftTree& tree) {
  for (const std::int32_t v : expanded_) {
    if (v == DraftTree::kRoot) continue;
    const auto node = static_cast<std::size_t>(v);
    acceptance_[node] = static_cast<float>(scores_.weigh_again(tree, v));
    chance_[node] = chance_[static_cast<std::size_t>(tree.parents()[node])] * acceptance_[node];
  }
  expanded_.clear();
}

/// Weighs the nodes that were added since the last call.
void AutoPolicy::absorb(const DraftTree& tree) {
  DrafterBelief& belief = controller_.belief(seat_);
  if (!scores_.empty() && !drawn_) reconsider(tree);
  fresh_.clear();
  newest_.clear();
  double root_children = 0;
  std::int32_t last_parent = -1;
  int rank = 0;
  for (auto v = std::ssize(acceptance_); v < tree.size(); ++v) {
    const auto node = static_cast<std::size_t>(v);
    const std::int32_t parent = tree.parents()[node];
    const int depth = tree.depths()[node];
    rank = parent == last_parent ? rank + 1 : 0;
    last_parent = parent;
    double a = 0;
    if (drawn_) {
      // By place alone: what is drafted and verified must not depend on which token was drawn.
      a = std::min(belief.drawn_profile.at(depth, rank), Calibrator::kMost);
    } else {
      a = belief.calibrator.acceptance(static_cast<double>(tree.log_probs()[node]), depth);
      a = scores_.weigh(tree, static_cast<std::int32_t>(v), a);
      belief.profile.observe(depth, rank, a);
    }
    acceptance_.push_back(static_cast<float>(a));
    chance_.push_back(chance_[static_cast<std::size_t>(parent)] * static_cast<float>(a));
    newest_.push_back(static_cast<std::int32_t>(v));
    if (static_cast<double>(chance_.back()) >= controller_.plan().threshold())
      fresh_.push_back(chance_.back());
    if (parent == DraftTree::kRoot) root_children += a;
  }
  if (root_children > 0) controller_.cover_root(std::min(root_children, Calibrator::kMost));
  controller_.add_candidates(fresh_);
}

int AutoPolicy::children_worth(double chance, int depth) const {
  const DrafterBelief& belief = controller_.belief(seat_);
  const RankProfile& profile = drawn_ ? belief.drawn_profile : belief.profile;
  int children = 0;
  while (children < RankProfile::kRanks &&
         chance * profile.at(depth, children) >= controller_.plan().threshold()) {
    ++children;
  }
  return std::max(children, kFewestChildren);
}

/// The nodes of the newest level that are worth expanding: so many of the likeliest that the tokens their
/// children are expected to add, less their rows and the level's time, are the most. None when that is next
/// to nothing.
void AutoPolicy::choose_frontier(std::vector<std::int32_t>& out) {
  const DrafterBelief& belief = controller_.belief(seat_);
  const RankProfile& profile = drawn_ ? belief.drawn_profile : belief.profile;
  const VerifyPlan& plan = controller_.plan();
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    const float pa = chance_[static_cast<std::size_t>(a)];
    const float pb = chance_[static_cast<std::size_t>(b)];
    return pa != pb ? pa > pb : a < b;
  };
  const auto most = std::min(newest_.size(), static_cast<std::size_t>(kWidths[std::size(kWidths) - 1]));
  std::partial_sort(newest_.begin(), newest_.begin() + static_cast<std::ptrdiff_t>(most), newest_.end(),
                    likelier);

  const double now = plan.best(controller_.candidates()).net;
  double best_gain = AutoController::kLeastValue;
  std::size_t best_width = 0;
  hypothetical_.assign(controller_.candidates().begin(), controller_.candidates().end());
  std::size_t expanded = 0;
  for (const int w : kWidths) {
    const auto width = static_cast<std::size_t>(w);
    if (width > most) break;
    bool any = false;
    for (; expanded < width; ++expanded) {
      const double chance = static_cast<double>(chance_[static_cast<std::size_t>(newest_[expanded])]);
      for (int rank = 0; rank < RankProfile::kRanks; ++rank) {
        const double child = chance * profile.at(level_ + 1, rank);
        if (child < plan.threshold()) break;
        hypothetical_.push_back(static_cast<float>(child));
        any = true;
      }
    }
    if (!any) break;
    std::sort(hypothetical_.begin(), hypothetical_.end(), std::greater<>());
    const VerifyPlan::Cut cut = plan.best(hypothetical_);
    const double ms = level_ms(level_, w);
    // What is drafted must be verified, too.
    if (!controller_.affords(ms + plan.cost(cut.nodes) / controller_.price())) break;
    const double gain = cut.net - now - controller_.price() * ms;
    if (gain > best_gain) {
      best_gain = gain;
      best_width = width;
    }
  }
  out.assign(newest_.begin(), newest_.begin() + static_cast<std::ptrdiff_t>(best_width));
}

void AutoPolicy::prune(DraftTree& tree) {
  if (!wanted_) return;
  absorb(tree);
  const std::span<float> scores = tree.mutable_scores();
  for (std::size_t node = 1; node < acceptance_.size(); ++node) {
    scores[node] = scores[static_cast<std::size_t>(tree.parents()[node])] + std::log(acceptance_[node]);
  }
}

void AutoPolicy::observe(const StepTrace& trace) {
  if (wanted_ && !drawn_) scores_.learn(trace, controller_.belief(seat_).calibrator);
}

}  // namespace augur
