#include "server/responses/responses_answer.h"

#include <chrono>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/answers/parsed_answer.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

ordered_json text_part(std::string_view text) {
  return {{"type", "output_text"},
          {"text", text},
          {"annotations", ordered_json::array()},
          {"logprobs", ordered_json::array()}};
}

ordered_json message_item(std::string_view status, ordered_json content) {
  return {{"type", "message"},
          {"id", random_id("msg_")},
          {"status", status},
          {"role", "assistant"},
          {"content", std::move(content)}};
}

ordered_json reasoning_part(std::string_view text) {
  return {{"type", "reasoning_text"}, {"text", text}};
}

ordered_json reasoning_item(std::string_view status, std::string_view text) {
  return {{"type", "reasoning"},
          {"id", random_id("rs_")},
          {"status", status},
          {"summary", ordered_json::array()},
          {"content", ordered_json::array({reasoning_part(text)})},
          {"encrypted_content", nullptr}};
}

ordered_json call_item(std::string_view status, const ToolCall& call) {
  return {{"type", "function_call"}, {"id", random_id("fc_")}, {"status", status},
          {"call_id", call.id},      {"name", call.name},      {"arguments", call.arguments}};
}

ordered_json usage_of(const Result& result, std::int64_t thoughts) {
  return {{"input_tokens", result.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", result.cached_tokens}}},
          {"output_tokens", result.tokens.size()},
          {"output_tokens_details", {{"reasoning_tokens", thoughts}}},
          {"total_tokens", result.prompt_tokens + std::ssize(result.tokens)}};
}

bool is_message(const ordered_json& item) {
  return item["type"] == "message";
}

bool is_reasoning(const ordered_json& item) {
  return item["type"] == "reasoning";
}

}  // namespace

