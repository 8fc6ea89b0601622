#include "kernels/gemm_dispatch.h"

#include <cassert>

#include "kernels/cpu/gemm_task.h"
#include "kernels/cpu/subnormals.h"
#include "kernels/gemm_fine.h"
#include "kernels/quant_panel.h"
#include "kernels/quant_rows.h"
#include "kernels/quant_variants.h"

namespace augur {

namespace {

GemmTask make_task(const GemmCall& call, Range panels, const GemmTraversal& traversal) {
  const PackedMatrix& weight = *call.weight;
  const std::int64_t column = panels.begin * PackedMatrix::kPanel;
  assert(call.rows >= 1 && call.x_stride >= weight.padded_k());
  assert(panels.begin >= call.first_panel && panels.end <= weight.panels());
  assert(call.y_stride >= (panels.end - call.first_panel) * PackedMatrix::kPanel);
  return {
      .w = reinterpret_cast<const char*>(weight.panel(panels.begin)),
      .panels = panels.size(),
      .steps = weight.steps(),
      .x = static_cast<const char*>(call.x),
      .x_stride = row_bytes(weight.input_form(), call.x_stride),
      .rows = call.rows,
      .y = call.y + column - call.first_panel * PackedMatrix::kPanel,
      .y_stride = call.y_stride,
      .bias = call.bias == nullptr ? nullptr : call.bias + column,
      .accumulate = call.accumulate,
      .traversal = traversal,
  };
}

template <Isa kIsa, GemmTaskFn kF32, GemmTaskFn kBf16>
void gemm(const GemmCall& call, Range panels, const GemmTraversal& traversal) {
  if (panels.size() <= 0) return;
  const FlushSubnormals flush;
  const GemmTask task = make_task(call, panels, traversal);
  switch (call.weight->type()) {
    case DType::BF16:
      return kBf16(task);
    case DType::F32:
      return kF32(task);
    default: {
      static const GemmQuantFn quantized = quant_variant(kIsa).gemm;
      const QuantKind kind = *quant_kind(call.weight->type());
      if (!call.weight->fine()) return quantized(kind, task);
      assert(call.x_stride == activation_stride(call.weight->k()));
      return gemm_fine(quantized, kind, task);
    }
  }
}

}  // namespace

GemmFn gemm_kernel(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::Avx2:
      return gemm<Isa::Avx2, gemm_f32_avx2, gemm_bf16_avx2>;
    case Isa::Avx512:
      return gemm<Isa::Avx512, gemm_f32_avx512, gemm_bf16_avx512>;
    case Isa::Avx512Bf16:
      return gemm<Isa::Avx512Bf16, gemm_f32_avx512, gemm_bf16_avx512bf16>;
    case Isa::Amx:
      return gemm<Isa::Amx, gemm_f32_avx512, gemm_bf16_amx>;
#endif
    default:
      return gemm<Isa::Portable, gemm_f32_portable, gemm_bf16_portable>;
  }
}

PeakFn peak_kernel(Isa isa, DType type) {
  if (const auto kind = quant_kind(type)) {
    const QuantVariant& variant = quant_variant(isa);
    return quant_has_8_bits(quant_layout(*kind)) ? variant.peak_8_bits : variant.peak;
  }
  const bool bf16 = type == DType::BF16;
  switch (isa) {
#if defined(__x86_64__)
    case Isa::Avx2:
      return bf16 ? peak_bf16_avx2 : peak_f32_avx2;
    case Isa::Avx512:
      return bf16 ? peak_bf16_avx512 : peak_f32_avx512;
    case Isa::Avx512Bf16:
      return bf16 ? peak_bf16_avx512bf16 : peak_f32_avx512;
    case Isa::Amx:
      return bf16 ? peak_bf16_amx : peak_f32_avx512;
#endif
    default:
      return peak_portable;
  }
}

}  // namespace augur
