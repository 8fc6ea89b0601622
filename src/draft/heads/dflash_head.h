#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "draft/formats/dflash_config.h"
#include "draft/heads/dspark_markov.h"
#include "draft/registry.h"
#include "kernels/logit_form.h"
#include "model/layer_stack.h"
#include "model/linear.h"
#include "model/workspace.h"

namespace augur {

/// The head of a block drafter. DFlash (Chen et al., 2026) predicts several tokens in one pass: a block of
/// the newest token (the anchor) and placeholders, at consecutive positions, runs through a few decoder
/// layers, seeing itself in both directions; then come a norm and the target's head. The text before it is
/// there as keys and values only, which every layer makes of c = norm(fc(the target's hidden states)). DSpark
/// adds a bias from the token before (MarkovHead). A head with `shares_target_head` in its config.json (this
/// project's extension) and a draft vocabulary ends in the target's rows for that. Weights and buffers are
/// shared by all sequences: one thread at a time.
class DflashHead {
 public:
  /// A pass over blocks, by the rows that were wanted. Normed states and logits over the draft vocabulary.
  struct Result {
    std::int64_t width = 0;
    std::int64_t stride = 0;
    std::int64_t vocab = 0;
    std::vector<float> states;  ///< [rows, width]
    Buffer<float> values;       ///< [rows, stride] logits

    std::span<const float> state(int row) const {
      return std::span(states).subspan(static_cast<std::size_t>(row * width),
                                       static_cast<std::size_t>(width));
    }
    std::span<const float> logits(int row) const {
      return {values.data() + row * stride, static_cast<std::size_t>(vocab)};
    }
  };

  /// With a Markov head when `dspark`.
  DflashHead(const DrafterSource& source, bool dspark);

  const DflashConfig& config() const { return config_; }
  std::int64_t features() const { return features_; }                     ///< width of a row of features
  std::int64_t vocab() const { return vocab_; }                           ///< entries of the draft vocabulary
  const std::vector<TokenId>& target_ids() const { return target_ids_; }  ///< of each; empty: the same
  Backend& backend() const { return layers_->backend(); }
  MarkovHead* markov() const { return markov_.get(); }
  KvCache make_cache(std::int64_t capacity) const { return layers_->make_cache(capacity); }

  /// Keys and values of rows of text. features [rows, features()]
  void store(const TokenBatch& batch, const float* features);
  /// Runs blocks. A row without a parent is an anchor, others are placeholders. `rows`: those wanted.
  void run(const TokenBatch& batch, std::span<const std::int32_t> rows, Result& out);

 private:
  void open_exit(HeadLoader& loader);
  void require_draft_vocabulary(const HeadLoader& loader, const char* tensor) const;
  void read_mask(const HeadLoader& loader, const DflashKeys& keys);
  void embed(TokenId token, float* out) const;

  Model& target_;
  DflashConfig config_;
  std::int64_t features_ = 0;
  std::int64_t width_ = 0;
  std::int64_t vocab_ = 0;
  float eps_ = 0.0f;
  std::vector<TokenId> target_ids_;
  Linear fc_;
  std::vector<float> hidden_norm_, norm_;  ///< [width]
  std::vector<float> mask_;                ///< [width] the placeholder's embedding
  PackedMatrix embedding_;                 ///< [target vocabulary, width]; not valid: the target's
  PackedMatrix head_;                      ///< [draft vocabulary, width], rows of the target's where it
                                           ///< shares that; not valid: the target's
  bool own_embedding_ = false;
  bool own_head_ = false;
  LogitForm form_;  ///< of what head_ gives
  std::unique_ptr<MarkovHead> markov_;
  std::unique_ptr<LayerStack> layers_;

  std::vector<float> context_;     ///< [rows, width]
  std::vector<float> embeddings_;  ///< [rows, width]
};

}  // namespace augur
