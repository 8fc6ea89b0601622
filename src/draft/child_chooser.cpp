#include "draft/child_chooser.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "sampling/gumbel.h"
#include "sampling/sampler.h"

namespace augur {
namespace {

/// The position that the children of a node would take.
std::int64_t position_below(const NodeLogits& row) {
  return row.tree->root_position() + row.tree->depths()[static_cast<std::size_t>(row.node)] + 1;
}

/// What the penalties look at before a child of the node: the end of the text, and the path to the node.
void recent_tokens(const NodeLogits& row, std::vector<TokenId>& out) {
  const SamplingParams& params = row.options->sampler->params();
  out.clear();
  if (!params.penalises()) return;
  const DraftTree& tree = *row.tree;
  const std::size_t most = params.repeat_last_n < 0 ? std::numeric_limits<std::size_t>::max()
                                                    : static_cast<std::size_t>(params.repeat_last_n);
  for (std::int32_t n = row.node; n != DraftTree::kRoot && out.size() < most;
       n = tree.parents()[static_cast<std::size_t>(n)]) {
    out.push_back(tree.tokens()[static_cast<std::size_t>(n)]);
  }
  const std::span<const TokenId> text = row.options->text;
  const auto end = text.last(std::min(text.size(), most - out.size()));
  out.insert(out.end(), end.begin(), end.end());
}

}  // namespace

int best_wanted(std::span<const ExpandJob> jobs) {
  int most = 0;
  for (const ExpandJob& job : jobs) {
    const ExpandOptions& o = job.options;
    if (o.sample || o.wants.entropy || o.wants.top_k > 0) return 0;
    if (o.coupled) {
      const SamplingParams& params = o.sampler->params();
      if (!params.greedy() || params.penalises() || !params.logit_bias.empty()) return 0;
    }
    most = std::max(most, std::min(o.top_k, o.max_nodes));
  }
  return most;
}

void set_logits(NodeLogits& node, const VocabularyHead& head, std::size_t row, int best) {
  if (best > 0) {
    node.best = &head.best(row);
  } else {
    node.logits = head.logits(row);
  }
}

float path_weight(const DraftTree& tree, std::int32_t node) {
  // Not the scores: policies overwrite them.
  float sum = 0.0f;
  for (std::int32_t n = node; n != DraftTree::kRoot; n = tree.parents()[static_cast<std::size_t>(n)]) {
    sum += tree.log_probs()[static_cast<std::size_t>(n)];
  }
  return std::exp(sum);
}

void ChildChooser::add_children(ThreadPool& pool, std::span<const NodeLogits> rows,
                                std::span<const TokenId> target_ids) {
  prepare(rows, target_ids);
  if (width_ > 0 || measuring_) {
    // Which thread ranks which row differs from call to call.
    scratch_.resize(static_cast<std::size_t>(pool.size()));
    for (Scratch& s : scratch_) {
      s.coupled.reserve(rows.front().logits.size(), static_cast<int>(width_));
      s.recent.reserve(256);
      if (measuring_) s.top_k.reserve(kEntropyTop);
    }
    std::atomic<std::size_t> next{0};
    pool.run([&](Team& team) {
      compute_noise(team, target_ids);
      for (std::size_t r; (r = next.fetch_add(1)) < rows.size();) {
        Scratch& scratch = scratch_[static_cast<std::size_t>(team.rank())];
        rank(rows[r], r, !target_ids.empty(), scratch);
        measure(rows[r], r, scratch);
      }
    });
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const NodeLogits& row = rows[r];
    record(row, r);
    if (row.options->sample) {
      add_sampled(row, target_ids);
      continue;
    }
    const std::size_t first = r * static_cast<std::size_t>(width_);
    for (std::size_t i = first; i < first + static_cast<std::size_t>(found_[r]); ++i) {
      const auto entry = static_cast<std::size_t>(entries_[i]);
      const TokenId token = target_ids.empty() ? static_cast<TokenId>(entry) : target_ids[entry];
      row.tree->add(row.node, token, log_probs_[i], row.options->proposer);
    }
  }
}

/// Makes room for the results of the rows that are not sampled, and finds out which noise they need.
void ChildChooser::prepare(std::span<const NodeLogits> rows, std::span<const TokenId> target_ids) {
  width_ = 0;
  positions_.clear();
  position_of_.assign(rows.size(), -1);
  found_.assign(rows.size(), 0);
  entropies_.resize(rows.size());
  top_entropies_.resize(rows.size());
  measuring_ = false;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const NodeLogits& row = rows[r];
    measuring_ = measuring_ || row.options->wants.entropy || row.options->wants.top_k > 0;
    if (row.options->sample) continue;
    width_ = std::max<std::int64_t>(width_, row.count);
    if (!row.options->coupled || row.options->sampler->params().greedy()) continue;
    // As many positions as the tree is deep, so that the next round finds them, too.
    Sampler* sampler = row.options->sampler;
    const std::int64_t position = position_below(row);
    sampler->noise().keep(position - row.tree->root_position());
    auto same = std::find_if(positions_.begin(), positions_.end(), [&](const PositionRow& p) {
      return p.sampler == sampler && p.position == position;
    });
    position_of_[r] = static_cast<std::int32_t>(same - positions_.begin());
    if (same == positions_.end()) positions_.push_back({.sampler = sampler, .position = position});
  }
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    PositionRow& p = positions_[i];
    p.missing = p.sampler->noise().claim(p.position);
    p.noise = p.missing.empty() ? p.sampler->noise().row(p.position) : p.missing;
    p.gathered = i * target_ids.size();
  }
  const std::size_t gathered = positions_.size() * target_ids.size();
  if (gathered_.size() < gathered) gathered_.resize(gathered);
  entries_.resize(rows.size() * static_cast<std::size_t>(width_));
  log_probs_.resize(entries_.size());

  // Penalties and biases name tokens. A shortlist changes from call to call.
  entry_of_token_.clear();
  const bool named = std::any_of(rows.begin(), rows.end(), [](const NodeLogits& row) {
    if (row.options->sample || !row.options->coupled) return false;
    const SamplingParams& params = row.options->sampler->params();
    return params.penalises() || !params.logit_bias.empty();
  });
  if (target_ids.empty() || !named) return;
  const TokenId last = *std::max_element(target_ids.begin(), target_ids.end());
  entry_of_token_.assign(static_cast<std::size_t>(last) + 1, -1);
  for (std::size_t i = 0; i < target_ids.size(); ++i) {
    entry_of_token_[static_cast<std::size_t>(target_ids[i])] = static_cast<std::int32_t>(i);
  }
}

