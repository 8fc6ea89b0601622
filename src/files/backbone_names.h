#pragma once
#include <nlohmann/json_fwd.hpp>

#include "files/weight_store.h"

namespace augur {

/// Gives the tensors of a folder of Nemotron-H, which calls what lies between embedding and head "backbone",
/// the names that others have. Nothing happens to other models'. Error where both names are there.
void rename_backbone(const nlohmann::json& config, WeightStore& store);

}  // namespace augur
