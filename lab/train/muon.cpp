#include "lab/train/muon.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "lab/train/optimizer_state.h"
#include "lab/train/torch_ops.h"

namespace augur {

bool is_muons(const torch::Tensor& parameter) {
  constexpr std::int64_t kFew = 16;
  return parameter.dim() == 2 && std::min(parameter.size(0), parameter.size(1)) >= kFew;
}

torch::Tensor muon_direction(const torch::Tensor& momentum) {
  constexpr double kAdamWSize = 0.2;
  constexpr int kIterations = 5;
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315;  // Jordan's: steep at 0, so five iterations do
  const bool tall = momentum.size(0) > momentum.size(1);
  torch::Tensor x = tall ? momentum.t() : momentum;
  x = (x / (x.norm() + 1e-7)).to(torch::kBFloat16);
  for (int i = 0; i < kIterations; ++i) {
    const torch::Tensor s = product(x, x.t());
    x = x * a + product(s * b + product(s, s) * c, x);
  }
  const auto longest = static_cast<double>(std::max(x.size(0), x.size(1)));
  return (tall ? x.t() : x).to(torch::kFloat32).mul(kAdamWSize * std::sqrt(longest));
}

Muon::Muon(std::vector<torch::Tensor> matrices, const MuonOptions& options)
    : Optimizer(std::move(matrices), std::make_unique<MuonOptions>(options)) {}

torch::Tensor Muon::step(LossClosure closure) {
  constexpr double kMomentum = 0.95;
  const torch::Tensor loss = closure ? closure() : torch::Tensor();
  const torch::NoGradGuard no_grad;
  for (auto& group : param_groups_) {
    const auto& options = static_cast<const MuonOptions&>(group.options());
    for (torch::Tensor& matrix : group.params()) {
      const torch::Tensor& gradient = matrix.grad();
      if (!gradient.defined()) continue;
      auto* state = find_state<MuonState>(*this, matrix);
      if (state == nullptr)
        state = &set_state(*this, matrix, MuonState().momentum(torch::zeros_like(gradient)));
      state->step(state->step() + 1);
      state->momentum().mul_(kMomentum).add_(gradient);
      matrix.mul_(1 - options.lr() * options.weight_decay())
          .add_(muon_direction(gradient + state->momentum() * kMomentum), -options.lr());
    }
  }
  return loss;
}

}  // namespace augur
