#pragma once
#include <torch/torch.h>

#include <functional>
#include <vector>

namespace augur {

/// A part of a forward pass, a layer for instance: tensors from tensors.
using TensorFunction = std::function<std::vector<torch::Tensor>(const std::vector<torch::Tensor>&)>;

/// part(inputs). With `on`, and where gradients are collected, nothing of what the part computes on the way
/// is kept (gradient checkpointing, Chen et al. 2016): the backward pass runs it once more, so it must do the
/// same again, and what it refers to must live until then. `parameters`: all leaves in it that collect
/// gradients; where the part uses each once, gradients are the same bit for bit. All inputs and outputs are
/// defined.
std::vector<torch::Tensor> checkpointed(bool on, const TensorFunction& part,
                                        const std::vector<torch::Tensor>& inputs,
                                        const std::vector<torch::Tensor>& parameters);

/// The same of one tensor.
torch::Tensor checkpointed(bool on, const std::function<torch::Tensor(const torch::Tensor&)>& part,
                           const torch::Tensor& input, const std::vector<torch::Tensor>& parameters);

}  // namespace augur
