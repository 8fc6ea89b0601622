#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "augur/plan.h"
#include "vocab/vocabulary_spec.h"

namespace augur {

/// What an engine has loaded that a plan may name.
struct LoadedDrafts {
  std::string head = {};                       ///< type that the draft model is used as; empty: there is none
  std::vector<std::string> named = {};         ///< further draft models, "@NAME" each
  const VocabularySpec* vocabulary = nullptr;  ///< drafters', located; null: plans still say which
  std::filesystem::path parts = {};            ///< where a vocabulary's files are looked for
};

/// The plan as an engine carries it out: checked, with canonical names, "auto" replaced by the draft model's
/// type, drafters, policy and vocabulary named where they were not. What is kept by plans goes by this. Error
/// for a drafter that needs another draft model, and for another vocabulary.
SpeculationPlan resolve(SpeculationPlan plan, const LoadedDrafts& loaded);

}  // namespace augur
