#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "augur/options.h"

namespace augur {

/// One limit: a member of the struct T, the flag that sets it, and what it bounds.
template <class T>
struct LimitOf {
  std::string_view flag;    ///< "--max-body"
  std::string_view unit;    ///< of the flag's value: "KiB", "MiB", "s" (fractions allowed); empty: a count
  std::int64_t scale;       ///< member = flag's value * scale
  double lowest;            ///< of the flag's value
  double highest;           ///< of the flag's value
  std::string_view bounds;  ///< description of what is bounded
  std::int64_t T::*member;
};

/// Limits on preparing one text, before any token is decoded: EngineOptions::grammar_budget and
/// template_limits as integers, with the same defaults.
struct EngineLimits {
  EngineLimits() : EngineLimits(EngineOptions{}) {}
  explicit EngineLimits(const EngineOptions& options);
  void apply_to(EngineOptions& options) const;

  std::int64_t grammar_ms;
  std::int64_t grammar_bytes;
  std::int64_t template_steps;
  std::int64_t template_bytes;
};

/// All members of EngineLimits, in their order.
std::span<const LimitOf<EngineLimits>> engine_limit_table();

}  // namespace augur
