#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/answers/generation_answer.h"
#include "server/llamacpp/llamacpp_request.h"

namespace augur {

/// The settings that a request is generated with, under llama.cpp's names.
nlohmann::ordered_json generation_settings(const LlamaCppRequest& request);

/// The answer of /completion and /infill: whole, or as a stream whose events hold what is new, and the last
/// one everything else.
class LlamaCppAnswer final : public GenerationAnswer {
 public:
  LlamaCppAnswer(LlamaCppRequest request, const Served& served, std::shared_ptr<Exchange> exchange);

 private:
  void take(int index, const TokenEvent& event) override;
  void finish(const std::vector<Result>& results) override;

  const LlamaCppRequest request_;
  const Engine& engine_;
  const std::string model_;
  std::int64_t written_ = 0;  ///< tokens that were streamed; the session's thread's
};

}  // namespace augur
