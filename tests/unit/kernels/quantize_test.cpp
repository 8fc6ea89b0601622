// Quantised blocks: what is stored, what is packed of it, and how near it is to the values.
#include "kernels/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "files/gguf/dequantize.h"
#include "quant_fixture.h"

namespace augur {
namespace {

std::vector<float> normals(std::int64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& v : values) v = normal(random);
  return values;
}

std::vector<std::byte> quantized(DType type, const std::vector<float>& values) {
  const BlockShape shape = block_shape(type);
  std::vector<std::byte> out(values.size() / static_cast<std::size_t>(shape.elements) *
                             static_cast<std::size_t>(shape.bytes));
  quantize_blocks(type, values.data(), static_cast<std::int64_t>(values.size()), out.data());
  return out;
}

std::vector<float> dequantized(DType type, const std::vector<std::byte>& stored, std::size_t count) {
  std::vector<float> out(count);
  dequantize(type, stored.data(), static_cast<std::int64_t>(count), out.data());
  return out;
}

TEST(Quantize, PackedRowsAreTheStoredNumbers) {
  for (const DType type : kQuantTypes) {
    const std::int64_t n = 21;
    const std::int64_t k = 3 * block_shape(type).elements;
    std::vector<std::byte> stored = quantized(type, normals(n * k, 5));
    // Beside what a quantiser makes every pattern of the bits that are not halves: all values, all scales.
    std::mt19937 random(6);
    const auto block = static_cast<std::size_t>(block_shape(type).bytes);
    for (std::size_t at = block; at < stored.size(); at += block) {
      std::vector<std::byte> bits(block);
      for (std::byte& byte : bits) byte = static_cast<std::byte>(random());
      for (const std::size_t half : halves_of(type)) std::memcpy(&bits[half], &stored[at + half], 2);
      if (type == DType::MXFP4) bits[0] = static_cast<std::byte>(random() % (kQuantLargestPower + 1));
      std::copy(bits.begin(), bits.end(), &stored[at]);
    }
    PackedMatrix matrix(type, n, k);
    const std::size_t row_size = stored.size() / static_cast<std::size_t>(n);
    matrix.set_stored_rows(0, std::span(stored).first(5 * row_size));
    matrix.set_stored_rows(5, std::span(stored).subspan(5 * row_size));
    const std::vector<float> expected = dequantized(type, stored, static_cast<std::size_t>(n * k));
    std::vector<float> row(static_cast<std::size_t>(k));
    for (std::int64_t r = 0; r < n; ++r) {
      matrix.get_row(r, row.data());
      for (std::int64_t i = 0; i < k; ++i) {
        ASSERT_EQ(row[static_cast<std::size_t>(i)], expected[static_cast<std::size_t>(r * k + i)])
            << name(type) << " row " << r << " column " << i;
      }
    }
  }
}

double relative_error(const std::vector<float>& values, const std::vector<float>& back) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto x = static_cast<double>(values[i]);
    error += (back[i] - x) * (back[i] - x);
    power += x * x;
  }
  return std::sqrt(error / power);
}

// Signal-to-noise of normally distributed values, below what each type has to offer for them by about 10%.
TEST(Quantize, ErrorsAreWhatTheBitsAllow) {
  struct Expectation {
    DType type;
    double relative_error;
  };
  for (const Expectation& e : std::initializer_list<Expectation>{{DType::Q8_0, 0.0065},
                                                                 {DType::Q6_K, 0.022},
                                                                 {DType::Q5_0, 0.045},
                                                                 {DType::Q5_1, 0.042},
                                                                 {DType::Q5_K, 0.045},
                                                                 {DType::Q4_0, 0.09},
                                                                 {DType::Q4_1, 0.085},
                                                                 {DType::Q4_K, 0.09},
                                                                 {DType::IQ4_NL, 0.081},
                                                                 {DType::IQ4_XS, 0.082},
                                                                 {DType::MXFP4, 0.124},
                                                                 {DType::Q3_K, 0.158},
                                                                 {DType::Q2_K, 0.297}}) {
    ASSERT_TRUE(can_quantize(e.type));
    const std::vector<float> values = normals(256 * 64, 12);
    const std::vector<float> back = dequantized(e.type, quantized(e.type, values), values.size());
    EXPECT_LT(relative_error(values, back), e.relative_error) << name(e.type);
  }
}

