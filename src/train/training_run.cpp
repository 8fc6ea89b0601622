#include "train/training_run.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>

#include "base/clock.h"
#include "base/error.h"
#include "io/safetensors.h"
#include "train/torch_tensors.h"

namespace augur {

namespace {

constexpr const char* kCheckpoint = "checkpoint.safetensors";
constexpr const char* kCurve = "curve.tsv";

/// One AdamW update (Loshchilov and Hutter 2019, algorithm 2) of a parameter, in one pass over its memory.
struct AdamW {
  double rate, beta1, beta2, decay, gradient_scale, correction1, correction2;
  static constexpr double kEpsilon = 1e-8;

  void update(torch::Tensor& parameter, torch::Tensor& m, torch::Tensor& v) const {
    float* p = parameter.data_ptr<float>();
    const torch::Tensor gradient = parameter.grad().contiguous();
    const float* g = gradient.data_ptr<float>();
    float* first = m.data_ptr<float>();
    float* second = v.data_ptr<float>();
    const auto b1 = static_cast<float>(beta1);
    const auto b2 = static_cast<float>(beta2);
    const auto scale = static_cast<float>(gradient_scale);
    const auto c1 = static_cast<float>(1 / correction1);
    const auto c2 = static_cast<float>(1 / correction2);
    const auto lr = static_cast<float>(rate);
    const auto shrink = static_cast<float>(1 - rate * decay);
    const auto eps = static_cast<float>(kEpsilon);
    at::parallel_for(0, parameter.numel(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const float gi = g[i] * scale;
        first[i] = b1 * first[i] + (1 - b1) * gi;
        second[i] = b2 * second[i] + (1 - b2) * gi * gi;
        p[i] = shrink * p[i] - lr * (first[i] * c1) / (std::sqrt(second[i] * c2) + eps);
      }
    });
  }
};

}  // namespace

TrainingRun::TrainingRun(Learner& learner, const Dataset& data, const TrainingOptions& options,
                         std::filesystem::path folder, Log log)
    : learner_(learner),
      data_(data),
      options_(options),
      folder_(std::move(folder)),
      log_(std::move(log)),
      held_order_(data.size(), options.seed),
      order_(std::max<std::int64_t>(data.size() - options.held_out, 1), options.seed + 1) {
  if (data.size() <= options.held_out) {
    throw Error("training data: {} sequences, but {} are held out for evaluation", data.size(),
                options.held_out);
  }
  for (std::int64_t i = 0; i < data.size(); ++i) {
    (i < options.held_out ? held_set_ : training_set_).push_back(held_order_.at(i));
  }
  parameters_ = learner_.parameters();
  for (const auto& [name, tensor] : parameters_) {
    first_moment_.push_back(torch::zeros_like(tensor));
    second_moment_.push_back(torch::zeros_like(tensor));
  }
  std::filesystem::create_directories(folder_);
  if (load_checkpoint()) log_(fmt::format("continuing at {} tokens, step {}", tokens_, steps_));
}

TrainingRun::~TrainingRun() = default;

double TrainingRun::rate() const {
  const double at = static_cast<double>(tokens_) / static_cast<double>(options_.total_tokens);
  if (at < options_.warmup) return options_.learning_rate * (at / options_.warmup + 0.01);
  const double along = std::min((at - options_.warmup) / (1 - options_.warmup), 1.0);
  const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * along));
  return options_.learning_rate * (options_.final_rate + (1 - options_.final_rate) * cosine);
}

void TrainingRun::step() {
  for (auto& [name, tensor] : parameters_) tensor.mutable_grad() = torch::Tensor();
  Grade grade;
  std::int64_t taken = 0;
  while (taken < options_.step_tokens) {
    const Example example = data_[training_set_[static_cast<std::size_t>(order_.at(position_++))]];
    grade.add(learner_.run(example, true));
    taken += static_cast<std::int64_t>(example.tokens.size());
  }
  tokens_ += taken;
  recent_.add(grade);
  if (grade.rows == 0) return;
  ++steps_;

  const double mean = 1.0 / static_cast<double>(grade.rows);
  double squares = 0;
  for (const auto& [name, tensor] : parameters_) {
    if (tensor.grad().defined()) squares += tensor.grad().square().sum().item<double>();
  }
  const double norm = std::sqrt(squares) * mean;
  if (!std::isfinite(norm)) throw Error("training: the gradient is not finite at step {}", steps_);
  const double clip = std::min(1.0, options_.clip / (norm + 1e-12));
  AdamW adam{.rate = rate(),
             .beta1 = options_.beta1,
             .beta2 = options_.beta2,
             .decay = 0,
             .gradient_scale = mean * clip,
             .correction1 = 1 - std::pow(options_.beta1, static_cast<double>(steps_)),
             .correction2 = 1 - std::pow(options_.beta2, static_cast<double>(steps_))};
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    torch::Tensor& tensor = parameters_[i].second;
    if (!tensor.grad().defined()) continue;
    adam.decay = tensor.dim() > 1 ? options_.weight_decay : 0;  // norms and biases are not decayed
    adam.update(tensor, first_moment_[i], second_moment_[i]);
  }
}

