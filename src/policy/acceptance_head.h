#pragma once
#include <filesystem>
#include <span>
#include <vector>

#include "model/fingerprint.h"

namespace augur {

/// Predicts from a drafter's hidden state at a token whether the target will accept that token: one or two
/// residual blocks x + silu(W x + b), then a logistic unit, which may see the drafter's log-probability of
/// the token, too: the state after a token says little about how likely that token was. Holds scratch: one
/// thread at a time.
class AcceptanceHead {
 public:
  /// Reads a folder: config {"hidden", "blocks", optionally "log_prob_weight"}, tensors
  /// blocks.{i}.{weight,bias}, head.{weight,bias}. Error when it was made for another target.
  static AcceptanceHead read(const std::filesystem::path& folder, const Fingerprint* target);

  /// A log-probability counts as at least this.
  static constexpr double kLeastLogProb = -30;

  std::size_t width() const { return width_; }
  /// Probability of acceptance of a token that the drafter gave `log_prob`. state: [width]
  double probability(std::span<const float> state, double log_prob);

 private:
  struct Block {
    std::vector<float> columns;  ///< W transposed [in, out]: the product then adds columns, in vector order
    std::vector<float> bias;
  };
  std::size_t width_ = 0;
  std::vector<Block> blocks_;
  std::vector<float> head_;
  float head_bias_ = 0;
  double log_prob_weight_ = 0;
  std::vector<float> x_;  ///< scratch
  std::vector<float> y_;
};

}  // namespace augur
