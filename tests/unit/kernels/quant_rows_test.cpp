// Quantised activations: the vector forms against the reference, in every instruction set.
#include "kernels/quant_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/cpu.h"
#include "kernels/ops.h"

namespace augur {
namespace {

/// Every test runs once for each instruction set that this machine has.
class QuantRows : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { limit_ops_to(GetParam()); }
  void TearDown() override { limit_ops_to(supported_isas().back()); }
};

std::string variant_name(const ::testing::TestParamInfo<Isa>& info) {
  return std::string(name(info.param));
}

INSTANTIATE_TEST_SUITE_P(Isa, QuantRows, ::testing::ValuesIn(supported_isas()), variant_name);

std::vector<float> random_values(std::int64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& v : values) v = normal(random) * std::ldexp(1.0f, static_cast<int>(random() % 40) - 20);
  return values;
}

std::vector<QuantBlock> reference(const std::vector<float>& values) {
  std::vector<QuantBlock> out((values.size() + 31) / 32);
  quantize_row_reference(values.data(), static_cast<std::int64_t>(values.size()), out.data());
  return out;
}

/// Bit for bit, but that any NaN is as good as another.
void expect_same(const std::vector<QuantBlock>& a, const std::vector<QuantBlock>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::memcmp(a[i].q, b[i].q, 32), 0) << "block " << i;
    ASSERT_EQ(std::isnan(a[i].scale), std::isnan(b[i].scale));
    ASSERT_EQ(a[i].offset, b[i].offset);
    ASSERT_EQ(a[i].offset_low, b[i].offset_low);
    if (std::isnan(a[i].scale)) continue;
    ASSERT_EQ(std::memcmp(&a[i], &b[i], sizeof(QuantBlock)), 0) << "block " << i;
  }
}

TEST_P(QuantRows, AreTheReferencesBits) {
  for (const std::int64_t n : {1, 5, 31, 32, 33, 96, 100, 511, 576}) {
    const std::vector<float> values = random_values(n, static_cast<std::uint32_t>(n));
    std::vector<QuantBlock> out((values.size() + 31) / 32);
    convert_row(values.data(), n, InputForm::Blocks8, out.data());
    expect_same(out, reference(values));
  }
}

TEST_P(QuantRows, ExtremesAreTheReferences) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float special : {0.0f, -0.0f, 0x1p-149f, 0x1p-101f, 0x1p-100f, -0x1p-99f, 0x1.fffffep127f,
                              kInfinity, -kInfinity, kNan, -kNan}) {
    std::vector<float> values(96);
    values[40] = special;  // the block's only value
    for (std::size_t i = 64; i < 96; ++i) values[i] = static_cast<float>(i) - 70.5f;
    values[80] = special;  // among others
    std::vector<QuantBlock> out(3);
    convert_row(values.data(), 96, InputForm::Blocks8, out.data());
    expect_same(out, reference(values));
    EXPECT_EQ(std::isnan(out[1].scale), !std::isfinite(special));
    EXPECT_EQ(out[0].scale, 0.0f);
  }
}

TEST_P(QuantRows, RmsNormIsTheFloatOneQuantised) {
  for (const std::int64_t n : {32, 64, 75, 576}) {
    const std::vector<float> x = random_values(n, 7);
    const std::vector<float> weight = random_values(n, 8);
    std::vector<float> plain(x.size());
    rms_norm(x.data(), weight.data(), 1e-5f, n, InputForm::F32, plain.data());
    std::vector<QuantBlock> out((x.size() + 31) / 32);
    rms_norm(x.data(), weight.data(), 1e-5f, n, InputForm::Blocks8, out.data());
    expect_same(out, reference(plain));
  }
}

/// A fine row of the values in plain C++, both halves one after the other.
std::vector<QuantBlock> fine_reference(const std::vector<float>& values) {
  std::vector<QuantBlock> out = reference(values);
  std::vector<float> left = values;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const float taken = out[i / 32].scale * static_cast<float>(out[i / 32].q[i % 32]);
    left[i] -= taken;
  }
  const std::vector<QuantBlock> rest = reference(left);
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

