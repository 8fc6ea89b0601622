#include "draft/child_chooser.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "sampling/gumbel.h"
#include "sampling/sampler.h"

namespace augur {

void ChildChooser::add_children(ThreadPool& pool, std::span<const NodeLogits> rows,
                                std::span<const TokenId> target_ids) {
  rank(pool, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const NodeLogits& row = rows[r];
    if (row.options->sample) {
      add_sampled(row, target_ids);
      continue;
    }
    const auto first = static_cast<std::int64_t>(r) * width_;
    const auto count = std::min<std::int64_t>(row.count, std::ssize(row.logits));
    for (std::int64_t i = first; i < first + count; ++i) {
      const auto entry = static_cast<std::size_t>(entries_[static_cast<std::size_t>(i)]);
      const TokenId token = target_ids.empty() ? static_cast<TokenId>(entry) : target_ids[entry];
      row.tree->add(row.node, token, log_probs_[static_cast<std::size_t>(i)], row.options->proposer);
    }
  }
}

/// Finds the best entries of all rows that are not sampled.
void ChildChooser::rank(ThreadPool& pool, std::span<const NodeLogits> rows) {
  width_ = 0;
  for (const NodeLogits& row : rows) {
    if (!row.options->sample) width_ = std::max<std::int64_t>(width_, row.count);
  }
  if (width_ == 0) return;
  entries_.resize(rows.size() * static_cast<std::size_t>(width_));
  log_probs_.resize(entries_.size());
  scratch_.resize(static_cast<std::size_t>(pool.size()));
  std::atomic<std::size_t> next{0};
  pool.run([&](Team& team) {
    for (std::size_t r; (r = next.fetch_add(1)) < rows.size();) {
      const NodeLogits& row = rows[r];
      const auto count = static_cast<int>(std::min<std::int64_t>(row.count, std::ssize(row.logits)));
      if (row.options->sample || count <= 0) continue;
      float* values = log_probs_.data() + static_cast<std::int64_t>(r) * width_;
      top_k(row.logits, count, scratch_[static_cast<std::size_t>(team.rank())],
            entries_.data() + static_cast<std::int64_t>(r) * width_, values);
      const float lse = log_sum_exp(row.logits.data(), std::ssize(row.logits));
      for (int i = 0; i < count; ++i) values[i] -= lse;
    }
  });
}

void ChildChooser::add_sampled(const NodeLogits& row, std::span<const TokenId> target_ids) {
  Sampler& sampler = *row.options->sampler;
  padded_.assign(static_cast<std::size_t>(sampler.vocab_size()), -std::numeric_limits<float>::infinity());
  for (std::size_t i = 0; i < row.logits.size(); ++i) {
    padded_[target_ids.empty() ? i : static_cast<std::size_t>(target_ids[i])] = row.logits[i];
  }
  sampler.processed(padded_, {}, law_);
  const std::span<float> q = row.tree->make_q(row.node);
  std::fill(q.begin(), q.end(), 0.0f);
  for (std::size_t i = 0; i < law_.tokens.size(); ++i) {
    q[static_cast<std::size_t>(law_.tokens[i])] = law_.probs[i];
  }

  // The k largest of log q + Gumbel noise, in order, are k draws without replacement (Kool et al., 2019).
  // Each depth has its own noise. Nodes of one depth share it: at most one of them is ever verified further.
  constexpr std::uint64_t kDraftStream = 0x6472616674657221u;
  const std::int32_t depth = row.tree->depths()[static_cast<std::size_t>(row.node)];
  const std::int64_t position = row.tree->root_position() + depth + 1;
  noise_.resize(law_.tokens.size());
  gumbel_at(sampler.params().seed ^ kDraftStream, position, law_.tokens, noise_.data());
  for (std::size_t i = 0; i < noise_.size(); ++i) noise_[i] += std::log(law_.probs[i]);
  order_.resize(noise_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const auto drawn = std::min(order_.size(), static_cast<std::size_t>(std::max(row.count, 0)));
  std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(drawn), order_.end(),
                    [&](std::size_t a, std::size_t b) { return noise_[a] > noise_[b]; });
  for (std::size_t i = 0; i < drawn; ++i) {
    row.tree->add(row.node, law_.tokens[order_[i]], std::log(law_.probs[order_[i]]), row.options->proposer);
  }
}

}  // namespace augur
