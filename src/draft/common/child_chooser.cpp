#include "draft/common/child_chooser.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/elementary.h"
#include "draft/common/mask_tree.h"
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
  const SamplingOptions& params = row.options->sampler->params();
  out.clear();
  if (!penalises(params)) return;
  const DraftTree& tree = *row.tree;
  const std::size_t most = params.penalty_window < 0 ? std::numeric_limits<std::size_t>::max()
                                                     : static_cast<std::size_t>(params.penalty_window);
  for (std::int32_t n = row.node; n != DraftTree::kRoot && out.size() < most;
       n = tree.parents()[static_cast<std::size_t>(n)]) {
    out.push_back(tree.tokens()[static_cast<std::size_t>(n)]);
  }
  const std::span<const TokenId> tokens = row.options->tokens;
  const auto end = tokens.last(std::min(tokens.size(), most - out.size()));
  out.insert(out.end(), end.begin(), end.end());
}

/// What the row's candidates are ranked with; null: nothing.
PositionNoise* noise_of(const NodeLogits& row) {
  Sampler* sampler = row.options->sampler;
  // Nodes of one depth share the noise of their draws: at most one of them is ever verified further.
  if (row.options->sample) return &sampler->draft_noise();
  return row.options->coupled && !greedy(sampler->params()) ? &sampler->noise() : nullptr;
}

}  // namespace

void ChildChooser::add_children(ThreadPool& pool, std::span<const NodeLogits> rows,
                                std::span<const TokenId> target_ids) {
  prepare(rows, target_ids);
  if (width_ > 0 || measured_ > 0) {
    // Which thread ranks which row differs from call to call.
    scratch_.resize(static_cast<std::size_t>(pool.size()));
    for (Scratch& s : scratch_) {
      s.failure = nullptr;
      s.coupled.reserve(rows.front().logits.size(), static_cast<int>(width_));
      s.recent.reserve(256);
      s.top_k.reserve(std::max<std::int64_t>({width_, measured_, 1}));
      for (const NodeLogits& row : rows) reserve_draws(row, s);
    }
    std::atomic<std::size_t> next{0};
    pool.run([&](Team& team) {
      compute_noise(team, target_ids);
      Scratch& scratch = scratch_[static_cast<std::size_t>(team.rank())];
      try {
        for (std::size_t r; (r = next.fetch_add(1)) < rows.size();) {
          choose(rows[r], r, target_ids, scratch);
          measure(rows[r], r, scratch);
        }
      } catch (...) {  // no thread of a region may throw
        scratch.failure = std::current_exception();
      }
    });
    for (const PositionRow& p : positions_) {
      if (p.kept) p.source->filled(p.position);
    }
    for (Scratch& s : scratch_) {
      if (s.failure) std::rethrow_exception(s.failure);
    }
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const NodeLogits& row = rows[r];
    record(row, r);
    if (row.options->sample && found_[r] > 0) store_distribution(row, distributions_[r]);
    const std::size_t first = r * static_cast<std::size_t>(width_);
    for (std::size_t i = first; i < first + static_cast<std::size_t>(found_[r]); ++i) {
      // A head that computes NaN or infinity has nothing more to say.
      if (!std::isfinite(log_probs_[i])) break;
      const auto entry = static_cast<std::size_t>(entries_[i]);
      const bool named = target_ids.empty() || row.options->sample;
      const TokenId token = named ? static_cast<TokenId>(entry) : target_ids[entry];
      row.tree->add(row.node, token, log_probs_[i], row.options->proposer);
    }
  }
}

