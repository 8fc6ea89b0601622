#include "base/cpu.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace augur {

namespace {

struct Variant {
  Isa isa;
  std::string_view name;
  CpuFeatures features;
};

using enum CpuFeature;
constexpr Variant kByPriority[] = {
    {Isa::Amx, "amx", {Avx2, Avx512, Avx512Bf16, AmxBf16}},
    {Isa::Avx512Bf16, "avx512bf16", {Avx2, Avx512, Avx512Bf16}},
    {Isa::Avx512, "avx512", {Avx2, Avx512}},
    {Isa::Avx2, "avx2", {Avx2}},
    {Isa::Portable, "portable", {}},
};

const Variant& variant(Isa isa) {
  return *std::find_if(std::begin(kByPriority), std::end(kByPriority),
                       [&](const Variant& v) { return v.isa == isa; });
}

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

bool bit(unsigned word, int index) {
  return ((word >> index) & 1u) != 0;
}

CpuFeatures detect() {
  __builtin_cpu_init();
  CpuFeatures found;
  const auto add_if = [&](bool there, CpuFeature feature) {
    if (there) found.add(feature);
  };
  const CpuidLeaf seven = cpuid(7, 0);
  const CpuidLeaf seven_more = cpuid(7, 1);
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  const bool bf16 = avx512 && bit(seven_more.eax, 5);
  const bool tiles = bf16 && bit(seven.edx, 24) && bit(seven.edx, 22);  // AMX-TILE, AMX-BF16
  add_if(avx2, Avx2);
  add_if(avx2 && bit(cpuid(1, 0).ecx, 29), F16c);  // Clang's __builtin_cpu_supports does not know it
  add_if(avx2 && bit(seven_more.eax, 4), AvxVnni);
  add_if(avx512, Avx512);
  add_if(avx512 && __builtin_cpu_supports("avx512vnni"), Avx512Vnni);
  add_if(bf16, Avx512Bf16);
  add_if(tiles && request_amx(), AmxBf16);
  return found;
}
#else
CpuFeatures detect() {
  return {};
}
#endif

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures found = detect();
  return found;
}

std::vector<Isa> all_isas() {
  std::vector<Isa> isas;
  for (const Variant& v : kByPriority) isas.push_back(v.isa);
  return isas;
}

const CpuFeatures& features(Isa isa) {
  return variant(isa).features;
}

std::string_view name(Isa isa) {
  return variant(isa).name;
}

Isa parse_isa(std::string_view text) {
  for (const Variant& v : kByPriority) {
    if (v.name == text) return v.isa;
  }
  throw Error(refused("isa"),
              "unknown instruction set '{}': expected portable, avx2, avx512, avx512bf16 or amx", text);
}

bool supported(Isa isa) {
  return cpu_features().has_all(features(isa));
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> isas = all_isas();
  std::erase_if(isas, [](Isa isa) { return !supported(isa); });
  std::reverse(isas.begin(), isas.end());
  return isas;
}

Isa select_isa() {
  if (const char* forced = std::getenv("AUGUR_ISA"); forced != nullptr && *forced != '\0') {
    const Isa isa = parse_isa(forced);
    if (!supported(isa))
      throw Error(ErrorKind::Unsupported, "AUGUR_ISA={}: this processor cannot run it", forced);
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
