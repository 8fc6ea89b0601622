#include "train/classifier.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/error.h"

namespace augur {
namespace {

/// A linear layer's usual start: uniform within 1/sqrt(inputs).
void add_linear(Classifier& classifier, const std::string& name, std::int64_t outputs, std::int64_t inputs,
                const at::Generator& random, torch::Device device) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  for (const bool bias : {false, true}) {
    torch::Tensor t = bias ? torch::empty({outputs}) : torch::empty({outputs, inputs});
    t.uniform_(-bound, bound, random);
    classifier.parameters.emplace_back(name + (bias ? ".bias" : ".weight"), t.to(device).requires_grad_());
  }
}

torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias) {
  return torch::matmul(x, weight.t()) + bias;
}

torch::Tensor features_of(const Examples& examples, torch::Device device) {
  return torch::from_blob(const_cast<float*>(examples.features.data()), {examples.size(), examples.width})
      .to(device);
}

/// Indices of an epoch: all positives, and of the negatives as many as asked for.
std::vector<std::int64_t> epoch_order(const Examples& examples, double negatives, std::mt19937_64& random) {
  std::vector<std::int64_t> positive, negative;
  for (std::int64_t i = 0; i < examples.size(); ++i) {
    (examples.labels[static_cast<std::size_t>(i)] != 0 ? positive : negative).push_back(i);
  }
  if (negatives > 0) {
    std::shuffle(negative.begin(), negative.end(), random);
    const auto wanted = static_cast<std::size_t>(std::ceil(negatives * static_cast<double>(positive.size())));
    negative.resize(std::min(negative.size(), wanted));
  }
  positive.insert(positive.end(), negative.begin(), negative.end());
  std::shuffle(positive.begin(), positive.end(), random);
  return positive;
}

}  // namespace

Classifier c2t_classifier(int hidden, const std::vector<float>& scale, std::uint64_t seed,
                          torch::Device device) {
  Classifier classifier;
  const auto random = at::detail::createCPUGenerator(seed);
  add_linear(classifier, "fc1", hidden, std::ssize(scale), random, device);
  add_linear(classifier, "fc2", 1, hidden, random, device);
  classifier.logits = [scales = torch::tensor(scale).to(device), w1 = classifier.parameters[0].second,
                       b1 = classifier.parameters[1].second, w2 = classifier.parameters[2].second,
                       b2 = classifier.parameters[3].second](const torch::Tensor& x) {
    return linear(torch::relu(linear(x * scales, w1, b1)), w2, b2).squeeze(-1);
  };
  return classifier;
}

Classifier acceptance_classifier(int width, int blocks, std::uint64_t seed, torch::Device device) {
  Classifier classifier;
  const std::int64_t states = width - 1;
  const auto random = at::detail::createCPUGenerator(seed);
  for (int b = 0; b < blocks; ++b)
    add_linear(classifier, fmt::format("blocks.{}", b), states, states, random, device);
  add_linear(classifier, "head", 1, states, random, device);
  // Learning starts from the drafter's own estimate.
  {
    const torch::NoGradGuard no_grad;
    classifier.parameters[static_cast<std::size_t>(2 * blocks)].second.zero_();
  }
  classifier.parameters.emplace_back("log_prob_weight", torch::ones({1}, device).requires_grad_());
  std::vector<torch::Tensor> all;
  for (const auto& [name, tensor] : classifier.parameters) all.push_back(tensor);
  classifier.logits = [all, states](const torch::Tensor& features) {
    torch::Tensor x = features.slice(1, 0, states);
    const std::size_t head = all.size() - 3;
    for (std::size_t at = 0; at < head; at += 2) x = x + torch::silu(linear(x, all[at], all[at + 1]));
    return linear(x, all[head], all[head + 1]).squeeze(-1) + features.select(1, states) * all.back();
  };
  return classifier;
}

