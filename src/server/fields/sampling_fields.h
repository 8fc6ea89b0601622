#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "augur/options.h"

namespace augur {

/// Reads a field that says how tokens are drawn or where they end (temperature, top_p, top_k, min_p,
/// penalties, logit_bias, seed, stop, ignore_eos): OpenAI's names, and vLLM's for what OpenAI has not. False:
/// it is none of these. BadRequest for a value that cannot be.
bool read_sampling_field(const std::string& key, const nlohmann::json& value, Request& request);

/// A seed for requests without one, below 2^53 so that JSON carries it.
std::uint64_t any_seed();

}  // namespace augur
