#include "lab/suite/round_watch.h"

#include <map>
#include <memory>
#include <utility>

#include "lab/trace/recorder.h"

namespace augur {
namespace {

/// Adds the nodes of `tree` that are not there yet. A node is the path of tokens that leads to it.
class Union {
 public:
  explicit Union(WatchedRound& round) : round_(round) {}

  void add(const DraftTree& tree, bool verified) {
    std::vector<std::int32_t> at(static_cast<std::size_t>(tree.size()));
    for (std::int32_t n = 0; n < tree.size(); ++n) {
      const auto i = static_cast<std::size_t>(n);
      const std::int32_t parent =
          tree.parents()[i] < 0 ? -1 : at[static_cast<std::size_t>(tree.parents()[i])];
      const auto [place, fresh] = places_.emplace(std::pair(parent, tree.tokens()[i]), size());
      at[i] = place->second;
      if (fresh) {
        round_.nodes.push_back(
            {tree.tokens()[i], parent, tree.log_probs()[i], tree.proposers()[i], verified, false});
      }
    }
  }
  std::int32_t size() const { return static_cast<std::int32_t>(round_.nodes.size()); }

 private:
  WatchedRound& round_;
  std::map<std::pair<std::int32_t, TokenId>, std::int32_t> places_;
};

}  // namespace

void RoundWatch::attach(SequenceOptions& options) {
  for (const Speculator& speculator : options.speculation.drafters) {
    proposers_.emplace_back(speculator.drafter->name());
  }
  options.on_draft = [this](const DraftTree& tree) { capture(tree); };
  if (options.speculation.drafters.size() != 1) entropy_top_k_ = 0;
  if (entropy_top_k_ > 0) options.record.top_k = entropy_top_k_;
  candidates_.resize(options.speculation.drafters.size());
  options.on_step = [this](const StepTrace& step) { round(step); };
}

void RoundWatch::capture(const DraftTree& tree) {
  if (candidates_count_ < candidates_.size()) candidates_[candidates_count_++] = tree;
}

void RoundWatch::round(const StepTrace& step) {
  WatchedRound& round = rounds_.emplace_back();
  static_cast<RoundFigures&>(round) = step;
  Union nodes(round);
  nodes.add(*step.tree, true);
  for (const std::int32_t node : step.path) round.nodes[static_cast<std::size_t>(node)].accepted = true;
  round.verified = step.tree->size();
  round.accepted = static_cast<std::int32_t>(step.path.size()) - 1;
  for (std::size_t i = 0; i < candidates_count_; ++i) nodes.add(candidates_[i], false);
  round.forecast = step.forecast;
  round.choice = std::exchange(round.forecast.choice, {});
  if (entropy_top_k_ > 0) {
    const DraftTree& tree = candidates_count_ > 0 ? candidates_.front() : *step.tree;
    trace_rounds_.emplace_back(trace_round(tree)).verified = step.tree->size();
  }
  candidates_count_ = 0;
}

std::vector<HeteroPair> RoundWatch::hetero_pairs(std::vector<TokenId> text) const {
  TraceSequence sequence;
  sequence.tokens = std::move(text);
  std::vector<HeteroPair> pairs;
  for (const TraceRound& round : trace_rounds_) pairs.push_back(hetero_pair(sequence, round, round.verified));
  return pairs;
}

}  // namespace augur
