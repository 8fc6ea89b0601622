#include "lab/trace/trace.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace augur {

void label_nodes(const TraceSequence& sequence, const TraceRound& round, std::vector<NodeLabel>& labels) {
  labels.assign(round.size(), NodeLabel::Accepted);
  std::vector<std::int32_t> place(round.size(), round.root);
  for (std::size_t n = 1; n < round.size(); ++n) {
    const auto parent = static_cast<std::size_t>(round.parents[n]);
    place[n] = place[parent] + 1;
    if (labels[parent] != NodeLabel::Accepted) {
      labels[n] = labels[parent];
    } else if (place[n] >= std::ssize(sequence.tokens)) {
      labels[n] = NodeLabel::Unknown;
    } else if (sequence.tokens[static_cast<std::size_t>(place[n])] != round.tokens[n]) {
      labels[n] = NodeLabel::Rejected;
    }
  }
}

void score_nodes(const TraceRound& round, std::vector<float>& scores, std::vector<std::int32_t>& depths) {
  scores.assign(round.size(), 0.0f);
  depths.assign(round.size(), 0);
  for (std::size_t n = 1; n < round.size(); ++n) {
    const auto parent = static_cast<std::size_t>(round.parents[n]);
    scores[n] = scores[parent] + round.log_probs[n];
    depths[n] = depths[parent] + 1;
  }
}

HeteroPair hetero_pair(const TraceSequence& sequence, const TraceRound& round, int size) {
  HeteroPair pair;
  if (round.size() < 2) return pair;
  std::vector<NodeLabel> labels;
  std::vector<float> scores;
  std::vector<std::int32_t> depths;
  label_nodes(sequence, round, labels);
  score_nodes(round, scores, depths);

  // The surest terminal token hangs from the deepest expanded level.
  const std::int32_t deepest = *std::max_element(depths.begin(), depths.end());
  pair.levels = deepest;
  std::size_t terminal = 0;
  for (std::size_t n = 1; n < round.size(); ++n) {
    if (depths[n] != deepest) continue;
    if (terminal == 0 || round.log_probs[n] > round.log_probs[terminal]) terminal = n;
  }
  for (auto n = round.parents[terminal]; n >= 0; n = round.parents[static_cast<std::size_t>(n)]) {
    const float entropy = round.top_entropies[static_cast<std::size_t>(n)];
    if (std::isnan(entropy)) return pair;
    pair.entropy += double{entropy};
  }

  std::vector<std::int32_t> order(round.size() - 1);
  std::iota(order.begin(), order.end(), 1);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(std::max(size - 1, 0))));
  std::vector<bool> has_child(round.size(), false);
  for (const std::int32_t n : order) {
    has_child[static_cast<std::size_t>(round.parents[static_cast<std::size_t>(n)])] = true;
  }
  std::int32_t reached = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto n = static_cast<std::size_t>(order[i]);
    if (labels[n] == NodeLabel::Unknown) return pair;
    if (labels[n] != NodeLabel::Accepted || depths[n] <= depths[static_cast<std::size_t>(reached)]) continue;
    reached = order[i];
    pair.rank = static_cast<int>(i) + 1;
    pair.length = depths[n];
  }
  pair.fully_accepted = reached != 0 && !has_child[static_cast<std::size_t>(reached)];
  pair.known = true;
  return pair;
}

}  // namespace augur