// With the scale that the largest value suggests, the errors would be 0.0054 and 0.0053.
TEST(Quantize, EightBitsTakeTheScaleThatSuitsTheValues) {
  const std::vector<float> values = normals(256 * 64, 13);
  const auto eight_bits = [](const std::vector<float>& from) {
    return dequantized(DType::Q8_0, quantized(DType::Q8_0, from), from.size());
  };
  const std::vector<float> eight = eight_bits(values);
  EXPECT_LT(relative_error(values, eight), 0.0049);
  EXPECT_LT(relative_error(eight, eight_bits(eight)), 1e-4);  // as good as the same once more
  const std::vector<float> four = dequantized(DType::Q4_1, quantized(DType::Q4_1, values), values.size());
  EXPECT_LT(relative_error(four, eight_bits(four)), 0.0026);
}

/// The error of a product of the quantised values with others whose mean squares are the importance.
double weighted_error(const std::vector<float>& values, const std::vector<float>& back,
                      const std::vector<float>& importance) {
  double error = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off = static_cast<double>(values[i] - back[i]);
    error += static_cast<double>(importance[i]) * off * off;
  }
  return error;
}

TEST(Quantize, ColumnsThatMatterMoreAreKeptMoreExactly) {
  const std::vector<float> values = normals(256 * 40, 8);
  std::vector<float> importance = normals(256 * 40, 9);
  for (float& w : importance) w = std::exp(2 * w);
  for (const DType type : kQuantTypes) {
    std::vector<std::byte> stored = quantized(type, values);
    const double plain = weighted_error(values, dequantized(type, stored, values.size()), importance);
    quantize_blocks(type, values.data(), std::ssize(values), stored.data(), importance.data());
    const double weighed = weighted_error(values, dequantized(type, stored, values.size()), importance);
    // Powers of two leave little to choose.
    const double most = type == DType::MXFP4 ? 0.99 : type == DType::Q8_0 ? 0.97 : 0.9;
    EXPECT_LT(weighed, most * plain) << name(type);
    const std::vector<float> equal(values.size(), 3.0f);
    quantize_blocks(type, values.data(), std::ssize(values), stored.data(), equal.data());
    const double same = weighted_error(values, dequantized(type, stored, values.size()), importance);
    EXPECT_NEAR(same, plain, 0.01 * plain) << name(type);  // only their proportions count
  }
}

TEST(Quantize, ConstantAndZeroBlocksStayWhatTheyAre) {
  for (const DType type : kQuantTypes) {
    const std::vector<float> zeros(512);
    EXPECT_EQ(dequantized(type, quantized(type, zeros), 512), zeros) << name(type);
    for (const float constant : {1.0f, -0.5f}) {
      for (const float v : dequantized(type, quantized(type, std::vector<float>(512, constant)), 512))
        ASSERT_NEAR(v, constant, 0.02) << name(type);
    }
  }
}

TEST(Quantize, RefusesWhatHasNoBlocks) {
  std::vector<float> values(512, 1.0f);
  std::vector<std::byte> out(4096);
  EXPECT_THROW(quantize_blocks(DType::BF16, values.data(), 512, out.data()), Error);
  values[300] = std::numeric_limits<float>::quiet_NaN();
  for (const DType type : kQuantTypes)
    EXPECT_THROW(quantize_blocks(type, values.data(), 512, out.data()), Error) << name(type);
}

// Halves end at 65,504; blocks store their scales and minima in them.
TEST(Quantize, RefusesScalesThatAHalfCannotHold) {
  std::vector<std::byte> out(4096);
  for (const DType type : kQuantTypes) {
    for (const float huge : {1e10f, -1e10f, std::numeric_limits<float>::max()}) {
      if (type == DType::MXFP4 && std::fabs(huge) < 1e20f) continue;  // its scales are no halves
      std::vector<float> values(512, 1.0f);
      values[300] = huge;
      EXPECT_THROW(quantize_blocks(type, values.data(), 512, out.data()), Error) << name(type);
    }
    std::vector<float> large(512, 1.0f);
    large[300] = 6e4f;
    for (const float v : dequantized(type, quantized(type, large), 512))
      ASSERT_TRUE(std::isfinite(v)) << name(type);
  }
  const std::vector<float> constant(512, -7e4f);  // no scale at all, but a minimum
  EXPECT_THROW(quantize_blocks(DType::Q4_1, constant.data(), 512, out.data()), Error);
}

