#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "augur/options.h"
#include "server/limits.h"

namespace augur {

/// Reads a field that says how tokens are drawn or where they end (temperature, top_p, top_k, min_p,
/// penalties, logit_bias, seed, stop, ignore_eos): OpenAI's names, and vLLM's for what OpenAI has not. False:
/// it is none of these. BadRequest for a value that cannot be.
bool read_sampling_field(const std::string& key, const nlohmann::json& value, const Limits& limits,
                         Request& request);

/// Stop strings: one, or a list. BadRequest naming `field` for more than the limits allow.
void read_stops(const std::string& field, const nlohmann::json& value, const Limits& limits,
                std::vector<std::string>& to);

/// BadRequest naming `field` where a request's stop strings, held once for each of its answers, take more
/// than the limits allow.
void check_stop_bytes(const std::string& field, const std::vector<std::string>& stops, std::size_t answers,
                      const Limits& limits);

/// A seed for requests without one, below 2^53 so that JSON carries it.
std::uint64_t any_seed();

}  // namespace augur
