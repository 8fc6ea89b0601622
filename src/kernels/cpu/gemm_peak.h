#pragma once
// The rate of a variant's dot product with every operand in registers: the multiply side of the roofline.
// Internal linkage for the reason given in gemm_task.h.
#include <cstdint>

namespace augur {
namespace {

/// `rounds` times dot(sum) on kChains independent sums, then their total. So many chains must cover the
/// instruction's latency on every unit it has: at least 10 where it takes 5 cycles on 2. All loops over
/// chains are unrolled by name: one that is not puts the sums into memory, and every round stores them there.
/// start(i): distinct sums, or they would be merged.
template <int kChains, class Acc, class Start, class Dot, class Add>
[[gnu::always_inline]] inline Acc run_chains(std::int64_t rounds, Start start, Dot dot, Add add) {
  Acc sums[kChains];
#pragma GCC unroll 32
  for (int i = 0; i < kChains; ++i) sums[i] = start(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int i = 0; i < kChains; ++i) sums[i] = dot(sums[i]);
  }
#pragma GCC unroll 32
  for (int i = 1; i < kChains; ++i) sums[0] = add(sums[0], sums[i]);
  return sums[0];
}

/// Runs Op::dot on as many independent accumulators as the largest GEMM tile has, `rounds` times; returns the
/// floating-point operations done. `sink` receives the sums, so that nothing is optimised away.
template <class Op, int kFlopsPerDot>
std::int64_t run_peak(std::int64_t rounds, float* sink) {
  constexpr int kTile = Op::kMaxRows * Op::panels(Op::kMaxRows);
  using Acc = typename Op::Acc;
  alignas(64) float operands[kTile + 16];
  for (int i = 0; i < kTile + 16; ++i) operands[i] = static_cast<float>(i);
  const typename Op::X x = Op::load_x(reinterpret_cast<const char*>(operands));
  const typename Op::W w = Op::load_w(reinterpret_cast<const char*>(operands));
  const Acc sum = run_chains<kTile, Acc>(
      rounds, [&](int i) { return Op::load_acc(operands + i); }, [&](Acc acc) { return Op::dot(acc, x, w); },
      [](Acc a, Acc b) { return Op::add(a, b); });
  Op::store_acc(sink, sum);
  return rounds * kTile * kFlopsPerDot;
}

}  // namespace
}  // namespace augur
