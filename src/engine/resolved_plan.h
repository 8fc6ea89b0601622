#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "augur/plan.h"
#include "vocab/vocabulary_spec.h"

namespace augur {

/// What the engine has loaded that a plan may refer to.
struct LoadedDrafts {
  std::string head = {};  ///< drafter type that the draft model is used for; empty: there is no draft model
  std::vector<std::string> named = {};     ///< "@NAME": further draft models, drafters of the host program
  std::vector<std::string> policies = {};  ///< "@NAME": policies of the host program
  const VocabularySpec* vocabulary = nullptr;  ///< the drafters' vocabulary, its files located; null: each
                                               ///< plan names its own
  std::filesystem::path parts = {};            ///< folder in which a vocabulary's files are looked for
};

/// The plan as the engine carries it out: checked, names canonical, "auto" replaced by the draft model's
/// type, and defaults filled in for drafters, policy and vocabulary. Caches are keyed by the resolved plan.
/// Throws Error for a drafter that needs another draft model, and for a vocabulary other than the loaded one.
SpeculationPlan resolve(SpeculationPlan plan, const LoadedDrafts& loaded);

}  // namespace augur
