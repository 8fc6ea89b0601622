#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sampling/token_constraint.h"
#include "xgrammar/xgrammar.h"

namespace augur {

/// A constraint by a grammar that is compiled. `bytes[t]` is what token t stands for, and outlives it.
std::unique_ptr<TokenConstraint> begin_text(const xgrammar::CompiledGrammar& grammar,
                                            const std::vector<std::string>& bytes);

}  // namespace augur
