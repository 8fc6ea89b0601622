#include "server/answers/timings_json.h"

#include <nlohmann/json.hpp>

namespace augur {
namespace {

double over(double a, double b) {
  return b > 0 ? a / b : 0;
}

}  // namespace

Timings timings_of(std::span<const Result> results) {
  Timings to;
  for (const Result& result : results) {
    to.cached += result.cached_tokens;
    to.read += result.prompt_tokens - result.cached_tokens;
    to.read_ms += result.prompt_ms;
    to.written += static_cast<std::int64_t>(result.tokens.size());
    to.write_ms += result.decode_ms;
    to.drafted += result.speculation.drafted_tokens;
    to.accepted += result.speculation.accepted_tokens;
  }
  return to;
}

nlohmann::ordered_json timings_json(const Timings& t) {
  const auto read = static_cast<double>(t.read);
  const auto written = static_cast<double>(t.written);
  return {{"cache_n", t.cached},
          {"prompt_n", t.read},
          {"prompt_ms", t.read_ms},
          {"prompt_per_token_ms", over(t.read_ms, read)},
          {"prompt_per_second", over(1e3 * read, t.read_ms)},
          {"predicted_n", t.written},
          {"predicted_ms", t.write_ms},
          {"predicted_per_token_ms", over(t.write_ms, written)},
          {"predicted_per_second", over(1e3 * written, t.write_ms)},
          {"draft_n", t.drafted},
          {"draft_n_accepted", t.accepted}};
}

}  // namespace augur
