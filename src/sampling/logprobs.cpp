#include "sampling/logprobs.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/elementary.h"
#include "kernels/ops.h"

namespace augur {

namespace {

/// log(sum(exp(logits))): of float32 terms, added in double, one after the other.
double log_sum_of(std::span<const float> logits, float max) {
  std::array<float, 1024> terms;
  double sum = 0;
  for (std::size_t begin = 0; begin < logits.size(); begin += terms.size()) {
    const auto part = logits.subspan(begin, std::min(terms.size(), logits.size() - begin));
    exp_row(part.data(), std::ssize(part), max, 1.0f, terms.data());
    for (std::size_t i = 0; i < part.size(); ++i) sum += terms[i];
  }
  return max + elementary::log(sum);
}

/// 0 for a token that the distribution does not have.
float probability_of(TokenId token, const SparseDistribution& distribution) {
  const std::vector<TokenId>& tokens = distribution.tokens;
  const auto found = std::lower_bound(tokens.begin(), tokens.end(), token);
  if (found == tokens.end() || *found != token) return 0.0f;
  return distribution.probs[static_cast<std::size_t>(found - tokens.begin())];
}

}  // namespace

TokenLogprobs logprobs(std::span<const float> logits, TokenId token, int top) {
  const float max = *std::max_element(logits.begin(), logits.end());
  const double log_sum = log_sum_of(logits, max);
  const auto of = [&](float logit) { return static_cast<float>(logit - log_sum); };

  TokenLogprobs result{.logprob = of(logits[static_cast<std::size_t>(token)]), .top = {}};
  const auto count = std::min(static_cast<std::size_t>(top), logits.size());
  if (count == 0) return result;
  std::vector<TokenId> tokens(count);
  std::vector<float> values(count);
  top_k(logits, static_cast<int>(count), tokens.data(), values.data());
  for (std::size_t i = 0; i < count; ++i) result.top.push_back({tokens[i], of(values[i])});
  return result;
}

TokenLogprobs logprobs(const SparseDistribution& distribution, TokenId token, int top) {
  const auto of = [](float prob) { return static_cast<float>(elementary::log(static_cast<double>(prob))); };
  TokenLogprobs result{.logprob = of(probability_of(token, distribution)), .top = {}};
  std::vector<std::size_t> order(distribution.tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto count = static_cast<std::ptrdiff_t>(std::min(static_cast<std::size_t>(top), order.size()));
  // Tokens lie by rising id, as equals have to.
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](std::size_t a, std::size_t b) {
    const float pa = distribution.probs[a];
    const float pb = distribution.probs[b];
    return pa != pb ? pa > pb : a < b;
  });
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const std::size_t at = order[static_cast<std::size_t>(i)];
    if (distribution.probs[at] > 0)
      result.top.push_back({distribution.tokens[at], of(distribution.probs[at])});
  }
  return result;
}

}  // namespace augur
