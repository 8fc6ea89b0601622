#include "lab/trace/recorder.h"

#include <cassert>
#include <utility>

namespace augur {
namespace {

template <class T>
std::vector<T> copy(std::span<const T> values) {
  return {values.begin(), values.end()};
}

/// Drops the states of nodes whose parents the text does not go through, of the root, and of nodes after the
/// text's end.
void keep_telling_states(const TraceSequence& sequence, TraceRound& round, std::vector<NodeLabel>& labels) {
  if (round.stateful.empty()) return;
  const std::size_t width = round.hidden.size() / round.stateful.size();
  label_nodes(sequence, round, labels);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < round.stateful.size(); ++i) {
    const auto node = static_cast<std::size_t>(round.stateful[i]);
    if (node == 0 || labels[node] == NodeLabel::Unknown) continue;
    if (labels[static_cast<std::size_t>(round.parents[node])] != NodeLabel::Accepted) continue;
    const auto from = round.hidden.begin() + static_cast<std::ptrdiff_t>(i * width);
    std::copy(from, from + static_cast<std::ptrdiff_t>(width),
              round.hidden.begin() + static_cast<std::ptrdiff_t>(kept * width));
    round.stateful[kept++] = round.stateful[i];
  }
  round.stateful.resize(kept);
  round.hidden.resize(kept * width);
}

}  // namespace

TraceRound trace_round(const DraftTree& tree) {
  TraceRound round;
  round.root = static_cast<std::int32_t>(tree.root_position());
  round.tokens = copy(tree.tokens());
  round.parents = copy(tree.parents());
  round.log_probs = copy(tree.log_probs());
  round.entropies = copy(tree.entropies());
  round.top_entropies = copy(tree.top_entropies());
  return round;
}

void Recorder::attach(SequenceOptions& options) {
  assert(options.speculation.drafters.size() == 1);
  options.record = wants_;
  options.on_draft = [this](const DraftTree& tree) { capture(tree); };
  options.on_step = [this](const StepTrace& step) { time(step); };
}

void Recorder::capture(const DraftTree& tree) {
  TraceRound& round = trace_.rounds.emplace_back(trace_round(tree));
  for (std::int32_t n = 0; n < tree.size(); ++n) {
    const std::span<const float> state = tree.hidden(n);
    if (state.empty()) continue;
    round.stateful.push_back(n);
    round.hidden.insert(round.hidden.end(), state.begin(), state.end());
  }
}

void Recorder::time(const StepTrace& step) {
  if (trace_.rounds.empty() || trace_.rounds.back().root != step.context) return;
  TraceRound& round = trace_.rounds.back();
  round.verified = step.tree->size();
  round.draft_ms = static_cast<float>(step.draft_ms);
  round.verify_ms = static_cast<float>(step.verify_ms);
  round.other_ms = static_cast<float>(step.other_ms);
}

TraceSequence Recorder::finish(const Sequence& sequence) {
  trace_.prompt_size = static_cast<std::int32_t>(sequence.prompt_size());
  trace_.tokens = copy(sequence.tokens());
  std::vector<NodeLabel> labels;
  for (TraceRound& round : trace_.rounds) keep_telling_states(trace_, round, labels);
  return std::exchange(trace_, {});
}

}  // namespace augur
