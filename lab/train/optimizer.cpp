#include "lab/train/optimizer.h"

#include <cmath>
#include <string>
#include <utility>

#include "lab/train/optimizer_state.h"

namespace augur {

namespace {

// In a checkpoint.
constexpr const char* kFirst = "first_moment.";
constexpr const char* kSecond = "second_moment.";
constexpr const char* kUpdates = "updates";  // how often each parameter was moved

using AdamWState = torch::optim::AdamWParamState;

}  // namespace

Optimizer::Optimizer(NamedTensors parameters, const std::function<bool(std::string_view)>& is_table,
                     const Options& options)
    : parameters_(std::move(parameters)), clip_(options.clip) {
  std::vector<torch::Tensor> matrices, vectors, muons;
  for (const auto& [name, tensor] : parameters_) {
    is_muons_.push_back(options.muon && is_muons(tensor) && !is_table(name));
    (is_muons_.back() ? muons : tensor.dim() > 1 ? matrices : vectors).push_back(tensor);
  }
  const auto group = [&](std::vector<torch::Tensor> tensors, double weight_decay) {
    const auto adamw = torch::optim::AdamWOptions(options.rate)
                           .betas({options.beta1, options.beta2})
                           .weight_decay(weight_decay);
    return torch::optim::OptimizerParamGroup(std::move(tensors),
                                             std::make_unique<torch::optim::AdamWOptions>(adamw));
  };
  adamw_ = std::make_unique<torch::optim::AdamW>(
      std::vector{group(std::move(matrices), options.weight_decay), group(std::move(vectors), 0)});
  schedulers_.emplace_back(*adamw_, options.schedule);
  if (!options.muon) return;
  muon_ =
      std::make_unique<Muon>(std::move(muons), MuonOptions(options.rate).weight_decay(options.weight_decay));
  schedulers_.emplace_back(*muon_, options.schedule);
}

std::vector<torch::Tensor> Optimizer::tensors() const {
  std::vector<torch::Tensor> all;
  for (const auto& [name, tensor] : parameters_) all.push_back(tensor);
  return all;
}

double Optimizer::step(double rows, double along) {
  for (auto& [name, tensor] : parameters_) {
    if (tensor.grad().defined()) tensor.mutable_grad().div_(rows);
  }
  const double norm = torch::nn::utils::clip_grad_norm_(tensors(), clip_);
  if (!std::isfinite(norm)) return norm;
  for (Scheduler& scheduler : schedulers_) scheduler.advance_to(along);
  adamw_->step();
  if (muon_ != nullptr) muon_->step();
  return norm;
}

// libtorch's zero_grad leaves zeros before version 2, by which a parameter without a gradient would move.
void Optimizer::clear_gradients() {
  for (auto& [name, tensor] : parameters_) tensor.mutable_grad() = torch::Tensor();
}

void Optimizer::take_gradients(NamedTensors from) {
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

std::int64_t Optimizer::numbers() const {
  std::int64_t all = 0;
  for (const auto& [name, tensor] : parameters_) all += tensor.numel();
  return all;
}

std::int64_t Optimizer::checkpoint_bytes() const {
  std::int64_t floats = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    floats += parameters_[i].second.numel() * (is_muons_[i] ? 2 : 3);  // with one moment, or two
  return floats * static_cast<std::int64_t>(sizeof(float));
}

NamedTensors Optimizer::state() {
  NamedTensors kept;
  std::vector<std::int64_t> updates;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [name, tensor] = parameters_[i];
    updates.push_back(0);
    if (is_muons_[i]) {
      const auto* state = find_state<MuonState>(*muon_, tensor);
      if (state == nullptr) continue;
      updates.back() = state->step();
      kept.emplace_back(kFirst + name, state->momentum());
    } else {
      const auto* state = find_state<AdamWState>(*adamw_, tensor);
      if (state == nullptr) continue;
      updates.back() = state->step();
      kept.emplace_back(kFirst + name, state->exp_avg());
      kept.emplace_back(kSecond + name, state->exp_avg_sq());
    }
  }
  kept.emplace_back(kUpdates, torch::tensor(updates, torch::kInt64));
  return kept;
}

void Optimizer::load_state(const WeightStore& store, std::int64_t steps) {
  // Earlier versions counted steps, not how often each parameter was moved.
  torch::Tensor updates = torch::full({std::ssize(parameters_)}, steps, torch::kInt64);
  if (store.find(kUpdates) != nullptr) updates = to_torch(store.require(kUpdates, {updates.numel()}));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::string& name = parameters_[i].first;
    const torch::Tensor& tensor = parameters_[i].second;
    const std::int64_t count = updates.data_ptr<std::int64_t>()[i];
    if (count == 0) continue;
    const auto moment = [&](const char* prefix) {
      return to_torch(store.require(prefix + name, tensor.sizes().vec())).to(tensor.device());
    };
    if (is_muons_[i]) {
      set_state(*muon_, tensor, MuonState().step(count).momentum(moment(kFirst)));
    } else {
      set_state(*adamw_, tensor,
                AdamWState().step(count).exp_avg(moment(kFirst)).exp_avg_sq(moment(kSecond)));
    }
  }
}

}  // namespace augur
