#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "augur/options.h"

namespace augur {

/// A member of T, a table of limits: the flag that sets it, and what it bounds.
template <class T>
struct LimitOf {
  std::string_view flag;    ///< "--max-body"
  std::string_view unit;    ///< in which the flag counts: "KiB", "MiB", "s" (with fractions); empty: things
  std::int64_t scale;       ///< the member's value is the flag's times this
  double lowest;            ///< of the flag
  double highest;           ///< of the flag
  std::string_view bounds;  ///< what
  std::int64_t T::*member;
};

/// What one text may cost before a token of it is decoded, in whole numbers: EngineOptions' grammar_budget
/// and template_limits, whose defaults it has.
struct EngineLimits {
  EngineLimits() : EngineLimits(EngineOptions{}) {}
  explicit EngineLimits(const EngineOptions& options);
  void apply_to(EngineOptions& options) const;

  std::int64_t grammar_ms;
  std::int64_t grammar_bytes;
  std::int64_t template_steps;
  std::int64_t template_bytes;
};

/// All of EngineLimits, in its order.
std::span<const LimitOf<EngineLimits>> engine_limit_table();

}  // namespace augur
