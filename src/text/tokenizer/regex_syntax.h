#pragma once
#include <string>
#include <string_view>

namespace augur {

/// An expression of Oniguruma, whose syntax tokenizer.json has, in the syntax of PCRE2 (UTF and UCP set, ^
/// and $ at every line). Differences that this knows: sets in sets and their intersections (&&), \s, \w, \b
/// and \h and their complements, scripts (PCRE2 counts characters that several share), {n,m}+, {,m}, \uHHHH,
/// (?m). The rest is copied; what neither understands is PCRE2's to refuse. std::invalid_argument, saying
/// why, for what has no equal: a repeated interval that begins above 1, sets that are nested more than 32
/// deep.
std::string pcre2_pattern(std::string_view pattern);

}  // namespace augur