/// Run by all threads: a row is computed in parts.
void ChildChooser::compute_noise(Team& team, std::span<const TokenId> target_ids) {
  for (const PositionRow& p : positions_) {
    const Range part = team.split(std::ssize(p.missing), 512);
    gumbel_range(
        p.sampler->noise().seed(), p.position, static_cast<TokenId>(part.begin),
        p.missing.subspan(static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.size())));
  }
  // All threads see the same rows, so they agree on whether anybody waits.
  const bool computed = std::any_of(positions_.begin(), positions_.end(),
                                    [](const PositionRow& p) { return !p.missing.empty(); });
  if (computed) team.barrier();
  if (positions_.empty() || target_ids.empty()) return;
  for (const PositionRow& p : positions_) {
    const Range part = team.split(std::ssize(target_ids), 16);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const auto entry = static_cast<std::size_t>(i);
      gathered_[p.gathered + entry] = p.noise[static_cast<std::size_t>(target_ids[entry])];
    }
  }
  team.barrier();
}

void ChildChooser::rank(const NodeLogits& row, std::size_t r, bool reduced, Scratch& scratch) {
  std::int32_t* entries = entries_.data() + r * static_cast<std::size_t>(width_);
  float* log_probs = log_probs_.data() + r * static_cast<std::size_t>(width_);
  if (row.best != nullptr) {
    const auto count = std::min<std::int64_t>(row.count, std::ssize(row.best->values));
    for (std::int64_t i = 0; i < count; ++i) {
      entries[i] = row.best->entries[static_cast<std::size_t>(i)];
      log_probs[i] = row.best->values[static_cast<std::size_t>(i)] - row.best->log_sum_exp;
    }
    found_[r] = static_cast<int>(std::max<std::int64_t>(count, 0));
    return;
  }
  const auto count = static_cast<int>(std::min<std::int64_t>(row.count, std::ssize(row.logits)));
  if (row.options->sample || count <= 0) return;
  if (!row.options->coupled) {
    top_k(row.logits, count, scratch.top_k, entries, log_probs);
    const float total = log_sum_exp(row.logits.data(), std::ssize(row.logits));
    for (int i = 0; i < count; ++i) log_probs[i] -= total;
    found_[r] = count;
    return;
  }
  CoupledRow coupled{.logits = row.logits, .entry_of_token = entry_of_token_};
  if (position_of_[r] >= 0) {
    const PositionRow& p = positions_[static_cast<std::size_t>(position_of_[r])];
    coupled.noise = reduced ? std::span<const float>(gathered_).subspan(p.gathered) : p.noise;
  }
  recent_tokens(row, scratch.recent);
  coupled.recent = scratch.recent;
  found_[r] =
      rank_coupled(row.options->sampler->params(), coupled, count, scratch.coupled, entries, log_probs);
}

void ChildChooser::measure(const NodeLogits& row, std::size_t r, Scratch& scratch) {
  const NodeWants& wants = row.options->wants;
  if (row.logits.empty()) return;
  if (wants.entropy) entropies_[r] = top_entropy(row.logits, kEntropyTop, scratch.top_k);
  if (wants.top_k > 0) top_entropies_[r] = top_entropy(row.logits, wants.top_k, scratch.top_k);
}

void ChildChooser::record(const NodeLogits& row, std::size_t r) const {
  const NodeWants& wants = row.options->wants;
  if (wants.entropy) row.tree->set_entropy(row.node, entropies_[r]);
  if (wants.top_k > 0) row.tree->set_top_entropy(row.node, top_entropies_[r]);
  if (wants.hidden && !row.state.empty()) {
    std::copy(row.state.begin(), row.state.end(), row.tree->make_hidden(row.node, row.state.size()).begin());
  }
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
  noise_.reserve(padded_.size());
  order_.reserve(padded_.size());
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
