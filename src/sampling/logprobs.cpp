#include "sampling/logprobs.h"

#include <algorithm>
#include <cmath>

#include "kernels/ops.h"

namespace augur {

TokenLogprobs logprobs(std::span<const float> logits, TokenId token, int top) {
  const float max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - max);
  const double log_sum = max + std::log(sum);
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

}  // namespace augur
