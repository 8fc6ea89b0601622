#pragma once
#include "draft/registry.h"
#include "support/stories.h"

namespace augur::testing_support {

/// What a drafter for the stories model is loaded from. `head` and `vocabulary` may be null; all outlive what
/// is loaded.
inline DrafterSource stories_source(Stories& stories, const Checkpoint* head = nullptr,
                                    const VocabularyChoice* vocabulary = nullptr) {
  return {.backend = stories.backend,
          .target = *stories.model,
          .tokenizer = *stories.tokenizer,
          .target_path = "stories260k",
          .head = head,
          .context = stories.model->context(),
          .vocabulary = vocabulary};
}

}  // namespace augur::testing_support
