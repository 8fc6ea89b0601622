#include "server/limits.h"

#include <array>
#include <vector>

namespace augur {
namespace {

constexpr std::int64_t kMany = std::int64_t{1} << 20;
constexpr std::int64_t kKib = std::int64_t{1} << 10;
constexpr std::int64_t kMib = std::int64_t{1} << 20;
constexpr std::int64_t kMostDrafts = 4096;
constexpr std::int64_t kLongestName = 200;  // what file systems take, and room for a temporary file's

constexpr std::array kOwn = {
    Limit{"--max-connections", "", 1, 1, kMany, "clients that are connected at once", &Limits::connections},
    Limit{"--max-connections-per-address", "", 1, 1, kMany,
          "connections from one address (of IPv6: a /64) that is no trusted proxy",
          &Limits::address_connections},
    Limit{"--timeout", "s", 1000, 1, 86'400,
          "time for a client to send a request, to take what is written, and between requests",
          &Limits::client_ms},
    Limit{"--max-header", "KiB", kKib, 1, kMany,
          "a request's header; and what its body has beside its bytes: chunk extensions, trailers",
          &Limits::header_bytes},
    Limit{"--max-header-fields", "", 1, 1, kMany, "fields of a header", &Limits::header_fields},
    Limit{"--max-body", "MiB", kMib, 1, kMany, "a request's body", &Limits::body_bytes},
    Limit{"--max-unread", "MiB", kMib, 1, kMany, "what a client leaves unread of its stream",
          &Limits::unread_bytes},
    Limit{"--http-memory", "MiB", kMib, 1, kMany, "bodies and unread answers of all clients together",
          &Limits::http_bytes},
    Limit{"--threads-http", "", 1, 1, 256, "threads that read requests, fill templates and tokenise",
          &Limits::http_threads},
    Limit{"--max-nesting", "", 1, 1, kMaxJsonDepth, "objects and lists in one another, in a body",
          &Limits::json_levels},
    Limit{"--max-prompts", "", 1, 1, kMany, "prompts of a request", &Limits::prompts},
    Limit{"--max-choices", "", 1, 1, kMany, "choices (n) of a prompt", &Limits::choices},
    Limit{"--max-logprobs", "", 1, 0, 1000, "most probable tokens that are listed for each token",
          &Limits::logprobs},
    Limit{"--max-stops", "", 1, 0, kMany, "stop strings of a request", &Limits::stops},
    Limit{"--max-stop-memory", "KiB", kKib, 1, kMany, "bytes of a request's stop strings, times its choices",
          &Limits::stop_bytes},
    Limit{"--max-unknown-fields", "", 1, 0, kMany, "fields of a request that nobody knows",
          &Limits::unknown_fields},
    Limit{"--max-tool-name", "", 1, 1, kMany, "bytes of a tool's name", &Limits::tool_name_bytes},
    Limit{"--max-cache-salt", "", 1, 1, kMany, "bytes of a request's cache_salt", &Limits::salt_bytes},
    Limit{"--max-response-fields", "", 1, 0, kMany, "paths in a request's response_fields",
          &Limits::response_fields},
    Limit{"--spec-most-nodes", "", 1, 1, kMostDrafts, "n_max and size in a request's speculative",
          &Limits::draft_nodes},
    Limit{"--spec-most-depth", "", 1, 1, kMostDrafts, "depth in a request's speculative",
          &Limits::draft_depth},
    Limit{"--spec-most-topk", "", 1, 1, kMostDrafts, "topk in a request's speculative", &Limits::draft_topk},
    Limit{"--grammar-threads", "", 1, 1, SessionOptions::kMostCompilers,
          "threads that compile requests' grammars", &Limits::grammar_threads},
    Limit{"--max-slot-name", "", 1, 1, kLongestName, "bytes of a saved text's filename",
          &Limits::saved_name_bytes},
    Limit{"--slot-save-quota", "MiB", kMib, 1, kMany, "saved texts in the folder of --slot-save-path",
          &Limits::saved_bytes},
};

/// In the order of engine_limit_table().
constexpr std::array kOfEngine = {&Limits::grammar_ms, &Limits::grammar_bytes, &Limits::template_steps,
                                  &Limits::template_bytes};

}  // namespace

std::span<const Limit> limit_table() {
  static const std::vector<Limit> table = [] {
    std::vector<Limit> all(kOwn.begin(), kOwn.end());
    for (std::size_t i = 0; i < kOfEngine.size(); ++i) {
      const LimitOf<EngineLimits>& l = engine_limit_table()[i];
      all.push_back({l.flag, l.unit, l.scale, l.lowest, l.highest, l.bounds, kOfEngine[i]});
    }
    return all;
  }();
  return table;
}

EngineLimits engine_limits(const Limits& limits) {
  EngineLimits to;
  for (std::size_t i = 0; i < kOfEngine.size(); ++i) {
    to.*engine_limit_table()[i].member = limits.*kOfEngine[i];
  }
  return to;
}

}  // namespace augur