ResponsesAnswer::ResponsesAnswer(const Served& served, const ResponsesRequest& request, std::string model,
                                 AnswerParser parser, std::shared_ptr<Exchange> exchange)
    : GenerationAnswer(served, std::move(exchange), request.stream, 1, request.wishes),
      model_(std::move(model)),
      echo_(request.echo),
      id_(random_id("resp_")),
      created_(std::chrono::duration_cast<std::chrono::seconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      engine_(served.engine),
      parser_at_begin_(std::move(parser)),
      parser_(parser_at_begin_) {}

ordered_json ResponsesAnswer::response(std::string_view status) const {
  ordered_json body = {{"id", id_},
                       {"object", "response"},
                       {"created_at", created_},
                       {"status", status},
                       {"error", nullptr},
                       {"incomplete_details", nullptr},
                       {"model", model_},
                       {"output", output_},
                       {"previous_response_id", nullptr},
                       {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
                       {"store", false},
                       {"truncation", "disabled"},
                       {"usage", nullptr}};
  body.update(echo_);
  return body;
}

ordered_json ResponsesAnswer::ended(const Result& result) const {
  const bool whole = result.finish_reason != FinishReason::Length;
  ordered_json body = response(whole ? "completed" : "incomplete");
  if (!whole) body["incomplete_details"] = {{"reason", "max_output_tokens"}};
  body["usage"] = usage_of(result, count_thought_tokens(parser_at_begin_, engine_, result.tokens));
  return body;
}

void ResponsesAnswer::finish(const std::vector<Result>& results) {
  const Result& result = results.front();
  if (!streamed()) {
    const char* const status = result.finish_reason == FinishReason::Length ? "incomplete" : "completed";
    const ParsedAnswer answer = parse_answer(parser_, result.text);
    if (!answer.thoughts.empty()) output_.push_back(reasoning_item("completed", answer.thoughts));
    if (!answer.content.empty() || answer.calls.empty()) {
      output_.push_back(message_item(status, ordered_json::array({text_part(answer.content)})));
    }
    for (const ToolCall& call : answer.calls) output_.push_back(call_item(status, call));
    return exchange().respond(200, text_of(ended(result)));
  }
  begin_response();
  for (const AnswerPiece& piece : parser_.read_end()) send_piece(piece);
  end_item();
  ordered_json body = ended(result);
  const std::string type = "response." + body["status"].get<std::string>();
  ordered_json fields = {{"response", std::move(body)}};
  if (wishes().timings) fields["timings"] = timings_json(timings_of({&result, 1}));
  send(type, fields);
  exchange().end_stream();
}

void ResponsesAnswer::write_failure(const Problem& problem) {
  if (!begun_) return exchange().fail(problem);
  ordered_json body = response("failed");
  body["error"] = {{"code", "server_error"}, {"message", problem.what()}};
  constexpr std::string_view kType = "response.failed";
  exchange().fail(problem, text_of(typed(kType, {{"response", std::move(body)}})), kType);
}

ordered_json ResponsesAnswer::typed(std::string_view type, const ordered_json& fields) {
  ordered_json event = {{"type", type}, {"sequence_number", sequence_++}};
  event.update(fields);
  return event;
}

void ResponsesAnswer::send(std::string_view type, const ordered_json& fields) {
  exchange().send_event(text_of(typed(type, fields)), type);
}

void ResponsesAnswer::send_delta(std::string_view type, ordered_json fields) {
  if (wishes().timings) fields["timings"] = timings_json(timings_so_far(0));
  send(type, fields);
}

void ResponsesAnswer::begin_response() {
  if (std::exchange(begun_, true)) return;
  send("response.created", {{"response", response("in_progress")}});
  send("response.in_progress", {{"response", response("in_progress")}});
}

void ResponsesAnswer::take_progress(int index) {
  begin_response();
  send("response.in_progress",
       {{"response", response("in_progress")}, {"prompt_progress", progress_json(index)}});
}

void ResponsesAnswer::take_token(int, const TokenEvent& event) {
  begin_response();
  if (event.text.empty()) return;
  for (const AnswerPiece& piece : parser_.read_text(event.text)) send_piece(piece);
}

void ResponsesAnswer::send_piece(const AnswerPiece& piece) {
  if (piece.call >= 0) {
    if (!piece.name.empty()) {
      begin_item(call_item("in_progress", {.id = new_call_id(), .name = piece.name, .arguments = {}}));
    }
    if (piece.text.empty()) return;
    std::string& arguments = (*item_)["arguments"].get_ref<std::string&>();
    arguments += piece.text;
    return send_delta("response.function_call_arguments.delta",
                      {{"item_id", (*item_)["id"]}, {"output_index", output_.size()}, {"delta", piece.text}});
  }
  if (piece.thought) {
    if (!item_ || !is_reasoning(*item_)) {
      begin_item(reasoning_item("in_progress", ""));
      send("response.content_part.added", {{"item_id", (*item_)["id"]},
                                           {"output_index", output_.size()},
                                           {"content_index", 0},
                                           {"part", reasoning_part("")}});
    }
    (*item_)["content"][0]["text"].get_ref<std::string&>() += piece.text;
    return send_delta("response.reasoning_text.delta", {{"item_id", (*item_)["id"]},
                                                        {"output_index", output_.size()},
                                                        {"content_index", 0},
                                                        {"delta", piece.text}});
  }
  if (!item_ || !is_message(*item_)) {
    begin_item(message_item("in_progress", ordered_json::array()));
    (*item_)["content"].push_back(text_part(""));
    send("response.content_part.added", {{"item_id", (*item_)["id"]},
                                         {"output_index", output_.size()},
                                         {"content_index", 0},
                                         {"part", text_part("")}});
  }
  (*item_)["content"][0]["text"].get_ref<std::string&>() += piece.text;
  send_delta("response.output_text.delta", {{"item_id", (*item_)["id"]},
                                            {"output_index", output_.size()},
                                            {"content_index", 0},
                                            {"delta", piece.text},
                                            {"logprobs", ordered_json::array()}});
}

void ResponsesAnswer::begin_item(ordered_json item) {
  end_item();
  item_ = std::move(item);
  send("response.output_item.added", {{"output_index", output_.size()}, {"item", *item_}});
}

void ResponsesAnswer::end_item() {
  if (!item_) return;
  ordered_json item = std::move(*std::exchange(item_, std::nullopt));
  const ordered_json place = {{"item_id", item["id"]}, {"output_index", output_.size()}};
  const auto send_at = [&](std::string_view type, const ordered_json& fields) {
    ordered_json all = place;
    all.update(fields);
    send(type, all);
  };
  if (is_message(item)) {
    const ordered_json& part = item["content"][0];
    send_at("response.output_text.done",
            {{"content_index", 0}, {"text", part["text"]}, {"logprobs", ordered_json::array()}});
    send_at("response.content_part.done", {{"content_index", 0}, {"part", part}});
  } else if (is_reasoning(item)) {
    const ordered_json& part = item["content"][0];
    send_at("response.reasoning_text.done", {{"content_index", 0}, {"text", part["text"]}});
    send_at("response.content_part.done", {{"content_index", 0}, {"part", part}});
  } else {
    send_at("response.function_call_arguments.done",
            {{"name", item["name"]}, {"arguments", item["arguments"]}});
  }
  item["status"] = "completed";
  send("response.output_item.done", {{"output_index", output_.size()}, {"item", item}});
  output_.push_back(std::move(item));
}

}  // namespace augur
