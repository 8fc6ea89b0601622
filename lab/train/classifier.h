#pragma once
#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/train/trace_set.h"

namespace augur {

/// A small network that tells one bit: logits [n] from features [n, width], and its parameters by name, all
/// on one device.
struct Classifier {
  std::vector<std::pair<std::string, torch::Tensor>> parameters;
  std::function<torch::Tensor(const torch::Tensor&)> logits;
  /// The last parameters, so many, weigh numbers that tell much alone: they learn faster, and do not decay.
  std::size_t weights_of_signals = 0;

  torch::Device device() const { return parameters.front().second.device(); }
};

/// C2T's: fc2(ReLU(fc1(features * scale))). Starts from noise that depends on `seed` only.
Classifier c2t_classifier(int hidden, const std::vector<float>& scale, std::uint64_t seed,
                          torch::Device device = torch::kCPU);
/// The acceptance head over the first `width` - kDrawFeatures features, divided by their root mean square
/// (kAcceptanceEps): `blocks` times x + SiLU(Wx + b), then one logit, to which the last features, a
/// log-probability and an entropy, are added with weights of their own, "log_prob_weight" [1] and
/// "entropy_weight" [1].
constexpr double kAcceptanceEps = 1e-6;
Classifier acceptance_classifier(int width, int blocks, std::uint64_t seed,
                                 torch::Device device = torch::kCPU);
/// The paper's: the blocks over the state as it is, and nothing beside it (the last features are not looked
/// at).
Classifier state_classifier(int width, int blocks, std::uint64_t seed, torch::Device device = torch::kCPU);

struct FitOptions {
  int epochs = 10;
  int batch = 1024;
  double learning_rate = 1e-3;
  double final_rate = 1;  ///< share of the learning rate that a cosine leaves at the end
  double weight_decay = 0;
  double positive_weight = 1.0;  ///< in the loss, of the chance that is to be learnt
  double negative_weight = 1.0;  ///< of its complement: of examples labelled 0
  double negatives = 0;          ///< > 0: so many of them for every positive, drawn anew each epoch
  /// Share of the examples, the last ones, that are not learnt from: the epoch after which their loss is
  /// least is the one that counts. 0: the last epoch counts.
  double validation = 0;
  std::uint64_t seed = 1;
  std::function<void(const std::string&)> log;
};

/// Mean over examples of - w_pos y log p - w_neg (1 - y) log(1 - p), p = sigmoid(logit): acceptance-guided
/// drafting's equation 10. y: labels or chances [n].
torch::Tensor weighted_loss(const torch::Tensor& logits, const torch::Tensor& y, double positive_weight,
                            double negative_weight);

/// AdamW on that loss, in an order that depends on the seed only. Error where the
/// examples to learn from, or those that choose the epoch, are all of one kind.
void fit(Classifier& classifier, const Examples& examples, const FitOptions& options);

/// How well scores tell the bit.
struct Separation {
  double auc = 0;            ///< probability that a positive's score is above a negative's
  double loss = 0;           ///< unweighted cross-entropy, where scores are probabilities
  double positive_rate = 0;  ///< share of the positives among all
};
struct Operating {
  double recall = 0;  ///< share of the positives above the threshold
  double taken = 0;   ///< share of all above it
};
std::vector<float> probabilities(const Classifier& classifier, const Examples& examples);
Separation separation(const std::vector<float>& scores, const std::vector<std::uint8_t>& labels);
Operating operating_point(const std::vector<float>& scores, const std::vector<std::uint8_t>& labels,
                          double threshold);
/// Recall where the best `taken` share of all is taken.
double recall_at(const std::vector<float>& scores, const std::vector<std::uint8_t>& labels, double taken);

}  // namespace augur
