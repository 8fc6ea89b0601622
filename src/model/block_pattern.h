#pragma once
#include <vector>

#include "files/json_fields.h"

namespace augur {

/// The one block that a layer of Nemotron-H is.
enum class PatternBlock { Recurrence, Attention, Dense, Experts };

/// [layers] as `layers_block_type` lists them or, in older files, `hybrid_override_pattern` spells them.
/// Error naming the key for what is neither, another number of them than `num_hidden_layers` where that is
/// given, or none with attention.
std::vector<PatternBlock> read_block_pattern(const JsonFields& fields);

}  // namespace augur
