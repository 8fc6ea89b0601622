#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "lab/corpus/prompt_source.h"
#include "lab/load/http_stream.h"

namespace augur {

/// What became of one streamed request, times in ms from when it was sent.
struct ServedRequest {
  std::chrono::steady_clock::time_point sent;
  double first_ms = 0;          ///< to the first text
  std::vector<double> gaps_ms;  ///< between the events with text that followed
  double total_ms = 0;
  std::int64_t tokens = 0;         ///< as the server counts them
  std::int64_t prompt_tokens = 0;  ///< likewise; 0: it does not say
  std::string text;
};

/// One pass of all requests, `clients` of them at a time.
struct LoadPass {
  double seconds = 0;
  std::vector<ServedRequest> requests;  ///< by prompt

  std::int64_t tokens() const;
  double tokens_per_second() const;
};

/// Bodies of /v1/chat/completions (messages) and /v1/completions (texts), streamed and with usage; `fields`
/// are laid over each.
struct LoadRequest {
  std::string path;
  nlohmann::json body;
};
LoadRequest load_request(const TrainingPrompt& prompt, std::int64_t max_tokens, const nlohmann::json& fields);

/// Sends a request and waits for the end of its answer. `on_first` (may be empty) is called when the first
/// text has come. Error for a refusal, and for an error among the events.
ServedRequest serve_request(const ServerAddress& server, const std::string& api_key,
                            const LoadRequest& request, const std::function<void()>& on_first = {});

/// Sends all requests, each client the next one as soon as its last has ended. Error for the first that
/// fails. Once `cancel` (may be null) is set no more are sent.
LoadPass run_load(const ServerAddress& server, const std::string& api_key,
                  std::span<const LoadRequest> requests, int clients,
                  const std::atomic<bool>* cancel = nullptr);

/// The smallest value that the share `of` of the values does not exceed; 0 of none.
double percentile(std::vector<double> values, double of);

}  // namespace augur
