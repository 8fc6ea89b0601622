#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace augur {

/// What one request, one client, or all of them may take: every limit of the server, once. limit_table() says
/// for each what it bounds and which flag of `augur serve` sets it. (What a batch and its caches may take is
/// in SessionOptions.)
struct Limits {
  // Connections.
  std::int64_t connections = 1024;
  std::int64_t client_ms = 60'000;
  std::int64_t header_bytes = std::int64_t{64} << 10;
  std::int64_t header_fields = 128;
  std::int64_t body_bytes = std::int64_t{8} << 20;
  std::int64_t unread_bytes = std::int64_t{4} << 20;
  std::int64_t http_bytes = std::int64_t{512} << 20;
  std::int64_t http_threads = 2;
  // Requests.
  std::int64_t prompts = 256;
  std::int64_t choices = 16;
  std::int64_t logprobs = 20;
  std::int64_t stops = 16;
  std::int64_t stop_bytes = std::int64_t{64} << 10;
  std::int64_t unknown_fields = 256;
  // Files.
  std::int64_t saved_bytes = std::int64_t{16} << 30;
};

/// One member of Limits.
struct Limit {
  std::string_view flag;    ///< of `augur serve`
  std::string_view unit;    ///< in which the flag counts: "KiB", "MiB", "s"; empty: things
  std::int64_t scale;       ///< the member's value is the flag's times this
  std::int64_t lowest;      ///< of the flag
  std::int64_t highest;     ///< of the flag
  std::string_view bounds;  ///< what
  std::int64_t Limits::*member;
};

/// In the order of Limits, all of them.
std::span<const Limit> limit_table();

}  // namespace augur