Grade TrainingRun::evaluate() {
  Grade grade;
  for (const std::int64_t index : held_set_) grade.add(learner_.run(data_[index], false));
  return grade;
}

void TrainingRun::record(const Grade& held_out) {
  const std::filesystem::path path = folder_ / kCurve;
  const bool fresh = !std::filesystem::exists(path);
  std::ofstream curve(path, std::ios::app);
  if (fresh) curve << "tokens\theld_out_loss\tchain_length\tagreement_by_depth\n";
  curve << tokens_ << '\t' << held_out.mean_loss() << '\t' << held_out.chain_length() << '\t';
  for (std::size_t i = 0; i < held_out.hits.size(); ++i) {
    const double tries = std::max<double>(1, static_cast<double>(held_out.tries[i]));
    curve << (i == 0 ? "" : " ") << static_cast<double>(held_out.hits[i]) / tries;
  }
  curve << '\n';
  if (!curve) throw Error("{}: cannot be written", path.string());
}

bool TrainingRun::train(const std::function<bool()>& stop) {
  const auto boundary = [&](std::int64_t before, std::int64_t every) {
    return before / every != tokens_ / every;
  };
  if (tokens_ == 0) record(evaluate());
  Stopwatch clock;
  std::int64_t logged = tokens_;
  while (tokens_ < options_.total_tokens) {
    const std::int64_t before = tokens_;
    step();
    if (boundary(before, 20'000)) {
      const double rate_seen = static_cast<double>(tokens_ - logged) / clock.restart() * 1e3;
      log_(fmt::format("{:>10} tokens  {:>6.0f} tok/s  lr {:.2e}  {}", tokens_, rate_seen, rate(),
                       recent_.summary()));
      recent_ = {};
      logged = tokens_;
    }
    if (boundary(before, options_.checkpoint_tokens)) {
      save_checkpoint();
      learner_.save(folder_);
    }
    if (boundary(before, options_.evaluate_tokens)) {
      const Grade held_out = evaluate();
      record(held_out);
      log_("held out: " + held_out.summary());
      clock.restart();
    }
    if (stop()) {
      save_checkpoint();
      learner_.save(folder_);
      return false;
    }
  }
  const Grade held_out = evaluate();
  record(held_out);
  log_("held out: " + held_out.summary());
  save_checkpoint();
  learner_.save(folder_);
  return true;
}

void TrainingRun::save_checkpoint() {
  NamedTensors tensors;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const std::string& name = parameters_[i].first;
    tensors.emplace_back(name, parameters_[i].second);
    tensors.emplace_back("first_moment." + name, first_moment_[i]);
    tensors.emplace_back("second_moment." + name, second_moment_[i]);
  }
  tensors.emplace_back("progress",
                       torch::tensor({position_, tokens_, steps_, static_cast<std::int64_t>(options_.seed),
                                      data_.size(), data_.tokens()},
                                     torch::kInt64));
  save_tensors(folder_ / kCheckpoint, tensors);
}

bool TrainingRun::load_checkpoint() {
  const std::filesystem::path path = folder_ / kCheckpoint;
  if (!std::filesystem::exists(path)) return false;
  const std::unique_ptr<WeightStore> store = open_safetensors(path);
  const torch::Tensor progress = to_torch(store->require("progress", {6}));
  const auto* p = progress.data_ptr<std::int64_t>();
  if (p[3] != static_cast<std::int64_t>(options_.seed) || p[4] != data_.size() || p[5] != data_.tokens()) {
    throw Error(
        "{}: made with other data or another seed ({} sequences, {} tokens, seed {}; now {}, {}, {}): "
        "choose another output folder, or delete the checkpoint",
        path.string(), p[4], p[5], p[3], data_.size(), data_.tokens(), options_.seed);
  }
  position_ = p[0];
  tokens_ = p[1];
  steps_ = p[2];
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto& [name, tensor] = parameters_[i];
    const Shape shape(tensor.sizes().begin(), tensor.sizes().end());
    tensor.copy_(to_torch(store->require(name, shape)));
    first_moment_[i].copy_(to_torch(store->require("first_moment." + name, shape)));
    second_moment_[i].copy_(to_torch(store->require("second_moment." + name, shape)));
  }
  return true;
}

}  // namespace augur
