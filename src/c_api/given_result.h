#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/augur.h"
#include "augur/engine.h"

namespace augur::c_api {

/// Log-probabilities of tokens in the arrays that C has.
class FlatLogprobs {
 public:
  FlatLogprobs() = default;
  explicit FlatLogprobs(std::span<const TokenLogprobs> all) { assign(all); }
  void assign(std::span<const TokenLogprobs> all);
  std::size_t size() const { return own_.size(); }
  /// Points into this object.
  augur_token_logprobs at(std::size_t index) const;

 private:
  std::vector<float> own_;
  std::vector<std::size_t> ends_;  ///< [i]: of token i's, in the two below
  std::vector<std::int32_t> top_tokens_;
  std::vector<float> top_logprobs_;
};

/// The texts as pointers, which live as long as the texts.
std::vector<const char*> pointers_to(const std::vector<std::string>& texts);

/// A result, and what of it has another form in C.
struct GivenResult {
  explicit GivenResult(Result from);
  GivenResult(const GivenResult&) = delete;
  GivenResult& operator=(const GivenResult&) = delete;

  const Result result;
  const FlatLogprobs logprobs;
  const FlatLogprobs prompt_logprobs;
  const std::vector<const char*> warnings;
};

}  // namespace augur::c_api
