#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <vector>

namespace augur {

/// Muon (Jordan et al. 2024): a matrix moves along the orthogonal matrix nearest to its momentum, so that
/// directions that the loss asks for rarely are learnt as fast as frequent ones. For matrices between states;
/// tables over a vocabulary (Learner::is_table), a few rows or columns, norms and biases are AdamW's.
/// Whether a parameter that is no table is Muon's.
bool is_muons(const torch::Tensor& parameter);

/// The direction of a step: momentum's singular values brought near 1 by five Newton-Schulz iterations (in
/// bfloat16), then scaled by 0.2 sqrt(max(rows, columns)) (Liu et al. 2025, "Muon is scalable for LLM
/// training", section 2.2), which is the size of AdamW's steps: both take the same learning rate. [rows,
/// columns] float32 each. Matrices of one shape, or of one and the other way round, are multiplied together.
std::vector<torch::Tensor> muon_directions(const std::vector<torch::Tensor>& momenta);

struct MuonOptions final : torch::optim::OptimizerCloneableOptions<MuonOptions> {
  explicit MuonOptions(double rate) : lr_(rate) {}
  double get_lr() const override { return lr_; }
  void set_lr(double rate) override { lr_ = rate; }
  TORCH_ARG(double, lr);
  TORCH_ARG(double, weight_decay) = 0;
};

struct MuonState final : torch::optim::OptimizerCloneableParamState<MuonState> {
  TORCH_ARG(std::int64_t, step) = 0;
  TORCH_ARG(torch::Tensor, momentum);
};

/// Muon's steps as an optimizer of libtorch, which brings none.
class Muon final : public torch::optim::Optimizer {
 public:
  Muon(std::vector<torch::Tensor> matrices, const MuonOptions& options);
  torch::Tensor step(LossClosure closure = nullptr) override;
};

}  // namespace augur
