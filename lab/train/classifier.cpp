#include "lab/train/classifier.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/error.h"
#include "lab/train/schedule.h"

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

/// Indices of an epoch, of the first `count` examples: all positives, and of the negatives as many as asked
/// for.
std::vector<std::int64_t> epoch_order(const Examples& examples, std::int64_t count, double negatives,
                                      std::mt19937_64& random) {
  std::vector<std::int64_t> positive, negative;
  for (std::int64_t i = 0; i < count; ++i) {
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

namespace {

/// Blocks and head over states [n, states].
void add_blocks(Classifier& classifier, std::int64_t states, int blocks, std::uint64_t seed,
                torch::Device device) {
  const auto random = at::detail::createCPUGenerator(seed);
  for (int b = 0; b < blocks; ++b)
    add_linear(classifier, fmt::format("blocks.{}", b), states, states, random, device);
  add_linear(classifier, "head", 1, states, random, device);
}

/// Logits [n]; the first parameters are those of add_blocks().
torch::Tensor run_blocks(torch::Tensor x, const std::vector<torch::Tensor>& parameters, int blocks) {
  const auto head = static_cast<std::size_t>(2 * blocks);
  for (std::size_t at = 0; at < head; at += 2)
    x = x + torch::silu(linear(x, parameters[at], parameters[at + 1]));
  return linear(x, parameters[head], parameters[head + 1]).squeeze(-1);
}

std::vector<torch::Tensor> tensors_of(const Classifier& classifier) {
  std::vector<torch::Tensor> all;
  for (const auto& [name, tensor] : classifier.parameters) all.push_back(tensor);
  return all;
}

}  // namespace

Classifier acceptance_classifier(int width, int blocks, std::uint64_t seed, torch::Device device) {
  Classifier classifier;
  const std::int64_t states = width - kDrawFeatures;
  add_blocks(classifier, states, blocks, seed, device);
  // Learning starts from the drafter's own estimate.
  {
    const torch::NoGradGuard no_grad;
    classifier.parameters[static_cast<std::size_t>(2 * blocks)].second.zero_();
  }
  classifier.parameters.emplace_back("log_prob_weight", torch::ones({1}, device).requires_grad_());
  classifier.parameters.emplace_back("entropy_weight", torch::zeros({1}, device).requires_grad_());
  classifier.weights_of_signals = 3;  // and the bias
  classifier.logits = [all = tensors_of(classifier), states, blocks](const torch::Tensor& features) {
    torch::Tensor x = features.slice(1, 0, states);
    x = x * torch::rsqrt(x.square().mean(1, true) + kAcceptanceEps);
    const torch::Tensor weights = torch::cat({all[all.size() - 2], all[all.size() - 1]});
    return run_blocks(x, all, blocks) + features.slice(1, states).matmul(weights);
  };
  return classifier;
}

Classifier state_classifier(int width, int blocks, std::uint64_t seed, torch::Device device) {
  Classifier classifier;
  const std::int64_t states = width - kDrawFeatures;
  add_blocks(classifier, states, blocks, seed, device);
  classifier.logits = [all = tensors_of(classifier), states, blocks](const torch::Tensor& features) {
    return run_blocks(features.slice(1, 0, states), all, blocks);
  };
  return classifier;
}

namespace {

/// Fits one classifier to examples: the tensors that every step and every look at the validation share.
class Fitting {
 public:
  Fitting(const Classifier& classifier, const Examples& examples, const FitOptions& options)
      : classifier_(classifier),
        options_(options),
        learnt_(examples.size() -
                static_cast<std::int64_t>(options.validation * static_cast<double>(examples.size()))),
        features_(features_of(examples, classifier.device())),
        labels_(torch::from_blob(const_cast<std::uint8_t*>(examples.labels.data()), {examples.size()},
                                 torch::kUInt8)
                    .to(classifier.device(), torch::kFloat32)),
        chances_(examples.chances.empty()
                     ? labels_
                     : torch::from_blob(const_cast<float*>(examples.chances.data()), {examples.size()})
                           .to(classifier.device())) {}

  std::int64_t learnt() const { return learnt_; }  ///< the others choose the epoch

  torch::Tensor loss(const torch::Tensor& features, const torch::Tensor& y, double negative) const {
    return weighted_loss(classifier_.logits(features), y, options_.positive_weight, negative);
  }
  torch::Tensor loss(std::int64_t* rows, std::int64_t count) const {
    const torch::Tensor index = torch::from_blob(rows, {count}, torch::kInt64).to(classifier_.device());
    return loss(features_.index_select(0, index), chances_.index_select(0, index), options_.negative_weight);
  }
  /// What an epoch's loss would be on the examples that choose, but for a factor: negatives weigh as often as
  /// they are drawn.
  double validation_loss() const {
    const torch::NoGradGuard no_grad;
    const double positives = labels_.slice(0, 0, learnt_).sum().item<double>();
    const double negatives = static_cast<double>(learnt_) - positives;
    const double drawn =
        options_.negatives > 0 ? std::min(1.0, options_.negatives * positives / negatives) : 1.0;
    return loss(features_.slice(0, learnt_), chances_.slice(0, learnt_), drawn * options_.negative_weight)
        .item<double>();
  }

 private:
  const Classifier& classifier_;
  const FitOptions& options_;
  std::int64_t learnt_;
  torch::Tensor features_, labels_, chances_;
};

/// The smallest loss so far, and the parameters that had it.
class BestEpoch {
 public:
  void consider(const std::vector<torch::Tensor>& parameters, int epoch, double loss) {
    if (!kept_.empty() && loss >= loss_) return;
    loss_ = loss;
    epoch_ = epoch;
    kept_.clear();
    for (const torch::Tensor& tensor : parameters) kept_.push_back(tensor.detach().clone());
  }
  int restore(std::vector<torch::Tensor>& parameters) const {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < kept_.size(); ++i) parameters[i].copy_(kept_[i]);
    return epoch_;
  }

 private:
  std::vector<torch::Tensor> kept_;
  double loss_ = 0;
  int epoch_ = 0;
};

/// AdamW along a cosine.
class Descent {
 public:
  Descent(const Classifier& classifier, const FitOptions& options)
      : adam_(groups(classifier, options)), scheduler_(adam_, {.final_rate = options.final_rate}) {}

  /// `along`: share of the way that is done.
  void step(const torch::Tensor& loss, double along) {
    scheduler_.advance_to(along);
    adam_.zero_grad();
    loss.backward();
    adam_.step();
  }

 private:
  /// A step of this size is small for a weight of one number and large for one of hundreds of states.
  static constexpr double kQuicker = 100;

  static std::vector<torch::optim::OptimizerParamGroup> groups(const Classifier& classifier,
                                                               const FitOptions& options) {
    std::vector<torch::Tensor> many, signals;
    const std::size_t first = classifier.parameters.size() - classifier.weights_of_signals;
    for (std::size_t i = 0; i < classifier.parameters.size(); ++i) {
      (i < first ? many : signals).push_back(classifier.parameters[i].second);
    }
    const auto with = [](double rate, double decay) {
      return std::make_unique<torch::optim::AdamWOptions>(
          torch::optim::AdamWOptions(rate).weight_decay(decay));
    };
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(std::move(many), with(options.learning_rate, options.weight_decay));
    if (!signals.empty()) groups.emplace_back(std::move(signals), with(kQuicker * options.learning_rate, 0));
    return groups;
  }

  torch::optim::AdamW adam_;
  Scheduler scheduler_;
};

void require_both_kinds(const Examples& examples, std::int64_t begin, std::int64_t end) {
  const auto from = examples.labels.begin();
  const std::int64_t positives = std::count(from + begin, from + end, std::uint8_t{1});
  if (positives == 0 || positives == end - begin) {
    throw Error("{} examples, {} of them accepted: expected some of both kinds", end - begin, positives);
  }
}

}  // namespace

torch::Tensor weighted_loss(const torch::Tensor& logits, const torch::Tensor& y, double positive_weight,
                            double negative_weight) {
  const auto scalar = [&](double value) { return torch::full({1}, value, logits.options()); };
  return torch::binary_cross_entropy_with_logits(
      logits, y, scalar(negative_weight), scalar(positive_weight / negative_weight), at::Reduction::Mean);
}

void fit(Classifier& classifier, const Examples& examples, const FitOptions& options) {
  const Fitting fitting(classifier, examples, options);
  const bool choosing = fitting.learnt() < examples.size();
  require_both_kinds(examples, 0, fitting.learnt());
  if (choosing) require_both_kinds(examples, fitting.learnt(), examples.size());
  std::vector<torch::Tensor> parameters;
  for (auto& [name, tensor] : classifier.parameters) parameters.push_back(tensor);
  Descent descent(classifier, options);
  std::mt19937_64 random(options.seed);
  BestEpoch best;
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    std::vector<std::int64_t> order = epoch_order(examples, fitting.learnt(), options.negatives, random);
    double total = 0;
    for (std::size_t at = 0; at < order.size(); at += static_cast<std::size_t>(options.batch)) {
      const std::size_t count = std::min(order.size() - at, static_cast<std::size_t>(options.batch));
      const torch::Tensor loss = fitting.loss(order.data() + at, static_cast<std::int64_t>(count));
      const double done = static_cast<double>(at) / static_cast<double>(order.size());
      descent.step(loss, (epoch - 1 + done) / options.epochs);
      total += loss.item<double>() * static_cast<double>(count);
    }
    const double mean = total / static_cast<double>(order.size());
    std::string validation;
    if (choosing) {
      const double loss = fitting.validation_loss();
      best.consider(parameters, epoch, loss);
      validation = fmt::format(", validation {:.4f}", loss);
    }
    if (options.log) {
      options.log(
          fmt::format("epoch {}: loss {:.4f} over {} examples{}", epoch, mean, order.size(), validation));
    }
  }
  if (!choosing) return;
  const int epoch = best.restore(parameters);
  if (options.log) options.log(fmt::format("epoch {} counts", epoch));
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
