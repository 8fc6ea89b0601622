#pragma once
#include <string>

#include "augur/options.h"
#include "checkpoint/checkpoint.h"

namespace augur {

/// Opens the model at the path `model`, or, where `content` is given, that; then `model` is its name, which
/// may be empty.
Checkpoint open_model(const ModelContent& content, const std::string& model);

}  // namespace augur
