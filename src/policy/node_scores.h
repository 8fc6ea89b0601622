#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "model/fingerprint.h"
#include "policy/auto/node_score.h"

namespace augur {

// The parts of other policies, as scores for `auto`. Each reads the folder of its part; Error when that is
// not what it should be. `target` null: not compared. `warning` gets what there is to say about how well it
// fits.

/// C2T's classifier. It says how likely a node's whole path is accepted: over its parent's, that is a(v).
std::unique_ptr<NodeScore> load_c2t_score(const std::filesystem::path& folder, const Fingerprint* target,
                                          std::string* warning);

/// The acceptance head, which knows of a node when the drafter has run its token: of those that are drafted
/// on from.
std::unique_ptr<NodeScore> load_acceptance_score(const std::filesystem::path& folder,
                                                 const Fingerprint* target);

/// HeteroSpec's bins. The entropies along the path to a node, stretched to the depth that the bins were made
/// for, name a bin; the drafter's probability is calibrated in each bin apart.
std::unique_ptr<NodeScore> load_hetero_score(const std::filesystem::path& folder, const Fingerprint* target,
                                             std::string* warning);

}  // namespace augur
