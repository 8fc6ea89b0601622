#include "lab/train/muon.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "lab/train/optimizer_state.h"
#include "lab/train/torch_ops.h"

namespace augur {

bool is_muons(const torch::Tensor& parameter) {
  constexpr std::int64_t kFew = 16;
  return parameter.dim() == 2 && std::min(parameter.size(0), parameter.size(1)) >= kFew;
}

namespace {

/// Of matrices [batch, rows, columns], no fewer columns than rows.
torch::Tensor directions_of_wide(torch::Tensor x) {
  constexpr double kAdamWSize = 0.2;
  constexpr int kIterations = 5;
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315;  // Jordan's: steep at 0, so five iterations do
  x = (x / (x.flatten(1).norm(2, 1).view({-1, 1, 1}) + 1e-7)).to(torch::kBFloat16);
  for (int i = 0; i < kIterations; ++i) {
    const torch::Tensor s = product(x, x.transpose(1, 2));
    x = x * a + product(s * b + product(s, s) * c, x);
  }
  return x.to(torch::kFloat32).mul_(kAdamWSize * std::sqrt(static_cast<double>(x.size(2))));
}

}  // namespace

std::vector<torch::Tensor> muon_directions(const std::vector<torch::Tensor>& momenta) {
  const auto is_tall = [](const torch::Tensor& x) { return x.size(0) > x.size(1); };
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < momenta.size(); ++i)
    alike[std::minmax(momenta[i].size(0), momenta[i].size(1))].push_back(i);
  std::vector<torch::Tensor> directions(momenta.size());
  for (const auto& [shape, members] : alike) {
    std::vector<torch::Tensor> wide;
    for (const std::size_t i : members) wide.push_back(is_tall(momenta[i]) ? momenta[i].t() : momenta[i]);
    const torch::Tensor found = directions_of_wide(torch::stack(wide));
    for (std::size_t m = 0; m < members.size(); ++m) {
      const torch::Tensor one = found[static_cast<std::int64_t>(m)];
      directions[members[m]] = is_tall(momenta[members[m]]) ? one.t() : one;
    }
  }
  return directions;
}

Muon::Muon(std::vector<torch::Tensor> matrices, const MuonOptions& options)
    : Optimizer(std::move(matrices), std::make_unique<MuonOptions>(options)) {}

torch::Tensor Muon::step(LossClosure closure) {
  constexpr double kMomentum = 0.95;
  const torch::Tensor loss = closure ? closure() : torch::Tensor();
  const torch::NoGradGuard no_grad;
  for (auto& group : param_groups_) {
    const auto& options = static_cast<const MuonOptions&>(group.options());
    std::vector<torch::Tensor> matrices, momenta;
    for (torch::Tensor& matrix : group.params()) {
      const torch::Tensor& gradient = matrix.grad();
      if (!gradient.defined()) continue;
      auto* state = find_state<MuonState>(*this, matrix);
      if (state == nullptr)
        state = &set_state(*this, matrix, MuonState().momentum(torch::zeros_like(gradient)));
      state->step(state->step() + 1);
      state->momentum().mul_(kMomentum).add_(gradient);
      matrices.push_back(matrix);
      momenta.push_back(gradient + state->momentum() * kMomentum);
    }
    const std::vector<torch::Tensor> directions = muon_directions(momenta);
    for (std::size_t i = 0; i < matrices.size(); ++i)
      matrices[i].mul_(1 - options.lr() * options.weight_decay()).add_(directions[i], -options.lr());
  }
  return loss;
}

}  // namespace augur
