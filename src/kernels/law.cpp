#include "kernels/law.h"

#include <algorithm>

#include "base/arithmetic_law.h"
#include "base/error.h"

namespace augur {

ArithmeticLaw law_of(Isa isa, DType weights) {
  return isa == Isa::Amx && weights == DType::BF16 ? ArithmeticLaw::Blocks : ArithmeticLaw::Chain;
}

int law_number(Isa isa, std::span<const DType> weights) {
  const bool blocks = std::any_of(weights.begin(), weights.end(),
                                  [&](DType type) { return law_of(isa, type) == ArithmeticLaw::Blocks; });
  return law_number(blocks ? ArithmeticLaw::Blocks : ArithmeticLaw::Chain);
}

Isa isa_under(ArithmeticLaw law, Isa isa) {
  const ArithmeticLaw own = law_of(isa, DType::BF16);
  if (law == ArithmeticLaw::Auto || law == own) return isa;
  if (own == ArithmeticLaw::Blocks) return Isa::Avx512Bf16;
  throw Error(
      ErrorKind::Unsupported,
      "law '{}': expected a processor with AMX, whose tile unit sums so; the kernels here are {}, law '{}'",
      to_string(law), name(isa), to_string(own));
}

}  // namespace augur
