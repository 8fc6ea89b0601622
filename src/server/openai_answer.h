#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "augur/session.h"
#include "server/generation_answer.h"
#include "server/openai_request.h"

namespace augur {

/// A prompt that stands before what it was answered with.
struct EchoedPrompt {
  std::string text;
  std::vector<TokenId> tokens;
};

/// The answer of /v1/chat/completions or /v1/completions, whole or as a stream of chunks.
class OpenAiAnswer final : public GenerationAnswer {
 public:
  /// `echoes`: by request; empty: none.
  OpenAiAnswer(OpenAiEndpoint endpoint, const OpenAiRequest& request, std::vector<EchoedPrompt> echoes,
               const Served& served, std::shared_ptr<Exchange> exchange);

 private:
  void take(int index, const TokenEvent& event) override;
  void take_round(int index, const DraftRound& round) override;
  bool wants_rounds() const override { return stream_speculation_; }
  void choice_ended(int index, const Result& result) override;
  void finish(const std::vector<Result>& results) override;
  nlohmann::ordered_json frame(bool chunk) const;
  const EchoedPrompt* echo_of(std::size_t index) const;
  nlohmann::ordered_json logprobs_of(std::size_t index, const Result& result) const;
  void send_chunk(int index, const TokenEvent& event, const char* finish_reason,
                  nlohmann::ordered_json speculation);

  const OpenAiEndpoint endpoint_;
  const bool stream_usage_;
  const bool stream_speculation_;
  const int choices_;  ///< of each request
  const bool logprobs_;
  const std::vector<EchoedPrompt> echoes_;
  const Engine& engine_;
  const std::string model_;
  const std::string id_;
  const std::int64_t created_;
  // By choice; the session's thread's.
  std::vector<bool> begun_;
  std::vector<std::int64_t> characters_;  ///< that have been streamed, where log-probabilities say so
};

}  // namespace augur
