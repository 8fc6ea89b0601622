#pragma once
#include <filesystem>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "model/fingerprint.h"
#include "model/residual_mlp.h"
#include "tree/draft_tree.h"
#include "tree/node_wants.h"

namespace augur {

/// Predicts from a drafter's hidden state at a token whether the target will accept that token: one or two
/// residual blocks x + silu(W x + b) (section 2.3), then a logistic unit, which may also see how the drafter
/// came by the token, of which the state after it says little. Rows are computed together, as the model's
/// are: by its team, with its kernels. Holds scratch: one thread at a time. Stays where it is.
class AcceptanceHead {
 public:
  /// Reads a folder: config {"hidden", "blocks", optionally "rms_norm_eps", "log_prob_weight",
  /// "entropy_weight"}, tensors blocks.{i}.{weight,bias}, head.{weight,bias}. With rms_norm_eps states are
  /// divided by their root mean square first. Error when it was made for another target. `floats`: what the
  /// blocks' matrices are packed to, BF16 or F32. The backend outlives it.
  AcceptanceHead(const std::filesystem::path& folder, const Fingerprint* target, Backend& backend,
                 DType floats = DType::BF16);

  /// A log-probability counts as at least this.
  static constexpr double kLeastLogProb = -30;

  std::size_t width() const { return width_; }
  NodeWants wants() const { return {.entropy = entropy_weight_ != 0, .hidden = true}; }
  /// Probability that each node's token is accepted; 0 where weights so large that sums overflow cannot tell.
  /// The nodes keep their states: Error for states of another width. out[nodes.size()]
  void probabilities(const DraftTree& tree, std::span<const std::int32_t> nodes, std::span<double> out);

 private:
  /// Row r of the input is `state`, normalised if that is wanted.
  void set_input(std::size_t r, std::span<const float> state);
  /// Makes room for the inputs of so many rows.
  void reserve(std::size_t rows);
  /// What the drafter said of a token before it ran it.
  struct Draw {
    double log_prob = 0;
    double entropy = 0;  ///< nats, of the distribution that the token came from (DraftTree::entropies)
  };
  double finish(std::size_t r, const Draw& draw) const;

  Backend& backend_;
  std::size_t width_ = 0;
  ResidualMlp blocks_;
  std::vector<float> head_;
  float head_bias_ = 0;
  double norm_eps_ = -1;  ///< < 0: states as they are
  double log_prob_weight_ = 0;
  double entropy_weight_ = 0;
  std::vector<float> inputs_;  ///< [rows, width]
  std::vector<float> ones_;    ///< [width]
};

}  // namespace augur
