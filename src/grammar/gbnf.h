#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace augur {

/// The one token that a text is, special ones too; nothing where it is several, or none.
using TokenOfText = std::function<std::optional<TokenId>(std::string_view text)>;

/// A grammar in llama.cpp's notation (GBNF), in xgrammar's. All of that notation: empty alternatives, "." for
/// any character, \x with two digits, names that begin with digits, rules that end with their line unless in
/// parentheses or behind a |, several repetitions of one item, tokens (<[7]>, <think>, !<think>); of a rule
/// that is written twice the last one counts. Error naming line and column.
std::string ebnf_of_gbnf(std::string_view gbnf, const TokenOfText& token);

}  // namespace augur