/// The same out of a row as products want it.
std::vector<QuantBlock> both_halves(const std::vector<QuantBlock>& row, std::int64_t n) {
  const auto blocks = static_cast<std::size_t>((n + 31) / 32);
  const auto rest = static_cast<std::size_t>(activation_stride(n) / 32);
  std::vector<QuantBlock> out(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(blocks));
  for (std::size_t i = 0; i < blocks; ++i) out.push_back(row[rest + i]);
  return out;
}

std::vector<QuantBlock> new_fine_row(std::int64_t n) {
  const std::int64_t bytes = row_bytes(InputForm::Blocks16, activation_stride(n));
  return std::vector<QuantBlock>(static_cast<std::size_t>(bytes) / sizeof(QuantBlock));
}

TEST_P(QuantRows, FineRowsAreTheReferencesBits) {
  for (const std::int64_t n : {1, 31, 32, 75, 512, 576}) {
    std::vector<float> values = random_values(n, static_cast<std::uint32_t>(n));
    if (n > 512) values[100] = std::numeric_limits<float>::infinity();
    std::vector<QuantBlock> row = new_fine_row(n);
    convert_row(values.data(), n, InputForm::Blocks16, row.data());
    expect_same(both_halves(row, n), fine_reference(values));

    const std::vector<float> weight = random_values(n, 8);
    values = random_values(n, 9);
    std::vector<float> plain(values.size());
    rms_norm(values.data(), weight.data(), 1e-5f, n, InputForm::F32, plain.data());
    rms_norm(values.data(), weight.data(), 1e-5f, n, InputForm::Blocks16, row.data());
    expect_same(both_halves(row, n), fine_reference(plain));
  }
}

TEST_P(QuantRows, SiluMulIsTheFloatOneQuantised) {
  for (const std::int64_t pairs : {1, 2, 3, 36}) {
    const std::int64_t n = 16 * pairs;
    const std::vector<float> gate = random_values(n, 9);
    const std::vector<float> up = random_values(n, 10);
    std::vector<float> side_by_side;
    for (std::size_t i = 0; i < gate.size(); i += 16) {
      side_by_side.insert(side_by_side.end(), &gate[i], &gate[i] + 16);
      side_by_side.insert(side_by_side.end(), &up[i], &up[i] + 16);
    }
    std::vector<float> plain(gate.size());
    silu_mul(gate.data(), up.data(), n, InputForm::F32, plain.data());
    std::vector<float> panels(gate.size());
    silu_mul_panels(side_by_side.data(), pairs, InputForm::F32, panels.data());
    EXPECT_EQ(std::memcmp(panels.data(), plain.data(), plain.size() * sizeof(float)), 0);

    std::vector<QuantBlock> out((gate.size() + 31) / 32);
    silu_mul(gate.data(), up.data(), n, InputForm::Blocks8, out.data());
    expect_same(out, reference(plain));
    std::vector<QuantBlock> out_panels(out.size());
    silu_mul_panels(side_by_side.data(), pairs, InputForm::Blocks8, out_panels.data());
    expect_same(out_panels, reference(plain));
  }
}

TEST_P(QuantRows, SquaredReluIsTheFloatOneQuantised) {
  for (const std::int64_t n : {16, 75, 576}) {
    const std::vector<float> x = random_values(n, 12);
    std::vector<float> plain(x.size());
    squared_relu(x.data(), n, InputForm::F32, plain.data());
    std::vector<QuantBlock> out((x.size() + 31) / 32);
    squared_relu(x.data(), n, InputForm::Blocks8, out.data());
    expect_same(out, reference(plain));
  }
}

TEST(QuantBlockLaw, IsWithinHalfAStepOfTheValue) {
  const std::vector<float> values = random_values(3200, 11);
  const std::vector<QuantBlock> blocks = reference(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const QuantBlock& block = blocks[i / 32];
    const float back = block.scale * static_cast<float>(block.q[i % 32]);
    ASSERT_NEAR(back, values[i], 0.50001 * static_cast<double>(block.scale));
  }
}

}  // namespace
}  // namespace augur
