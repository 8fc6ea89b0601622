#include "lab/train/attention_rows.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/ops.h"
#include "lab/train/torch_ops.h"
#include "lab/train/torch_rows.h"

namespace augur {

namespace {

/// The columns that a row sees.
struct Sight {
  std::int64_t begin, count;
};

Sight sight_of(std::int64_t row, std::int64_t columns, const AttentionRule& rule) {
  const std::int64_t end = row % columns + 1;
  const std::int64_t begin = rule.window > 0 ? std::max<std::int64_t>(0, end - rule.window) : 0;
  return {begin, end - begin};
}

/// Runs `work(first row, end)` for parts of all rows, on the threads that libtorch gives this one.
template <class Work>
void for_rows(std::int64_t rows, const Work& work) {
  constexpr std::int64_t kRows = 64;
  at::parallel_for(0, rows, kRows, work);
}

void to_scores(std::span<float> x, const AttentionRule& rule) {
  const auto scale = static_cast<float>(rule.scale);
  for (float& value : x) value *= scale;
  if (rule.cap > 0) cap_row(x.data(), static_cast<float>(rule.cap), std::ssize(x));
}

/// d score / d product.
float slope(float score, const AttentionRule& rule) {
  const auto scale = static_cast<float>(rule.scale);
  if (rule.cap <= 0) return scale;
  const float t = score / static_cast<float>(rule.cap);
  return scale * (1 - t * t);
}

/// Scores [N, R, K] float32, without a mask.
torch::Tensor scores_of(const torch::Tensor& products, const AttentionRule& rule) {
  const torch::Tensor scores = products.to(torch::kFloat32) * rule.scale;
  return rule.cap > 0 ? (scores / rule.cap).tanh() * rule.cap : scores;
}

torch::Tensor masked(const torch::Tensor& scores, const AttentionRule& rule) {
  const std::int64_t columns = scores.size(2);
  const torch::Tensor mask = causal_mask(columns, scores.device(), rule.window);
  return (scores.view({scores.size(0), -1, columns, columns}) + mask).view(scores.sizes());
}

}  // namespace

torch::Tensor softmax_rows(torch::Tensor& products, const AttentionRule& rule) {
  if (!products.is_cpu()) {
    const torch::Tensor scores = masked(scores_of(products, rule), rule);
    const torch::Tensor norm = scores.logsumexp(-1);
    products = (scores - norm.unsqueeze(-1)).exp_().to(products.scalar_type());
    return norm;
  }
  const std::int64_t columns = products.size(2);
  torch::Tensor norm = torch::empty({products.size(0), products.size(1)}, torch::kFloat32);
  const TorchRows rows(products.view({-1, columns}));
  auto* norms = norm.data_ptr<float>();
  const std::int64_t of_matrix = products.size(1);
  for_rows(rows.count(), [&](std::int64_t first, std::int64_t end) {
    std::vector<float> x(static_cast<std::size_t>(columns));
    for (std::int64_t r = first; r < end; ++r) {
      const Sight seen = sight_of(r % of_matrix, columns, rule);
      const std::span<float> part(x.data(), static_cast<std::size_t>(seen.count));
      rows.read(r, seen.begin, part);
      to_scores(part, rule);
      norms[r] = log_sum_exp(part.data(), seen.count);
      exp_row(part.data(), seen.count, norms[r], 1.0f, part.data());
      rows.clear(r);
      rows.write(r, seen.begin, part);
    }
  });
  return norm;
}

void softmax_rows_gradient(torch::Tensor& products, torch::Tensor& gradients, const torch::Tensor& norm,
                           const torch::Tensor& shared, const AttentionRule& rule) {
  if (!products.is_cpu()) {
    const torch::Tensor scores = scores_of(products, rule);
    const torch::Tensor p = (masked(scores, rule) - norm.unsqueeze(-1)).exp_();
    torch::Tensor gradient = (gradients.to(torch::kFloat32) - shared.unsqueeze(-1)).mul_(p).mul_(rule.scale);
    if (rule.cap > 0) gradient.mul_(1 - (scores / rule.cap).square());
    gradients = gradient.to(gradients.scalar_type());
    products = p.to(products.scalar_type());
    return;
  }
  const std::int64_t columns = products.size(2);
  const TorchRows rows(products.view({-1, columns})), grads(gradients.view({-1, columns}));
  const torch::Tensor norm_values = norm.contiguous(), shared_values = shared.contiguous();
  const auto* norms = norm_values.data_ptr<float>();
  const auto* common = shared_values.data_ptr<float>();
  const std::int64_t of_matrix = products.size(1);
  for_rows(rows.count(), [&](std::int64_t first, std::int64_t end) {
    std::vector<float> x(static_cast<std::size_t>(columns)), p(x.size()), g(x.size());
    for (std::int64_t r = first; r < end; ++r) {
      const Sight seen = sight_of(r % of_matrix, columns, rule);
      const auto count = static_cast<std::size_t>(seen.count);
      rows.read(r, seen.begin, std::span(x).first(count));
      to_scores(std::span(x).first(count), rule);
      exp_row(x.data(), seen.count, norms[r], 1.0f, p.data());
      rows.clear(r);
      rows.write(r, seen.begin, std::span(p).first(count));
      grads.read(r, seen.begin, std::span(g).first(count));
      for (std::size_t i = 0; i < count; ++i) g[i] = p[i] * (g[i] - common[r]) * slope(x[i], rule);
      grads.clear(r);
      grads.write(r, seen.begin, std::span(g).first(count));
    }
  });
}

}  // namespace augur
