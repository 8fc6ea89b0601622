#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/types.h"
#include "checkpoint/checkpoint.h"
#include "lab/train/torch_llama.h"
#include "model/weights.h"

namespace augur {

/// A frozen target's forward pass by the engine's own kernels, with bfloat16 weights: on a CPU faster than
/// libtorch's (docs/training.md). Sequences share passes. Rows have the same bits whatever the number of
/// threads, callers or rows in a pass. forward() is safe to call from several threads: each takes activations
/// and a cache of its own, and a team of as many threads as libtorch gives the caller; the weights are
/// shared.
class EngineTarget {
 public:
  /// Packs the layers. Error naming file and tensor.
  explicit EngineTarget(const Checkpoint& checkpoint);
  ~EngineTarget();

  /// As TorchLlama::forward(), without favourites. Error for a sequence beyond the model's context.
  TorchLlama::Output forward(TorchLlama::Sequences sequences, std::span<const int> taps);

  const Checkpoint& checkpoint() const { return checkpoint_; }

 private:
  struct Session;
  std::unique_ptr<Session> take(int threads);
  void give_back(std::unique_ptr<Session> session);

  const Checkpoint checkpoint_;
  const ModelConfig config_;
  PackedMatrix embedding_;
  std::shared_ptr<const std::vector<LayerWeights>> layers_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_;
};

}  // namespace augur
