#ifndef AUGUR_AUGUR_H
#define AUGUR_AUGUR_H
/* The stable C interface. Structs start with their size, so that fields can be added at their end; use the
 * *_default functions, then change what you need. No function throws or aborts; after a failure
 * augur_last_error() of the same thread says what was wrong. One engine is used by one thread at a time. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct augur_engine augur_engine;
typedef struct augur_result augur_result;

typedef struct augur_engine_options {
  size_t size;
  const char* model;       /* Hugging Face folder or GGUF file */
  const char* draft_model; /* NULL: none */
  const char* spec_types;  /* "none", "ngram", "draft", or a list: "ngram,draft" */
  int32_t threads;         /* 0: one per core */
  int32_t pin_threads;
  int64_t context;     /* 0: the model's own limit */
  const char* weights; /* "auto", "native", "bf16", "f32" */
  int32_t draft_max;
  int32_t draft_min;
  double draft_p_min;
  int32_t tree_topk; /* 1: chain */
  int32_t tree_depth;
  int32_t tree_size;
  const char* verification; /* "walk", "rejection" */
  int32_t coupling; /* 1: drafters propose what the noise of the target's draws makes likely; 0: they don't */
  const char* policy; /* what shapes the drafts, NAME[:KEY=VALUE,...]; NULL: what the fields above say */
} augur_engine_options;

typedef struct augur_request {
  size_t size;
  const char* prompt;      /* UTF-8; with `chat`, the user's message */
  const char* system;      /* system message, with `chat`; NULL: none */
  int32_t chat;            /* apply the model's chat template */
  int64_t max_tokens;      /* < 0: as many as the context holds */
  const char* const* stop; /* stop strings */
  size_t stop_count;
  int32_t ignore_eos;
  double temperature; /* 0: greedy */
  int32_t top_k;
  double top_p;
  double min_p;
  double repetition_penalty;
  double presence_penalty;
  double frequency_penalty;
  uint64_t seed;
} augur_request;

/* text: `length` bytes, not terminated, valid during the call. token: -1 when only held-back text is
 * released. Return 0 to stop, anything else to go on. */
typedef int32_t (*augur_token_callback)(const char* text, size_t length, int32_t token, void* user);

const char* augur_version(void);
/* Message of this thread's last failure; "" when there was none. Valid until the thread's next call. */
const char* augur_last_error(void);

augur_engine_options augur_engine_options_default(void);
augur_request augur_request_default(void);

/* NULL on failure. */
augur_engine* augur_load(const augur_engine_options* options);
void augur_free(augur_engine* engine);

/* NULL on failure. `on_token` may be NULL. */
augur_result* augur_generate(augur_engine* engine, const augur_request* request,
                             augur_token_callback on_token, void* user);
void augur_result_free(augur_result* result);

/* All are valid until the result is freed. */
const char* augur_result_text(const augur_result* result);
const int32_t* augur_result_tokens(const augur_result* result, size_t* count);
const char* augur_result_finish_reason(const augur_result* result);
double augur_result_tokens_per_second(const augur_result* result);
double augur_result_mean_accepted_length(const augur_result* result);

#ifdef __cplusplus
}
#endif
#endif
