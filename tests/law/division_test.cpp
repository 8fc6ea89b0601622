// What docs/law.md says of quotients, over floats of all sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/ops.h"
#include "law_inputs.h"

namespace augur::law {
namespace {

/// Whether activation(v) * 1, where it is subnormal, is half of v; and whether any was.
void check_quotients(void (*activation)(const float*, std::int64_t, InputForm, void*), float one) {
  constexpr std::int64_t kPairs = 1024;
  constexpr std::uint32_t kStep = 1021;
  std::vector<float> gate_up(32 * kPairs, one);
  std::vector<float> out(16 * kPairs);
  std::int64_t subnormal = 0;
  std::uint64_t next = 0;
  while (next < (std::uint64_t{1} << 32)) {
    for (std::size_t i = 0; i < out.size(); ++i, next += kStep)
      gate_up[i / 16 * 32 + i % 16] = float_of(static_cast<std::uint32_t>(next));
    activation(gate_up.data(), kPairs, InputForm::F32, out.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (out[i] == 0.0f || !(std::abs(out[i]) < 0x1p-126f)) continue;
      ++subnormal;
      const float v = gate_up[i / 16 * 32 + i % 16];
      ASSERT_LT(std::abs(v), 0x1p-125f);
      ASSERT_EQ(bits_of(out[i]), bits_of(v * 0.5f)) << v;
    }
  }
  EXPECT_GT(subnormal, 10000);
}

TEST(LawOfDivision, AnActivationsQuotientIsSubnormalOnlyWhereItHalves) {
  check_quotients(silu_mul_panels, 1.0f);
  check_quotients(gelu_mul_panels, 1.0f);
  check_quotients(clamped_swiglu_panels, 0.0f);
}

}  // namespace
}  // namespace augur::law
