#pragma once
// Products: float weights under either law, quantised weights.
#include "base/buffer.h"
#include "kernels/ops.h"
#include "law_vectors.h"
#include "unit/kernels/quant_fixture.h"

namespace augur::law {

/// y = x W^T of one case; values are rounded to the type that they are kept in.
struct Product {
  PackedMatrix weight;
  int rows;
  std::vector<float> x;     ///< [rows, k]
  std::vector<float> bias;  ///< [n], or none
  bool accumulate = false;  ///< to ones

  /// The first and the last row.
  Words run(const Machine& machine) const {
    const std::int64_t k = weight.k();
    const std::int64_t x_stride = activation_stride(k);
    const std::int64_t row_size = row_bytes(weight.input_form(), x_stride);
    Buffer<std::byte> input(static_cast<std::size_t>(rows * row_size));
    for (int r = 0; r < rows; ++r)
      convert_row(&x[static_cast<std::size_t>(r * k)], k, weight.input_form(), input.data() + r * row_size);
    const std::int64_t y_stride = 16 * weight.panels();
    Buffer<float> padded_bias(static_cast<std::size_t>(y_stride));
    std::copy(bias.begin(), bias.end(), padded_bias.data());
    Buffer<float> y(static_cast<std::size_t>(rows * y_stride));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = 1.0f;
    machine.product({.weight = &weight,
                     .x = input.data(),
                     .x_stride = x_stride,
                     .rows = rows,
                     .y = y.data(),
                     .y_stride = y_stride,
                     .bias = bias.empty() ? nullptr : padded_bias.data(),
                     .accumulate = accumulate});
    Words words;
    for (int r = 0; r < rows; r += std::max(1, rows - 1)) {
      for (std::int64_t j = 0; j < weight.n(); ++j) words.add(y[static_cast<std::size_t>(r * y_stride + j)]);
    }
    return words;
  }
};

inline PackedMatrix pack(DType type, std::int64_t n, std::int64_t k, std::span<const float> w) {
  PackedMatrix weight(type, n, k);
  weight.set_rows(0, w);
  return weight;
}

/// Values of x first, then those of w, both as `next` gives them.
template <class Next>
Product drawn(DType type, std::int64_t n, std::int64_t k, int rows, const Next& next) {
  const std::vector<float> x = next(rows * k);
  const std::vector<float> w = next(n * k);
  return {.weight = pack(type, n, k, w), .rows = rows, .x = x, .bias = {}};
}

inline constexpr std::int64_t kColumns = 20;

/// Results on both sides of 2^-126: two elements meet 2^-126 and a number that decides whether the sum is
/// below it before or after rounding, in all places that pairs and blocks tell apart.
inline Product tininess(DType type) {
  constexpr std::int64_t k = 36;
  constexpr std::pair<int, int> kPlaces[] = {{1, 0}, {0, 2}, {1, 3}, {0, 1}, {0, 34}};
  constexpr float kOther[] = {-0x1p-76f, -0x1.8p-76f, -0x1.8p-77f, -0x1p-75f};  // of x = 2^-75
  std::vector<float> x(k, 0x1p-75f);
  std::vector<float> w(static_cast<std::size_t>(kColumns * k));
  for (std::int64_t j = 0; j < kColumns; ++j) {
    const auto [first, second] = kPlaces[j / 4];
    w[static_cast<std::size_t>(j * k + first)] = 0x1p-51f;
    w[static_cast<std::size_t>(j * k + second)] = kOther[j % 4];
  }
  return {.weight = pack(type, kColumns, k, w), .rows = 1, .x = x, .bias = {}};
}

/// The second half of the sum takes the first half back, but for the last element.
inline Product cancellation(DType type, Inputs in) {
  constexpr std::int64_t k = 130;
  Product product = drawn(type, kColumns, k, 1, [&](std::int64_t n) {
    std::vector<float> all = in.values(n);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t at = i % k;
      if (at >= k / 2 && at + 1 < k) all[i] = n == k ? -all[i - k / 2] : all[i - k / 2];
    }
    return all;
  });
  return product;
}

