#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace augur {

/// What kernels ask of a processor. Instructions of several architectures stand here side by side: no
/// processor has those of two, and none is more than another.
enum class CpuFeature : std::uint8_t {
  Avx2,        ///< x86: AVX2 and FMA
  F16c,        ///< x86: half precision to float32 and back
  AvxVnni,     ///< x86: VPDPBUSD of 256 bits
  Avx512,      ///< x86: AVX-512 F, BW, DQ, VL, CD
  Avx512Vnni,  ///< x86: VPDPBUSD of 512 bits
  Avx512Bf16,  ///< x86: VDPBF16PS
  AmxBf16,     ///< x86: tiles and TDPBF16PS, which Linux has granted this process
};

/// A set of them.
class CpuFeatures {
 public:
  constexpr CpuFeatures() = default;
  constexpr CpuFeatures(std::initializer_list<CpuFeature> features) {
    for (const CpuFeature feature : features) add(feature);
  }
  constexpr void add(CpuFeature feature) { bits_ |= std::uint64_t{1} << static_cast<unsigned>(feature); }
  constexpr bool has(CpuFeature feature) const { return has_all({feature}); }
  constexpr bool has_all(const CpuFeatures& others) const { return (others.bits_ & ~bits_) == 0; }

 private:
  std::uint64_t bits_ = 0;
};

/// This processor's, as far as its operating system lets them be used. Asked for once.
const CpuFeatures& cpu_features();

/// Variants of the CPU kernels: names of feature sets. They have no order but that of all_isas().
enum class Isa { Portable, Avx2, Avx512, Avx512Bf16, Amx };

/// Of every architecture, the preferred first: the first that a processor can run is its variant.
std::vector<Isa> all_isas();
/// What a variant's kernels may use. A kernel may ask for more, which the processor then has beside it
/// (quant_variants.h).
const CpuFeatures& features(Isa isa);
std::string_view name(Isa isa);

/// Accepts the names that name() gives, of every architecture ("portable", "avx2", "avx512", "avx512bf16",
/// "amx"); otherwise Error.
Isa parse_isa(std::string_view text);

/// True when this processor and operating system can run the variant.
bool supported(Isa isa);

/// All variants this machine can run, the preferred last.
std::vector<Isa> supported_isas();

/// The preferred variant this machine can run, or the one that the environment variable AUGUR_ISA names.
/// Error when that name is unknown or this machine cannot run it.
Isa select_isa();

/// The processor's brand string ("AMD EPYC 9555 ..."), for reports.
std::string cpu_model_name();

}  // namespace augur
