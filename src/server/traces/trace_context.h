#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace augur {

/// Where in whose trace a request belongs (W3C Trace Context, header `traceparent`).
struct TraceContext {
  std::string trace;     ///< 32 hexadecimal digits in small letters, not all 0
  std::string span;      ///< 16 of them: the caller's
  bool sampled = false;  ///< the caller records it
};

/// Nothing for a header that is none.
std::optional<TraceContext> parse_traceparent(std::string_view header);

std::string random_trace_id();
std::string random_span_id();

/// Whether a trace of that name is among a share of all, from 0 to 1: the same ones in every program that
/// decides so.
bool is_in_share(std::string_view trace_id, double share);

}  // namespace augur
