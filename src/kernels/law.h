#pragma once
#include <span>

#include "augur/enums.h"
#include "base/cpu.h"
#include "base/dtype.h"

namespace augur {

/// The law (docs/law.md) of a variant's products with weights of a type: Chain or Blocks.
ArithmeticLaw law_of(Isa isa, DType weights);

/// The number of the law that a model with matrices of these types follows.
int law_number(Isa isa, std::span<const DType> weights);

/// The fastest variant up to `isa` whose products all follow `law`; of Auto, `isa` itself. Error where there
/// is none. A processor that can run `isa` can run it.
Isa isa_under(ArithmeticLaw law, Isa isa);

}  // namespace augur
