#pragma once
#include <cstdint>
#include <memory>

#include "vocab/shortlist.h"

namespace augur {

/// A list of fixed size that follows the text: it begins as the corpus's most frequent tokens, and every
/// token of the text (the prompt's, then the accepted ones) that is not on it takes the place of one that the
/// text uses less, the corpus's rarest first. What a document is about is thus on the list
/// before it is drafted, however rare it is elsewhere. All sequences of a drafter share the list.
std::unique_ptr<Shortlist> make_hot_shortlist(const HeadWeights& weights, const TokenOrder& order,
                                              std::int64_t size);

}  // namespace augur
