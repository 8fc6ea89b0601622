#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/philox.h"
#include "kernels/quant_panel.h"
#include "model/weights.h"

namespace augur {

namespace {

/// Index of the first value that is no number, or `count`.
std::int64_t first_not_finite(const float* values, std::int64_t count) {
  constexpr std::uint32_t kInfinity = 0x7f800000;
  std::uint32_t largest = 0;  // of the magnitudes' bits: a loop without branches takes no time beside reading
  for (std::int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & ~0x80000000u);
  if (largest < kInfinity) return count;
  return std::find_if(values, values + count, [](float v) { return !std::isfinite(v); }) - values;
}

}  // namespace

RowReader StoredWeights::open(const std::string& name, const Shape& shape) {
  const StoredTensor& tensor = store_.require(name, shape);
  if (is_integer(tensor.dtype)) {
    throw Error("{}: tensor {}: expected floating-point or quantised weights, found {}", tensor.file, name,
                augur::name(tensor.dtype));
  }
  used_.push_back(name);
  const bool round = block_shape(tensor.dtype).elements > 1;
  const std::int64_t length = shape.back();
  return [&tensor, name, round, length](std::int64_t first, std::int64_t count, float* out) {
    read_rows(tensor, first, count, out);
    if (const std::int64_t at = first_not_finite(out, count * length); at < count * length) {
      throw Error("{}: tensor {}: row {}: expected numbers, found {}", tensor.file, name, first + at / length,
                  out[at]);
    }
    if (!round) return;
    for (std::int64_t i = 0; i < count * length; ++i) out[i] = to_float(to_bf16(out[i]));
  };
}

std::optional<StoredRows> StoredWeights::stored(const std::string& name) {
  const StoredTensor* tensor = store_.find(name);
  if (tensor == nullptr || tensor->shape.size() != 2 || !quant_kind(tensor->dtype)) return std::nullopt;
  return StoredRows{tensor->dtype, [tensor, name](std::int64_t row, std::vector<std::byte>& scratch) {
                      const auto bytes = stored_row(*tensor, row, scratch);
                      if (!finite_scales(tensor->dtype, bytes.data(), tensor->shape.back()))
                        throw Error("{}: tensor {}: row {}: a scale is no number that products take",
                                    tensor->file, name, row);
                      return bytes;
                    }};
}

void StoredWeights::pass_over_all(std::string_view prefix) {
  for (const auto& entry : store_.tensors()) {
    if (entry.first.starts_with(prefix)) pass_over(entry.first);
  }
}

void StoredWeights::all_opened() {
  // Tables that old exporters stored, and the copy of a tied embedding.
  std::vector<std::string_view> ignorable = {"rotary_emb.inv_freq", "attn.masked_bias"};
  if (tied_) ignorable.push_back("lm_head.weight");
  store_.check_leftovers(used_, ignorable);
}

namespace {

/// FNV-1a.
std::uint32_t hash(std::string_view text) {
  std::uint32_t h = 2166136261u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return h;
}

}  // namespace

RowReader RandomWeights::open(const std::string& name, const Shape& shape) {
  const std::int64_t length = shape.back();
  if (shape.size() == 1 && name.ends_with("norm.weight")) {
    return [length](std::int64_t, std::int64_t, float* out) { std::fill_n(out, length, 1.0f); };
  }
  const bool is_bias = shape.size() == 1;
  // Variance 1 / length keeps the variance of a row's product; biases are small beside that.
  const float bound = is_bias ? 0.1f : std::sqrt(3.0f / static_cast<float>(length));
  return [=, seed = seed_, stream = hash(name)](std::int64_t first, std::int64_t count, float* out) {
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t i = 0; i < length; i += 4) {
        const auto row = static_cast<std::uint64_t>(first + r);
        const auto bits = philox4x32({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(row),
                                      static_cast<std::uint32_t>(row >> 32), stream},
                                     seed);
        for (std::int64_t j = 0; j < 4 && i + j < length; ++j) {
          out[r * length + i + j] = bound * (2.0f * uniform_open(bits[static_cast<std::size_t>(j)]) - 1.0f);
        }
      }
    }
  };
}

}  // namespace augur
