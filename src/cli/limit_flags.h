#pragma once
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/validators.h"
#include "engine/engine_limits.h"

namespace augur::cli {

/// The flag of one limit. `value`: its default, which the help tells. `set` gets what the flag says, counted
/// as the member is.
template <class T>
void add_limit_flag(CLI::App& command, const LimitOf<T>& limit, std::int64_t value,
                    std::function<void(std::int64_t)> set) {
  const auto scale = static_cast<double>(limit.scale);
  const bool fractions = limit.unit == "s";
  command
      .add_option_function<double>(
          std::string(limit.flag),
          [scale, set = std::move(set)](double given) { set(std::llround(given * scale)); },
          fmt::format("Limit of {}", limit.bounds))
      ->check(fractions ? in_range(limit.lowest, limit.highest)
                        : in_range(static_cast<std::int64_t>(limit.lowest),
                                   static_cast<std::int64_t>(limit.highest)))
      ->default_str(fmt::format("{}", static_cast<double>(value) / scale))
      ->type_name(limit.unit.empty() ? "N" : std::string(limit.unit));
}

}  // namespace augur::cli
