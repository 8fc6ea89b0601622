#pragma once
#include <torch/torch.h>

#include <optional>
#include <vector>

#include "lab/train/learner.h"
#include "lab/train/lesson.h"

namespace augur {

/// A block drafter (DFlash; Chen et al. 2026): a block of the newest token (the anchor) and placeholders goes
/// through a few layers of Qwen3's form in one pass, seeing itself in both directions and the text before the
/// anchor as keys and values only, which every layer makes of norm(fc(the target's hidden states)). The slot
/// of depth d predicts token anchor + 1 + d. From one pass of the target, many random anchors of a sequence
/// are learnt from at once.
///
/// Loss of a slot: exp(-d / gamma) * soft cross-entropy against the target's softmax there, given the text
/// itself. DSpark adds a bias from the token before (Markov head) and predicts the chance of acceptance
/// (confidence head); its loss is 0.1 cross-entropy + 0.9 |q - p|_1 + binary cross-entropy of the confidence
/// against 1 - TV(q, p).
class DflashLearner final : public Learner {
 public:
  struct Options {
    int layers = 1;
    int block = 8;     ///< slots: the anchor and placeholders
    int anchors = 48;  ///< of a sequence, at most
    double gamma = 4;
    bool dspark = false;
    int markov_rank = 64;
    /// Ends in the target's head, restricted to the vocabulary; neither that nor the Markov head's rows for
    /// tokens outside the vocabulary, which have no bias, are stored.
    bool shares_head = false;
    int intermediate = 0;            ///< width of the layers' MLP; 0: the target's
    TokenId mask_token = -1;         ///< whose embedding placeholders have; -1: the vocabulary's last
    std::vector<int> taps;           ///< layers *entered*; see default_taps
    std::vector<double> tap_scales;  ///< root mean square of each; empty: all 1
    std::uint64_t seed = 1;
  };
  /// A reduced vocabulary brings a head of its own, unless it shares the target's.
  DflashLearner(const TorchLlama& target, DraftVocabulary vocabulary, const Options& options);

  std::string title() const override;
  NamedTensors parameters() override;
  bool is_table(std::string_view name) const override {
    return name == "lm_head.weight" || name.starts_with("markov_head.");
  }
  Grade run(std::span<const Example> examples, bool learn) override;
  torch::Tensor draft_logits(const Example& example, std::int64_t root) override;
  /// DSpark's confidence by depth. As draft_logits, [depths].
  torch::Tensor draft_confidence(const Example& example, std::int64_t root);

 protected:
  NamedTensors constants() const override { return vocabulary_.maps(); }
  nlohmann::json config() const override;

 private:
  /// DSpark's anchor slot predicts, DFlash's does not.
  int first_slot() const { return options_.dspark ? 0 : 1; }
  int depths() const { return options_.block - first_slot(); }
  /// Rows to learn from, ascending.
  std::vector<std::int64_t> pick_anchors(const Lesson& lesson) const;
  /// Normed states of the blocks' slots, [anchors * block, hidden].
  torch::Tensor run_blocks(const Lesson& lesson, const std::vector<std::int64_t>& anchors) const;
  /// Of what it gives.
  LogitForm form() const {
    return head_.defined() && !options_.shares_head ? LogitForm{} : target_.logit_form();
  }
  const torch::Tensor& head() const { return head_.defined() ? head_ : target_.head(); }
  /// Of tokens [R], what biases their successors. [R, rank]
  torch::Tensor markov_embedding(const torch::Tensor& tokens) const;
  /// Confidence logits of states [R, hidden] and Markov embeddings [R, rank].
  torch::Tensor confidence(const torch::Tensor& states, const torch::Tensor& before) const;

  const TorchLlama& target_;
  Options options_;
  DraftVocabulary vocabulary_;
  ModelConfig shape_;  ///< of the head's layers
  RopeTable rope_;
  torch::Tensor fc_, hidden_norm_, norm_;
  torch::Tensor head_;  ///< over the vocabulary: its own, or rows of the target's; undefined: the target's
  std::vector<TorchLayer> layers_;
  torch::Tensor markov_in_, markov_out_;  ///< W1 [V, or draft vocabulary, rank], W2 [draft vocabulary, rank]
  torch::Tensor confidence_, confidence_bias_;
};

}  // namespace augur
