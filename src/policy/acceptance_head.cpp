#include "policy/acceptance_head.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "io/json_fields.h"
#include "policy/part.h"

namespace augur {

AcceptanceHead AcceptanceHead::read(const std::filesystem::path& folder, const Fingerprint* target) {
  constexpr std::int64_t kMostWidth = 1 << 16;
  constexpr std::int64_t kMostBlocks = 2;
  const PolicyPart part = read_policy_part(folder, "acceptance", true, target, Strictness::SameModel);
  const JsonFields fields(part.config, part.file);
  const std::int64_t hidden = fields.require_int("hidden", kMostWidth);
  const std::int64_t blocks = fields.require_int("blocks", kMostBlocks);

  AcceptanceHead out;
  out.width_ = static_cast<std::size_t>(hidden);
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::string name = fmt::format("blocks.{}", b);
    const std::vector<float> rows = part.tensor(name + ".weight", {hidden, hidden});
    Block block{.columns = std::vector<float>(rows.size()), .bias = part.tensor(name + ".bias", {hidden})};
    for (std::size_t r = 0; r < out.width_; ++r) {
      for (std::size_t c = 0; c < out.width_; ++c) {
        block.columns[c * out.width_ + r] = rows[r * out.width_ + c];
      }
    }
    out.blocks_.push_back(std::move(block));
  }
  out.head_ = part.tensor("head.weight", {1, hidden});
  out.head_bias_ = part.tensor("head.bias", {1}).front();
  out.norm_eps_ = fields.find_number("rms_norm_eps", 1e-12, 1).value_or(-1);
  out.log_prob_weight_ = fields.find_number("log_prob_weight", -1e6, 1e6).value_or(0);
  out.entropy_weight_ = fields.find_number("entropy_weight", -1e6, 1e6).value_or(0);
  out.x_.resize(out.width_);
  out.y_.resize(out.width_);
  return out;
}

double AcceptanceHead::probability(std::span<const float> state, const Draw& draw) {
  if (state.size() != width_) {
    throw Error("acceptance head: made for hidden states of {}, the drafter's have {}", width_, state.size());
  }
  x_.assign(state.begin(), state.end());
  if (norm_eps_ >= 0) {
    double squares = 0;
    for (const float x : x_) squares += static_cast<double>(x) * static_cast<double>(x);
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(width_) + norm_eps_);
    for (float& x : x_) x = static_cast<float>(scale * static_cast<double>(x));
  }
  for (const Block& block : blocks_) {
    y_.assign(block.bias.begin(), block.bias.end());
    for (std::size_t c = 0; c < width_; ++c) {
      const float* column = &block.columns[c * width_];
      const float x = x_[c];
      for (std::size_t r = 0; r < width_; ++r) y_[r] += column[r] * x;
    }
    for (std::size_t r = 0; r < width_; ++r) x_[r] += y_[r] / (1.0f + std::exp(-y_[r]));
  }
  double logit = static_cast<double>(head_bias_) + log_prob_weight_ * std::max(draw.log_prob, kLeastLogProb) +
                 entropy_weight_ * draw.entropy;
  for (std::size_t r = 0; r < width_; ++r)
    logit += static_cast<double>(head_[r]) * static_cast<double>(x_[r]);
  return 1.0 / (1.0 + std::exp(-logit));
}

double AcceptanceHead::probability(const DraftTree& tree, std::int32_t node) {
  const auto n = static_cast<std::size_t>(node);
  Draw draw{.log_prob = static_cast<double>(tree.log_probs()[n])};
  if (entropy_weight_ != 0) {
    const float entropy = tree.entropies()[static_cast<std::size_t>(tree.parents()[n])];
    if (!std::isnan(entropy)) draw.entropy = static_cast<double>(entropy);
  }
  return probability(tree.hidden(node), draw);
}

}  // namespace augur
