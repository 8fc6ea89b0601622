#pragma once
#include <torch/torch.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "train/dataset.h"
#include "train/learner.h"

namespace augur {

struct TrainingOptions {
  std::int64_t total_tokens = 0;    ///< the schedule's length
  std::int64_t step_tokens = 4096;  ///< tokens whose gradients make one optimizer step
  double learning_rate = 1e-4;
  double final_rate = 0.1;  ///< fraction of learning_rate at the end of the cosine
  double warmup = 0.02;     ///< fraction of total_tokens
  double beta1 = 0.9, beta2 = 0.95;
  double weight_decay = 0.0;
  double clip = 0.5;  ///< gradient norm
  std::uint64_t seed = 1;
  std::int64_t checkpoint_tokens = 200'000;  ///< between checkpoints
  std::int64_t evaluate_tokens = 500'000;    ///< between evaluations on the held-out sequences
  std::int64_t held_out = 100;  ///< sequences kept for evaluation (the dataset's last in shuffled order)
};

/// Trains a Learner over a Dataset: AdamW, warm-up and cosine, clipping, checkpoints in `folder`. A run that
/// finds a checkpoint there continues it, bit for bit as if it had not stopped.
class TrainingRun {
 public:
  using Log = std::function<void(const std::string&)>;
  TrainingRun(Learner& learner, const Dataset& data, const TrainingOptions& options,
              std::filesystem::path folder, Log log);
  ~TrainingRun();

  /// Until the schedule ends, or `stop` returns true between two steps (a checkpoint is written then).
  /// Returns true when the schedule has ended; the learner's result has been saved in any case.
  bool train(const std::function<bool()>& stop);
  Grade evaluate();

 private:
  void step();
  void save_checkpoint();
  bool load_checkpoint();
  double rate() const;
  void record(const Grade& held_out);

  Learner& learner_;
  const Dataset& data_;
  TrainingOptions options_;
  std::filesystem::path folder_;
  Log log_;
  ShuffledOrder held_order_;
  std::vector<std::int64_t> training_set_;
  std::vector<std::int64_t> held_set_;
  ShuffledOrder order_;
  NamedTensors parameters_;
  std::vector<torch::Tensor> first_moment_, second_moment_;
  // What a checkpoint holds besides tensors.
  std::int64_t position_ = 0;
  std::int64_t tokens_ = 0;
  std::int64_t steps_ = 0;
  Grade recent_;
};

}  // namespace augur
