#pragma once
#include <string>
#include <string_view>

namespace augur {

/// A grammar in llama.cpp's notation (GBNF) in xgrammar's, which differs in two things: \x takes as many hex
/// digits as there are, not two, and there is no "." for any character.
std::string ebnf_of_gbnf(std::string_view gbnf);

}  // namespace augur
