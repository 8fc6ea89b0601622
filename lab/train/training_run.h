#pragma once
#include <torch/torch.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "lab/corpus/dataset.h"
#include "lab/train/device.h"
#include "lab/train/learner.h"
#include "lab/train/model_card.h"
#include "lab/train/needs.h"
#include "lab/train/optimizer.h"
#include "lab/train/tensor_count.h"

namespace augur {

/// Whether activations are computed again in backward passes (Learner::set_gradient_checkpointing).
enum class GradientCheckpointing {
  Off,
  On,
  Auto,  ///< where TrainingRun::needs() finds that they do not fit into the memory that is free; else not
};

struct TrainingOptions {
  std::int64_t total_tokens = 0;    ///< the schedule's length
  std::int64_t step_tokens = 4096;  ///< tokens whose gradients make one optimizer step
  double learning_rate = 1e-4;
  double final_rate = 0.1;  ///< fraction of learning_rate at the end of the cosine
  double warmup = 0.02;     ///< fraction of total_tokens
  double beta1 = 0.9, beta2 = 0.95;
  bool muon = false;  ///< Muon for matrices between states (train/muon.h), AdamW for the rest
  double weight_decay = 0.0;
  double clip = 0.5;  ///< gradient norm
  std::uint64_t seed = 1;
  std::int64_t checkpoint_tokens = 200'000;  ///< between checkpoints
  std::int64_t evaluate_tokens = 500'000;    ///< between evaluations on the held-out sequences
  std::int64_t held_out = 100;               ///< sequences kept for evaluation, chosen by the seed
  std::int64_t pack_tokens = 20480;          ///< of sequences that a worker runs together, about
  GradientCheckpointing gradient_checkpointing = GradientCheckpointing::Off;
  bool learn_prompts = false;  ///< from all of a sequence's tokens; held-out ones are graded as ever
  double log_seconds = 15;     ///< between progress lines
};

/// Trains a Learner over a Dataset: AdamW, warm-up and cosine, clipping, checkpoints in `folder`. A run that
/// finds a checkpoint there continues it, bit for bit as if it had not stopped. Error when that was made with
/// other data, seed, held-out sequences, kind of optimizer or learner (Learner::settings); the rest of the
/// options may change from run to run.
class TrainingRun {
 public:
  using Log = std::function<void(const std::string&)>;
  /// `facts`: what the card says of target, data and command; the run fills in the rest.
  TrainingRun(Learner& learner, const Dataset& data, const TrainingOptions& options,
              std::filesystem::path folder, CardFacts facts, Log log);
  ~TrainingRun();

  /// Another learner of the same part, which takes a share of every step's sequences on a thread of its own.
  /// It shares the weights from now on. Bits of the result depend on the number of workers.
  void add_worker(Learner& worker);

  /// Bytes that may be taken on a device; none: not known.
  using FreeMemory = std::function<std::optional<std::int64_t>(torch::Device)>;
  /// What the rest of the run will take: runs a step twice, and learns nothing from it. Error when the disk
  /// has no room for it. With GradientCheckpointing::Auto the first is run with gradient checkpoints, which
  /// tells what they do without: where that is more than what is free, they stay.
  TrainingNeeds needs(const FreeMemory& free = free_memory);

  /// Until the schedule ends, or `stop` returns true between two steps (a checkpoint is written then).
  /// Returns true when the schedule has ended; the learner's result has been saved in any case.
  bool train(const std::function<bool()>& stop);
  Grade evaluate();
  std::int64_t tokens() const { return tokens_; }

 private:
  /// The examples of the step that begins at a place of the order.
  std::vector<Example> step_from(std::int64_t position);
  void step();
  using TensorCounts = std::vector<std::unique_ptr<TensorCount>>;
  /// Runs the examples on all workers; their gradients are summed in the first learner's. `counts`: of each
  /// worker's tensors; empty: nobody counts.
  Grade run_all(std::vector<Example> examples, bool learn, const TensorCounts& counts = {});
  void set_gradient_checkpointing(bool on);
  torch::Device device() const { return optimizer_.parameters().front().second.device(); }
  Schedule schedule() const { return {options_.warmup, options_.final_rate}; }
  /// Share of the run that is done.
  double along() const;
  void log_progress();
  void record_evaluation();
  void save_all();
  void save_checkpoint();
  bool load_checkpoint();
  nlohmann::json settings() const;

  Learner& learner_;
  std::vector<Learner*> workers_;  ///< learner_ and those that share its weights
  const Dataset& data_;
  TrainingOptions options_;
  std::filesystem::path folder_;
  CardFacts facts_;
  Log log_;
  std::vector<std::int64_t> training_set_;
  std::vector<std::int64_t> held_set_;
  std::vector<std::uint8_t> everything_;  ///< Example::learn of a sequence that is learnt whole
  ShuffledOrder order_;
  Optimizer optimizer_;
  std::unique_ptr<LearningCurve> curve_;
  // What a checkpoint holds besides tensors.
  std::int64_t position_ = 0;
  std::int64_t tokens_ = 0;
  std::int64_t steps_ = 0;
  // Since the last line of progress.
  Grade recent_;
  Stopwatch clock_;
  std::int64_t logged_ = 0;
};

}  // namespace augur
