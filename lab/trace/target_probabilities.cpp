#include "lab/trace/target_probabilities.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "kernels/ops.h"
#include "model/prefill.h"

namespace augur {
namespace {

/// A node whose parent stands at a place of the text.
struct Asked {
  std::int64_t place = 0;  ///< of the parent
  std::size_t round = 0;
  std::size_t node = 0;
};

std::vector<Asked> asked_of(TraceSequence& sequence) {
  std::vector<Asked> asked;
  std::vector<NodeLabel> labels;
  for (std::size_t r = 0; r < sequence.rounds.size(); ++r) {
    TraceRound& round = sequence.rounds[r];
    round.target_log_probs.assign(round.size(), std::numeric_limits<float>::quiet_NaN());
    label_nodes(sequence, round, labels);
    std::vector<std::int64_t> place(round.size(), round.root);
    for (std::size_t n = 1; n < round.size(); ++n) {
      const auto parent = static_cast<std::size_t>(round.parents[n]);
      place[n] = place[parent] + 1;
      if (labels[parent] == NodeLabel::Accepted) asked.push_back({place[parent], r, n});
    }
  }
  std::stable_sort(asked.begin(), asked.end(),
                   [](const Asked& a, const Asked& b) { return a.place < b.place; });
  return asked;
}

}  // namespace

void add_target_probabilities(Model& model, TraceSequence& sequence) {
  const std::int64_t length = std::ssize(sequence.tokens);
  if (length > model.context())
    throw Error("a text of {} tokens, the model's context is {}", length, model.context());
  const std::vector<Asked> asked = asked_of(sequence);
  const std::int64_t vocab = model.config().vocab;
  Buffer<float> logits(static_cast<std::size_t>((vocab + 15) / 16 * 16));
  KvCache cache = model.make_cache(length);
  auto next = asked.begin();
  PrefillOptions how;
  how.rows_done = [&](std::int64_t first, std::span<const float> hidden) {
    const std::int64_t width = model.config().hidden;
    const std::int64_t end = first + std::ssize(hidden) / width;
    while (next != asked.end() && next->place < end) {
      const std::int64_t place = next->place;
      model.logits_of(hidden.data() + (place - first) * width, 1, false, logits.data(), std::ssize(logits));
      const float total = log_sum_exp(logits.data(), vocab);
      for (; next != asked.end() && next->place == place; ++next) {
        TraceRound& round = sequence.rounds[next->round];
        round.target_log_probs[next->node] =
            logits.data()[static_cast<std::size_t>(round.tokens[next->node])] - total;
      }
    }
  };
  prefill(model, sequence.tokens, cache, how);
}

}  // namespace augur
