#include <algorithm>
#include <cmath>
#include <span>

#include "policy/auto/choose.h"

namespace augur {

void Chooser::cut(std::span<RoundMember* const> members) {
  cut_bids_.clear();
  for (std::size_t m = 0; m < members.size(); ++m) {
    const DraftTree& tree = *members[m]->tree;
    const AutoSequence& sequence = sequence_of(*members[m]);
    chances_.assign(static_cast<std::size_t>(tree.size()), sequence.token_value);  // at the lower bound
    for (std::int32_t node = 1; node < tree.size(); ++node) {
      const auto at = static_cast<std::size_t>(node);
      const AutoSequence::Drafter& d = sequence.drafters[tree.proposers()[at] - 1u];
      chances_[at] = chances_[static_cast<std::size_t>(tree.parents()[at])] *
                     d.chance(tree.log_probs()[at], tree.depths()[at], 0, -kCaution);
      cut_bids_.push_back({{std::exp(tree.scores()[at]), static_cast<std::uint32_t>(m), node},
                           static_cast<float>(chances_[at])});
    }
  }
  std::sort(cut_bids_.begin(), cut_bids_.end());
  candidates_.clear();
  for (const CutBid& r : cut_bids_) candidates_.push_back(r.chance);
  std::size_t nodes = best(now_).nodes;
  double tokens = 0;  // at the lower bound
  for (std::size_t k = 0; k < nodes; ++k) tokens += cut_bids_[k].lower_bound;
  for (; nodes > 0; --nodes) {
    below_confidence_bound_ = tokens < price_ * now_.row_ms[nodes];
    if (affords(0, nodes)) break;
    tokens -= cut_bids_[nodes - 1].lower_bound;
  }

  for (RoundMember* member : members) member->kept.assign(1, DraftTree::kRoot);
  for (std::size_t k = 0; k < nodes; ++k) members[cut_bids_[k].member]->kept.push_back(cut_bids_[k].node);
  for (RoundMember* member : members) std::sort(member->kept.begin(), member->kept.end());
  forecast(members, nodes);
}

void Chooser::forecast(std::span<RoundMember* const> members, std::size_t nodes) {
  const double rows = tree_rows_ + static_cast<double>(nodes);
  const double verify_ms = costs_->verify_ms(base_rows_ + static_cast<double>(nodes), context_);
  expected_ms_ = verify_ms * slowdown_;
  for (RoundMember* member : members) {
    StepForecast& f = member->forecast;
    f.tokens = 1;
    for (const std::int32_t node : std::span(member->kept).subspan(1)) {
      f.tokens +=
          std::exp(member->tree->scores()[static_cast<std::size_t>(node)]) / sequence_of(*member).token_value;
    }
    f.mode = nodes == 0                ? RoundMode::Plain
             : below_confidence_bound_ ? RoundMode::Probe
                                       : RoundMode::Speculate;
    f.ms = (draft_ms_ + costs_->other_ms()) / sequences_ +
           verify_ms * static_cast<double>(member->kept.size()) / rows;
    f.price = price_ / sequences_;
    f.plain_ms = now_.step_ms / sequences_;
  }
}

}  // namespace augur
