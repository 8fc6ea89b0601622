#include "kernels/packed_matrix.h"

#include <cstring>
#include <optional>
#include <vector>

#include "base/error.h"
#include "kernels/quant_panel.h"
#include "kernels/quantize.h"

namespace augur {

namespace {

/// Largest accepted n * k: keeps every byte offset far inside 63 bits.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;

std::int64_t round_up(std::int64_t value, std::int64_t grain) {
  return (value + grain - 1) / grain * grain;
}

std::int64_t padded(DType type, std::int64_t k) {
  const std::optional<QuantKind> kind = quant_kind(type);
  return round_up(k, kind ? quant_step_k(quant_layout(*kind)) : PackedMatrix::kKGrain);
}

/// Of a panel: quantised or one line for every 64 bytes.
std::int64_t steps_of(DType type, std::int64_t padded_k) {
  const std::optional<QuantKind> kind = quant_kind(type);
  if (kind) return padded_k / quant_step_k(quant_layout(*kind));
  return PackedMatrix::kPanel * padded_k * block_shape(type).bytes / 64;
}

std::int64_t panel_bytes_of(DType type, std::int64_t padded_k) {
  const std::optional<QuantKind> kind = quant_kind(type);
  return 64 * steps_of(type, padded_k) * (kind ? quant_layout(*kind).lines : 1);
}

std::int64_t checked_bytes(DType type, std::int64_t n, std::int64_t k) {
  const bool quantized = quant_kind(type).has_value();
  if (type != DType::F32 && type != DType::BF16 && !quantized) {
    throw Error(
        ErrorKind::Unsupported,
        "packed matrix: {} weights are not supported (F32, BF16 or a quantised type of at least 2 bits)",
        name(type));
  }
  if (n < 1 || k < 1 || n > kMaxElements / k)
    throw Error(ErrorKind::Internal, "packed matrix: {} x {} is not a valid shape", n, k);
  if (k % block_shape(type).elements != 0) {
    throw Error("packed matrix: rows of {} are not whole blocks of {}", k, name(type));
  }
  return round_up(n, PackedMatrix::kPanel) / PackedMatrix::kPanel * panel_bytes_of(type, padded(type, k));
}

}  // namespace

PackedMatrix::PackedMatrix(DType type, std::int64_t n, std::int64_t k) : type_(type), n_(n), k_(k) {
  auto memory = std::make_shared<PageMemory>(static_cast<std::size_t>(checked_bytes(type, n, k)));
  data_ = std::shared_ptr<std::byte>(memory, memory->data());
}

PackedMatrix::PackedMatrix(DType type, std::int64_t n, std::int64_t k, WeightArena& arena)
    : type_(type), n_(n), k_(k), data_(arena.take(static_cast<std::size_t>(checked_bytes(type, n, k)))) {}

std::int64_t PackedMatrix::padded_k() const {
  return padded(type_, k_);
}

std::int64_t PackedMatrix::steps() const {
  return steps_of(type_, padded_k());
}

std::int64_t PackedMatrix::panel_bytes() const {
  return panel_bytes_of(type_, padded_k());
}

void PackedMatrix::set_stored_rows(std::int64_t first, std::span<const std::byte> rows) {
  const BlockShape shape = block_shape(type_);
  const std::int64_t row_size = k_ / shape.elements * shape.bytes;
  const auto count = static_cast<std::int64_t>(rows.size()) / row_size;
  if (!quantized() || first < 0 || count * row_size != static_cast<std::int64_t>(rows.size()) ||
      first > n_ - count) {
    throw Error(ErrorKind::Internal, "packed matrix {} x {} of {}: {} bytes do not fit at row {}", n_, k_,
                name(type_), rows.size(), first);
  }
  for (std::int64_t r = 0; r < count; ++r) {
    pack_quantized_row(type_, rows.data() + r * row_size, k_,
                       data_.get() + (first + r) / kPanel * panel_bytes(), (first + r) % kPanel);
  }
}

void PackedMatrix::set_rows(std::int64_t first, std::span<const float> values) {
  const auto count = static_cast<std::int64_t>(values.size()) / k_;
  if (first < 0 || count * k_ != static_cast<std::int64_t>(values.size()) || first > n_ - count) {
    throw Error(ErrorKind::Internal, "packed matrix {} x {}: {} values do not fit at row {}", n_, k_,
                values.size(), first);
  }
  if (quantized()) {
    const BlockShape shape = block_shape(type_);
    std::vector<std::byte> stored(static_cast<std::size_t>(count * k_ / shape.elements * shape.bytes));
    quantize_blocks(type_, values.data(), count * k_, stored.data());
    set_stored_rows(first, stored);
    return;
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

void PackedMatrix::copy_row(std::int64_t to, const PackedMatrix& from, std::int64_t row) {
  if (from.type_ != type_ || from.k_ != k_ || to < 0 || to >= n_ || row < 0 || row >= from.n_) {
    throw Error(ErrorKind::Internal, "packed matrix {} x {} of {}: row {} cannot be row {} of {} x {} of {}",
                n_, k_, name(type_), to, row, from.n_, from.k_, name(from.type_));
  }
  std::byte* out = data_.get() + to / kPanel * panel_bytes();
  const std::byte* in = from.panel(row / kPanel);
  if (const std::optional<QuantKind> kind = quant_kind(type_)) {
    copy_quantized_row(*kind, steps(), {in, row % kPanel}, {out, to % kPanel});
    return;
  }
  // Lines of 16 columns of 4 bytes: one number, or a pair of them.
  for (std::int64_t line = 0; line < panel_bytes(); line += 64) {
    std::memcpy(out + line + 4 * (to % kPanel), in + line + 4 * (row % kPanel), 4);
  }
}

void PackedMatrix::get_row(std::int64_t row, float* out) const {
  const std::byte* data = panel(row / kPanel);
  const std::int64_t column = row % kPanel;
  if (const std::optional<QuantKind> kind = quant_kind(type_)) {
    for (std::int64_t i = 0; i < k_; i += 32) {
      const QuantValues w = unpack_quantized_block(*kind, data, i / 32, column);
      for (std::int64_t j = 0; j < 32; ++j) {
        out[i + j] = w.scales[j / 16] * static_cast<float>(w.values[j]) + w.minimums[j / 16];
      }
    }
  } else if (type_ == DType::BF16) {
    const auto* in = reinterpret_cast<const BF16*>(data) + 2 * column;
    for (std::int64_t i = 0; i < k_; ++i) out[i] = to_float(in[(i / 2) * 2 * kPanel + i % 2]);
  } else {
    const auto* in = reinterpret_cast<const float*>(data) + column;
    for (std::int64_t i = 0; i < k_; ++i) out[i] = in[i * kPanel];
  }
}

PackedMatrix PackedMatrix::at(std::shared_ptr<std::byte> data) const {
  PackedMatrix moved;
  moved.type_ = type_;
  moved.n_ = n_;
  moved.k_ = k_;
  moved.fine_ = fine_;
  moved.data_ = std::move(data);
  return moved;
}

}  // namespace augur
