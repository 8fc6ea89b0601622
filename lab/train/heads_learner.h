#pragma once
#include <torch/torch.h>

#include <optional>
#include <vector>

#include "lab/train/learner.h"
#include "lab/train/lesson.h"
#include "lab/train/vocabulary_loss.h"

namespace augur {

/// Prediction heads on the target's last hidden state (after its final norm), one for each depth:
///   - Medusa (Cai et al. 2024): x = state, x += silu(W x + b) for each block, logits = V x;
///   - grounded, Hydra (Ankner et al. 2024): the input is the state and the embeddings of the tokens down to
///   the
///     node, x = R u + silu(E u + e), then blocks, and V has a bias. With `prefix` (Hydra++) the states go
///     through another decoder layer and a norm first.
/// Head d at row t predicts token t+2+d. Loss: soft cross-entropy against the target's softmax there, given
/// the text itself, with weight decay^d.
class HeadsLearner final : public Learner {
 public:
  struct Options {
    bool grounded = false;
    bool prefix = false;  ///< grounded only
    int heads = 4;
    int layers = 1;  ///< blocks of a head; a grounded head's entry counts as one
    double decay = 0.8;
    bool shares_head = false;  ///< the target's own head in place of V; not stored
    std::uint64_t seed = 1;
    std::optional<DraftVocabulary>
        vocabulary;  ///< distributions are learnt over; none: all. Shared heads only
  };
  HeadsLearner(const TorchLlama& target, const Options& options);

  std::string title() const override;
  NamedTensors parameters() override;
  bool is_table(std::string_view name) const override;
  Grade run(std::span<const Example> examples, bool learn) override;
  torch::Tensor draft_logits(const Example& example, std::int64_t root) override;

 protected:
  std::string file() const override;
  nlohmann::json config() const override;

 private:
  struct Block {
    torch::Tensor weight, bias;
  };
  struct Head {
    Block entry, entry_residual;  ///< grounded only
    std::vector<Block> blocks;
    Block output;  ///< a bias when grounded
  };
  /// Published name of head `depth`'s output matrix and bias, without ".weight".
  std::string output_name(std::size_t depth) const;
  torch::Tensor states(const Lesson& lesson) const;
  /// What head `depth` makes of rows [R] of the text, before its output matrix. [R, hidden]
  torch::Tensor apply(int depth, const torch::Tensor& states, const Lesson& lesson,
                      const torch::Tensor& rows) const;

  /// What it is over the draft vocabulary.
  TorchHead over_vocabulary(int depth, const torch::Tensor& hidden) const;

  const TorchLlama& target_;
  Options options_;
  DraftVocabulary vocabulary_;
  torch::Tensor shared_head_;  ///< rows of the target's head, for vocabulary_; undefined unless shared
  ModelConfig shape_;          ///< of the prefix layer
  RopeTable rope_;
  std::vector<Head> heads_;
  TorchLayer prefix_;
  torch::Tensor prefix_norm_;
};

}  // namespace augur
