// Products with some panels against the whole product: the same bits, in every variant.
#include "kernels/panel_runs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/buffer.h"
#include "base/error.h"
#include "base/index.h"
#include "kernels/backend.h"
#include "kernels/fused_top.h"

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
      convert_row(row.data(), kK, weight_.input_form(), x_row(r));
    }
  }

  std::int64_t whole_stride() const { return weight_.panels() * PackedMatrix::kPanel; }
  std::byte* x_row(int r) {
    return reinterpret_cast<std::byte*>(x_.data()) + r * row_bytes(weight_.input_form(), kK);
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
      gemm_runs(kernels_, call(rows, y.data(), stride), runs_, part);
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
  const std::int64_t panels = count_panels(runs_);
  const std::int64_t stride = panels * PackedMatrix::kPanel;
  const std::int64_t all = stride - (weight_.panels() * PackedMatrix::kPanel - kN);
  FusedTop fused;  // used again and again, as a drafter does
  for (const int top : {1, 10, 40}) {
    for (const int rows : {1, 5, 20}) {
      Buffer<float> y(static_cast<std::size_t>(rows * stride));
      gemm_runs(kernels_, call(rows, y.data(), stride), runs_, {0, panels});
      // Rows whose lists end early: in the middle of a panel, before there are enough, with everything.
      std::vector<std::int64_t> columns;
      for (int r = 0; r < rows; ++r) columns.push_back(std::vector<std::int64_t>{all, 333, 7}[at(r % 3)]);
      std::vector<float> sums;
      for (const int threads : {1, 3}) {
        SCOPED_TRACE(fmt::format("{} best of {} rows, {} threads", top, rows, threads));
        ThreadPool pool(threads);
        fused.prepare(threads, rows, panels, top);
        pool.run([&](Team& team) { fused.multiply(team, kernels_, call(rows, nullptr, 0), runs_, columns); });
        fused.merge();
        for (int r = 0; r < rows; ++r) {
          const RowTop& found = fused.row(at(r));
          const std::span<const float> row(y.data() + r * stride, at(columns[at(r)]));
          std::vector<std::int32_t> entries(std::min(at(top), row.size()));
          std::vector<float> values(entries.size());
          top_k(row, top, entries.data(), values.data());
          EXPECT_EQ(found.entries, entries);
          EXPECT_EQ(found.values, values);
          EXPECT_NEAR(found.log_sum_exp, log_sum_exp(row.data(), std::ssize(row)), 1e-5);
          if (threads == 1) {
            sums.push_back(found.log_sum_exp);
          } else {
            EXPECT_EQ(found.log_sum_exp, sums[at(r)]);
          }
        }
      }
    }
  }
}

TEST_P(ShortlistKernel, EqualResultsGoByColumn) {
  std::vector<float> values(static_cast<std::size_t>(kN * kK), 0.0f);
  weight_ = PackedMatrix(GetParam().type, kN, kK);
  weight_.set_rows(0, values);
  const std::vector<std::int64_t> columns{kN};
  FusedTop fused;
  ThreadPool pool(2);
  fused.prepare(2, 1, weight_.panels(), 5);
  const std::vector<PanelRun> everything{{0, weight_.panels()}};
  pool.run([&](Team& team) { fused.multiply(team, kernels_, call(1, nullptr, 0), everything, columns); });
  fused.merge();
  EXPECT_EQ(fused.row(0).entries, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
}

TEST(CopiedRow, IsTheSameInEveryType) {
  constexpr std::int64_t kRows = 20;
  constexpr std::int64_t kWidth = 512;
  for (const DType type :
       {DType::F32, DType::BF16, DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::Q4_K,
        DType::Q5_K, DType::Q6_K, DType::Q2_K, DType::Q3_K, DType::IQ4_NL, DType::IQ4_XS, DType::MXFP4}) {
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
