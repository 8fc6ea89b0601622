// Products with some panels against the whole product: the same bits, in every variant.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/buffer.h"
#include "base/error.h"
#include "kernels/backend.h"
#include "kernels/shortlist.h"

namespace augur {
namespace {

struct Case {
  Isa isa;
  DType type;
};

class ShortlistKernel : public testing::TestWithParam<Case> {
 protected:
  static constexpr std::int64_t kN = 1500;  // 94 panels, the last of them not full
  static constexpr std::int64_t kK = 160;
  static constexpr int kRows = 20;

  ShortlistKernel()
      : kernels_(kernel_set(GetParam().isa)),
        weight_(GetParam().type, kN, kK),
        x_(static_cast<std::size_t>(kRows * kK)),
        whole_(static_cast<std::size_t>(kRows * whole_stride())) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(kN * kK));
    for (float& v : values) v = normal(random);
    weight_.set_rows(0, values);
    std::vector<float> row(kK);
    for (int r = 0; r < kRows; ++r) {
      for (float& v : row) v = normal(random);
      convert_row(row.data(), kK, GetParam().type, x_row(r));
    }
  }

  std::int64_t whole_stride() const { return weight_.panels() * PackedMatrix::kPanel; }
  std::byte* x_row(int r) {
    const std::int64_t element = GetParam().type == DType::BF16 ? 2 : 4;
    return reinterpret_cast<std::byte*>(x_.data()) + r * kK * element;
  }
  GemmCall call(int rows, float* y, std::int64_t stride) {
    return {.weight = &weight_, .x = x_row(0), .x_stride = kK, .rows = rows, .y = y, .y_stride = stride};
  }

  const std::vector<PanelRun> runs_{{0, 1}, {3, 17}, {40, 2}, {60, 34}};
  const KernelSet& kernels_;
  PackedMatrix weight_;
  Buffer<float> x_;
  Buffer<float> whole_;
};

TEST_P(ShortlistKernel, GivesTheWholeProductsBitsSideBySide) {
  for (const int rows : {1, 3, 8, 20}) {
    kernels_.gemm(call(rows, whole_.data(), whole_stride()), {0, weight_.panels()});
    const std::int64_t panels = count_panels(runs_);
    const std::int64_t stride = panels * PackedMatrix::kPanel;
    Buffer<float> y(static_cast<std::size_t>(rows * stride));
    // Three threads' parts, one of them empty.
    for (const Range part : {Range{0, 19}, Range{19, 19}, Range{19, panels}}) {
      gemm_runs(kernels_.gemm, call(rows, y.data(), stride), runs_, part);
    }
    for (int r = 0; r < rows; ++r) {
      std::int64_t column = 0;
      for (const PanelRun& run : runs_) {
        for (std::int64_t i = 0; i < run.count * PackedMatrix::kPanel; ++i, ++column) {
          ASSERT_EQ(y.data()[r * stride + column],
                    whole_.data()[r * whole_stride() + run.first * PackedMatrix::kPanel + i])
              << rows << " rows, row " << r << ", column " << column;
        }
      }
    }
  }
}

TEST_P(ShortlistKernel, FusedTopIsTheTopOfTheProduct) {
  constexpr int kTop = 10;
  const std::int64_t panels = count_panels(runs_);
  const std::int64_t stride = panels * PackedMatrix::kPanel;
  const std::int64_t columns = stride - (weight_.panels() * PackedMatrix::kPanel - kN);
  for (const int rows : {1, 5}) {
    Buffer<float> y(static_cast<std::size_t>(rows * stride));
    gemm_runs(kernels_.gemm, call(rows, y.data(), stride), runs_, {0, panels});
    Buffer<float> block(static_cast<std::size_t>(rows * kFusedColumns));
    FusedTopScratch scratch;
    std::vector<RowTop> first(static_cast<std::size_t>(rows));
    std::vector<RowTop> second(static_cast<std::size_t>(rows));
    gemm_runs_top(kernels_.gemm, call(rows, nullptr, 0), runs_, {0, 30}, columns, kTop, block.data(), scratch,
                  first);
    gemm_runs_top(kernels_.gemm, call(rows, nullptr, 0), runs_, {30, panels}, columns, kTop, block.data(),
                  scratch, second);
    for (int r = 0; r < rows; ++r) {
      RowTop& top = first[static_cast<std::size_t>(r)];
      merge_top(top, second[static_cast<std::size_t>(r)], kTop, scratch);
      const std::span<const float> row(y.data() + r * stride, static_cast<std::size_t>(columns));
      std::vector<std::int32_t> entries(kTop);
      std::vector<float> values(kTop);
      top_k(row, kTop, entries.data(), values.data());
      EXPECT_EQ(top.entries, entries);
      EXPECT_EQ(top.values, values);
      EXPECT_NEAR(top.log_sum_exp, log_sum_exp(row.data(), columns), 1e-5);
    }
  }
}

TEST(CopiedRow, IsTheSameInEveryType) {
  constexpr std::int64_t kRows = 20;
  constexpr std::int64_t kWidth = 512;
  for (const DType type : {DType::F32, DType::BF16, DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0,
                           DType::Q5_1, DType::Q4_K, DType::Q5_K, DType::Q6_K}) {
    SCOPED_TRACE(name(type));
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> values(kRows * kWidth);
    for (float& v : values) v = normal(random);
    PackedMatrix from(type, kRows, kWidth);
    from.set_rows(0, values);
    PackedMatrix to(type, 5, kWidth);
    const std::vector<std::int64_t> chosen{19, 3, 17, 0, 8};
    for (int round = 0; round < 2; ++round) {  // what stood there before leaves no trace
      for (std::int64_t i = 0; i < 5; ++i) {
        to.copy_row(i, from, chosen[static_cast<std::size_t>((i + round) % 5)]);
      }
    }
    std::vector<float> expected(kWidth);
    std::vector<float> copied(kWidth);
    for (std::int64_t i = 0; i < 5; ++i) {
      from.get_row(chosen[static_cast<std::size_t>((i + 1) % 5)], expected.data());
      to.get_row(i, copied.data());
      EXPECT_EQ(copied, expected) << "row " << i;
    }
    EXPECT_THROW(to.copy_row(5, from, 0), Error);
    EXPECT_THROW(to.copy_row(0, from, kRows), Error);
    EXPECT_THROW(PackedMatrix(type == DType::F32 ? DType::BF16 : DType::F32, 5, kWidth).copy_row(0, from, 0),
                 Error);
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Isa isa : supported_isas()) {
    all.push_back({isa, DType::F32});
    all.push_back({isa, DType::BF16});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Variants, ShortlistKernel, testing::ValuesIn(cases()), [](const auto& tested) {
  return std::string(name(tested.param.isa)) + "_" + std::string(name(tested.param.type));
});

}  // namespace
}  // namespace augur
