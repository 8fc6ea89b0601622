#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "augur/session.h"
#include "server/answers/generation_answer.h"
#include "server/responses/responses_request.h"
#include "server/turns/answer_parser.h"

namespace augur {

/// The answer of /v1/responses, whole or as a stream of typed events.
class ResponsesAnswer final : public GenerationAnswer {
 public:
  /// `parser`: what takes the answer apart.
  ResponsesAnswer(const Served& served, const ResponsesRequest& request, std::string model,
                  AnswerParser parser, std::shared_ptr<Exchange> exchange);

 private:
  void take_token(int index, const TokenEvent& event) override;
  void take_progress(int index) override;
  void finish(const std::vector<Result>& results) override;
  void write_failure(const Problem& problem) override;
  nlohmann::ordered_json response(std::string_view status) const;
  nlohmann::ordered_json ended(const Result& result) const;
  nlohmann::ordered_json typed(std::string_view type, const nlohmann::ordered_json& fields);
  void send(std::string_view type, const nlohmann::ordered_json& fields);
  void send_delta(std::string_view type, nlohmann::ordered_json fields);
  void begin_response();
  void send_piece(const AnswerPiece& piece);
  void begin_item(nlohmann::ordered_json item);
  void end_item();

  const std::string model_;
  const nlohmann::ordered_json echo_;
  const std::string id_;
  const std::int64_t created_;
  const Engine& engine_;
  const AnswerParser parser_at_begin_;
  nlohmann::ordered_json output_ = nlohmann::ordered_json::array();
  // Of a stream; the session's thread's.
  AnswerParser parser_;
  bool begun_ = false;
  int sequence_ = 0;
  std::optional<nlohmann::ordered_json> item_;  ///< that is being written
};

}  // namespace augur
