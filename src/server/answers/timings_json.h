#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "augur/engine.h"

namespace augur {

/// What a text took, so far or in all, in llama.cpp's units.
struct Timings {
  std::int64_t cached = 0;  ///< tokens of the prompt that were taken over
  std::int64_t read = 0;    ///< the others, as far as they are read
  double read_ms = 0;
  std::int64_t written = 0;
  double write_ms = 0;
  std::int64_t drafted = 0;
  std::int64_t accepted = 0;  ///< of the drafted ones
};

/// Of ended results together.
Timings timings_of(std::span<const Result> results);

/// llama.cpp's `timings`.
nlohmann::ordered_json timings_json(const Timings& timings);

}  // namespace augur
