#pragma once
#include <memory>

#include "draft/heads/recurrent_head.h"
#include "draft/registry.h"

namespace augur {

/// P-EAGLE, a drafter that drafts all its levels in one pass of `head`, which has placeholders. `vocabulary`
/// may be null.
std::unique_ptr<DrafterModel> make_peagle_model(std::unique_ptr<RecurrentHead> head,
                                                const VocabularyChoice* vocabulary);

}  // namespace augur
