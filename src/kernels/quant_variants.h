#pragma once
#include <string_view>
#include <vector>

#include "base/cpu.h"
#include "kernels/cpu/gemm_task.h"

namespace augur {

/// An instruction that quantised products can use. All give the same bits, so which of them an Isa takes is a
/// question of speed, and of what the processor has beside that Isa.
struct QuantVariant {
  std::string_view name;
  CpuFeatures isa;     ///< which an Isa has to have that takes it
  CpuFeatures beside;  ///< what the processor has to have beside those
  GemmQuantFn gemm;
  PeakFn peak;         ///< of weights whose v has fewer than 8 bits
  PeakFn peak_8_bits;  ///< of those with 8: quant_has_8_bits()
};

/// All that this machine can run, the preferred last. The reference stays valid for the program's life.
const std::vector<QuantVariant>& quant_variants();

/// The preferred one among them that `isa` allows.
const QuantVariant& quant_variant(Isa isa);

}  // namespace augur
