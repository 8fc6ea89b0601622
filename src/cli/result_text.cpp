#include "cli/result_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace augur::cli {

using nlohmann::ordered_json;

ordered_json to_json(const Result& result) {
  const SpeculationStatistics& s = result.speculation;
  return {{"text", result.text},
          {"tokens", result.tokens},
          {"prompt_tokens", result.prompt_tokens},
          {"prompt_ms", result.prompt_ms},
          {"decode_ms", result.decode_ms},
          {"tokens_per_second", result.tokens_per_second},
          {"finish_reason", to_string(result.finish_reason)},
          {"speculation",
           {{"type", s.type},
            {"calls", s.calls},
            {"verified_tokens", s.verified_tokens},
            {"drafted_tokens", s.drafted_tokens},
            {"accepted_tokens", s.accepted_tokens},
            {"mean_accepted_length", s.mean_accepted_length},
            {"accepted_per_position", s.accepted_per_position},
            {"draft_ms", s.draft_ms},
            {"verify_ms", s.verify_ms},
            {"other_ms", s.other_ms}}}};
}

std::string to_line(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string to_statistics(const Result& result) {
  const SpeculationStatistics& s = result.speculation;
  std::string text = fmt::format(
      "prompt    {} tokens in {:.1f} ms\n"
      "decode    {} tokens in {:.1f} ms, {:.1f} tokens/s, ended by {}\n",
      result.prompt_tokens, result.prompt_ms, result.tokens.size(), result.decode_ms,
      result.tokens_per_second, to_string(result.finish_reason));
  if (s.type != "none") {
    text += fmt::format(
        "{:<9} {:.2f} tokens a call ({} calls); {} of {} drafted tokens accepted, {} rows verified\n"
        "time      draft {:.1f} ms, verify {:.1f} ms, other {:.1f} ms\n",
        s.type, s.mean_accepted_length, s.calls, s.accepted_tokens, s.drafted_tokens, s.verified_tokens,
        s.draft_ms, s.verify_ms, s.other_ms);
  }
  return text;
}

}  // namespace augur::cli
