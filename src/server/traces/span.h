#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace augur {

using SpanAttribute = std::pair<std::string_view, std::variant<std::int64_t, double, std::string>>;
using SpanAttributes = std::vector<SpanAttribute>;  ///< names are literals

struct SpanEvent {
  std::string_view name;  ///< a literal
  std::int64_t at = 0;    ///< as Span::begin
  SpanAttributes attributes;
};

/// What took how long, as OpenTelemetry has it.
struct Span {
  enum class Kind { Internal = 1, Server = 2 };

  std::string trace;   ///< 32 hexadecimal digits
  std::string id;      ///< 16
  std::string parent;  ///< 16; empty: there is none
  std::string state;   ///< `tracestate` of the caller's
  std::string name;
  Kind kind = Kind::Internal;
  std::int64_t begin = 0;  ///< nanoseconds since 1970
  std::int64_t end = 0;
  SpanAttributes attributes;
  std::vector<SpanEvent> events;
  std::int64_t dropped_events = 0;
  bool failed = false;
  std::string error;  ///< why it failed
};

}  // namespace augur
