#pragma once
// What computes the golden vectors.
#include <cmath>

#include "kernels/attention_dispatch.h"
#include "kernels/backend.h"
#include "kernels/gemm_dispatch.h"
#include "law_vectors.h"
#include "unit/kernels/emulated_tiles.h"

namespace augur::law {

/// A variant of the kernels. Row operations take its instruction set, too, until the next one is made.
inline Machine variant(Isa isa) {
  const KernelSet& set = kernel_set(isa);
  return {.name = std::string(name(isa)),
          .product =
              [&set](const GemmCall& call) {
                set.gemm(call, {0, call.weight->panels()});
              },
          .attention = set.attention};
}

inline float element(const PackedMatrix& weight, const void* x, std::int64_t i) {
  return weight.type() == DType::BF16 ? to_float(static_cast<const BF16*>(x)[i])
                                      : static_cast<const float*>(x)[i];
}

/// One sum as docs/law.md states it. Own function, so that nothing of it leaves the scope of the flushing.
[[gnu::noinline]] inline float plain_sum(const PackedMatrix& weight, const void* x, const float* w,
                                         ArithmeticLaw law) {
  const std::int64_t k = weight.padded_k();
  const auto term = [&](std::int64_t i, float acc) { return std::fma(element(weight, x, i), w[i], acc); };
  float acc = 0.0f;
  if (weight.type() == DType::F32) {
    for (std::int64_t i = 0; i < k; ++i) acc = term(i, acc);
  } else if (law == ArithmeticLaw::Chain) {
    for (std::int64_t i = 0; i < k; i += 2) acc = term(i, term(i + 1, acc));
  } else {
    for (std::int64_t block = 0; block < k; block += 32) {
      float even = 0.0f;
      float odd = 0.0f;
      for (std::int64_t i = block; i < block + 32; i += 2) {
        even = term(i, even);
        odd = term(i + 1, odd);
      }
      acc += even + odd;
    }
  }
  return acc;
}

/// Products with float weights by plain loops, which is the pages' text; all else as the portable variant has
/// it.
inline Machine plain_loops(ArithmeticLaw law) {
  Machine machine = variant(Isa::Portable);
  machine.name = "plain loops";
  machine.product = [law, rest = machine.product](const GemmCall& call) {
    const PackedMatrix& weight = *call.weight;
    if (weight.quantized()) return rest(call);
    std::vector<float> w(static_cast<std::size_t>(weight.padded_k()));
    for (std::int64_t j = 0; j < weight.n(); ++j) {
      weight.get_row(j, w.data());
      const FlushSubnormals flush;
      for (int r = 0; r < call.rows; ++r) {
        const auto* x =
            static_cast<const std::byte*>(call.x) + r * row_bytes(weight.input_form(), call.x_stride);
        const float chain = plain_sum(weight, x, w.data(), law);
        const float sum = call.bias == nullptr ? chain : chain + call.bias[j];
        float& y = call.y[r * call.y_stride + j];
        y = call.accumulate ? y + sum : sum;
      }
    }
  };
  return machine;
}

/// The AMX variant's blocking on an emulated tile unit: products with bf16 weights only.
inline Machine emulated_tile_unit() {
  const auto product = [](const GemmCall& call) {
    const FlushSubnormals flush;
    run_blocked<AmxTiles<EmulatedTiles>>({.w = reinterpret_cast<const char*>(call.weight->panel(0)),
                                          .panels = call.weight->panels(),
                                          .steps = call.weight->steps(),
                                          .x = static_cast<const char*>(call.x),
                                          .x_stride = row_bytes(InputForm::BF16, call.x_stride),
                                          .rows = call.rows,
                                          .y = call.y,
                                          .y_stride = call.y_stride,
                                          .bias = call.bias,
                                          .accumulate = call.accumulate});
  };
  return {.name = "emulated tile unit", .product = product, .attention = nullptr};
}

}  // namespace augur::law
