#pragma once
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "files/weight_store.h"
#include "lab/train/muon.h"
#include "lab/train/schedule.h"
#include "lab/train/torch_tensors.h"

namespace augur {

/// What moves a learner's float32 parameters: libtorch's AdamW, and Muon for the matrices that are its own
/// where it is asked for, both with one schedule and one clipping.
class Optimizer {
 public:
  struct Options {
    double rate = 0;
    Schedule schedule;
    double beta1 = 0.9, beta2 = 0.95;
    double weight_decay = 0;  ///< of matrices; norms and biases are not decayed
    double clip = 1;          ///< the largest norm of a mean gradient
    bool muon = false;
  };
  /// `is_table`: of a parameter's name, whether it is a table over a vocabulary (train/muon.h).
  Optimizer(NamedTensors parameters, const std::function<bool(std::string_view)>& is_table,
            const Options& options);

  /// Moves the parameters, whose gradients are sums over so many rows, by the mean gradients when the share
  /// `along` of the run is done. Those without a gradient stay as they are. Returns the norm of the mean
  /// gradients before clipping; where that is not finite nothing moves.
  double step(double rows, double along);
  void clear_gradients();
  /// Adds the gradients of other tensors, in the order of the parameters, and clears them there.
  void take_gradients(NamedTensors from);

  const NamedTensors& parameters() const { return parameters_; }
  /// How many numbers the parameters are.
  std::int64_t numbers() const;
  /// What parameters and state() take in a checkpoint, about.
  std::int64_t checkpoint_bytes() const;
  /// What a checkpoint keeps of the optimizer.
  NamedTensors state();
  /// Takes it from a checkpoint that was written after so many steps.
  void load_state(const WeightStore& store, std::int64_t steps);

 private:
  std::vector<torch::Tensor> tensors() const;

  NamedTensors parameters_;
  std::vector<bool> is_muons_;  ///< which Muon moves
  double clip_;
  std::unique_ptr<torch::optim::AdamW> adamw_;
  std::unique_ptr<Muon> muon_;  ///< null: not asked for
  std::vector<Scheduler> schedulers_;
};

}  // namespace augur
