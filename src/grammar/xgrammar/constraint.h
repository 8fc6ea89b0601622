#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "augur/options.h"
#include "sampling/token_constraint.h"
#include "xgrammar/xgrammar.h"

namespace augur {

/// A constraint by a grammar that is compiled. `budget`: of each of its masks.
std::unique_ptr<TokenConstraint> begin_text(const xgrammar::CompiledGrammar& grammar,
                                            const GrammarBudget& budget);
/// The first tokens of its texts, within what this thread may spend.
void fill_first(const xgrammar::CompiledGrammar& grammar, std::span<std::uint32_t> mask);

}  // namespace augur
