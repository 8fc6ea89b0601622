#pragma once
#include <cstdint>
#include <vector>

#include "lab/trace/trace.h"

namespace augur {

/// Token mixing (acceptance-guided drafting, section 2.3): the beginning of a recorded text in which some of
/// the generated tokens are the drafter's instead, as a greedy chain from the round before has them. Decoding
/// goes on from there: drafters meet contexts that they had a hand in. `share` of the tokens that rounds
/// drafted for are replaced; how many tokens are kept and which are replaced depends on the seed only. Empty
/// where the text is too short to be cut.
std::vector<TokenId> mixed_beginning(const TraceSequence& sequence, double share, std::uint64_t seed);

}  // namespace augur
