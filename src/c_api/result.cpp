#include "augur/augur.h"
#include "c_api/handles.h"

namespace {

const augur::Result& result_of(const augur_result* result) {
  static const augur::Result none;
  return result == nullptr ? none : result->result;
}

}  // namespace

void augur_result_free(augur_result* result) {
  delete result;
}

const char* augur_result_text(const augur_result* result) {
  return result_of(result).text.c_str();
}

const int32_t* augur_result_tokens(const augur_result* result, size_t* count) {
  if (count != nullptr) *count = result_of(result).tokens.size();
  return result_of(result).tokens.data();
}

const char* augur_result_finish_reason(const augur_result* result) {
  return augur::to_string(result_of(result).finish_reason).data();
}

double augur_result_tokens_per_second(const augur_result* result) {
  return result_of(result).tokens_per_second;
}

double augur_result_mean_accepted_length(const augur_result* result) {
  return result_of(result).speculation.mean_accepted_length;
}

int64_t augur_result_prompt_tokens(const augur_result* result) {
  return result_of(result).prompt_tokens;
}

int64_t augur_result_cached_tokens(const augur_result* result) {
  return result_of(result).cached_tokens;
}

int64_t augur_result_target_calls(const augur_result* result) {
  return result_of(result).speculation.calls;
}
