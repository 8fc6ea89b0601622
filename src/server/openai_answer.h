#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "augur/session.h"
#include "server/exchange.h"
#include "server/openai_request.h"

namespace augur {

/// What becomes of one OpenAI request: its choices come in from the session's thread, as text or as results,
/// and go out as one answer or as a stream of chunks.
class OpenAiAnswer : public std::enable_shared_from_this<OpenAiAnswer> {
 public:
  OpenAiAnswer(OpenAiEndpoint endpoint, const OpenAiRequest& request, std::string model,
               std::shared_ptr<Exchange> exchange);

  /// For the session: choice `index` of the request. Keeps this alive.
  SubmitOptions choice(int index);
  /// The tickets of all choices, once they are submitted: they are cancelled when the client goes away.
  void cancel_with_client(std::vector<Ticket> tickets);

 private:
  void take(int index, const TokenEvent& event);
  void end(int index, const Result& result);
  nlohmann::ordered_json frame(bool chunk) const;
  void send_chunk(int index, std::string_view text, const char* finish_reason);
  nlohmann::ordered_json usage() const;
  void finish();

  const OpenAiEndpoint endpoint_;
  const bool stream_;
  const bool stream_usage_;
  const int priority_;
  const std::string model_;
  const std::shared_ptr<Exchange> exchange_;
  const std::string id_;
  const std::int64_t created_;

  // The session's thread's.
  std::vector<Result> results_;
  std::vector<bool> begun_;
  int missing_;
  bool failed_ = false;
};

}  // namespace augur
