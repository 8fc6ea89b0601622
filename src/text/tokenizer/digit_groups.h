#pragma once
#include <memory>
#include <string_view>

#include "text/tokenizer/pretokenizer.h"

namespace augur {

/// Published expressions that count digits in threes from the right look from each group to the end of the
/// number, which is quadratic in its length. The step that cuts as `pattern` does where it is one of these,
/// in linear time; null for any other.
std::unique_ptr<PreTokenizer> digit_groups(std::string_view pattern);

/// Of any numbers, as AFMoE groups them.
inline constexpr std::string_view kNumbersFromTheRight = R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))";
/// Of decimal digits that no word goes on behind, as Cohere's tokenizers do.
inline constexpr std::string_view kDigitsFromTheRight = R"(\d{1,3}(?=(?:\d{3})*\b))";
/// Cuts before groups of three; digits before the first stay with what is in front of them (SuperBPE).
inline constexpr std::string_view kBeforeThreeDigits = R"((?=(\d{3})+(?!\d)))";

}  // namespace augur
