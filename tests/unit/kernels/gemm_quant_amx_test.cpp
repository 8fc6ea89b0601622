// The AMX variant of quantised products on an emulated tile unit and plain registers: runs on every machine.
#include "kernels/cpu/gemm_quant_amx.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/subnormals.h"
#include "quant_fixture.h"
#include "tile_memory.h"

namespace augur {
namespace {

class EmulatedTiles : public TileMemory {
 public:
  /// TDPBSUD: every lane of C adds the products of four signed bytes of A with four unsigned ones of B.
  template <int C, int A, int B>
  void dot_signed_unsigned() {
    ASSERT_TRUE(live_);
    ASSERT_EQ(config_.rows[C], config_.rows[A]);
    ASSERT_EQ(config_.rows[B] * 4, config_.row_bytes[A]);
    ASSERT_EQ(config_.row_bytes[C], config_.row_bytes[B]);
    for (int m = 0; m < config_.rows[C]; ++m) {
      for (int n = 0; n < 16; ++n) {
        std::int32_t sum;
        std::memcpy(&sum, &tiles_[C][m][4 * n], 4);
        for (int i = 0; i < config_.row_bytes[A]; ++i)
          sum += static_cast<std::int8_t>(tiles_[A][m][i]) * tiles_[B][i / 4][4 * n + i % 4];
        std::memcpy(&tiles_[C][m][4 * n], &sum, 4);
      }
    }
  }
};

/// What the AMX tiles want of a 512-bit instruction set, in plain C++. Names as in gemm_quant.h.
struct PlainRegisters {
  struct Acc {
    float lane[16];
  };
  struct Int {
    std::int32_t lane[16];
  };
  struct Bytes {
    std::uint8_t lane[64];
  };

  template <class V, class F>
  static V each(const F& f) {
    V v;
    for (int i = 0; i < static_cast<int>(std::size(v.lane)); ++i) v.lane[i] = f(i);
    return v;
  }
  template <class V>
  static V loaded(const void* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }

  static Acc zero() { return {}; }
  static Acc load_acc(const float* p) { return loaded<Acc>(p); }
  static void store_acc(float* p, const Acc& v) { std::memcpy(p, &v, sizeof v); }
  static Acc add(const Acc& a, const Acc& b) {
    return each<Acc>([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static Acc mul(const Acc& a, const Acc& b) {
    return each<Acc>([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static Acc fma(const Acc& a, const Acc& b, const Acc& c) {
    return each<Acc>([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
  }
  static Acc neg(const Acc& a) {
    return each<Acc>([&](int i) { return -a.lane[i]; });
  }
  static Acc splat(float v) {
    return each<Acc>([&](int) { return v; });
  }

  static Int int_zero() { return {}; }
  static Int start(const char* p) {
    std::int32_t value;
    std::memcpy(&value, p, sizeof value);
    return each<Int>([&](int) { return value; });
  }
  static Int load_int(const std::int32_t* p) { return loaded<Int>(p); }
  static Int int_add(const Int& a, const Int& b) {
    return each<Int>([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static Int int_sub(const Int& a, const Int& b) {
    return each<Int>([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  template <bool, int>
  static Acc to_float(const Int& v) {
    return each<Acc>([&](int i) { return static_cast<float>(v.lane[i]); });
  }

  static Bytes load_bytes(const char* p) { return loaded<Bytes>(p); }
  static void store_bytes(void* p, const Bytes& b) { std::memcpy(p, &b, sizeof b); }
  static Bytes high_nibbles(const Bytes& b) {
    return each<Bytes>([&](int i) { return static_cast<std::uint8_t>(b.lane[i] & 0xf0); });
  }
  static Bytes low_nibbles(const Bytes& b) {
    return each<Bytes>([&](int i) { return static_cast<std::uint8_t>(b.lane[i] << 4); });
  }
  static Bytes six_bits(const Bytes& nibble16, const Bytes& upper, int u) {
    return each<Bytes>([&](int i) {
      return static_cast<std::uint8_t>(nibble16.lane[i] >> 2 | (upper.lane[i] >> (2 * u) & 3) << 6);
    });
  }
  template <bool, int>
  static Bytes weights(const Bytes& b) {
    return b;
  }

  static Acc half16(const char* p) {
    return each<Acc>([&](int i) {
      std::uint16_t half;
      std::memcpy(&half, p + 2 * i, sizeof half);
      return half_to_float(half);
    });
  }
  static Acc byte16(const char* p) {
    return each<Acc>([&](int i) { return static_cast<float>(static_cast<std::uint8_t>(p[i])); });
  }
  static Acc signed16(const char* p) {
    return each<Acc>([&](int i) { return static_cast<float>(static_cast<std::int8_t>(p[i])); });
  }
};

template <class Format>
using Tiles = AmxQuantTiles<EmulatedTiles, PlainRegisters, Format>;

TEST(GemmQuantAmxBlocking, EveryRowCountGivesThePortableBits) {
  for (const DType type : kQuantTypes) {
    // Five panels leave groups of unequal width.
    const QuantProblem problem(type, 16 * 5 - 3, 512, 70);
    for (const int rows : {1, 2, 15, 16, 17, 31, 32, 33, 48, 70}) {
      for (const bool extras : {false, true}) {
        const auto run = [&](GemmQuantFn gemm) {
          Buffer<float> y = problem.new_output(0.5f);
          GemmTask task = problem.task(y.data(), rows);
          if (extras) task.bias = problem.bias.data();
          task.accumulate = extras;
          const FlushSubnormals flush;
          gemm(*quant_kind(type), task);
          return y;
        };
        ASSERT_TRUE(same_bits(run(run_quantized<Tiles>), run(gemm_quant_portable)))
            << name(type) << ", " << rows;
      }
    }
  }
}

// Rows of x so long that the sums of a group rest between blocks of k.
TEST(GemmQuantAmxBlocking, CutsOfLongRowsDoNotShow) {
  for (const DType type : {DType::Q8_0, DType::Q4_K}) {
    const QuantProblem problem(type, 40, 16384, 33);
    Buffer<float> y = problem.new_output();
    Buffer<float> expected = problem.new_output();
    const FlushSubnormals flush;
    run_quantized<Tiles>(*quant_kind(type), problem.task(y.data()));
    gemm_quant_portable(*quant_kind(type), problem.task(expected.data()));
    ASSERT_TRUE(same_bits(y, expected)) << name(type);
  }
}

}  // namespace
}  // namespace augur
