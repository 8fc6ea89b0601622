#pragma once
#include <cstdint>
#include <vector>

namespace augur {
inline namespace abi1 {

struct TokenLogprob {
  std::int32_t token = -1;
  float logprob = 0;
  bool operator==(const TokenLogprob&) const = default;
};

/// A token's log-probability at its place, in nats, by the model's own distribution: of its unchanged logits,
/// before penalties, biases, temperature and filters. With Request::sampled_logprobs, after all of these;
/// then `top` has only tokens that can be drawn.
struct TokenLogprobs {
  float logprob = 0;
  std::vector<TokenLogprob> top;  ///< the most probable ones, falling; equals by rising id
  bool operator==(const TokenLogprobs&) const = default;
};

}  // namespace abi1
}  // namespace augur
