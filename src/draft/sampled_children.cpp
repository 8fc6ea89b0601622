#include "draft/sampled_children.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sampling/gumbel.h"
#include "sampling/sampler.h"

namespace augur {

int add_sampled_children(DraftTree& tree, std::int32_t node, std::span<const float> logits, int count,
                         const ExpandOptions& options) {
  Sampler& sampler = *options.sampler;
  const auto vocab = static_cast<std::size_t>(sampler.vocab_size());
  std::vector<float> padded(logits.begin(), logits.end());
  padded.resize(vocab, -std::numeric_limits<float>::infinity());
  SparseDistribution law;
  sampler.processed(padded, {}, law);

  const std::span<float> q = tree.make_q(node);
  std::fill(q.begin(), q.end(), 0.0f);
  for (std::size_t i = 0; i < law.tokens.size(); ++i)
    q[static_cast<std::size_t>(law.tokens[i])] = law.probs[i];

  // The k largest of log q + Gumbel noise, in order, are k draws without replacement (Kool et al., 2019).
  // Each depth has its own noise. Nodes of one depth share it: at most one of them is ever verified further.
  constexpr std::uint64_t kDraftStream = 0x6472616674657221u;
  const std::int64_t position = tree.root_position() + tree.depths()[static_cast<std::size_t>(node)] + 1;
  std::vector<float> noise(law.tokens.size());
  gumbel_at(sampler.params().seed ^ kDraftStream, position, law.tokens, noise.data());
  std::vector<std::size_t> order(law.tokens.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    noise[i] += std::log(law.probs[i]);
  }
  const auto drawn = std::min(order.size(), static_cast<std::size_t>(std::max(count, 0)));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(drawn), order.end(),
                    [&](std::size_t a, std::size_t b) { return noise[a] > noise[b]; });
  for (std::size_t i = 0; i < drawn; ++i) {
    tree.add(node, law.tokens[order[i]], std::log(law.probs[order[i]]), options.proposer);
  }
  return static_cast<int>(drawn);
}

}  // namespace augur