void fit(Classifier& classifier, const Examples& examples, const FitOptions& options) {
  const std::int64_t positives = examples.positives();
  if (positives == 0 || positives == examples.size()) {
    throw Error("{} examples, {} of them accepted: expected some of both kinds", examples.size(), positives);
  }
  std::vector<torch::Tensor> parameters;
  for (auto& [name, tensor] : classifier.parameters) parameters.push_back(tensor);
  torch::optim::AdamW adam(
      parameters, torch::optim::AdamWOptions(options.learning_rate).weight_decay(options.weight_decay));
  const torch::Device device = classifier.device();
  const torch::Tensor features = features_of(examples, device);
  const torch::Tensor labels =
      torch::from_blob(const_cast<std::uint8_t*>(examples.labels.data()), {examples.size()}, torch::kUInt8)
          .to(device, torch::kFloat32);
  std::mt19937_64 random(options.seed);
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    std::vector<std::int64_t> order = epoch_order(examples, options.negatives, random);
    double total = 0;
    for (std::size_t at = 0; at < order.size(); at += static_cast<std::size_t>(options.batch)) {
      const std::size_t count = std::min(order.size() - at, static_cast<std::size_t>(options.batch));
      const torch::Tensor rows =
          torch::from_blob(order.data() + at, {static_cast<std::int64_t>(count)}, torch::kInt64).to(device);
      const torch::Tensor y = labels.index_select(0, rows);
      const torch::Tensor weights = y + (1.0 - y) * options.negative_weight;
      const torch::Tensor losses = torch::binary_cross_entropy_with_logits(
          classifier.logits(features.index_select(0, rows)), y, weights, {}, at::Reduction::Mean);
      adam.zero_grad();
      losses.backward();
      adam.step();
      total += losses.item<double>() * static_cast<double>(count);
    }
    if (options.log) {
      options.log(fmt::format("epoch {}: loss {:.4f} over {} examples", epoch + 1,
                              total / static_cast<double>(order.size()), order.size()));
    }
  }
}

std::vector<float> probabilities(const Classifier& classifier, const Examples& examples) {
  if (examples.size() == 0) return {};
  const torch::NoGradGuard no_grad;
  const torch::Tensor p =
      torch::sigmoid(classifier.logits(features_of(examples, classifier.device()))).cpu().contiguous();
  return {p.data_ptr<float>(), p.data_ptr<float>() + p.numel()};
}

Separation separation(const std::vector<float>& scores, const std::vector<std::uint8_t>& labels) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  // Mann and Whitney's statistic; equal scores share their mean rank.
  double rank_sum = 0, loss = 0, positives = 0;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    double here = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[i]]; ++end) here += labels[order[end]];
    rank_sum += here * (static_cast<double>(i + end + 1) / 2.0);
    positives += here;
    i = end;
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double p = std::clamp(static_cast<double>(scores[i]), 1e-7, 1.0 - 1e-7);
    loss -= labels[i] != 0 ? std::log(p) : std::log1p(-p);
  }
  const double n = static_cast<double>(scores.size());
  const double negatives = n - positives;
  if (positives == 0 || negatives == 0) return {0.5, n > 0 ? loss / n : 0, n > 0 ? positives / n : 0};
  return {(rank_sum - positives * (positives + 1) / 2) / (positives * negatives), loss / n, positives / n};
}

Operating operating_point(const std::vector<float>& scores, const std::vector<std::uint8_t>& labels,
                          double threshold) {
  double taken = 0, hits = 0, positives = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const bool above = scores[i] > threshold;
    taken += above;
    positives += labels[i];
    hits += above && labels[i] != 0;
  }
  return {positives > 0 ? hits / positives : 0,
          scores.empty() ? 0 : taken / static_cast<double>(scores.size())};
}

double recall_at(const std::vector<float>& scores, const std::vector<std::uint8_t>& labels, double taken) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto count = static_cast<std::size_t>(std::llround(taken * static_cast<double>(scores.size())));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  double hits = 0, positives = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    positives += labels[order[i]];
    if (i < count) hits += labels[order[i]];
  }
  return positives > 0 ? hits / positives : 0;
}

}  // namespace augur
