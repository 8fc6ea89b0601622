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

/// The answer of /v1/chat/completions or /v1/completions, whole or as a stream of chunks.
class OpenAiAnswer final : public GenerationAnswer {
 public:
  OpenAiAnswer(OpenAiEndpoint endpoint, const OpenAiRequest& request, std::string model,
               std::shared_ptr<Exchange> exchange);

 private:
  void take(int index, const TokenEvent& event) override;
  void choice_ended(int index, const Result& result) override;
  void finish(const std::vector<Result>& results) override;
  nlohmann::ordered_json frame(bool chunk) const;
  void send_chunk(int index, std::string_view text, const char* finish_reason);

  const OpenAiEndpoint endpoint_;
  const bool stream_usage_;
  const std::string model_;
  const std::string id_;
  const std::int64_t created_;
  std::vector<bool> begun_;  ///< by choice; the session's thread's
};

}  // namespace augur
