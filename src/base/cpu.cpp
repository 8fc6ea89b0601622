#include "base/cpu.h"

#include <cstdlib>
#include <fstream>

#include "base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace augur {

namespace {

constexpr Isa kAll[] = {Isa::Portable, Isa::Avx2, Isa::Avx512, Isa::Avx512Bf16, Isa::Amx};

#if defined(__x86_64__)
struct CpuidLeaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidLeaf cpuid(unsigned leaf, unsigned subleaf) {
  CpuidLeaf r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

/// Linux grants the AMX tile state per process, on request.
bool request_amx() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXfeatureXtiledata = 18;
  static const bool granted = syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
  return granted;
}

bool cpu_has(Isa isa) {
  __builtin_cpu_init();
  switch (isa) {
    case Isa::Portable:
      return true;
    case Isa::Avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::Avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512cd");
    case Isa::Avx512Bf16:
      return cpu_has(Isa::Avx512) && ((cpuid(7, 1).eax >> 5) & 1u) != 0;
    case Isa::Amx: {
      const unsigned edx = cpuid(7, 0).edx;
      const bool tiles = ((edx >> 24) & 1u) != 0 && ((edx >> 22) & 1u) != 0;  // AMX-TILE, AMX-BF16
      return tiles && cpu_has(Isa::Avx512Bf16) && request_amx();
    }
  }
  return false;
}
#else
bool cpu_has(Isa isa) {
  return isa == Isa::Portable;
}
#endif

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::Portable:
      return "portable";
    case Isa::Avx2:
      return "avx2";
    case Isa::Avx512:
      return "avx512";
    case Isa::Avx512Bf16:
      return "avx512bf16";
    case Isa::Amx:
      return "amx";
  }
  return "?";
}

Isa parse_isa(std::string_view text) {
  for (const Isa isa : kAll) {
    if (name(isa) == text) return isa;
  }
  throw Error("unknown instruction set '{}': expected portable, avx2, avx512, avx512bf16 or amx", text);
}

bool supported(Isa isa) {
  return cpu_has(isa);
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : kAll) {
    if (supported(isa)) isas.push_back(isa);
  }
  return isas;
}

Isa select_isa() {
  if (const char* forced = std::getenv("AUGUR_ISA"); forced != nullptr && *forced != '\0') {
    const Isa isa = parse_isa(forced);
    if (!supported(isa)) throw Error("AUGUR_ISA={}: this processor cannot run it", forced);
    return isa;
  }
  return supported_isas().back();
}

std::string cpu_model_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      const auto colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  }
  return "unknown";
}

}  // namespace augur
