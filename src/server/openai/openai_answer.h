#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "augur/session.h"
#include "server/answers/generation_answer.h"
#include "server/openai/openai_request.h"
#include "server/turns/answer_parser.h"

namespace augur {

/// A prompt that stands before what it was answered with.
struct EchoedPrompt {
  std::string text;
  std::vector<TokenId> tokens;
};

/// The answer of /v1/chat/completions or /v1/completions, whole or as a stream of chunks.
class OpenAiAnswer final : public GenerationAnswer {
 public:
  /// `echoes`: by request; empty: none. `parser`: what takes answers apart.
  OpenAiAnswer(OpenAiEndpoint endpoint, const OpenAiRequest& request, std::vector<EchoedPrompt> echoes,
               AnswerParser parser, const Served& served, std::shared_ptr<Exchange> exchange);

 private:
  void take_token(int index, const TokenEvent& event) override;
  void take_round(int index, const DraftRound& round) override;
  void take_progress(int index) override;
  bool wants_rounds() const override { return stream_speculation_; }
  void choice_ended(int index, const Result& result) override;
  void finish(const std::vector<Result>& results) override;
  std::int64_t thought_tokens(const std::vector<Result>& results) const;
  nlohmann::ordered_json frame(bool chunk) const;
  const EchoedPrompt* echo_of(std::size_t index) const;
  nlohmann::ordered_json logprobs_of(std::size_t index, const Result& result) const;
  nlohmann::ordered_json logprobs_of(std::size_t index, const TokenEvent& event);
  /// The prompt, before anything else is sent of the choice and where it is asked for.
  std::string echo_once(std::size_t index);
  void send_text(int index, std::string_view text, nlohmann::ordered_json logprobs);
  void send_pieces(int index, const std::vector<AnswerPiece>& pieces, nlohmann::ordered_json logprobs);
  void send_delta(int index, nlohmann::ordered_json delta, nlohmann::ordered_json logprobs);
  /// `extra`: members beside the choices.
  void send_choice(nlohmann::ordered_json choice, nlohmann::ordered_json logprobs, const char* finish_reason,
                   const nlohmann::ordered_json& extra = nlohmann::ordered_json::object());
  /// The first chunk of a chat's choice, which says who speaks.
  void begin_chat(int index);
  /// llama.cpp's answer to the same.
  nlohmann::ordered_json verbose_of(int index, const Result& result) const;

  const OpenAiEndpoint endpoint_;
  const bool stream_usage_;
  const bool stream_speculation_;
  const int choices_;  ///< of each request
  const bool logprobs_;
  const std::vector<Request> requests_;
  const std::vector<EchoedPrompt> echoes_;
  const Engine& engine_;
  const std::string model_;
  const std::string id_;
  const std::int64_t created_;
  const AnswerParser parser_;
  // By choice; the session's thread's.
  std::vector<bool> begun_;
  std::vector<AnswerParser> parsers_;     ///< of streams
  std::vector<std::int64_t> characters_;  ///< that have been streamed, where log-probabilities say so
  nlohmann::ordered_json speculation_;    ///< goes out with the next chunk
};

}  // namespace augur
