#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "server/answers/generation_answer.h"
#include "server/llamacpp/llamacpp_request.h"

namespace augur {

/// The answer of /completion and /infill: whole, one object, or a list where there are several choices; or as
/// a stream whose events hold what is new, and the last one of a choice everything else.
class LlamaCppAnswer final : public GenerationAnswer {
 public:
  LlamaCppAnswer(LlamaCppRequest request, const Served& served, std::shared_ptr<Exchange> exchange);

 private:
  void take_token(int index, const TokenEvent& event) override;
  void take_progress(int index) override;
  void choice_ended(int index, const Result& result) override;
  void finish(const std::vector<Result>& results) override;
  std::size_t request_of(int index) const { return static_cast<std::size_t>(index / request_.choices); }
  /// An event before the last one.
  nlohmann::ordered_json chunk(int index, std::string_view text) const;
  nlohmann::ordered_json body_of(int index, const Result& result) const;

  const LlamaCppRequest request_;
  const Engine& engine_;
  const std::string model_;
  std::vector<std::int64_t> written_;  ///< tokens that were streamed, by choice; the session's thread's
};

}  // namespace augur
