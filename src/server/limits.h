#pragma once
#include <cstdint>
#include <span>

#include "augur/session.h"
#include "engine/engine_limits.h"
#include "files/json_reader.h"

namespace augur {

/// All limits of the server for one request, one client, or all clients. limit_table() says for each what it
/// limits and which flag of `augur serve` sets it. (The limits of a batch and its caches are in
/// SessionOptions.)
struct Limits {
  // Connections.
  std::int64_t connections = 1024;
  std::int64_t address_connections = 256;
  std::int64_t client_ms = 60'000;
  std::int64_t header_bytes = std::int64_t{64} << 10;
  std::int64_t header_fields = 128;
  std::int64_t body_bytes = std::int64_t{8} << 20;
  std::int64_t unread_bytes = std::int64_t{4} << 20;
  std::int64_t http_bytes = std::int64_t{512} << 20;
  std::int64_t http_threads = 2;
  // Requests.
  std::int64_t json_levels = kMaxJsonDepth;
  std::int64_t prompts = 256;
  std::int64_t choices = 16;
  std::int64_t logprobs = 20;
  std::int64_t stops = 16;
  std::int64_t stop_bytes = std::int64_t{64} << 10;
  std::int64_t unknown_fields = 256;
  std::int64_t tool_name_bytes = 128;
  std::int64_t salt_bytes = 512;
  std::int64_t response_fields = 64;
  // Drafts and grammars.
  std::int64_t draft_nodes = 64;
  std::int64_t draft_depth = 16;
  std::int64_t draft_topk = 16;
  std::int64_t grammar_threads = SessionOptions{}.compilers;
  // Files.
  std::int64_t saved_name_bytes = 200;
  std::int64_t saved_bytes = std::int64_t{16} << 30;
  // The engine's.
  std::int64_t grammar_ms = EngineLimits{}.grammar_ms;
  std::int64_t grammar_bytes = EngineLimits{}.grammar_bytes;
  std::int64_t template_steps = EngineLimits{}.template_steps;
  std::int64_t template_bytes = EngineLimits{}.template_bytes;
};

using Limit = LimitOf<Limits>;

/// All of Limits, in its order.
std::span<const Limit> limit_table();

/// Those that the engine enforces.
EngineLimits engine_limits(const Limits& limits);

}  // namespace augur
