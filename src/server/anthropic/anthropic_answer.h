#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "augur/session.h"
#include "server/answers/generation_answer.h"
#include "server/turns/answer_parser.h"

namespace augur {

/// The answer of /v1/messages, whole or as a stream of Anthropic's events.
class AnthropicAnswer final : public GenerationAnswer {
 public:
  /// `prompt_tokens`: of the request; `parser`: what takes the answer apart.
  AnthropicAnswer(const Served& served, bool stream, std::string model, std::size_t prompt_tokens,
                  AnswerParser parser, std::shared_ptr<Exchange> exchange);

 private:
  enum class Block { None, Text, Thinking, ToolUse };

  void take_token(int index, const TokenEvent& event) override;
  void finish(const std::vector<Result>& results) override;
  nlohmann::ordered_json message() const;
  void send(const nlohmann::ordered_json& event);
  void begin_message();
  void send_piece(const AnswerPiece& piece);
  void begin_block(Block block, nlohmann::ordered_json content);
  void end_block();
  void end_stream(const Result& result);

  const std::string model_;
  const std::size_t prompt_tokens_;
  const std::string id_;
  // Of a stream; the session's thread's.
  AnswerParser parser_;
  bool begun_ = false;
  Block block_ = Block::None;
  int block_index_ = -1;
};

}  // namespace augur
