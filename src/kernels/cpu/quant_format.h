#pragma once
#include <cstdint>

// Included by files that are compiled for newer instruction sets: see gemm_task.h for what that forbids.

namespace augur {

/// How quantised weights lie in a panel of 16 columns. A panel is a sequence of steps of whole 64-byte lines.
/// In each step `blocks` blocks of 32 k come first, then the scales of all of them:
///
///   bytes    a line is [16 columns][4 k]; 8 lines a block.
///   nibbles  4 lines a block: line i holds the k of byte line i in its low nibbles, of line i + 4 in the
///            high. With a table they are places in it.
///   six      4 lines of nibbles, then 2 of the upper bit pairs: line i / 4's pair i % 4 belongs to line i.
///   two      2 lines of bit pairs: line i / 4's pair i % 4 belongs to line i.
///   three    likewise, then 1 line whose bit i is the third of line i.
///
///   simple   a line of half scales [2 blocks][16]; with minima another like it.
///   powers   a line of bytes [4 blocks][16]: 2^(byte - 127), as OCP's E8M0 has it.
///   k        a line of half [d 16, dmin 16]; then bytes: [8 blocks][scale 16, minimum 16]; with halves [8
///            blocks][first half's scale 16, second half's 16], signed; with neither [8 blocks][scale 16],
///            signed; with halves and minima as the second, a byte's low nibble a scale, its high a minimum.
///
/// A weight is scale * v + minimum, where v is what the integer products see:
///   without a minimum   v = u - 128; u = the byte, 16 * nibble, 4 * the six bits, 32 * the three bits, or
///                       what the table has
///   with one (Min, K)   v = u = the byte, 16 * nibble or the two bits
/// and the scale is the stored one divided by `unit`, which is exact.
enum class QuantKind : std::uint8_t {
  Bytes,
  BytesMin,
  BytesK,
  Nibbles,
  NibblesMin,
  NibblesK,
  Six,
  Two,
  Three,
  Curve,
  CurveK,
  Fp4,  ///< the table has 16 times the values
};

/// What nibbles stand for, where that is not themselves.
enum class QuantTable : std::uint8_t { None, Curve, Fp4 };

struct QuantLayout {
  int blocks;                           ///< of 32 k, per step
  int block_lines;                      ///< of values
  int lines;                            ///< per step
  int unit = 1;                         ///< the stored scale is `unit` times the one that meets v
  bool minimum = false;                 ///< the weight has a constant beside the scale; then v = u
  bool halves = false;                  ///< two scales (and minima) a block, of 16 k each
  bool k_scales = false;                ///< scales are products of two stored numbers
  QuantTable table = QuantTable::None;  ///< of nibbles
  bool powers = false;                  ///< scales are powers of two
};

/// By QuantKind.
constexpr QuantLayout kQuantLayouts[] = {
    // Bytes, BytesMin, BytesK
    {.blocks = 2, .block_lines = 8, .lines = 17},
    {.blocks = 2, .block_lines = 8, .lines = 18, .minimum = true},
    {.blocks = 8, .block_lines = 8, .lines = 69, .minimum = true, .k_scales = true},
    // Nibbles, NibblesMin, NibblesK
    {.blocks = 2, .block_lines = 4, .lines = 9, .unit = 16},
    {.blocks = 2, .block_lines = 4, .lines = 10, .unit = 16, .minimum = true},
    {.blocks = 8, .block_lines = 4, .lines = 37, .unit = 16, .minimum = true, .k_scales = true},
    // Six, Two, Three
    {.blocks = 8, .block_lines = 6, .lines = 53, .unit = 4, .halves = true, .k_scales = true},
    {.blocks = 8, .block_lines = 2, .lines = 21, .minimum = true, .halves = true, .k_scales = true},
    {.blocks = 8, .block_lines = 3, .lines = 29, .unit = 32, .halves = true, .k_scales = true},
    // Curve, CurveK, Fp4
    {.blocks = 2, .block_lines = 4, .lines = 9, .table = QuantTable::Curve},
    {.blocks = 8, .block_lines = 4, .lines = 35, .k_scales = true, .table = QuantTable::Curve},
    {.blocks = 4, .block_lines = 4, .lines = 17, .unit = 16, .table = QuantTable::Fp4, .powers = true},
};

constexpr int kQuantKinds = 12;

/// u of every nibble: 128 + the values of ggml's IQ4_NL, and 128 + 16 times those of OCP's E2M1, which are 0,
/// 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
constexpr std::uint8_t kQuantTables[2][16] = {
    {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241},
    {128, 136, 144, 152, 160, 176, 192, 224, 128, 120, 112, 104, 96, 80, 64, 32},
};
constexpr const std::uint8_t* quant_table(QuantTable table) {
  return kQuantTables[static_cast<int>(table) - 1];
}

/// Whether v needs all 8 bits of a byte, hence u.
constexpr bool quant_has_8_bits(const QuantLayout& layout) {
  return !layout.minimum && (layout.block_lines == 8 || layout.table == QuantTable::Curve);
}

/// Bytes of k scales that 16 columns of a block have behind the line of halves.
constexpr int quant_k_scale_bytes(const QuantLayout& layout) {
  return layout.minimum || layout.halves ? 32 : 16;
}

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

/// What the exponent of a stored power of two loses by being divided by the unit.
constexpr int kQuantPowerBias = 4;
/// The largest exponent byte that products take: beyond, 1.5 * 2^23 times the scale is no number.
constexpr int kQuantLargestPower = 235;

/// The bits of the float 1.5 * 2^23. Added to an integer between -2^22 and 2^22 they give the bits of the
/// float 1.5 * 2^23 + integer: so an integer sum that begins with them needs no conversion.
constexpr std::int32_t kQuantMagic = 0x4b400000;
constexpr float kQuantMagicFloat = 0x1.8p23f;

}  // namespace augur
