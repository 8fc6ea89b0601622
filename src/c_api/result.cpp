#include <memory>

#include "augur/augur.h"
#include "c_api/failure.h"
#include "c_api/handles.h"
#include "c_api/structs.h"

using namespace augur::c_api;

namespace {

/// What `get` reads of a result, which lives as long as its handle. Of none for NULL, and for what is no
/// result.
template <class Get>
auto read(const augur_result* result, Get&& get) noexcept {
  static const augur::Result none;
  if (result == nullptr) return get(none);
  const auto held_result = find(result);
  if (held_result != nullptr) return get(held_result->result);
  status([&] { throw_for_handle(Behind<augur_result>::kName, result); });
  return get(none);
}

int32_t answer_logprobs(const augur_result* result, FlatLogprobs const GivenResult::*of, size_t index,
                        augur_token_logprobs* logprobs) {
  return guarded(
      [&] {
        const auto from = held(result);
        const FlatLogprobs& all = *from.*of;
        if (index >= all.size()) return int32_t{0};
        answer(all.at(index), logprobs, "augur_token_logprobs");
        return int32_t{1};
      },
      int32_t{-1});
}

}  // namespace

void augur_result_free(augur_result* result) {
  free_handle(result);
}

const char* augur_result_text(const augur_result* result) {
  return read(result, [](const augur::Result& r) { return r.text.c_str(); });
}

const int32_t* augur_result_tokens(const augur_result* result, size_t* count) {
  return read(result, [&](const augur::Result& r) {
    if (count != nullptr) *count = r.tokens.size();
    return r.tokens.data();
  });
}

const char* augur_result_finish_reason(const augur_result* result) {
  return read(result, [](const augur::Result& r) { return augur::to_string(r.finish_reason).data(); });
}

double augur_result_tokens_per_second(const augur_result* result) {
  return read(result, [](const augur::Result& r) { return r.tokens_per_second; });
}

double augur_result_mean_accepted_length(const augur_result* result) {
  return read(result, [](const augur::Result& r) { return r.speculation.mean_accepted_length; });
}

int64_t augur_result_prompt_tokens(const augur_result* result) {
  return read(result, [](const augur::Result& r) { return r.prompt_tokens; });
}

int64_t augur_result_cached_tokens(const augur_result* result) {
  return read(result, [](const augur::Result& r) { return r.cached_tokens; });
}

int64_t augur_result_target_calls(const augur_result* result) {
  return read(result, [](const augur::Result& r) { return r.speculation.calls; });
}

int32_t augur_result_get_info(const augur_result* result, augur_result_info* info) {
  return status([&] {
    const auto from = held(result);
    const augur::Result& r = from->result;
    answer({.size = 0,
            .text = r.text.c_str(),
            .text_length = r.text.size(),
            .tokens = r.tokens.data(),
            .token_count = r.tokens.size(),
            .finish_reason = augur::to_string(r.finish_reason).data(),
            .stop_string = r.stop_string.c_str(),
            .prompt_tokens = r.prompt_tokens,
            .cached_tokens = r.cached_tokens,
            .prompt_ms = r.prompt_ms,
            .decode_ms = r.decode_ms,
            .tokens_per_second = r.tokens_per_second,
            .logprob_count = from->logprobs.size(),
            .prompt_logprob_count = from->prompt_logprobs.size(),
            .error = r.error.c_str(),
            .refused_field = r.refused_field.c_str(),
            .error_kind = r.error_kind ? static_cast<int32_t>(*r.error_kind) : int32_t{AUGUR_ERROR_NONE},
            .refused = r.refused,
            .expired = r.expired,
            .crowded_out = r.crowded_out,
            .warnings = from->warnings.data(),
            .warning_count = from->warnings.size()},
           info, "augur_result_info");
  });
}

int32_t augur_result_get_statistics(const augur_result* result, augur_statistics* statistics) {
  return status([&] {
    const auto from = held(result);
    const augur::SpeculationStatistics& s = from->result.speculation;
    answer({.size = 0,
            .type = s.type.c_str(),
            .calls = s.calls,
            .verified_tokens = s.verified_tokens,
            .drafted_tokens = s.drafted_tokens,
            .accepted_tokens = s.accepted_tokens,
            .mean_accepted_length = s.mean_accepted_length,
            .accepted_per_position = s.accepted_per_position.data(),
            .position_count = s.accepted_per_position.size(),
            .draft_ms = s.draft_ms,
            .classify_ms = s.classify_ms,
            .verify_ms = s.verify_ms,
            .other_ms = s.other_ms},
           statistics, "augur_statistics");
  });
}

int32_t augur_result_get_logprobs(const augur_result* result, size_t index, augur_token_logprobs* logprobs) {
  return answer_logprobs(result, &GivenResult::logprobs, index, logprobs);
}

int32_t augur_result_get_prompt_logprobs(const augur_result* result, size_t index,
                                         augur_token_logprobs* logprobs) {
  return answer_logprobs(result, &GivenResult::prompt_logprobs, index, logprobs);
}
