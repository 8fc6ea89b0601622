#include "lab/load/long_prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <latch>
#include <mutex>
#include <random>
#include <thread>

#include "base/error.h"

namespace augur {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr const char* kSentence =
    "The quick brown fox jumps over the lazy dog and runs into the forest, where nobody has ever seen it "
    "again. ";
constexpr int kCounted = 5;  // sentences that the server counts
constexpr std::int64_t kTurnTokens = 32;

LoadRequest completion(const std::string& text, std::int64_t max_tokens, const nlohmann::json& fields) {
  TrainingPrompt prompt;
  prompt.text = text;
  return load_request(prompt, max_tokens, fields);
}

/// A beginning that no text before had, so that no server has kept what follows it.
std::string unheard() {
  std::random_device device;
  return fmt::format("Conversation {:08x}{:08x}. ", device(), device());
}

/// Answers of requests that are all sent at once; `when_all_began` is called when each has its first text or
/// has failed. Error for the first that fails.
template <class Action>
std::vector<ServedRequest> serve_all(const ServerAddress& server, const std::string& api_key,
                                     std::span<const LoadRequest> requests, Action&& when_all_began) {
  std::vector<ServedRequest> served(requests.size());
  std::latch begun(std::ssize(requests));
  std::mutex mutex;
  std::exception_ptr failure;
  {
    std::vector<std::jthread> streams;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      streams.emplace_back([&, i] {
        bool counted = false;
        try {
          served[i] = serve_request(server, api_key, requests[i], [&] {
            counted = true;
            begun.count_down();
          });
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
        }
        if (!counted) begun.count_down();
      });
    }
    begun.wait();
    when_all_began();
  }
  if (failure) std::rethrow_exception(failure);
  return served;
}

}  // namespace

std::string long_text(const ServerAddress& server, const std::string& api_key, std::int64_t tokens) {
  std::string text;
  for (int i = 0; i < kCounted; ++i) text += kSentence;
  const std::int64_t counted =
      serve_request(server, api_key, completion(text, 1, nlohmann::json::object())).prompt_tokens;
  if (counted <= 0) {
    throw Error(
        "http://{}:{}/v1/completions: no usage.prompt_tokens: --prompt-tokens needs a server that counts",
        server.host, server.port);
  }
  const auto sentences = std::max<std::int64_t>(1, (tokens * kCounted + counted / 2) / counted);
  text.clear();
  for (std::int64_t i = 0; i < sentences; ++i) text += kSentence;
  return text;
}

LongPromptPass run_long_prompt(const ServerAddress& server, const std::string& api_key,
                               std::span<const LoadRequest> streams, const std::string& text,
                               const nlohmann::json& fields) {
  LongPromptPass pass;
  for (const ServedRequest& stream : serve_all(server, api_key, streams, [] {})) {
    pass.alone_ms.insert(pass.alone_ms.end(), stream.gaps_ms.begin(), stream.gaps_ms.end());
  }
  ServedRequest prompt;
  const auto send = [&] { prompt = serve_request(server, api_key, completion(unheard() + text, 1, fields)); };
  for (const ServedRequest& stream : serve_all(server, api_key, streams, send)) {
    pass.with_ms.insert(pass.with_ms.end(), stream.gaps_ms.begin(), stream.gaps_ms.end());
    // From when the prompt was sent.
    double end = Milliseconds(stream.sent - prompt.sent).count() + stream.first_ms;
    for (const double gap : stream.gaps_ms) {
      const double begin = end;
      end += gap;
      if (end >= 0 && begin <= prompt.first_ms) pass.reading_ms.push_back(gap);
    }
    pass.outlasted = pass.outlasted && end >= prompt.first_ms;
  }
  pass.read_ms = prompt.first_ms;
  pass.prompt_tokens = prompt.prompt_tokens;
  return pass;
}

TurnTimes run_two_turns(const ServerAddress& server, const std::string& api_key, const std::string& text,
                        const nlohmann::json& fields) {
  const std::string begin = unheard() + text;
  const ServedRequest first = serve_request(server, api_key, completion(begin, kTurnTokens, fields));
  const ServedRequest second =
      serve_request(server, api_key, completion(begin + first.text + " And then?", kTurnTokens, fields));
  return {.first_ms = first.first_ms, .second_ms = second.first_ms};
}

}  // namespace augur
