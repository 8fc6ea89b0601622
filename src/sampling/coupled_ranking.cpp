#include "sampling/coupled_ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/elementary.h"
#include "sampling/gumbel.h"

namespace augur {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Candidates among which the probability is shared out: the rest have next to nothing.
constexpr int kRivals = 32;

std::span<const float> adjusted(const SamplingOptions& params, const CoupledRow& row,
                                CoupledScratch& scratch) {
  const bool penalised_ones = penalises(params) && !row.recent.empty();
  if (params.logit_bias.empty() && !penalised_ones) return row.logits;
  scratch.adjusted.assign(row.logits.begin(), row.logits.end());
  const auto logit_of = [&](TokenId token) -> float* {
    auto entry = static_cast<std::int64_t>(token);
    if (!row.entry_of_token.empty()) {
      entry =
          entry < std::ssize(row.entry_of_token) ? row.entry_of_token[static_cast<std::size_t>(token)] : -1;
    }
    return entry >= 0 && entry < std::ssize(scratch.adjusted)
               ? &scratch.adjusted[static_cast<std::size_t>(entry)]
               : nullptr;
  };
  for (const auto& [token, bias] : params.logit_bias) {
    if (float* logit = logit_of(token)) *logit += bias;
  }
  if (penalised_ones) {
    std::sort(row.recent.begin(), row.recent.end());
    for (auto first = row.recent.begin(); first != row.recent.end();) {
      const auto last = std::upper_bound(first, row.recent.end(), *first);
      if (float* logit = logit_of(*first)) *logit = penalised(params, *logit, static_cast<int>(last - first));
      first = last;
    }
  }
  return scratch.adjusted;
}

/// The lowest logit that the filters let pass, as far as the drafter's law says so. Top-p counts among the
/// top-k only: alone it would take a sum over the vocabulary for every node, and gain nothing measurable.
float lowest_kept(const SamplingOptions& params, std::span<const float> logits, CoupledScratch& scratch) {
  float lowest = -kInfinity;
  float max = -kInfinity;
  if (params.top_k > 0 && params.top_k < std::ssize(logits)) {
    const auto count = static_cast<std::size_t>(params.top_k);
    scratch.best.resize(count);
    scratch.best_scores.resize(count);
    top_k(logits, params.top_k, scratch.top_k, scratch.best.data(), scratch.best_scores.data());
    max = scratch.best_scores.front();
    lowest = scratch.best_scores.back();
    if (top_p_of(params) < 1.0f) {
      std::vector<float>& weights = scratch.best_scores;
      exp_row(weights.data(), params.top_k, max, 1.0f / temperature_of(params), weights.data());
      float total = 0.0f;
      for (const float weight : weights) total += weight;
      float sum = 0.0f;
      for (std::size_t i = 0; i < count; ++i) {
        sum += weights[i];
        if (sum < top_p_of(params) * total) continue;
        lowest = logits[static_cast<std::size_t>(scratch.best[i])];
        break;
      }
    }
  }
  if (min_p_of(params) > 0.0f) {
    if (std::isinf(max)) max = logits[static_cast<std::size_t>(argmax(logits.data(), std::ssize(logits)))];
    lowest = std::max(lowest,
                      max + static_cast<float>(elementary::log(min_p_of(params))) * temperature_of(params));
  }
  return lowest;
}

}  // namespace

void CoupledScratch::reserve(std::size_t entries, int k) {
  adjusted.reserve(entries);
  scores.reserve(entries);
  const auto most = static_cast<std::size_t>(std::max(k, kRivals));
  best.reserve(most);
  best_scores.reserve(most);
  // As top_k() wants them.
  top_k.maxima.reserve(2 * most + 128);
  top_k.entries.reserve(std::max<std::size_t>(512, 4 * most));
}

int rank_coupled(const SamplingOptions& params, const CoupledRow& row, int k, CoupledScratch& scratch,
                 std::int32_t* entries, float* log_probs) {
  const std::span<const float> logits = adjusted(params, row, scratch);
  const auto n = std::ssize(logits);
  k = static_cast<int>(std::min<std::int64_t>(k, n));
  if (k < 1) return 0;
  if (greedy(params)) {
    top_k(logits, k, scratch.top_k, entries, log_probs);
    const float total = log_sum_exp(logits.data(), n);
    int found = 0;
    while (found < k && log_probs[found] > -kInfinity) log_probs[found++] -= total;
    return found;
  }
  const float lowest = lowest_kept(params, logits, scratch);
  const float scale = 1.0f / temperature_of(params);
  scratch.scores.resize(logits.size());
  add_noise(logits, lowest, scale * row.calibration.sharpness, row.noise.data(), scratch.scores.data());

  const auto rivals = static_cast<int>(std::min<std::int64_t>(std::max(k, kRivals), n));
  scratch.best.resize(static_cast<std::size_t>(rivals));
  scratch.best_scores.resize(static_cast<std::size_t>(rivals));
  top_k(scratch.scores, rivals, scratch.top_k, scratch.best.data(), scratch.best_scores.data());
  const float best = scratch.best_scores[0];
  if (!(best > -kInfinity)) return 0;
  const float sharpness = temperature_of(params) / row.calibration.error;
  const float total = sum_exp(scratch.best_scores.data(), rivals, best, sharpness);
  const auto log_total = static_cast<float>(elementary::log(total));
  int found = 0;
  for (; found < k && scratch.best_scores[static_cast<std::size_t>(found)] > -kInfinity; ++found) {
    entries[found] = scratch.best[static_cast<std::size_t>(found)];
    log_probs[found] = (scratch.best_scores[static_cast<std::size_t>(found)] - best) * sharpness - log_total;
  }
  return found;
}

}  // namespace augur
