#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>

#include "policy/auto/choose.h"

namespace augur {
namespace {

/// Whether the tree's first nodes are the ones that are known, under the same numbers.
[[maybe_unused]] bool knows(const std::vector<AutoSequence::Candidate>& known, const DraftTree& tree) {
  if (std::ssize(known) > tree.size()) return false;
  for (std::size_t node = 1; node < known.size(); ++node) {
    if (known[node].parent != tree.parents()[node] || known[node].token != tree.tokens()[node]) return false;
  }
  return true;
}

}  // namespace

void Chooser::absorb(AutoSequence& sequence, AutoSequence::Drafter& d, const DraftTree& tree) {
  std::vector<AutoSequence::Candidate>& known = d.candidates;
  assert(knows(known, tree) && "a tree grows, and its nodes keep their numbers");
  d.newest = static_cast<std::int32_t>(known.size());
  const double before = d.round.drafter.one_shot ? best(now_).net : 0;
  double at_root = 0;
  double unclaimed = 1;  // of a node's certainty, by its children so far
  more_.clear();         // log-probabilities of the siblings so far
  for (auto v = std::ssize(known); v < tree.size(); ++v) {
    const auto node = static_cast<std::size_t>(v);
    const std::int32_t parent = tree.parents()[node];
    if (known.back().parent != parent) more_.clear();
    AutoSequence::Candidate c{.parent = parent,
                              .token = tree.tokens()[node],
                              .depth = tree.depths()[node],
                              .rank = static_cast<std::int32_t>(more_.size()),
                              .log_prob = tree.log_probs()[node]};
    more_.push_back(c.log_prob);
    if (c.rank == 0) unclaimed = 1;
    const double a = std::clamp(d.chance(c.log_prob, c.depth, c.rank), 0.0, unclaimed);
    unclaimed = std::max(0.0, unclaimed - a);
    // Its logarithm is its score, so it stays above 0.
    c.chance = std::max(known[static_cast<std::size_t>(parent)].chance * static_cast<float>(a),
                        std::numeric_limits<float>::min());
    if (parent == DraftTree::kRoot) at_root += a;
    const bool last = v + 1 == tree.size() || tree.parents()[node + 1] != parent;
    if (last && !d.drawn) d.prediction.drafted(c.depth, more_);
    if (static_cast<double>(c.chance) >= now_.threshold) candidates_.push_back(c.chance);
    known.push_back(c);
  }
  if (d.newest == 1 && tree.only_root() && !d.drawn) d.prediction.drafted(1, {});
  if (at_root > 0) sequence.p_unproposed *= 1 - std::min(at_root, 1.0);
  std::sort(candidates_.begin(), candidates_.end(), std::greater<>());
  if (d.round.drafter.one_shot && d.newest == 1)
    d.learn_gain((best(now_).net - before) / sequence.token_value);
}

void Chooser::drafted(std::span<RoundMember* const> members) {
  for (RoundMember* member : members) {
    AutoSequence::Drafter& d = drafter_of(*member);
    if (!d.drafts) continue;
    absorb(sequence_of(*member), d, *member->tree);
    const std::span<float> scores = member->tree->mutable_scores();
    for (std::size_t node = 1; node < d.candidates.size(); ++node) {
      scores[node] = std::log(d.candidates[node].chance);
    }
  }
}

int Chooser::children_above_threshold(const AutoSequence::Drafter& d, float chance, int depth) const {
  const auto children = d.prediction.expected(depth, d.drawn, 0);
  const auto below = std::find_if(children.begin(), children.end(), [&](double child) {
    return static_cast<double>(chance) * child < now_.threshold;
  });
  return std::max(static_cast<int>(below - children.begin()), 1);
}

/// The newest nodes of all trees, the likeliest first: as many are expanded as it takes for the tokens that
/// their children are expected to add, less the price of their rows and of the level, to be the most.
void Chooser::choose_frontier(int level, std::span<RoundMember* const> growing) {
  node_bids_.clear();
  for (std::size_t m = 0; m < growing.size(); ++m) {
    AutoSequence& sequence = sequence_of(*growing[m]);
    AutoSequence::Drafter& d = drafter_of(*growing[m]);
    if (!d.drafts) continue;
    absorb(sequence, d, *growing[m]->tree);
    if (d.round.drafter.one_shot ||
        level >= std::min({d.round.max_depth, d.round.drafter.max_depth, kBranch})) {
      continue;
    }
    const std::size_t before = node_bids_.size();
    for (auto node = d.newest; node < std::ssize(d.candidates); ++node) {
      const float chance = d.candidates[static_cast<std::size_t>(node)].chance;
      if (static_cast<double>(chance) < now_.threshold) continue;
      node_bids_.push_back({.chance = chance, .member = static_cast<std::uint32_t>(m), .node = node});
    }
    const auto begin = node_bids_.begin() + static_cast<std::ptrdiff_t>(before);
    std::sort(begin, node_bids_.end());
    node_bids_.resize(std::min(node_bids_.size(), before + AutoSequence::kMostWidth));
  }
  std::sort(node_bids_.begin(), node_bids_.end());

  const double now = best(now_).net;
  double most = kNegligible;
  std::size_t chosen = 0;
  double spent_ms = 0;
  more_.clear();
  std::size_t next = 1;  // widths that are looked at: all small ones, ever fewer large ones
  for (std::size_t k = 0; k < node_bids_.size(); ++k) {
    const AutoSequence::Drafter& d = drafter_of(*growing[node_bids_[k].member]);
    for (const double child : d.prediction.expected(level + 1, d.drawn, 0)) {
      const double chance = static_cast<double>(node_bids_[k].chance) * child;
      if (chance < now_.threshold) break;
      more_.push_back(static_cast<float>(chance));
    }
    if (k + 1 != next && k + 1 != node_bids_.size()) continue;
    next += 1 + next / AutoSequence::kMostWidth;
    std::sort(more_.begin(), more_.end(), std::greater<>());
    const Cut cut = best(now_, more_);
    const double ms = level_ms(d, level, static_cast<int>(k) + 1);
    if (!affords(ms, cut.nodes)) break;
    if (cut.net - now - price_ * ms <= most) continue;
    most = cut.net - now - price_ * ms;
    chosen = k + 1;
    spent_ms = ms;
  }
  draft_ms_ += spent_ms;
  for (std::size_t k = 0; k < chosen; ++k) {
    RoundMember& member = *growing[node_bids_[k].member];
    const AutoSequence::Drafter& d = drafter_of(member);
    if (member.frontier.empty()) member.width = children_above_threshold(d, node_bids_[k].chance, level + 1);
    member.frontier.push_back(node_bids_[k].node);
  }
}

}  // namespace augur
