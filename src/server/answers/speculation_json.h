#pragma once
#include <nlohmann/json_fwd.hpp>

#include "augur/engine.h"

namespace augur {

// What streams with "return_speculation" carry.

/// {"id", "drafter", "depth"}; a drafter of null: the model's own draw.
nlohmann::ordered_json token_json(const TokenEvent& event);

/// A round's figures and its tree: {"drafted", "verified", "accepted", "batch_rows", "draft_ms", "verify_ms",
/// "other_ms", "next", "nodes": [{"id", "text", "parent", "drafter", "probability", "accepted"}, ...]}.
nlohmann::ordered_json round_json(const Engine& engine, const DraftRound& round);

}  // namespace augur
