#include "lab/train/adamw.h"

#include <ATen/Parallel.h>

#include <cmath>

#include "lab/train/muon.h"

namespace augur {

namespace {
constexpr float kEpsilon = 1e-8f;
constexpr float kMuonMomentum = 0.95f;
}  // namespace

AdamW::AdamW(NamedTensors parameters, const std::function<bool(std::string_view)>& is_table)
    : parameters_(std::move(parameters)) {
  for (const auto& [name, tensor] : parameters_) {
    muons_.push_back(is_muons(tensor) && !is_table(name));
    first_.push_back(torch::zeros_like(tensor, torch::requires_grad(false)));
    second_.push_back(torch::zeros_like(tensor, torch::requires_grad(false)));
  }
}

double AdamW::gradient_norm() const {
  torch::Tensor squares;
  for (const auto& [name, tensor] : parameters_) {
    if (!tensor.grad().defined()) continue;
    const torch::Tensor here = tensor.grad().square().sum().to(torch::kFloat64);
    squares = squares.defined() ? squares + here : here;
  }
  return squares.defined() ? std::sqrt(squares.item<double>()) : 0;
}

void AdamW::clear_gradients() {
  for (auto& [name, tensor] : parameters_) tensor.mutable_grad() = torch::Tensor();
}

void AdamW::take_gradients(NamedTensors from) {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    torch::Tensor& theirs = from[i].second.mutable_grad();
    if (!theirs.defined()) continue;
    torch::Tensor& mine = parameters_[i].second.mutable_grad();
    if (mine.defined()) {
      mine.add_(theirs);
    } else {
      mine = theirs;
    }
    theirs = torch::Tensor();
  }
}

void AdamW::update(const Step& step) {
  const torch::NoGradGuard no_grad;
  const auto b1 = static_cast<float>(step.beta1);
  const auto b2 = static_cast<float>(step.beta2);
  const auto scale = static_cast<float>(step.gradient_scale);
  const auto c1 = static_cast<float>(1 / (1 - std::pow(step.beta1, step.number)));
  const auto c2 = static_cast<float>(1 / (1 - std::pow(step.beta2, step.number)));
  const auto lr = static_cast<float>(step.rate);
  for (std::size_t n = 0; n < parameters_.size(); ++n) {
    torch::Tensor& tensor = parameters_[n].second;
    if (!tensor.grad().defined()) continue;
    const auto shrink = static_cast<float>(1 - (tensor.dim() > 1 ? step.rate * step.weight_decay : 0));
    if (step.muon && muons_[n]) {
      const torch::Tensor gradient = tensor.grad() * scale;
      first_[n].mul_(kMuonMomentum).add_(gradient);
      tensor.mul_(shrink).add_(muon_direction(gradient + first_[n] * kMuonMomentum), -lr);
      continue;
    }
    if (!tensor.is_cpu()) {
      const torch::Tensor gradient = tensor.grad() * scale;
      first_[n].mul_(b1).add_(gradient, 1 - b1);
      second_[n].mul_(b2).addcmul_(gradient, gradient, 1 - b2);
      tensor.mul_(shrink).addcdiv_(first_[n] * c1, (second_[n] * c2).sqrt_().add_(kEpsilon), -lr);
      continue;
    }
    const torch::Tensor gradient = tensor.grad().contiguous();
    float* p = tensor.data_ptr<float>();
    const float* g = gradient.data_ptr<float>();
    float* first = first_[n].data_ptr<float>();
    float* second = second_[n].data_ptr<float>();
    at::parallel_for(0, tensor.numel(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const float gi = g[i] * scale;
        first[i] = b1 * first[i] + (1 - b1) * gi;
        second[i] = b2 * second[i] + (1 - b2) * gi * gi;
        p[i] = shrink * p[i] - lr * (first[i] * c1) / (std::sqrt(second[i] * c2) + kEpsilon);
      }
    });
  }
}

}  // namespace augur
