#include "server/anthropic/anthropic_answer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "files/big_integers.h"
#include "server/answers/json_answers.h"
#include "server/answers/parsed_answer.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// What was read from the cache is not part of input_tokens, as Anthropic counts.
ordered_json usage_of(const Result& result) {
  return {{"input_tokens", result.prompt_tokens - result.cached_tokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", result.cached_tokens},
          {"output_tokens", result.tokens.size()}};
}

const char* stop_reason(const Result& result, std::size_t calls) {
  if (result.finish_reason == FinishReason::Length) return "max_tokens";
  if (calls > 0) return "tool_use";
  return result.stop_string.empty() ? "end_turn" : "stop_sequence";
}

ordered_json stop_sequence(const Result& result) {
  return result.stop_string.empty() ? ordered_json() : ordered_json(result.stop_string);
}

/// Nothing here signs thoughts.
ordered_json thinking(std::string_view text) {
  return {{"type", "thinking"}, {"thinking", text}, {"signature", ""}};
}

ordered_json tool_use(std::string id, const std::string& name, ordered_json input) {
  return {{"type", "tool_use"}, {"id", std::move(id)}, {"name", name}, {"input", std::move(input)}};
}

}  // namespace

AnthropicAnswer::AnthropicAnswer(const Served& served, bool stream, std::string model,
                                 std::size_t prompt_tokens, AnswerParser parser,
                                 std::shared_ptr<Exchange> exchange)
    : GenerationAnswer(served, std::move(exchange), stream, 1),
      model_(std::move(model)),
      prompt_tokens_(prompt_tokens),
      id_(random_id("msg_")),
      parser_(std::move(parser)) {}

ordered_json AnthropicAnswer::message() const {
  return {{"id", id_},
          {"type", "message"},
          {"role", "assistant"},
          {"model", model_},
          {"content", ordered_json::array()},
          {"stop_reason", nullptr},
          {"stop_sequence", nullptr},
          {"usage", {{"input_tokens", prompt_tokens_}, {"output_tokens", 0}}}};
}

void AnthropicAnswer::finish(const std::vector<Result>& results) {
  const Result& result = results.front();
  if (streamed()) return end_stream(result);
  const ParsedAnswer answer = parse_answer(parser_, result.text);
  ordered_json body = message();
  if (!answer.thoughts.empty()) body["content"].push_back(thinking(answer.thoughts));
  if (!answer.content.empty() || answer.calls.empty()) {
    body["content"].push_back({{"type", "text"}, {"text", answer.content}});
  }
  for (const ToolCall& call : answer.calls) {
    ordered_json input = parse_exact_json(call.arguments);
    // Arguments that break off at max_tokens, or are deeper than any reader takes, are no input.
    if (input.is_object()) body["content"].push_back(tool_use(call.id, call.name, std::move(input)));
  }
  body["stop_reason"] = stop_reason(result, answer.calls.size());
  body["stop_sequence"] = stop_sequence(result);
  body["usage"] = usage_of(result);
  exchange().respond(200, text_of(body));
}

void AnthropicAnswer::send(const ordered_json& event) {
  exchange().send_event(text_of(event), event["type"].get<std::string>());
}

void AnthropicAnswer::begin_message() {
  if (std::exchange(begun_, true)) return;
  send({{"type", "message_start"}, {"message", message()}});
  send({{"type", "ping"}});
}

void AnthropicAnswer::take_token(int, const TokenEvent& event) {
  begin_message();
  if (event.text.empty()) return;
  for (const AnswerPiece& piece : parser_.read_text(event.text)) send_piece(piece);
}

void AnthropicAnswer::begin_block(Block block, ordered_json content) {
  end_block();
  block_ = block;
  send({{"type", "content_block_start"}, {"index", ++block_index_}, {"content_block", std::move(content)}});
}

void AnthropicAnswer::end_block() {
  if (std::exchange(block_, Block::None) == Block::None) return;
  send({{"type", "content_block_stop"}, {"index", block_index_}});
}

void AnthropicAnswer::send_piece(const AnswerPiece& piece) {
  ordered_json delta;
  if (piece.thought) {
    if (block_ != Block::Thinking) begin_block(Block::Thinking, thinking(""));
    delta = {{"type", "thinking_delta"}, {"thinking", piece.text}};
  } else if (piece.call < 0) {
    if (block_ != Block::Text) begin_block(Block::Text, {{"type", "text"}, {"text", ""}});
    delta = {{"type", "text_delta"}, {"text", piece.text}};
  } else {
    if (!piece.name.empty()) {
      begin_block(Block::ToolUse, tool_use(new_call_id(), piece.name, ordered_json::object()));
    }
    delta = {{"type", "input_json_delta"}, {"partial_json", piece.text}};
  }
  send({{"type", "content_block_delta"}, {"index", block_index_}, {"delta", std::move(delta)}});
}

void AnthropicAnswer::end_stream(const Result& result) {
  begin_message();
  for (const AnswerPiece& piece : parser_.read_end()) send_piece(piece);
  const auto calls = static_cast<std::size_t>(parser_.calls());
  end_block();
  send({{"type", "message_delta"},
        {"delta", {{"stop_reason", stop_reason(result, calls)}, {"stop_sequence", stop_sequence(result)}}},
        {"usage", usage_of(result)}});
  send({{"type", "message_stop"}});
  exchange().end_stream();
}

}  // namespace augur
