#include "policy/acceptance_head.h"

#include <algorithm>
#include <cmath>

#include "base/elementary.h"
#include "base/error.h"
#include "files/json_fields.h"
#include "kernels/ops.h"
#include "model/part_folder.h"

namespace augur {

AcceptanceHead::AcceptanceHead(const std::filesystem::path& folder, const Fingerprint* target,
                               Backend& backend, DType floats)
    : backend_(backend) {
  constexpr std::int64_t kMostWidth = 1 << 16;
  constexpr std::int64_t kMostBlocks = 2;
  const PartFolder part(folder, "acceptance");
  part.check_target(target, Strictness::SameModel);
  const JsonFields& fields = part.config();
  const std::int64_t hidden = fields.require_int("hidden", kMostWidth);
  const std::int64_t blocks = fields.require_int("blocks", kMostBlocks);
  width_ = static_cast<std::size_t>(hidden);

  ResidualMlp::Names names;
  for (std::int64_t b = 0; b < blocks; ++b) names.blocks.push_back(fmt::format("blocks.{}", b));
  StoredWeights stored(part.store(), false);
  WeightPacker packer({.floats = floats}, stored);
  blocks_.open(packer, part.store(), names, hidden, hidden);
  packer.run(backend, {});
  head_ = part.floats("head.weight", {1, hidden});
  head_bias_ = part.floats("head.bias", {1}).front();
  norm_eps_ = fields.find_number("rms_norm_eps", 1e-12, 1).value_or(-1);
  log_prob_weight_ = fields.find_number("log_prob_weight", -1e6, 1e6).value_or(0);
  entropy_weight_ = fields.find_number("entropy_weight", -1e6, 1e6).value_or(0);
  ones_.assign(width_, 1.0f);
}

void AcceptanceHead::reserve(std::size_t rows) {
  if (inputs_.size() < rows * width_) inputs_.resize(rows * width_);
}

void AcceptanceHead::set_input(std::size_t r, std::span<const float> state) {
  if (state.size() != width_)
    throw Error(ErrorKind::Internal, "acceptance head: made for hidden states of {}, the drafter's have {}",
                width_, state.size());
  float* x = inputs_.data() + r * width_;
  if (norm_eps_ < 0) {
    std::copy(state.begin(), state.end(), x);
  } else {
    rms_norm(state.data(), ones_.data(), static_cast<float>(norm_eps_), std::ssize(state), InputForm::F32, x);
  }
}

double AcceptanceHead::finish(std::size_t r, const Draw& draw) const {
  const float* x = blocks_.state(static_cast<int>(r));
  double logit = static_cast<double>(head_bias_) + log_prob_weight_ * std::max(draw.log_prob, kLeastLogProb) +
                 entropy_weight_ * draw.entropy;
  for (std::size_t i = 0; i < width_; ++i) logit += static_cast<double>(head_[i]) * static_cast<double>(x[i]);
  const double probability = 1.0 / (1.0 + elementary::exp(-logit));
  return std::isnan(probability) ? 0.0 : probability;
}

void AcceptanceHead::probabilities(const DraftTree& tree, std::span<const std::int32_t> nodes,
                                   std::span<double> out) {
  if (nodes.empty()) return;
  reserve(nodes.size());
  for (std::size_t r = 0; r < nodes.size(); ++r) set_input(r, tree.hidden(nodes[r]));
  blocks_.run(backend_, inputs_.data(), static_cast<int>(nodes.size()));
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    const auto n = static_cast<std::size_t>(nodes[r]);
    Draw draw{.log_prob = static_cast<double>(tree.log_probs()[n])};
    if (entropy_weight_ != 0) {
      const float entropy = tree.entropies()[static_cast<std::size_t>(tree.parents()[n])];
      if (!std::isnan(entropy)) draw.entropy = static_cast<double>(entropy);
    }
    out[r] = finish(r, draw);
  }
}

}  // namespace augur
