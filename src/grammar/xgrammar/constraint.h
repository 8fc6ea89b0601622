#pragma once
#include <memory>

#include "sampling/token_constraint.h"
#include "xgrammar/xgrammar.h"

namespace augur {

/// A constraint by a grammar that is compiled.
std::unique_ptr<TokenConstraint> begin_text(const xgrammar::CompiledGrammar& grammar);

}  // namespace augur
