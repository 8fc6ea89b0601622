#include "kernels/packed_matrix.h"

#include "base/error.h"

namespace augur {

namespace {

/// Largest accepted n * k: keeps every byte offset far inside 63 bits.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;

std::int64_t checked_bytes(DType type, std::int64_t n, std::int64_t k) {
  if (type != DType::F32 && type != DType::BF16) {
    throw Error("packed matrix: {} weights are not supported (F32 or BF16)", name(type));
  }
  if (n < 1 || k < 1 || n > kMaxElements / k)
    throw Error("packed matrix: {} x {} is not a valid shape", n, k);
  const std::int64_t rows = (n + PackedMatrix::kPanel - 1) / PackedMatrix::kPanel * PackedMatrix::kPanel;
  const std::int64_t columns =
      (k + PackedMatrix::kKGrain - 1) / PackedMatrix::kKGrain * PackedMatrix::kKGrain;
  return rows * columns * block_shape(type).bytes;
}

}  // namespace

PackedMatrix::PackedMatrix(DType type, std::int64_t n, std::int64_t k) : type_(type), n_(n), k_(k) {
  auto memory = std::make_shared<PageMemory>(static_cast<std::size_t>(checked_bytes(type, n, k)));
  data_ = std::shared_ptr<std::byte>(memory, memory->data());
}

PackedMatrix::PackedMatrix(DType type, std::int64_t n, std::int64_t k, WeightArena& arena)
    : type_(type), n_(n), k_(k), data_(arena.take(static_cast<std::size_t>(checked_bytes(type, n, k)))) {}

std::int64_t PackedMatrix::panel_bytes() const {
  return kPanel * padded_k() * block_shape(type_).bytes;
}

void PackedMatrix::set_rows(std::int64_t first, std::span<const float> values) {
  const auto count = static_cast<std::int64_t>(values.size()) / k_;
  if (first < 0 || count * k_ != static_cast<std::int64_t>(values.size()) || first > n_ - count) {
    throw Error("packed matrix {} x {}: {} values do not fit at row {}", n_, k_, values.size(), first);
  }
  for (std::int64_t r = 0; r < count; ++r) {
    const float* row = values.data() + r * k_;
    std::byte* panel = data_.get() + (first + r) / kPanel * panel_bytes();
    const std::int64_t column = (first + r) % kPanel;
    if (type_ == DType::BF16) {
      auto* out = reinterpret_cast<BF16*>(panel) + 2 * column;
      for (std::int64_t i = 0; i < k_; ++i) out[(i / 2) * 2 * kPanel + i % 2] = to_bf16(row[i]);
    } else {
      auto* out = reinterpret_cast<float*>(panel) + column;
      for (std::int64_t i = 0; i < k_; ++i) out[i * kPanel] = row[i];
    }
  }
}

void PackedMatrix::get_row(std::int64_t row, float* out) const {
  const std::byte* data = panel(row / kPanel);
  const std::int64_t column = row % kPanel;
  if (type_ == DType::BF16) {
    const auto* in = reinterpret_cast<const BF16*>(data) + 2 * column;
    for (std::int64_t i = 0; i < k_; ++i) out[i] = to_float(in[(i / 2) * 2 * kPanel + i % 2]);
  } else {
    const auto* in = reinterpret_cast<const float*>(data) + column;
    for (std::int64_t i = 0; i < k_; ++i) out[i] = in[i * kPanel];
  }
}

}  // namespace augur