/// Makes room for the results of the rows, and finds out which noise they need.
void ChildChooser::prepare(std::span<const NodeLogits> rows, std::span<const TokenId> target_ids) {
  width_ = 0;
  positions_.clear();
  position_of_.assign(rows.size(), -1);
  masks_.assign(rows.size(), {});
  found_.assign(rows.size(), 0);
  entropies_.resize(rows.size());
  top_entropies_.resize(rows.size());
  measured_ = 0;
  std::size_t deep = 0;  // values of rows that are kept nowhere
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const NodeLogits& row = rows[r];
    const NodeWants& wants = row.options->wants;
    const std::int64_t most = std::min<std::int64_t>(std::max(wants.entropy ? kEntropyTop : 0, wants.top_k),
                                                     std::ssize(row.logits));
    measured_ = std::max(measured_, most);
    width_ = std::max<std::int64_t>(width_, row.count);
    if (MaskTree* const masks = row.options->masks)
      masks_[r] = masks->allowed(masks->at(*row.tree, row.node));
    PositionNoise* source = noise_of(row);
    if (source == nullptr) continue;
    const std::int64_t position = position_below(row);
    auto same = std::find_if(positions_.begin(), positions_.end(), [&](const PositionRow& p) {
      return p.source == source && p.position == position;
    });
    position_of_[r] = static_cast<std::int32_t>(same - positions_.begin());
    if (same != positions_.end()) continue;
    // Those next to the text are found there by the next round, and by the target's draw.
    const bool kept = position - row.tree->root_position() <= source->rows();
    positions_.push_back({.source = source, .position = position, .kept = kept});
    if (!kept) deep += static_cast<std::size_t>(source->vocab_size());
  }
  if (deep_.size() < deep) deep_ = Buffer<float>(deep);
  deep = 0;
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    PositionRow& p = positions_[i];
    if (p.kept) {
      p.missing = p.source->claim(p.position);
    } else {
      p.missing = deep_.span().subspan(deep, static_cast<std::size_t>(p.source->vocab_size()));
      deep += p.missing.size();
    }
    p.noise = p.missing.empty() ? p.source->row(p.position) : p.missing;
    p.gathered = i * target_ids.size();
  }
  const std::size_t gathered = positions_.size() * target_ids.size();
  if (gathered_.size() < gathered) gathered_.resize(gathered);
  const bool drawn =
      std::any_of(rows.begin(), rows.end(), [](const NodeLogits& row) { return row.options->sample; });
  if (drawn && distributions_.size() < rows.size()) distributions_.resize(rows.size());
  entries_.resize(rows.size() * static_cast<std::size_t>(width_));
  log_probs_.resize(entries_.size());

  // Penalties and biases name tokens. A shortlist changes from call to call.
  entry_of_token_.clear();
  const bool named = std::any_of(rows.begin(), rows.end(), [](const NodeLogits& row) {
    if (row.options->sample || !row.options->coupled) return false;
    const SamplingOptions& params = row.options->sampler->params();
    return penalises(params) || !params.logit_bias.empty();
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
        p.source->seed(), p.position, static_cast<TokenId>(part.begin),
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

void ChildChooser::choose(NodeLogits row, std::size_t r, std::span<const TokenId> target_ids,
                          Scratch& scratch) {
  if (!masks_[r].empty() && !row.logits.empty()) {
    scratch.masked.assign(row.logits.begin(), row.logits.end());
    apply(masks_[r], target_ids, scratch.masked);
    row.logits = scratch.masked;
  }
  if (row.options->sample) {
    rank_drawn(row, r, target_ids, scratch);
  } else {
    rank(row, r, !target_ids.empty(), scratch);
  }
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
  if (count <= 0) return;
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
  const auto finite = [](float x) { return std::isfinite(x); };
  if (wants.hidden && !row.state.empty() && std::all_of(row.state.begin(), row.state.end(), finite)) {
    std::copy(row.state.begin(), row.state.end(), row.tree->make_hidden(row.node, row.state.size()).begin());
  }
}

void ChildChooser::reserve_draws(const NodeLogits& row, Scratch& scratch) {
  if (!row.options->sample) return;
  const Sampler& sampler = *row.options->sampler;
  const auto vocab = static_cast<std::size_t>(sampler.vocab_size());
  for (auto* values : {&scratch.padded, &scratch.noise, &scratch.scores}) values->reserve(vocab);
  scratch.sampling.reserve(sampler.params(), sampler.vocab_size());
}

/// Draws from the distribution that the sequence's parameters make of the row. Nothing where they make none.
void ChildChooser::rank_drawn(const NodeLogits& row, std::size_t r, std::span<const TokenId> target_ids,
                              Scratch& scratch) {
  const Sampler& sampler = *row.options->sampler;
  std::span<const float> logits = row.logits;
  if (!target_ids.empty() || std::ssize(logits) < sampler.vocab_size()) {
    scratch.padded.assign(static_cast<std::size_t>(sampler.vocab_size()),
                          -std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      scratch.padded[target_ids.empty() ? i : static_cast<std::size_t>(target_ids[i])] = logits[i];
    }
    logits = scratch.padded;
  }
  SparseDistribution& distribution = distributions_[r];
  if (!sampler.draft_law(logits, scratch.sampling, distribution)) return;

  // The k largest of log q + Gumbel noise, in order, are k draws without replacement (Kool et al., 2019).
  const std::span<const float> noise = positions_[static_cast<std::size_t>(position_of_[r])].noise;
  const std::size_t size = distribution.tokens.size();
  scratch.noise.resize(size);
  scratch.scores.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    scratch.noise[i] = noise[static_cast<std::size_t>(distribution.tokens[i])];
  }
  const SamplingOptions& params = sampler.params();
  const float scale = greedy(params) ? 1.0f : 1.0f / temperature_of(params);
  add_noise(scratch.sampling.kept_logits, -std::numeric_limits<float>::infinity(), scale,
            scratch.noise.data(), scratch.scores.data());
  const auto count = std::min(row.count, static_cast<int>(size));
  std::int32_t* entries = entries_.data() + r * static_cast<std::size_t>(width_);
  float* log_probs = log_probs_.data() + r * static_cast<std::size_t>(width_);
  top_k(scratch.scores, count, scratch.top_k, entries, log_probs);
  for (int i = 0; i < count; ++i) {
    const auto drawn = static_cast<std::size_t>(entries[i]);
    log_probs[i] = static_cast<float>(elementary::log(distribution.probs[drawn]));
    entries[i] = distribution.tokens[drawn];
  }
  found_[r] = std::max(count, 0);
}

void ChildChooser::store_distribution(const NodeLogits& row, const SparseDistribution& distribution) {
  const std::span<float> q = row.tree->make_q(row.node);
  std::fill(q.begin(), q.end(), 0.0f);
  for (std::size_t i = 0; i < distribution.tokens.size(); ++i) {
    q[static_cast<std::size_t>(distribution.tokens[i])] = distribution.probs[i];
  }
}

}  // namespace augur
