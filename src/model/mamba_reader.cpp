#include "model/mamba_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/config_bounds.h"

namespace augur {

namespace {

/// A limit of the step: a number, or null or one of Python's words for none, where transformers has infinity.
float read_limit(const JsonFields& fields, const nlohmann::json& value, float none) {
  constexpr const char* kKey = "time_step_limit";
  if (value.is_null() || value == "inf" || value == "Infinity") return none;
  if (value.is_object() && value.contains("__float__")) return read_limit(fields, value["__float__"], none);
  if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= kMaxScale)) {
    fields.fail(kKey, fmt::format("expected numbers from 0 to {}, found {}", kMaxScale, value.dump()));
  }
  return value.get<float>();
}

void read_limits(const JsonFields& fields, const MambaKeys& keys, RecurrentSpec& spec) {
  if (keys.step_min != nullptr)
    spec.step_min =
        static_cast<float>(fields.find_number(keys.step_min, 0, kMaxScale).value_or(keys.default_step_min));
  constexpr const char* kKey = "time_step_limit";
  const nlohmann::json* const limits = fields.find(kKey);
  if (limits == nullptr) return;
  if (!limits->is_array() || limits->size() != 2) fields.fail(kKey, "expected the least and the largest");
  spec.step_min = std::max(spec.step_min, read_limit(fields, (*limits)[0], 0));
  spec.step_max = read_limit(fields, (*limits)[1], spec.step_max);
  if (spec.step_min > spec.step_max)
    fields.fail(kKey, fmt::format("{} is more than {}", spec.step_min, spec.step_max));
}

}  // namespace

RecurrentSpec read_mamba(const JsonFields& fields, const MambaKeys& keys, std::int64_t hidden) {
  const auto size = [&](const char* key, std::int64_t max, int fallback, std::int64_t min = 1) {
    return static_cast<int>(fields.find_int(key, max, min).value_or(fallback));
  };
  RecurrentSpec spec{.rule = RecurrentRule::Mamba2};
  spec.key_heads = size(keys.groups, kMaxHeads, keys.default_groups);
  spec.value_heads = size(keys.heads, kMaxHeads, keys.default_heads);
  spec.key_dim = size(keys.state, kMaxHeadDim, keys.default_state);
  spec.taps = size(keys.taps, kMaxTaps, 4, 2);
  spec.conv_bias = fields.flag(keys.conv_bias, true);
  if (spec.value_heads % spec.key_heads != 0) {
    fields.fail(keys.heads,
                fmt::format("{} is no multiple of {} {}", spec.value_heads, keys.groups, spec.key_heads));
  }
  const nlohmann::json* const head_dim = fields.find(keys.head_dim);
  const bool derived = head_dim == nullptr ? keys.default_head_dim == 0 : *head_dim == "auto";
  const auto width = fields.find_int(keys.expand, kMaxHidden).value_or(2) * hidden;
  if (derived) {
    if (width % spec.value_heads != 0 || width / spec.value_heads > kMaxHeadDim) {
      fields.fail(keys.heads, fmt::format("{} heads cannot share {} times hidden_size evenly, {}",
                                          spec.value_heads, keys.expand, width));
    }
    spec.value_dim = static_cast<int>(width / spec.value_heads);
  } else {
    spec.value_dim = size(keys.head_dim, kMaxHeadDim, keys.default_head_dim);
  }
  if (keys.expands && fields.has(keys.expand) && spec.values() != width) {
    fields.fail(keys.expand, fmt::format("{} heads of {} are {}, expected hidden_size times it, {}",
                                         spec.value_heads, spec.value_dim, spec.values(), width));
  }
  if (std::max(spec.keys(), spec.values()) > kMaxHidden) {
    fields.fail(keys.heads,
                fmt::format("{} heads of {}, {} groups of {}: expected at most {} numbers", spec.value_heads,
                            spec.value_dim, spec.key_heads, spec.key_dim, kMaxHidden));
  }
  for (const char* const bias : {"mamba_proj_bias", keys.bias}) {
    if (bias != nullptr && fields.flag(bias))
      fields.fail(bias, "is not supported: Mamba2's products have no bias", ErrorKind::Unsupported);
  }
  read_limits(fields, keys, spec);
  return spec;
}

}  // namespace augur
