#include "server/limits.h"

#include <array>

namespace augur {
namespace {

constexpr std::int64_t kMany = std::int64_t{1} << 20;
constexpr std::int64_t kKib = std::int64_t{1} << 10;
constexpr std::int64_t kMib = std::int64_t{1} << 20;

constexpr std::array kTable = {
    Limit{"--max-connections", "", 1, 1, kMany, "clients that are connected at once", &Limits::connections},
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
    Limit{"--max-prompts", "", 1, 1, kMany, "prompts of a request", &Limits::prompts},
    Limit{"--max-choices", "", 1, 1, kMany, "choices (n) of a prompt", &Limits::choices},
    Limit{"--max-logprobs", "", 1, 0, 1000, "most probable tokens that are listed for each token",
          &Limits::logprobs},
    Limit{"--max-stops", "", 1, 0, kMany, "stop strings of a request", &Limits::stops},
    Limit{"--max-stop-memory", "KiB", kKib, 1, kMany, "bytes of a request's stop strings, times its choices",
          &Limits::stop_bytes},
    Limit{"--max-unknown-fields", "", 1, 0, kMany, "fields of a request that nobody knows",
          &Limits::unknown_fields},
    Limit{"--slot-save-quota", "MiB", kMib, 1, kMany, "saved texts in the folder of --slot-save-path",
          &Limits::saved_bytes},
};

}  // namespace

std::span<const Limit> limit_table() {
  return kTable;
}

}  // namespace augur
