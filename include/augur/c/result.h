#ifndef AUGUR_C_RESULT_H
#define AUGUR_C_RESULT_H
#include <stddef.h>
#include <stdint.h>

#include "augur/c/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was generated; augur_result_free() frees it. */
typedef struct augur_result augur_result;
void augur_result_free(augur_result* result);

/* For a NULL result: "", no tokens, 0. So it is for one that was freed, which is AUGUR_ERROR_MISUSE, too.
 * Texts and tokens are valid until the result is freed. */
const char* augur_result_text(const augur_result* result);
const int32_t* augur_result_tokens(const augur_result* result, size_t* count);
const char* augur_result_finish_reason(
    const augur_result* result); /* "stop", "length", "cancelled"; "error" */
double augur_result_tokens_per_second(const augur_result* result);
double augur_result_mean_accepted_length(const augur_result* result);
int64_t augur_result_prompt_tokens(const augur_result* result);
int64_t augur_result_cached_tokens(const augur_result* result); /* part of prompt_tokens, not read again */
int64_t augur_result_target_calls(const augur_result* result);  /* forwards of the target after the prompt */

typedef struct augur_result_info {
  size_t size;
  const char* text; /* `text_length` bytes, terminated */
  size_t text_length;
  const int32_t* tokens; /* generated, a final end-of-sequence token included */
  size_t token_count;
  const char* finish_reason;
  const char* stop_string; /* that ended the text; "": none */
  int64_t prompt_tokens;
  int64_t cached_tokens;
  double prompt_ms;
  double decode_ms;
  double tokens_per_second;
  size_t logprob_count;        /* that augur_result_get_logprobs() has */
  size_t prompt_logprob_count; /* that augur_result_get_prompt_logprobs() has */
  const char* error;           /* why, if the finish reason is "error" */
  const char* refused_field;   /* of a refused request */
  int32_t error_kind;          /* AUGUR_ERROR_... of `error`, or AUGUR_ERROR_NONE */
  int32_t refused;             /* 1: the request is invalid */
  int32_t expired;             /* by a session: augur_submit_options.seconds have passed */
  int32_t crowded_out;         /* by a session: its place in the queue was given to another client */
  const char* const* warnings; /* parts of the grammar that have no effect, each with its place */
  size_t warning_count;
} augur_result_info;
/* 0, or -1 on failure. */
int32_t augur_result_get_info(const augur_result* result, augur_result_info* info);

/* What speculation did for one result (augur/statistics.h). */
typedef struct augur_statistics {
  size_t size;
  const char* type; /* drafter types, joined by commas; "none" */
  int64_t calls;    /* target forwards after the prompt */
  int64_t verified_tokens;
  int64_t drafted_tokens;
  int64_t accepted_tokens;
  double mean_accepted_length;          /* tokens per call */
  const int64_t* accepted_per_position; /* [d]: rounds whose draft was accepted at depth d + 1 */
  size_t position_count;
  double draft_ms;
  double classify_ms; /* part of draft_ms */
  double verify_ms;
  double other_ms;
} augur_statistics;
/* 0, or -1 on failure. */
int32_t augur_result_get_statistics(const augur_result* result, augur_statistics* statistics);

/* Of generated token number `index`, where the request asked for them. 1; 0: there are no more; -1 on
 * failure. */
int32_t augur_result_get_logprobs(const augur_result* result, size_t index, augur_token_logprobs* logprobs);
/* Of the prompt's token number `index` + 1: its first has none. 1; 0: there are no more; -1 on failure. */
int32_t augur_result_get_prompt_logprobs(const augur_result* result, size_t index,
                                         augur_token_logprobs* logprobs);

#ifdef __cplusplus
}
#endif
#endif
