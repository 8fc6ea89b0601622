#include "policy/acceptance_head.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "io/json_fields.h"
#include "kernels/ops.h"
#include "model/part_folder.h"

namespace augur {

AcceptanceHead AcceptanceHead::read(const std::filesystem::path& folder, const Fingerprint* target) {
  constexpr std::int64_t kMostWidth = 1 << 16;
  constexpr std::int64_t kMostBlocks = 2;
  const PartFolder part(folder, "acceptance");
  part.check_target(target, Strictness::SameModel);
  const JsonFields& fields = part.config();
  const std::int64_t hidden = fields.require_int("hidden", kMostWidth);
  const std::int64_t blocks = fields.require_int("blocks", kMostBlocks);

  AcceptanceHead out;
  out.width_ = static_cast<std::size_t>(hidden);
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::string name = fmt::format("blocks.{}", b);
    // Read before the matrix takes its memory: what is stored bounds it.
    const std::vector<float> weight = part.floats(name + ".weight", {hidden, hidden});
    Block block{.weight = PackedMatrix(DType::F32, hidden, hidden),
                .bias = part.floats(name + ".bias", {hidden})};
    block.weight.set_rows(0, weight);
    block.bias.resize(static_cast<std::size_t>(block.weight.panels() * PackedMatrix::kPanel));
    out.blocks_.push_back(std::move(block));
  }
  out.head_ = part.floats("head.weight", {1, hidden});
  out.head_bias_ = part.floats("head.bias", {1}).front();
  out.norm_eps_ = fields.find_number("rms_norm_eps", 1e-12, 1).value_or(-1);
  out.log_prob_weight_ = fields.find_number("log_prob_weight", -1e6, 1e6).value_or(0);
  out.entropy_weight_ = fields.find_number("entropy_weight", -1e6, 1e6).value_or(0);
  out.kernels_ = &kernel_set(select_isa());
  out.x_ = RowBuffer(DType::F32, activation_stride(hidden), 1);
  out.y_ = RowBuffer(DType::F32, activation_stride(hidden), 1);
  out.x_.ensure(1);
  out.y_.ensure(1);
  out.ones_.assign(out.width_, 1.0f);
  return out;
}

void AcceptanceHead::set_input(std::int64_t r, std::span<const float> state) {
  if (state.size() != width_)
    throw Error("acceptance head: made for hidden states of {}, the drafter's have {}", width_, state.size());
  float* x = x_.floats(r);
  if (norm_eps_ < 0) {
    std::copy(state.begin(), state.end(), x);
  } else {
    rms_norm(state.data(), ones_.data(), static_cast<float>(norm_eps_), std::ssize(state), DType::F32, x);
  }
}

void AcceptanceHead::run_blocks(int rows) {
  const auto width = static_cast<std::int64_t>(width_);
  for (const Block& block : blocks_) {
    kernels_->gemm({.weight = &block.weight,
                    .x = x_.row(0),
                    .x_stride = x_.stride(),
                    .rows = rows,
                    .y = y_.floats(0),
                    .y_stride = y_.stride(),
                    .bias = block.bias.data()},
                   {0, block.weight.panels()});
    for (int r = 0; r < rows; ++r) {
      float* x = x_.floats(r);
      float* y = y_.floats(r);
      silu_mul(y, ones_.data(), width, DType::F32, y);
      for (std::size_t i = 0; i < width_; ++i) x[i] += y[i];
    }
  }
}

double AcceptanceHead::finish(std::int64_t r, const Draw& draw) const {
  const float* x = x_.floats(r);
  double logit = static_cast<double>(head_bias_) + log_prob_weight_ * std::max(draw.log_prob, kLeastLogProb) +
                 entropy_weight_ * draw.entropy;
  for (std::size_t i = 0; i < width_; ++i) logit += static_cast<double>(head_[i]) * static_cast<double>(x[i]);
  const double probability = 1.0 / (1.0 + std::exp(-logit));
  return std::isnan(probability) ? 0.0 : probability;
}

double AcceptanceHead::probability(std::span<const float> state, const Draw& draw) {
  set_input(0, state);
  run_blocks(1);
  return finish(0, draw);
}

void AcceptanceHead::probabilities(const DraftTree& tree, std::span<const std::int32_t> nodes,
                                   std::span<double> out) {
  if (nodes.empty()) return;
  x_.ensure(std::ssize(nodes));
  y_.ensure(std::ssize(nodes));
  for (std::size_t r = 0; r < nodes.size(); ++r)
    set_input(static_cast<std::int64_t>(r), tree.hidden(nodes[r]));
  run_blocks(static_cast<int>(nodes.size()));
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    const auto n = static_cast<std::size_t>(nodes[r]);
    Draw draw{.log_prob = static_cast<double>(tree.log_probs()[n])};
    if (entropy_weight_ != 0) {
      const float entropy = tree.entropies()[static_cast<std::size_t>(tree.parents()[n])];
      if (!std::isnan(entropy)) draw.entropy = static_cast<double>(entropy);
    }
    out[r] = finish(static_cast<std::int64_t>(r), draw);
  }
}

}  // namespace augur
