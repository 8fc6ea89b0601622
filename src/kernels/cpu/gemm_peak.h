#pragma once
// The rate of a variant's dot product with every operand in registers: the multiply side of the roofline.
// Internal linkage for the reason given in gemm_task.h.
#include <cstdint>

namespace augur {
namespace {

/// Runs Op::dot on as many independent accumulators as the largest GEMM tile has, `rounds` times; returns the
/// floating-point operations done. `sink` receives the sums, so that nothing is optimised away.
template <class Op, int kFlopsPerDot>
std::int64_t run_peak(std::int64_t rounds, float* sink) {
  constexpr int kTile = Op::kMaxRows * Op::panels(Op::kMaxRows);
  alignas(64) float operands[kTile + 16];
  for (int i = 0; i < kTile + 16; ++i) operands[i] = static_cast<float>(i);
  const typename Op::X x = Op::load_x(reinterpret_cast<const char*>(operands));
  const typename Op::W w = Op::load_w(reinterpret_cast<const char*>(operands));
  typename Op::Acc acc[kTile];
#pragma GCC unroll 32
  for (int i = 0; i < kTile; ++i) acc[i] = Op::load_acc(operands + i);  // distinct, or they would be merged
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int i = 0; i < kTile; ++i) acc[i] = Op::dot(acc[i], x, w);
  }
  for (int i = 1; i < kTile; ++i) acc[0] = Op::add(acc[0], acc[i]);
  Op::store_acc(sink, acc[0]);
  return rounds * kTile * kFlopsPerDot;
}

}  // namespace
}  // namespace augur
