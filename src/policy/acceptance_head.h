#pragma once
#include <filesystem>
#include <span>
#include <vector>

#include "model/fingerprint.h"
#include "tree/draft_tree.h"
#include "tree/node_wants.h"

namespace augur {

/// Predicts from a drafter's hidden state at a token whether the target will accept that token: one or two
/// residual blocks x + silu(W x + b) (section 2.3), then a logistic unit, which may also see how the drafter
/// came by the token, of which the state after it says little. Holds scratch: one thread at a time.
class AcceptanceHead {
 public:
  /// Reads a folder: config {"hidden", "blocks", optionally "rms_norm_eps", "log_prob_weight",
  /// "entropy_weight"}, tensors blocks.{i}.{weight,bias}, head.{weight,bias}. With rms_norm_eps states are
  /// divided by their root mean square first. Error when it was made for another target.
  static AcceptanceHead read(const std::filesystem::path& folder, const Fingerprint* target);

  /// A log-probability counts as at least this.
  static constexpr double kLeastLogProb = -30;

  /// What the drafter said of a token before it ran it.
  struct Draw {
    double log_prob = 0;
    double entropy = 0;  ///< nats, of the distribution that the token came from (DraftTree::entropies)
  };

  std::size_t width() const { return width_; }
  NodeWants wants() const { return {.entropy = entropy_weight_ != 0, .hidden = true}; }
  /// Probability that the token is accepted. state: [width], after it
  double probability(std::span<const float> state, const Draw& draw);
  /// Of a node that keeps its state.
  double probability(const DraftTree& tree, std::int32_t node);

 private:
  struct Block {
    std::vector<float> columns;  ///< W transposed [in, out]: the product then adds columns, in vector order
    std::vector<float> bias;
  };
  std::size_t width_ = 0;
  std::vector<Block> blocks_;
  std::vector<float> head_;
  float head_bias_ = 0;
  double norm_eps_ = -1;  ///< < 0: states as they are
  double log_prob_weight_ = 0;
  double entropy_weight_ = 0;
  std::vector<float> x_;  ///< scratch
  std::vector<float> y_;
};

}  // namespace augur
