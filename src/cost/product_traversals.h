#pragma once
#include <filesystem>

#include "base/log.h"
#include "model/model.h"

namespace augur {

/// Gives the model's backend the traversals that make its products fast here: those that an earlier process
/// has measured on this machine and written into `folder` (empty: nothing is kept), and for types that are
/// new, or were measured beside a busy program, measured ones. Those of a damaged file are measured anew,
/// after a warning. forced_traversal() is taken for all types instead.
void prepare_products(const Model& model, const std::filesystem::path& folder, const Log& log);

}  // namespace augur
