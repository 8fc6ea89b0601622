// The chunked loss against autograd on whole matrices.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "lab/train/row_grade.h"
#include "lab/train/torch_ops.h"
#include "lab/train/vocabulary_loss.h"

namespace augur {
namespace {

constexpr std::int64_t kRows = 300, kWidth = 24, kRank = 8, kVocab = 50;  // several chunks

struct RandomHead {
  torch::Generator generator = keyed_generator(5);
  // Multiples of 1/8, so that bfloat16 holds them exactly.
  torch::Tensor exact(std::int64_t height, std::int64_t columns) {
    return trainable((torch::randn({height, columns}, generator) * 4).round() / 8, torch::kCPU);
  }
  TorchHead head{.hidden = exact(kRows, kWidth),
                 .weight = exact(kVocab, kWidth),
                 .extra = exact(kRows, kRank),
                 .extra_weight = exact(kVocab, kRank),
                 .bias = trainable(torch::randn({kVocab}, generator), torch::kCPU)};
  torch::Tensor probabilities =
      torch::randn({kRows, kVocab}, generator).mul(2).softmax(-1).to(torch::kBFloat16);
  torch::Tensor rows = torch::randperm(kRows, generator);
  torch::Tensor weights = torch::rand({kRows}, generator);

  std::vector<torch::Tensor> leaves() const {
    return {head.hidden, head.weight, head.extra, head.extra_weight, head.bias};
  }
};

void expect_same_gradients(const RandomHead& s, const torch::Tensor& found, const torch::Tensor& expected) {
  EXPECT_NEAR(found.item<double>(), expected.item<double>(), 2e-3 * std::abs(expected.item<double>()));
  const auto a = torch::autograd::grad({found}, s.leaves());
  const auto b = torch::autograd::grad({expected}, s.leaves());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = ((a[i] - b[i]).norm() / b[i].norm()).item<double>();
    EXPECT_LT(error, 0.01) << "tensor " << i;
  }
}

torch::Tensor plain_logits(const TorchHead& h) {
  return h.hidden.mm(h.weight.t()) + h.extra.mm(h.extra_weight.t()) + h.bias;
}

TEST(VocabularyLoss, IsCrossEntropyAndDistance) {
  RandomHead s;
  const VocabularyLoss loss = vocabulary_loss(
      s.head,
      {.targets = s.probabilities, .wanted = s.rows, .weights = s.weights, .cross_entropy = 0.3, .l1 = 0.9});
  const torch::Tensor p = s.probabilities.index_select(0, s.rows).to(torch::kFloat32);
  const torch::Tensor log_q = plain_logits(s.head).log_softmax(-1);
  const torch::Tensor distance = (log_q.exp() - p).abs().sum(-1);
  const torch::Tensor expected = ((-(p * log_q).sum(-1) * 0.3 + distance * 0.9) * s.weights).sum();
  expect_same_gradients(s, loss.sum, expected);
  EXPECT_LT((loss.distance - distance / 2).abs().max().item<double>(), 0.02);
  const torch::Tensor agreed = log_q.argmax(-1) == p.argmax(-1);
  EXPECT_GT((loss.agreed == agreed).to(torch::kFloat32).mean().item<double>(), 0.97);
}

TEST(VocabularyLoss, IsCrossEntropyAlone) {
  for (const bool plain : {true, false}) {  // rows on their own, and as tensors with a bias
    RandomHead s;
    s.head.extra = s.head.extra_weight = torch::Tensor();
    if (plain) s.head.bias = torch::Tensor();
    const VocabularyLoss loss = vocabulary_loss(s.head, {.targets = s.probabilities, .wanted = s.rows});
    const torch::Tensor p = s.probabilities.index_select(0, s.rows).to(torch::kFloat32);
    torch::Tensor logits = s.head.hidden.mm(s.head.weight.t());
    if (!plain) logits = logits + s.head.bias;
    const torch::Tensor expected = -(p * logits.log_softmax(-1)).sum();
    EXPECT_NEAR(loss.sum.item<double>(), expected.item<double>(), 2e-3 * expected.item<double>());
    const std::vector<torch::Tensor> leaves = {s.head.hidden, s.head.weight};
    const auto found = torch::autograd::grad({loss.sum}, leaves);
    const auto wanted = torch::autograd::grad({expected}, leaves);
    for (std::size_t i = 0; i < leaves.size(); ++i)
      EXPECT_LT(((found[i] - wanted[i]).norm() / wanted[i].norm()).item<double>(), 0.01) << i;
  }
}

TEST(VocabularyLoss, IsOfTheFormThatTheTargetGivesItsLogits) {
  for (const LogitForm form : {LogitForm{.scale = 0.25f}, LogitForm{.scale = 0.5f, .cap = 3.0f}}) {
    RandomHead s;
    s.head.form = form;
    const VocabularyLoss loss = vocabulary_loss(s.head, {.targets = s.probabilities, .wanted = s.rows});
    const torch::Tensor p = s.probabilities.index_select(0, s.rows).to(torch::kFloat32);
    torch::Tensor logits = (s.head.hidden.mm(s.head.weight.t()) + s.head.bias) * form.scale;
    if (form.cap > 0) logits = (logits / form.cap).tanh() * form.cap;
    logits = logits + s.head.extra.mm(s.head.extra_weight.t());
    expect_same_gradients(s, loss.sum, -(p * logits.log_softmax(-1)).sum());
    EXPECT_LT((s.head.logits() - logits).abs().max().item<double>(), 0.05) << form.cap;
  }
}

TEST(RowGrades, AreTheFormulae) {
  torch::Generator generator = keyed_generator(9);
  for (const std::int64_t width : {1, 15, 16, 50, 333}) {  // whole lanes and rests
    const torch::Tensor logits = torch::randn({7, width}, generator).mul(6).to(torch::kBFloat16);
    const torch::Tensor targets = torch::randn({7, width}, generator).mul(3).softmax(-1).to(torch::kBFloat16);
    const torch::Tensor wanted = torch::tensor({6, 0, 0, 3, 2, 1, 5}, torch::kInt64);
    const torch::Tensor weights = torch::tensor({1.0f, 0.5f, 2.0f, 0.0f, 1.0f, 1.0f, 0.25f});
    torch::Tensor kept = logits.clone(), gradient = logits.clone();
    const torch::Tensor favourites = row_favourites(targets);
    const RowGrades graded = grade_rows(kept, targets, favourites, wanted, {}, false);
    const RowGrades learnt = grade_rows(gradient, targets, favourites, wanted, weights, true);
    const torch::Tensor x = logits.to(torch::kFloat64),
                        p = targets.index_select(0, wanted).to(torch::kFloat64);
    const torch::Tensor loss = -(p * x.log_softmax(-1)).sum(-1);
    EXPECT_LT((graded.loss - loss).abs().max().item<double>(), 1e-4) << width;
    EXPECT_LT((learnt.loss - loss * weights).abs().max().item<double>(), 1e-4) << width;
    const torch::Tensor expected = (x.softmax(-1) - p) * weights.unsqueeze(1);
    EXPECT_LT((gradient - expected).abs().max().item<double>(), 4e-3) << width;
    EXPECT_TRUE(torch::equal(kept, logits)) << width;
    EXPECT_TRUE(torch::equal(graded.agreed, x.argmax(-1) == p.argmax(-1))) << width;
    EXPECT_TRUE(torch::equal(row_favourites(logits), x.argmax(-1))) << width;
    torch::Tensor soft = torch::empty_like(logits);
    row_softmax(logits, soft);
    EXPECT_LT((soft - x.softmax(-1)).abs().max().item<double>(), 2e-3) << width;
  }
}

TEST(VocabularyLoss, TakesTokens) {
  RandomHead s;
  const torch::Tensor tokens = torch::randint(kVocab, {kRows}, s.generator, torch::kInt64);
  const VocabularyLoss loss = vocabulary_loss(s.head, {.targets = tokens, .wanted = s.rows});
  const torch::Tensor expected = torch::nll_loss(plain_logits(s.head).log_softmax(-1),
                                                 tokens.index_select(0, s.rows), {}, at::Reduction::Sum);
  expect_same_gradients(s, loss.sum, expected);
}

TEST(VocabularyLoss, LeavesFrozenTensorsAlone) {
  RandomHead s;
  s.head.weight = s.head.weight.detach().to(torch::kBFloat16);
  const VocabularyLoss loss = vocabulary_loss(s.head, {.targets = s.probabilities, .wanted = s.rows});
  loss.sum.backward();
  EXPECT_FALSE(s.head.weight.grad().defined());
  EXPECT_TRUE(s.head.hidden.grad().defined());
}

}  // namespace
}  // namespace augur
