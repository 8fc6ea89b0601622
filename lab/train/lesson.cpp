#include "lab/train/lesson.h"

#include <algorithm>
#include <cmath>

#include "lab/train/part_times.h"
#include "lab/train/row_grade.h"

namespace augur {

Lesson::Pairs Lesson::pairs(std::int64_t ahead) const {
  Pairs pairs;
  for (const Sequence& s : sequences) {
    for (std::int64_t i = s.begin; i + ahead < s.begin + s.length; ++i) {
      const std::int64_t row = row_of[static_cast<std::size_t>(i + ahead)];
      if (row < 0) continue;
      pairs.rows.push_back(i);
      pairs.wanted.push_back(row);
    }
  }
  return pairs;
}

std::vector<std::int64_t> Lesson::lengths() const {
  std::vector<std::int64_t> lengths;
  for (const Sequence& s : sequences) lengths.push_back(s.length);
  return lengths;
}

Lesson prepare_lesson(const TorchLlama& target, std::span<const Example> examples, std::span<const int> taps,
                      const DraftVocabulary* vocabulary, const torch::Tensor& head) {
  const torch::NoGradGuard no_grad;
  Lesson lesson;
  const torch::Device device = target.device();
  std::vector<std::int64_t> ids, graded;
  std::vector<std::span<const TokenId>> texts;
  for (const Example& example : examples) {
    const std::int64_t begin = std::ssize(ids);
    lesson.sequences.push_back({begin, std::ssize(example.tokens), example.key});
    texts.push_back(example.tokens);
    ids.insert(ids.end(), example.tokens.begin(), example.tokens.end());
    for (std::size_t j = 0; j + 1 < example.tokens.size(); ++j) {
      if (example.learn[j + 1] != 0) graded.push_back(begin + static_cast<std::int64_t>(j));
    }
  }
  lesson.ids = index_tensor(ids, device);
  lesson.embedded = target.embed(lesson.ids);
  {
    const TimedPart timed("target", device);
    lesson.target = target.forward(texts, taps);
  }
  lesson.row_of.assign(ids.size(), -1);
  if (vocabulary == nullptr || graded.empty()) return lesson;

  const TimedPart timed("distributions", device);
  const torch::Tensor positions = index_tensor(graded, device);
  const torch::Tensor rows = target.final_norm(lesson.target.last.index_select(0, positions));
  const auto count = std::ssize(graded);
  lesson.distributions =
      torch::empty({count, vocabulary->size()}, torch::dtype(product_type()).device(device));
  // A target that remembers has named its favourites: only the draft vocabulary's logits are left to compute.
  const bool known = lesson.target.favourites.defined();
  const torch::Tensor matrix = !known           ? target.head()
                               : head.defined() ? head
                                                : vocabulary->rows(target.head());
  std::vector<torch::Tensor> favourites;
  if (known) favourites.push_back(lesson.target.favourites.index_select(0, positions));
  const std::int64_t rows_at_once = target.rows_at_once();
  for (std::int64_t begin = 0; begin < count; begin += rows_at_once) {
    const std::int64_t end = std::min(begin + rows_at_once, count);
    const torch::Tensor logits = linear_rows(rows.slice(0, begin, end), matrix);
    if (!known) favourites.push_back(row_favourites(logits));
    const torch::Tensor drafted = known ? logits : vocabulary->columns(logits);
    torch::Tensor out = lesson.distributions.slice(0, begin, end);
    row_softmax(shaped(drafted, target.logit_form()), out);
  }
  const torch::Tensor covered = vocabulary->covers(torch::cat(favourites)).cpu();
  const bool* is_covered = covered.data_ptr<bool>();
  for (std::size_t i = 0; i < graded.size(); ++i) {
    if (is_covered[i]) lesson.row_of[static_cast<std::size_t>(graded[i])] = static_cast<std::int64_t>(i);
  }
  return lesson;
}

namespace {

/// The target's outputs for the first sequences of a dataset.
std::vector<TorchLlama::Output> first_outputs(const TorchLlama& target, const Dataset& data,
                                              std::span<const int> taps) {
  constexpr std::int64_t kSequences = 8;
  constexpr std::size_t kTokens = 256;
  std::vector<TorchLlama::Output> outputs;
  for (std::int64_t i = 0; i < std::min(kSequences, data.size()); ++i) {
    const std::span<const TokenId> tokens = data[i].tokens;
    outputs.push_back(target.forward(tokens.first(std::min(kTokens, tokens.size())), taps));
  }
  return outputs;
}

}  // namespace

std::vector<double> tap_scales(const TorchLlama& target, const Dataset& data, std::span<const int> taps) {
  std::vector<double> squares(taps.size(), 0);
  std::int64_t rows = 0;
  for (const TorchLlama::Output& out : first_outputs(target, data, taps)) {
    for (std::size_t tap = 0; tap < taps.size(); ++tap)
      squares[tap] += out.taps[tap].slice(0, 1).square().mean(-1).sum().item<double>();
    rows += out.last.size(0) - 1;
  }
  for (double& value : squares) value = std::sqrt(value / static_cast<double>(rows));
  return squares;
}

torch::Tensor state_scales(const TorchLlama& target, const Dataset& data) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> states;
  for (const TorchLlama::Output& out : first_outputs(target, data, {}))
    states.push_back(target.final_norm(out.last.slice(0, 1)));
  return torch::cat(states).square().mean(0).sqrt();
}

}  // namespace augur
