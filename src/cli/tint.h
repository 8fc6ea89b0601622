#pragma once
#include <string>

#include "augur/engine.h"

namespace augur::cli {

/// The event's text in a colour that says who proposed the token and how deep in the tree: the model's own
/// draws stay as they are, n-gram proposals are green, a draft model's blue; deeper is stronger.
std::string tinted(const TokenEvent& event);

}  // namespace augur::cli
