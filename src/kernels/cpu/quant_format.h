#pragma once
#include <cstdint>

// Included by files that are compiled for newer instruction sets: see gemm_task.h for what that forbids.

namespace augur {

/// How quantised weights lie in a panel of 16 columns. A panel is a sequence of steps of whole 64-byte lines.
/// In each step `blocks` blocks of 32 k come first, then the scales of all of them:
///
///   bytes    a line is [16 columns][4 k]; 8 lines a block.
///   nibbles  4 lines a block: line i holds the k of byte line i in its low nibbles, of line i + 4 in the
///   high. six      4 lines of nibbles, then 2 of the upper bit pairs: line i / 4's pair i % 4 belongs to
///   line i.
///
///   simple   a line of half scales [2 blocks][16]; with minima another like it.
///   k        a line of half [d 16, dmin 16]; then [8 blocks][scale 16, minimum 16] bytes.
///   six      likewise, with [8 blocks][first half's scale 16, second half's 16] signed bytes, and no dmin.
///
/// A weight is scale * v + minimum, where v is what the integer products see:
///   kBytes, kNibbles, kSix     v = u - 128, u = the byte, 16 * nibble, 4 * the six bits
///   kBytesMin, ... (with Min)  v = u = the byte or 16 * nibble
/// and the scale is the stored one divided by 1, 16 or 4, which is exact.
enum class QuantKind : std::uint8_t { Bytes, BytesMin, BytesK, Nibbles, NibblesMin, NibblesK, Six };

struct QuantLayout {
  int blocks;       ///< of 32 k, per step
  int block_lines;  ///< of values
  int lines;        ///< per step
  int unit;         ///< u is a multiple of it, the stored scale is `unit` times the one that meets v
  bool minimum;     ///< the weight has a constant beside the scale; then v = u
  bool halves;      ///< two scales a block, of 16 k each
  bool k_scales;    ///< scales are products of two stored numbers
};

/// By QuantKind.
constexpr QuantLayout kQuantLayouts[] = {
    {2, 8, 17, 1, false, false, false}, {2, 8, 18, 1, true, false, false},  {8, 8, 69, 1, true, false, true},
    {2, 4, 9, 16, false, false, false}, {2, 4, 10, 16, true, false, false}, {8, 4, 37, 16, true, false, true},
    {8, 6, 53, 4, false, true, true},
};

constexpr int kQuantKinds = 7;

/// A kind as the kernels' template argument.
template <QuantKind kKind>
struct QuantFormat {
  static constexpr QuantKind kind = kKind;
  static constexpr QuantLayout layout = kQuantLayouts[static_cast<int>(kKind)];
};

/// Where in a step things lie, in bytes.
constexpr int quant_values_at(const QuantLayout& layout, int block) {
  return block * layout.block_lines * 64;
}
constexpr int quant_scales_at(const QuantLayout& layout) {
  return layout.blocks * layout.block_lines * 64;
}

/// One block as a row of x holds it: QuantBlock of quant_rows.h, by offset, for files that may not include
/// it.
constexpr int kQuantBlockBytes = 48;
constexpr int kQuantScaleAt = 32;
constexpr int kQuantScaledSumAt = 36;
constexpr int kQuantOffsetAt = 40;
constexpr int kQuantOffsetLowAt = 44;

/// The bits of the float 1.5 * 2^23. Added to an integer between -2^22 and 2^22 they give the bits of the
/// float 1.5 * 2^23 + integer: so an integer sum that begins with them needs no conversion.
constexpr std::int32_t kQuantMagic = 0x4b400000;
constexpr float kQuantMagicFloat = 0x1.8p23f;

}  // namespace augur
