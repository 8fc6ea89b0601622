#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "model/kv_cache.h"
#include "model/model.h"
#include "vocab/head_row.h"

namespace augur {

/// A draft head of the EAGLE kind: a few layers that predict the target's next hidden state from the last one
/// and the token after it. Row i pairs hidden state i with token i+1, at rotary position i, and its logits
/// are about token i+2. The target's own states are features (see taps); below the text the head is fed what
/// it computed itself. Heads differ in their entrance and exit only; RecurrentDrafter drafts with any of
/// them. Weights and buffers are shared by all sequences: one thread at a time.
class RecurrentHead {
 public:
  struct Shape {
    std::vector<int> taps;      ///< the target's layers whose entering residual streams are the features
    std::int64_t features = 0;  ///< width of a row of features
    std::int64_t state = 0;     ///< width of a state
    std::int64_t vocab = 0;     ///< entries of the draft vocabulary
    std::vector<TokenId> target_ids;  ///< target's id of each; empty: the same
    /// > 0: the head drafts so many levels below the root's children in the root's own pass, from placeholder
    /// rows (P-EAGLE). Logits depend on a node's depth only, then.
    int placeholders = 0;
    TokenId placeholder_token = 0;
  };

  virtual ~RecurrentHead() = default;
  virtual std::string_view name() const = 0;
  const Shape& shape() const { return shape_; }
  virtual Backend& backend() const = 0;
  /// For at most `capacity` rows, and as many as the head can hold.
  virtual KvCache make_cache(std::int64_t capacity) const = 0;

  /// The states that stand for rows of features. features [count, shape().features], states [count, state]
  virtual void project(const float* features, int count, float* states) = 0;
  /// The state of a placeholder row. [state]
  virtual std::span<const float> placeholder_state() const { return {}; }
  /// Runs the rows; states [rows, state]. Returns the states to go on with, [rows, state], valid until the
  /// next call.
  virtual std::span<const float> run(const TokenBatch& batch, const float* states) = 0;
  /// What turns states into logits over the draft vocabulary. Refers to the head.
  virtual HeadWeights exit() const = 0;
  /// What exit() projects for a row of the last run(). [state]
  virtual const float* exit_row(int row) const = 0;

 protected:
  Shape shape_;
};

}  // namespace augur
