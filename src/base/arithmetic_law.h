#pragma once
#include <string_view>

#include "augur/enums.h"

namespace augur {

// The laws of docs/law.md by number. Whoever changes bits of a law gives it a number that no law has had:
// what was computed or measured under another is not used.
inline constexpr int kArithmeticLaw = 4;  ///< the chain
inline constexpr int kBlocksLaw =
    5;  ///< sums of bf16 products in the tile unit's blocks; all else as the chain

constexpr int law_number(ArithmeticLaw law) {
  return law == ArithmeticLaw::Blocks ? kBlocksLaw : kArithmeticLaw;
}
/// The word for a number, as --law has it; "" for a number of no law of this version.
constexpr std::string_view law_name(int number) {
  return number == kArithmeticLaw ? to_string(ArithmeticLaw::Chain)
         : number == kBlocksLaw   ? to_string(ArithmeticLaw::Blocks)
                                  : std::string_view();
}

}  // namespace augur
