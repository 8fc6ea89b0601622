#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace augur {

/// Instruction-set variants of the CPU kernels, slowest first.
enum class Isa { Portable, Avx2, Avx512, Avx512Bf16, Amx };

std::string_view name(Isa isa);

/// Accepts the names that name() gives ("portable", "avx2", "avx512", "avx512bf16", "amx"); otherwise Error.
Isa parse_isa(std::string_view text);

/// True when this processor and operating system can run the variant.
bool supported(Isa isa);

/// All variants this machine can run, slowest first.
std::vector<Isa> supported_isas();

/// The fastest variant this machine can run, or the one that the environment variable AUGUR_ISA names.
/// Error when that name is unknown or this machine cannot run it.
Isa select_isa();

/// The processor's brand string ("AMD EPYC 9555 ..."), for reports.
std::string cpu_model_name();

}  // namespace augur