/// 2^24, then products of odd numbers: every sum is a tie.
inline Product ties(DType type, Inputs in) {
  return drawn(type, kColumns, 65, 1, [&](std::int64_t n) {
    std::vector<float> all(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = i % 65 == 1 ? 0x1p12f : static_cast<float>(2 * (in.word() % 16)) - 15.0f;
    return all;
  });
}

/// Numbers that are none, and what leaves the range, in a column each.
inline Product no_numbers(DType type, Inputs in) {
  constexpr std::int64_t k = 40;
  Product product{.weight = {}, .rows = 1, .x = in.values(k), .bias = {}};
  product.x[3] = 0.0f;
  product.x[5] = -0.0f;
  product.x[7] = 0x1.fep127f;
  std::vector<float> w = in.values(kColumns * k);
  const auto at = [&](std::int64_t column, std::int64_t i) -> float& {
    return w[static_cast<std::size_t>(column * k + i)];
  };
  for (int c = 0; c < 4; ++c) {
    at(c, 2) = float_of(kNoNumbers[static_cast<std::size_t>(c)]);
    at(4 + c, 3 + c % 2 * 2) = float_of(kNoNumbers[static_cast<std::size_t>(c)]);
    at(8 + c, 7) = c % 2 == 0 ? 0x1p1f : -0x1p1f;
    at(12 + c, 7) = 0x1.8p0f;
    at(12 + c, 6 + 2 * (c % 2)) = c < 2 ? -0x1.fep127f : 0x1.fep127f;
  }
  at(16, 1) = float_of(0x7f800000);
  at(16, 33) = float_of(0xff800000);
  product.weight = pack(type, kColumns, k, w);
  return product;
}

inline void add_float_products(std::vector<Case>& cases, DType type) {
  const auto add = [&](std::string_view what, auto make) {
    cases.push_back({fmt::format("product of {}: {}", name(type), what),
                     [make](const Machine& machine, Inputs in) { return make(in).run(machine); }});
  };
  struct Shape {
    std::int64_t k;
    int rows;
  };
  for (const auto [k, rows] : {Shape{1, 1}, {2, 1}, {31, 2}, {33, 5}, {96, 17}, {577, 40}, {4100, 1}}) {
    add(fmt::format("k {}, {} rows", k, rows), [type, k = k, rows = rows](Inputs in) {
      return drawn(type, kColumns, k, rows, [&](std::int64_t n) { return in.values(n); });
    });
  }
  add("bias, accumulated", [type](Inputs in) {
    Product product = drawn(type, kColumns, 65, 3, [&](std::int64_t n) { return in.values(n); });
    product.bias = in.values(kColumns);
    product.accumulate = true;
    return product;
  });
  add("subnormal operands", [type](Inputs in) {
    // Were they not zero, what they are multiplied with would show them.
    std::vector<float> x(64);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = float_of((i % 2 == 0 ? 0x807f0000u : 0x00030000u) + (type == DType::F32 ? 0x1234u : 0u));
    return Product{
        .weight = pack(type, kColumns, 64, in.values(kColumns * 64, 110)), .rows = 1, .x = x, .bias = {}};
  });
  add("subnormal results", [type](Inputs in) {
    return drawn(type, kColumns, 64, 2, [&](std::int64_t n) { return in.values(n, -67); });
  });
  add("tininess", [type](Inputs) { return tininess(type); });
  add("cancellation", [type](Inputs in) { return cancellation(type, in); });
  add("ties", [type](Inputs in) { return ties(type, in); });
  add("zeros", [type](Inputs in) {
    return drawn(type, kColumns, 34, 1, [&](std::int64_t n) {
      std::vector<float> all(static_cast<std::size_t>(n));
      for (float& v : all) v = in.word() % 2 == 0 ? 0.0f : -0.0f;
      return all;
    });
  });
  add("infinities, NaN, overflow", [type](Inputs in) { return no_numbers(type, in); });
}

/// Rows of stored blocks: bytes as Philox gives them, halves within 2^-7 and 2 (`tiny`: subnormal ones).
inline std::vector<std::byte> stored_rows(DType type, std::int64_t n, std::int64_t k, bool tiny, Inputs& in) {
  const BlockShape shape = block_shape(type);
  std::vector<std::byte> stored = in.bytes(n * k / shape.elements * shape.bytes);
  for (std::size_t block = 0; block < stored.size(); block += static_cast<std::size_t>(shape.bytes)) {
    for (const std::size_t at : halves_of(type)) {
      const std::uint32_t word = in.word();
      const std::uint32_t exponent = tiny ? 0u : 8u + (word >> 10) % 8;
      const auto half = static_cast<std::uint16_t>((word & 0x83ffu) | (exponent << 10));
      std::memcpy(&stored[block + at], &half, sizeof half);
    }
    if (type == DType::MXFP4) stored[block] = static_cast<std::byte>((tiny ? 5u : 118u) + in.word() % 12);
  }
  return stored;
}

inline void add_quantised_products(std::vector<Case>& cases, DType type) {
  constexpr std::int64_t k = 768;
  enum class Kind { Plain, Tiny, Fine, NoNumber };
  const auto add = [&](std::string_view what, int rows, Kind kind) {
    cases.push_back(
        {fmt::format("product of {}: {}", name(type), what),
         [type, rows, kind](const Machine& machine, Inputs in) {
           Product product{
               .weight = PackedMatrix(type, kColumns, k), .rows = rows, .x = in.values(rows * k), .bias = {}};
           product.weight.set_stored_rows(0, stored_rows(type, kColumns, k, kind == Kind::Tiny, in));
           if (kind == Kind::Fine) product.weight.take_fine_rows();
           // Blocks of all sizes: below what counts, whose products are subnormal, and huge.
           constexpr float kSizes[] = {1.0f, 0x1p-101f, 0x1p-97f, 0x1p-94f, 0x1p-91f, 0x1p60f};
           if (kind == Kind::Tiny) {
             for (std::size_t i = 0; i < product.x.size(); ++i)
               product.x[i] *= i < k / 2 ? kSizes[1 + i / 32 % 4] : kSizes[i / 32 % 6];
           }
           if (kind == Kind::NoNumber) {
             product.x[k + 40] = float_of(kNoNumbers[0]);
             product.x[2 * k + 70] = float_of(kNoNumbers[2]);
           }
           return product.run(machine);
         }});
  };
  add("1 row", 1, Kind::Plain);
  add("7 rows", 7, Kind::Plain);
  add("tiny scales", 2, Kind::Tiny);
  add("fine rows", 3, Kind::Fine);
  if (type == DType::Q8_0 || type == DType::Q4_K) add("infinities, NaN", 3, Kind::NoNumber);
}

/// Those in which laws differ.
inline std::vector<Case> bf16_products() {
  std::vector<Case> cases;
  add_float_products(cases, DType::BF16);
  return cases;
}

inline std::vector<Case> other_products() {
  std::vector<Case> cases;
  add_float_products(cases, DType::F32);
  for (const DType type : kQuantTypes) add_quantised_products(cases, type);
  return cases;
}

}  // namespace augur::law
