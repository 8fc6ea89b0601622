#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/elementary.h"
#include "model/layer_spec.h"

// Frequencies as Hugging Face's modeling_rope_utils.py computes them. It works in float32; so do the
// expressions here wherever a rounding could matter (an inverse frequency is multiplied by positions of tens
// of thousands).

namespace augur {

namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

/// base^(2i / head_dim), i < head_dim / 2.
std::vector<float> wavelength_bases(double base, int head_dim) {
  std::vector<float> result(static_cast<std::size_t>(head_dim / 2));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    result[i] = static_cast<float>(elementary::pow(base, static_cast<double>(exponent)));
  }
  return result;
}

std::vector<float> plain_frequencies(double base, int head_dim) {
  std::vector<float> result = wavelength_bases(base, head_dim);
  for (float& f : result) f = 1.0f / f;
  return result;
}

/// NTK-aware: a larger base for contexts beyond the original one.
double dynamic_base(const RopeConfig& rope, int head_dim, std::int64_t context) {
  const double original = static_cast<double>(rope.original_context);
  const double length = std::max(static_cast<double>(context), original);
  const double stretch = rope.factor * length / original - (rope.factor - 1);
  return rope.theta * elementary::pow(stretch, static_cast<double>(head_dim) / (head_dim - 2));
}

void apply_llama3(const RopeConfig& rope, std::vector<float>& frequencies) {
  const auto factor = static_cast<float>(rope.factor);
  const auto context = static_cast<double>(rope.original_context);
  const auto low = static_cast<float>(rope.low_freq_factor);
  const auto high = static_cast<float>(rope.high_freq_factor);
  for (float& f : frequencies) {
    const float wavelength = static_cast<float>(kTwoPi) / f;
    if (wavelength < context / rope.high_freq_factor) continue;
    if (wavelength > context / rope.low_freq_factor) {
      f /= factor;
    } else {
      const float smooth = (static_cast<float>(context) / wavelength - low) / (high - low);
      f = (1.0f - smooth) * f / factor + smooth * f;
    }
  }
}

/// Dimension whose wavelength makes `rotations` turns over the original context.
double correction_dimension(const RopeConfig& rope, double rotations, int head_dim) {
  const auto context = static_cast<double>(rope.original_context);
  return head_dim * elementary::log(context / (rotations * kTwoPi)) / (2 * elementary::log(rope.theta));
}

std::vector<float> yarn_frequencies(const RopeConfig& rope, int head_dim) {
  double low = correction_dimension(rope, rope.beta_fast, head_dim);
  double high = correction_dimension(rope, rope.beta_slow, head_dim);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(head_dim - 1));
  if (low == high) high += 0.001;

  std::vector<float> result = wavelength_bases(rope.theta, head_dim);
  const auto factor = static_cast<float>(rope.factor);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const float ramp = std::clamp(
        (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low), 0.0f, 1.0f);
    const float extrapolation = 1.0f - ramp;
    const float extrapolated = 1.0f / result[i];
    const float interpolated = 1.0f / (factor * result[i]);
    result[i] = interpolated * (1.0f - extrapolation) + extrapolated * extrapolation;
  }
  return result;
}

double yarn_magnitude(const RopeConfig& rope) {
  if (rope.attention_factor > 0) return rope.attention_factor;
  return rope.factor <= 1 ? 1.0 : 0.1 * elementary::log(rope.factor) + 1.0;
}

}  // namespace

RopeTable make_rope_table(const RopeConfig& rope, int head_dim, std::int64_t context) {
  using Scaling = RopeConfig::Scaling;
  RopeTable table;
  if (rope.none) return table;
  const int dims = rope.dims > 0 ? rope.dims : head_dim;
  switch (rope.scaling) {
    case Scaling::None:
      table.inverse_frequencies = plain_frequencies(rope.theta, dims);
      break;
    case Scaling::Linear:
      table.inverse_frequencies = plain_frequencies(rope.theta, dims);
      for (float& f : table.inverse_frequencies) f /= static_cast<float>(rope.factor);
      break;
    case Scaling::Dynamic:
      table.inverse_frequencies = plain_frequencies(dynamic_base(rope, dims, context), dims);
      break;
    case Scaling::Llama3:
      table.inverse_frequencies = plain_frequencies(rope.theta, dims);
      apply_llama3(rope, table.inverse_frequencies);
      break;
    case Scaling::Yarn:
      table.inverse_frequencies = yarn_frequencies(rope, dims);
      table.magnitude = static_cast<float>(yarn_magnitude(rope));
      break;
    case Scaling::Factors: {
      const bool beyond = !rope.long_factors.empty() && context > rope.original_context;
      const std::vector<double>& factors = beyond ? rope.long_factors : rope.factors;
      table.inverse_frequencies = wavelength_bases(rope.theta, dims);
      for (std::size_t i = 0; i < table.inverse_frequencies.size(); ++i) {
        table.inverse_frequencies[i] = 1.0f / (static_cast<float>(factors[i]) * table.inverse_frequencies[i]);
      }
      if (rope.attention_factor > 0) table.magnitude = static_cast<float>(rope.attention_factor);
      break;
    }
  }
  return table;
}

}  // namespace augur
