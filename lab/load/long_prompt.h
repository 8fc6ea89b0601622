#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "lab/load/load_test.h"

namespace augur {

// What a long prompt does to those who are reading along, and what its conversation's next turn takes.

/// English of about `tokens` tokens, as the server counts them: it is asked once. Error where it does not
/// say.
std::string long_text(const ServerAddress& server, const std::string& api_key, std::int64_t tokens);

/// Times in ms; gaps between the events with text of all streams.
struct LongPromptPass {
  std::vector<double> alone_ms;    ///< the streams by themselves
  std::vector<double> with_ms;     ///< with a prompt that arrives when every stream has begun
  std::vector<double> reading_ms;  ///< of these, those that any of its reading falls into
  double read_ms = 0;              ///< from the prompt to its first token
  std::int64_t prompt_tokens = 0;
  bool outlasted = true;  ///< every stream went on until the prompt was read
};

/// Runs the streams twice, all at once: by themselves, and with a prompt of `text`. The prompt begins with
/// words that no server has kept. `fields` are laid over its request. Error for the first request that fails.
LongPromptPass run_long_prompt(const ServerAddress& server, const std::string& api_key,
                               std::span<const LoadRequest> streams, const std::string& text,
                               const nlohmann::json& fields);

/// ms to the first token of a conversation that begins with a long text, and to that of its second turn.
struct TurnTimes {
  double first_ms = 0;
  double second_ms = 0;
};
TurnTimes run_two_turns(const ServerAddress& server, const std::string& api_key, const std::string& text,
                        const nlohmann::json& fields);

}  // namespace augur
