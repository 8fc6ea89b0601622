#include "server/traces/trace_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <random>

namespace augur {
namespace {

constexpr std::size_t kTraceDigits = 32;
constexpr std::size_t kSpanDigits = 16;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view header) {
  // version-trace-span-flags; later versions may have more behind another '-'.
  constexpr std::size_t kLength = 2 + 1 + kTraceDigits + 1 + kSpanDigits + 1 + 2;
  if (header.size() < kLength) return std::nullopt;
  const std::string_view version = header.substr(0, 2);
  const std::string_view trace = header.substr(3, kTraceDigits);
  const std::string_view span = header.substr(4 + kTraceDigits, kSpanDigits);
  const std::string_view flags = header.substr(kLength - 2, 2);
  const bool dashes = header[2] == '-' && header[3 + kTraceDigits] == '-' && header[kLength - 3] == '-';
  const bool ends = header.size() == kLength || (version != "00" && header[kLength] == '-');
  if (!dashes || !ends || !is_hex(version) || version == "ff" || !is_id(trace) || !is_id(span) ||
      !is_hex(flags)) {
    return std::nullopt;
  }
  unsigned bits = 0;
  std::from_chars(flags.data(), flags.data() + flags.size(), bits, 16);
  return TraceContext{.trace = std::string(trace), .span = std::string(span), .sampled = (bits & 1) != 0};
}

std::string random_trace_id() {
  return random_span_id() + random_span_id();
}

std::string random_span_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random() | 1);  // not all 0
}

bool is_in_share(std::string_view trace_id, double share) {
  constexpr std::size_t kDigits = 13;  // 52 bits, which a double holds
  std::uint64_t value = 0;
  const std::string_view last = trace_id.substr(trace_id.size() - kDigits);
  std::from_chars(last.data(), last.data() + last.size(), value, 16);
  return static_cast<double>(value) < share * static_cast<double>(std::uint64_t{1} << (4 * kDigits));
}

}  // namespace augur
