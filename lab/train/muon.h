#pragma once
#include <torch/torch.h>

namespace augur {

/// Muon (Jordan et al. 2024): a matrix moves along the orthogonal matrix nearest to its momentum, so that
/// directions that the loss asks for rarely are learnt as fast as frequent ones. For matrices between states;
/// tables over a vocabulary (Learner::is_table), a few rows or columns, norms and biases are AdamW's.
/// Whether a parameter that is no table is Muon's.
bool is_muons(const torch::Tensor& parameter);

/// The direction of a step: momentum's singular values brought near 1 by five Newton-Schulz iterations (in
/// bfloat16), then scaled by 0.2 sqrt(max(rows, columns)) (Liu et al. 2025, "Muon is scalable for LLM
/// training", section 2.2), which is the size of AdamW's steps: both take the same learning rate. [rows,
/// columns] float32
torch::Tensor muon_direction(const torch::Tensor& momentum);

}  // namespace augur
