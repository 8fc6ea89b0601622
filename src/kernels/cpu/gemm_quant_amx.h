#pragma once
// Quantised products in AMX tiles, over an abstract tile unit as in gemm_amx.h. A block of 32 k is one
// product of tiles: x is up to 16 rows x 32 signed bytes, taken where they lie; weights are 8 lines of one
// panel, unsigned bytes that nibbles and six bits are unpacked to first. The integers go through memory to be
// scaled: `Op` is the 512-bit variant (one panel of one row is one register), which unpacks and scales as it
// always does. The integers are exact, so the bits are those of every other variant.
//
// Sums 0, 1 (upper rows) and 2, 3 (lower rows) of two panels, x in 4 and 5, weights in 6 and 7.
#include "kernels/cpu/gemm_amx.h"
#include "kernels/cpu/gemm_quant.h"

namespace augur {
namespace {

/// Unit: configure(TileConfig), release(), zero<T>(), load<T>(base, stride), store<T>(base, stride),
/// dot_signed_unsigned<C, A, B>(): C += A B in 32-bit integers, A signed, B unsigned.
template <class Unit, class Op, class Format>
class AmxQuantTiles {
  static constexpr QuantLayout kLayout = Format::layout;

 public:
  static constexpr int kMaxRows = 32;
  static constexpr int kBlockRows = 32;
  static constexpr int kRowGrain = 16;
  static constexpr int kStepGrain = 1;
  static constexpr int kStepLines = kLayout.lines;
  static constexpr int kStepX = kLayout.blocks * kQuantBlockBytes;
  static constexpr int kMaxPanels = 2;
  static constexpr std::int64_t kBlockBytes = 192 << 10;
  static constexpr int panels(int) { return 2; }

  AmxQuantTiles() = default;
  ~AmxQuantTiles() {
    if (configured_rows_ != 0) unit_.release();
  }
  AmxQuantTiles(const AmxQuantTiles&) = delete;
  AmxQuantTiles& operator=(const AmxQuantTiles&) = delete;

  void run(const Tile& tile, std::int64_t rows, std::int64_t panels) {
    configure(static_cast<int>(rows));
    panels == 1 ? run_panels<1>(tile, rows) : run_panels<2>(tile, rows);
  }

 private:
  /// With halves a block is two products of 16 k.
  static constexpr int kParts = kLayout.halves ? 2 : 1;
  static constexpr int kPartK = 32 / kParts;
  static constexpr int kPartLines = kPartK / 4;

  void configure(int rows) {
    if (rows == configured_rows_) return;
    TileConfig config;
    const int upper = rows > 16 ? 16 : rows;
    const int lower = rows > 16 ? rows - 16 : rows;
    for (int t = 0; t < 8; ++t) {
      const bool is_lower = t == 2 || t == 3 || t == 5;
      config.rows[t] = static_cast<std::uint8_t>(t >= 6 ? kPartLines : is_lower ? lower : upper);
      config.row_bytes[t] = t == 4 || t == 5 ? kPartK : 64;
    }
    unit_.configure(config);
    configured_rows_ = rows;
  }

  template <int P>
  void run_panels(const Tile& t, std::int64_t rows) {
    using Tile1 = QuantTile<Op, Format, 1, P>;
    float* sums = t.spill;  // [rows][P][16]
    if (t.first) {
      for (std::int64_t i = 0; i < rows * P; ++i) Op::store_acc(sums + i * 16, Op::zero());
    }
    const char* step = t.w;
    const char* x = t.x;
    for (std::int64_t left = t.steps * kLayout.lines; left > 0; left -= kLayout.lines) {
      prefetch_ahead<P, kLayout.lines>(t, step, left, *t.walk);
      for (int i = 0; i < kLayout.blocks; ++i) {
        const char* block = step + quant_values_at(kLayout, i);
        const char* x_block = x + i * kQuantBlockBytes;
        for (int p = 0; p < P; ++p) unpack<Tile1>(block + p * t.panel_bytes, bytes_[p]);
        for (int part = 0; part < kParts; ++part) {
          multiply<P>(x_block + part * kPartK, t.x_stride, rows, part);
        }
        for (int p = 0; p < P; ++p) {
          const typename Tile1::Scales scale = Tile1::scales(step + p * t.panel_bytes, i);
          for (std::int64_t r = 0; r < rows; ++r) {
            const char* x_row = x_block + r * t.x_stride;
            const std::int64_t tile = r < 16 ? p : 2 + p;
            typename Op::Int low = Op::int_zero();
            typename Op::Int high = Op::int_zero();
            Tile1::start(x_row, low, high);
            low = Op::int_add(low, Op::load_int(integers_[0][tile][r % 16]));
            if constexpr (kParts > 1) high = Op::int_add(high, Op::load_int(integers_[1][tile][r % 16]));
            float* sum = sums + (r * P + p) * 16;
            Op::store_acc(sum, Tile1::add_block(Op::load_acc(sum), low, high, scale, x_row));
          }
        }
      }
      step += 64 * kLayout.lines;
      x += kLayout.blocks * kQuantBlockBytes;
    }
    finish(t, rows, P);
  }

  /// A block of one panel as 8 lines of bytes.
  template <class Tile1>
  static void unpack(const char* block, std::uint8_t (&out)[8][64]) {
    for (int u = 0; u < 4; ++u) {
      const auto pair = Tile1::load_pair(block, u);
      Op::store_bytes(out[u], pair.low);
      Op::store_bytes(out[u + 4], pair.high);
    }
  }

  template <int P>
  void multiply(const char* x, std::int64_t x_stride, std::int64_t rows, int part) {
    const bool tall = rows > 16;
    unit_.template load<4>(x, x_stride);
    unit_.template load<6>(bytes_[0][part * kPartLines], 64);
    unit_.template zero<0>();
    unit_.template dot_signed_unsigned<0, 4, 6>();
    unit_.template store<0>(integers_[part][0], 64);
    if constexpr (P > 1) {
      unit_.template load<7>(bytes_[1][part * kPartLines], 64);
      unit_.template zero<1>();
      unit_.template dot_signed_unsigned<1, 4, 7>();
      unit_.template store<1>(integers_[part][1], 64);
    }
    if (!tall) return;
    unit_.template load<5>(x + 16 * x_stride, x_stride);
    unit_.template zero<2>();
    unit_.template dot_signed_unsigned<2, 5, 6>();
    unit_.template store<2>(integers_[part][2], 64);
    if constexpr (P > 1) {
      unit_.template zero<3>();
      unit_.template dot_signed_unsigned<3, 5, 7>();
      unit_.template store<3>(integers_[part][3], 64);
    }
  }

  /// Brings finished sums from the spill buffer to y.
  static void finish(const Tile& t, std::int64_t rows, std::int64_t panels) {
    if (!t.last) return;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t p = 0; p < panels; ++p) {
        float* y = t.y + r * t.y_stride + p * 16;
        auto sum = Op::load_acc(t.spill + (r * panels + p) * 16);
        if (t.bias != nullptr) sum = Op::add(sum, Op::load_acc(t.bias + p * 16));
        if (t.accumulate) sum = Op::add(Op::load_acc(y), sum);
        Op::store_acc(y, sum);
      }
    }
  }

  Unit unit_;
  int configured_rows_ = 0;
  alignas(64) std::uint8_t bytes_[2][8][64];
  alignas(64) std::int32_t integers_[2][4][16][16];
};

}  // namespace
}  // namespace augur
