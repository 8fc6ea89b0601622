#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "model/fingerprint.h"
#include "vocab/shortlist.h"

namespace augur {

/// What an automatic vocabulary is chosen by.
struct AutomaticVocabulary {
  std::filesystem::path folder;  ///< where its parts lie: frspec, dynaspec
  Fingerprint target;
  std::vector<TokenId> always;    ///< that a list of frequent tokens must have
  std::int64_t target_bytes = 0;  ///< that a forward of the target reads
};

/// The shortlist with which a round of a usual draft yields most tokens for the bytes that it reads; null
/// where that is the whole head, or the head has a vocabulary of its own. The candidates are a frequent
/// quarter and DynaSpec's clusters with their own budget, each where its folder says what it keeps; clusters
/// that were made for another target or another drafter are none. Error naming the file for one that is
/// damaged.
std::unique_ptr<Shortlist> make_automatic_shortlist(const HeadWeights& weights,
                                                    const AutomaticVocabulary& automatic);

}  // namespace augur
