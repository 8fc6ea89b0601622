#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "lab/train/torch_tensors.h"

namespace augur {

/// AdamW (Loshchilov and Hutter 2019, algorithm 2) over a list of float32 parameters. The moments belong to a
/// checkpoint.
class AdamW {
 public:
  struct Step {
    double rate = 0;
    double beta1 = 0.9, beta2 = 0.95;
    double weight_decay = 0;    ///< of matrices; norms and biases are not decayed
    double gradient_scale = 1;  ///< gradients are multiplied by it first
    double number = 1;          ///< of the step, from 1
    bool muon = false;          ///< Muon's steps for the matrices that are its own (train/muon.h)
  };
  /// `is_table`: of a parameter's name, whether it is a table over a vocabulary (train/muon.h).
  AdamW(NamedTensors parameters, const std::function<bool(std::string_view)>& is_table);

  /// Euclidean norm of all gradients.
  double gradient_norm() const;
  /// Parameters without a gradient stay as they are. On the CPU one pass over the memory of each.
  void update(const Step& step);
  void clear_gradients();
  /// Adds the gradients of other tensors, in the order of the parameters, and clears them there.
  void take_gradients(NamedTensors from);

  const NamedTensors& parameters() const { return parameters_; }
  std::vector<torch::Tensor>& first_moments() { return first_; }
  std::vector<torch::Tensor>& second_moments() { return second_; }

 private:
  NamedTensors parameters_;
  std::vector<bool> muons_;  ///< which Muon may move
  std::vector<torch::Tensor> first_, second_;
};

}  // namespace augur
