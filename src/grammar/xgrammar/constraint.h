#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sampling/token_constraint.h"
#include "xgrammar/xgrammar.h"

namespace augur {

/// What every token stands for.
using TokenBytes = std::shared_ptr<const std::vector<std::string>>;

/// A constraint by a grammar that is compiled.
std::unique_ptr<TokenConstraint> begin_text(const xgrammar::CompiledGrammar& grammar, TokenBytes bytes);

}  // namespace augur
