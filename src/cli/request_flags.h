#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "augur/options.h"

namespace CLI {
class App;
}

namespace augur::cli {

/// What every request of a command has in common.
struct RequestFlags {
  std::int64_t max_tokens = -1;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  bool chat = false;
  std::string system;
  SamplingOptions sampling;
  std::optional<Grammar> grammar;
};

/// -n, --stop, --ignore-eos.
void add_length_flags(CLI::App& command, RequestFlags& flags);

/// -n, --stop, --ignore-eos, --chat, --system. The sampling flags are add_sampling_flags'.
void add_request_flags(CLI::App& command, RequestFlags& flags);

/// A request for `prompt`: as it is, or as the user's message of a conversation.
Request make_request(const RequestFlags& flags, std::string prompt);

}  // namespace augur::cli
