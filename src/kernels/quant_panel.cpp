// The stored layouts are those of src/files/gguf/dequantize.cpp.
#include "kernels/quant_panel.h"

#include <bit>
#include <cstring>

#include "base/error.h"

namespace augur {

namespace {

using U8 = std::uint8_t;

/// 32 stored values with their scales, before they are placed.
struct Block {
  U8 q[32];
  std::uint16_t d = 0;    ///< half
  std::uint16_t m = 0;    ///< half: the minimum, or dmin
  U8 scales[2] = {0, 0};  ///< of k_scales: scale and minimum, or of two halves; or a power of two
};

std::uint16_t half_at(const U8* p) {
  std::uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

void read_nibbles(const U8* from, U8* q) {
  for (int i = 0; i < 16; ++i) {
    q[i] = from[i] & 15;
    q[16 + i] = from[i] >> 4;
  }
}

void add_fifth_bits(const U8* from, U8* q) {
  std::uint32_t bits;
  std::memcpy(&bits, from, sizeof bits);
  for (int i = 0; i < 32; ++i) q[i] = static_cast<U8>(q[i] | (bits >> i & 1u) << 4);
}

/// Scale and minimum of block i in the 12 bytes of Q4_K and Q5_K.
void read_k_scales(const U8* p, int i, U8* out) {
  if (i < 4) {
    out[0] = p[i] & 63;
    out[1] = p[4 + i] & 63;
  } else {
    out[0] = static_cast<U8>((p[4 + i] & 15) | (p[i - 4] >> 6 << 4));
    out[1] = static_cast<U8>((p[4 + i] >> 4) | (p[i] >> 6 << 4));
  }
}

/// The signed scale of 16 values in the 12 bytes of Q3_K: four bits of it, then two.
U8 q3_k_scale(const U8* p, int group) {
  const int low = p[group % 8] >> (group / 8 * 4) & 15;
  const int high = p[8 + group % 4] >> (group / 4 * 2) & 3;
  return static_cast<U8>((low | high << 4) - 32);
}

/// Block `i` of 32 of a stored row.
Block read_block(DType type, const U8* row, std::int64_t i) {
  Block block;
  const BlockShape shape = block_shape(type);
  const int per_stored = shape.elements / 32;
  const U8* b = row + i / per_stored * shape.bytes;
  const int part = static_cast<int>(i % per_stored);
  switch (type) {
    case DType::Q8_0:
      block.d = half_at(b);
      for (int j = 0; j < 32; ++j) block.q[j] = static_cast<U8>(b[2 + j] ^ 0x80);
      break;
    case DType::Q4_0:
      block.d = half_at(b);
      read_nibbles(b + 2, block.q);
      break;
    case DType::Q4_1:
      block.d = half_at(b);
      block.m = half_at(b + 2);
      read_nibbles(b + 4, block.q);
      break;
    case DType::Q5_0:
      block.d = half_at(b);
      read_nibbles(b + 6, block.q);
      add_fifth_bits(b + 2, block.q);
      for (U8& q : block.q) q = static_cast<U8>(q + 128 - 16);
      break;
    case DType::Q5_1:
      block.d = half_at(b);
      block.m = half_at(b + 2);
      read_nibbles(b + 8, block.q);
      add_fifth_bits(b + 4, block.q);
      break;
    case DType::Q4_K:
    case DType::Q5_K: {
      const bool fifth = type == DType::Q5_K;
      block.d = half_at(b);
      block.m = half_at(b + 2);
      read_k_scales(b + 4, part, block.scales);
      const U8* nibbles = b + (fifth ? 48 : 16) + part / 2 * 32;
      for (int j = 0; j < 32; ++j) {
        block.q[j] = static_cast<U8>(nibbles[j] >> (part % 2 * 4) & 15);
        if (fifth) block.q[j] = static_cast<U8>(block.q[j] | (b[16 + j] >> part & 1) << 4);
      }
      break;
    }
    case DType::Q2_K:
      block.d = half_at(b + 80);
      block.m = half_at(b + 82);
      std::memcpy(block.scales, b + part * 2, 2);
      for (int j = 0; j < 32; ++j) block.q[j] = b[16 + part / 4 * 32 + j] >> (part % 4 * 2) & 3;
      break;
    case DType::Q3_K:
      block.d = half_at(b + 108);
      for (int half = 0; half < 2; ++half) block.scales[half] = q3_k_scale(b + 96, part * 2 + half);
      for (int j = 0; j < 32; ++j) {
        block.q[j] =
            static_cast<U8>((b[32 + part / 4 * 32 + j] >> (part % 4 * 2) & 3) | (b[j] >> part & 1) << 2);
      }
      break;
    case DType::IQ4_NL:
      block.d = half_at(b);
      read_nibbles(b + 2, block.q);
      break;
    case DType::IQ4_XS: {
      block.d = half_at(b);
      const int low = b[4 + part / 2] >> (part % 2 * 4) & 15;
      const int high = half_at(b + 2) >> (part * 2) & 3;
      block.scales[0] = static_cast<U8>((low | high << 4) - 32);
      read_nibbles(b + 8 + part * 16, block.q);
      break;
    }
    case DType::MXFP4:
      block.scales[0] = b[0];
      read_nibbles(b + 1, block.q);
      break;
    default: {  // Q6_K
      block.d = half_at(b + 208);
      std::memcpy(block.scales, b + 192 + part * 2, 2);
      const U8* low = b + part / 4 * 64 + part % 2 * 32;
      const U8* high = b + 128 + part / 4 * 32;
      for (int j = 0; j < 32; ++j) {
        block.q[j] =
            static_cast<U8>((low[j] >> (part % 4 / 2 * 4) & 15) | (high[j] >> (part % 4 * 2) & 3) << 4);
      }
      break;
    }
  }
  return block;
}

/// Byte `byte` of a column in line `line`.
U8* cell(std::byte* lines, int line, std::int64_t column, int byte) {
  return reinterpret_cast<U8*>(lines) + line * 64 + column * 4 + byte;
}
U8 cell(const std::byte* lines, int line, std::int64_t column, int byte) {
  return reinterpret_cast<const U8*>(lines)[line * 64 + column * 4 + byte];
}

void put_half(std::byte* scales, std::int64_t index, std::uint16_t value) {
  std::memcpy(scales + 2 * index, &value, sizeof value);
}
float get_half(const std::byte* scales, std::int64_t index) {
  std::uint16_t value;
  std::memcpy(&value, scales + 2 * index, sizeof value);
  return half_to_float(value);
}

/// 2^(exponent - 127).
float power_of_two(U8 exponent) {
  return exponent == 0 ? 0x1p-127f : std::bit_cast<float>(static_cast<std::uint32_t>(exponent) << 23);
}

/// `part`: which block of the step.
void place(const QuantLayout& layout, const Block& block, std::byte* step, int part, std::int64_t column) {
  std::byte* lines = step + quant_values_at(layout, part);
  for (int j = 0; j < 32; ++j) {
    const int line = j / 4;
    if (layout.block_lines == 8) {
      *cell(lines, line, column, j % 4) = block.q[j];
      continue;
    }
    if (layout.block_lines < 4) {
      *cell(lines, line / 4, column, j % 4) |= static_cast<U8>((block.q[j] & 3) << (line % 4 * 2));
      if (layout.block_lines == 3) {
        *cell(lines, 2, column, j % 4) |= static_cast<U8>((block.q[j] >> 2) << line);
      }
      continue;
    }
    *cell(lines, line % 4, column, j % 4) |= static_cast<U8>((block.q[j] & 15) << (line / 4 * 4));
    if (layout.block_lines == 6) {
      *cell(lines, 4 + line / 4, column, j % 4) |= static_cast<U8>((block.q[j] >> 4) << (line % 4 * 2));
    }
  }
  std::byte* scales = step + quant_scales_at(layout);
  if (layout.k_scales) {
    put_half(scales, column, block.d);
    put_half(scales, 16 + column, block.m);
    const int bytes = quant_k_scale_bytes(layout);
    std::byte* own = scales + 64 + part * bytes + column;
    for (int i = 0; i < bytes / 16; ++i) own[16 * i] = std::byte{block.scales[i]};
  } else if (layout.powers) {
    scales[part * 16 + column] = std::byte{block.scales[0]};
  } else {
    put_half(scales, part * 16 + column, block.d);
    if (layout.minimum) put_half(scales, 32 + part * 16 + column, block.m);
  }
}

}  // namespace

std::optional<QuantKind> quant_kind(DType type) {
  switch (type) {
    case DType::Q8_0:
    case DType::Q5_0:
      return QuantKind::Bytes;
    case DType::Q5_1:
      return QuantKind::BytesMin;
    case DType::Q5_K:
      return QuantKind::BytesK;
    case DType::Q4_0:
      return QuantKind::Nibbles;
    case DType::Q4_1:
      return QuantKind::NibblesMin;
    case DType::Q4_K:
      return QuantKind::NibblesK;
    case DType::Q6_K:
      return QuantKind::Six;
    case DType::Q2_K:
      return QuantKind::Two;
    case DType::Q3_K:
      return QuantKind::Three;
    case DType::IQ4_NL:
      return QuantKind::Curve;
    case DType::IQ4_XS:
      return QuantKind::CurveK;
    case DType::MXFP4:
      return QuantKind::Fp4;
    default:
      return std::nullopt;
  }
}

bool finite_scales(DType type, const std::byte* stored, std::int64_t k) {
  const BlockShape shape = block_shape(type);
  const QuantLayout& layout = quant_layout(*quant_kind(type));
  const bool minimum = layout.minimum;
  const int first_half = type == DType::Q6_K ? 208 : type == DType::Q2_K ? 80 : type == DType::Q3_K ? 108 : 0;
  const auto* block = reinterpret_cast<const U8*>(stored) + first_half;
  const auto finite = [](std::uint16_t half) { return (half & 0x7c00) != 0x7c00; };
  for (std::int64_t i = 0; i < k / shape.elements; ++i, block += shape.bytes) {
    if (layout.powers) {
      if (*block > kQuantLargestPower) return false;
      continue;
    }
    if (!finite(half_at(block)) || (minimum && !finite(half_at(block + 2)))) return false;
  }
  return true;
}

void pack_quantized_row(DType type, const std::byte* stored, std::int64_t k, std::byte* panel,
                        std::int64_t column) {
  const std::optional<QuantKind> kind = quant_kind(type);
  if (!kind)
    throw Error(ErrorKind::Unsupported, "{} weights cannot be packed as they are stored", name(type));
  const QuantLayout& layout = quant_layout(*kind);
  for (std::int64_t i = 0; i < k / 32; ++i) {
    const Block block = read_block(type, reinterpret_cast<const U8*>(stored), i);
    place(layout, block, panel + i / layout.blocks * layout.lines * 64, static_cast<int>(i % layout.blocks),
          column);
  }
}

void copy_quantized_row(QuantKind kind, std::int64_t steps, PanelColumn<const std::byte> from,
                        PanelColumn<std::byte> to) {
  const QuantLayout& layout = quant_layout(kind);
  const std::int64_t step_bytes = std::int64_t{layout.lines} * 64;
  const std::int64_t scales = quant_scales_at(layout);
  const std::int64_t halves_end = layout.powers ? scales : layout.k_scales ? scales + 64 : step_bytes;
  // Every part of a step is rows of 16 columns with cells of one width.
  const auto copy = [&](std::int64_t begin, std::int64_t end, std::int64_t width) {
    for (std::int64_t i = begin; i < end; i += 16 * width) {
      std::memcpy(to.panel + i + to.column * width, from.panel + i + from.column * width,
                  static_cast<std::size_t>(width));
    }
  };
  for (std::int64_t step = 0; step < steps * step_bytes; step += step_bytes) {
    copy(step, step + scales, 4);
    copy(step + scales, step + halves_end, 2);
    copy(step + halves_end, step + step_bytes, 1);
  }
}

QuantValues unpack_quantized_block(QuantKind kind, const std::byte* panel, std::int64_t block,
                                   std::int64_t column) {
  const QuantLayout& layout = quant_layout(kind);
  const std::byte* step = panel + block / layout.blocks * layout.lines * 64;
  const int part = static_cast<int>(block % layout.blocks);
  const std::byte* lines = step + quant_values_at(layout, part);
  QuantValues out = {};
  for (int j = 0; j < 32; ++j) {
    const int line = j / 4;
    int u = 0;
    if (layout.block_lines == 8) {
      u = cell(lines, line, column, j % 4);
    } else if (layout.block_lines < 4) {
      u = cell(lines, line / 4, column, j % 4) >> (line % 4 * 2) & 3;
      if (layout.block_lines == 3) u |= (cell(lines, 2, column, j % 4) >> line & 1) << 2;
    } else {
      u = cell(lines, line % 4, column, j % 4) >> (line / 4 * 4) & 15;
      if (layout.block_lines == 6) {
        u |= (cell(lines, 4 + line / 4, column, j % 4) >> (line % 4 * 2) & 3) << 4;
      }
    }
    u = layout.table != QuantTable::None ? quant_table(layout.table)[u] : u * layout.unit;
    out.values[j] = static_cast<std::int16_t>(u - (layout.minimum ? 0 : 128));
  }
  const std::byte* scales = step + quant_scales_at(layout);
  const float unit = 1.0f / static_cast<float>(layout.unit);
  if (layout.powers) {
    out.scales[0] = out.scales[1] = power_of_two(static_cast<U8>(scales[part * 16 + column])) * unit;
    return out;
  }
  if (!layout.k_scales) {
    out.scales[0] = out.scales[1] = get_half(scales, part * 16 + column) * unit;
    if (layout.minimum) out.minimums[0] = out.minimums[1] = get_half(scales, 32 + part * 16 + column);
    return out;
  }
  const auto byte = [&](int which) {
    return static_cast<U8>(scales[64 + part * quant_k_scale_bytes(layout) + which * 16 + column]);
  };
  const float d = get_half(scales, column) * unit;
  const float dmin = get_half(scales, 16 + column);
  if (layout.minimum && layout.halves) {
    for (int half = 0; half < 2; ++half) {
      out.scales[half] = d * static_cast<float>(byte(half) & 15);
      out.minimums[half] = -(dmin * static_cast<float>(byte(half) >> 4));
    }
  } else if (layout.minimum) {
    out.scales[0] = out.scales[1] = d * static_cast<float>(byte(0));
    out.minimums[0] = out.minimums[1] = -(dmin * static_cast<float>(byte(1)));
  } else {
    for (int half = 0; half < 2; ++half) {
      out.scales[half] = d * static_cast<float>(static_cast<std::int8_t>(byte(layout.halves ? half : 0)));
    }
  }
  return out;
}

}  // namespace augur