TEST(Quantize, ScalesAreNumbersOrFoundOut) {
  for (const DType type : kQuantTypes) {
    const BlockShape shape = block_shape(type);
    const auto size = static_cast<std::size_t>(shape.bytes);
    const std::vector<std::size_t> halves = halves_of(type);
    if (halves.empty()) continue;
    std::vector<std::byte> row(3 * size, std::byte{0xff});  // what is no scale may have any bits
    const auto put = [&](std::size_t at, int value) {
      const auto half = static_cast<std::uint16_t>(value);
      std::memcpy(row.data() + at, &half, sizeof half);
    };
    for (const std::size_t at : halves) {
      for (std::size_t block = 0; block < 3; ++block) put(block * size + at, 0xfbff);
    }
    EXPECT_TRUE(finite_scales(type, row.data(), 3 * shape.elements)) << name(type);
    for (const std::size_t at : halves) {
      for (const int half : {0x7c00, 0xfc00, 0x7e01}) {
        put(2 * size + at, half);
        EXPECT_FALSE(finite_scales(type, row.data(), 3 * shape.elements)) << name(type) << " at " << at;
        EXPECT_TRUE(finite_scales(type, row.data(), 2 * shape.elements)) << name(type);
        put(2 * size + at, 0x0000);
      }
    }
  }
}

TEST(Quantize, PowersOfTwoAreThoseThatProductsTake) {
  std::vector<std::byte> row(3 * 17, std::byte{0});
  for (const int power : {0, 127, kQuantLargestPower, kQuantLargestPower + 1, 254, 255}) {
    row[34] = static_cast<std::byte>(power);
    EXPECT_EQ(finite_scales(DType::MXFP4, row.data(), 96), power <= kQuantLargestPower) << power;
    EXPECT_TRUE(finite_scales(DType::MXFP4, row.data(), 64));
  }
}

TEST(Quantize, ExactValuesOfFourBitFloatsAndOfTheCurveSurvive) {
  std::mt19937 random(4);
  const auto survive = [&](DType type, const std::vector<float>& choice, float scale) {
    std::vector<float> values(512);
    for (float& v : values) v = scale * choice[random() % choice.size()];
    for (std::size_t i = 0; i < values.size(); i += 32)
      values[i] = scale * choice[0];  // the ends are in every block
    EXPECT_EQ(dequantized(type, quantized(type, values), values.size()), values) << name(type);
  };
  survive(DType::MXFP4, {6, 0, 0.5f, 1, 1.5f, 2, 3, 4, -0.5f, -1, -1.5f, -2, -3, -4, -6}, 0.25f);
  survive(DType::IQ4_NL, {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113},
          0x1.8p-7f);
}

TEST(Quantize, PackedMatrixRefusesRowsThatDoNotFit) {
  EXPECT_THROW(PackedMatrix(DType::MXFP4, 4, 80), Error);
  EXPECT_THROW(PackedMatrix(DType::IQ4_XS, 4, 128), Error);
  EXPECT_THROW(PackedMatrix(DType::IQ2_S, 4, 256), Error);  // no product takes it
  EXPECT_THROW(PackedMatrix(DType::Q4_0, 4, 40), Error);
  EXPECT_THROW(PackedMatrix(DType::Q4_K, 4, 128), Error);
  PackedMatrix matrix(DType::Q8_0, 4, 64);
  const std::vector<std::byte> rows(2 * 68);
  matrix.set_stored_rows(2, rows);
  EXPECT_THROW(matrix.set_stored_rows(3, rows), Error);
  EXPECT_THROW(matrix.set_stored_rows(-1, rows), Error);
  EXPECT_THROW(matrix.set_stored_rows(0, std::span(rows).first(67)), Error);
  PackedMatrix floats(DType::F32, 4, 64);
  EXPECT_THROW(floats.set_stored_rows(0, rows), Error);
}

}  // namespace
}  // namespace augur
