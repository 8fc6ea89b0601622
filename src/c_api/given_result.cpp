#include "c_api/given_result.h"

#include <utility>

namespace augur::c_api {

void FlatLogprobs::assign(std::span<const TokenLogprobs> all) {
  own_.clear();
  ends_.clear();
  top_tokens_.clear();
  top_logprobs_.clear();
  for (const TokenLogprobs& token : all) {
    own_.push_back(token.logprob);
    for (const TokenLogprob& top : token.top) {
      top_tokens_.push_back(top.token);
      top_logprobs_.push_back(top.logprob);
    }
    ends_.push_back(top_tokens_.size());
  }
}

augur_token_logprobs FlatLogprobs::at(std::size_t index) const {
  const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
  return {.size = sizeof(augur_token_logprobs),
          .logprob = static_cast<double>(own_[index]),
          .top_tokens = top_tokens_.data() + begin,
          .top_logprobs = top_logprobs_.data() + begin,
          .top_count = ends_[index] - begin};
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

GivenResult::GivenResult(Result from)
    : result(std::move(from)),
      logprobs(result.logprobs),
      prompt_logprobs(result.prompt_logprobs),
      warnings(pointers_to(result.warnings)) {}

}  // namespace augur::c_api
