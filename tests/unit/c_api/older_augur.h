#ifndef AUGUR_TESTS_OLDER_AUGUR_H
#define AUGUR_TESTS_OLDER_AUGUR_H
/* Options as they stood in augur.h of version 0.1.0, and some functions: what a program has in it that was
 * compiled then. Frozen: augur.h may get fields behind these, and nothing else. */
#include <stddef.h>
#include <stdint.h>

typedef struct augur_engine augur_engine;
typedef struct augur_result augur_result;
typedef struct augur_session augur_session;
typedef struct augur_ticket augur_ticket;

typedef struct augur_engine_options {
  size_t size;
  const char* model;
  const char* draft_model;
  const char* spec_types;
  int32_t threads;
  int32_t pin_threads;
  int64_t context;
  const char* weights;
  int32_t draft_max;
  int32_t draft_min;
  double draft_p_min;
  int32_t tree_topk;
  int32_t tree_depth;
  int32_t tree_size;
  const char* verification;
  int32_t coupling;
  const char* policy;
  const char* static_tree;
  const char* draft_vocabulary;
  const char* datastore;
  int32_t ngram_min;
  int32_t ngram_max;
  int32_t exit_layer;
  const char* kv_type;
  const char* cost_cache;
  void (*warning)(const char* text, void* user);
  void* warning_user;
  const char* draft_weights;
  const char* const* draft_models;
  size_t draft_model_count;
  const char* law;
} augur_engine_options;

typedef struct augur_message {
  const char* role;
  const char* content;
} augur_message;

typedef struct augur_request {
  size_t size;
  const char* prompt;
  const char* system;
  int32_t chat;
  int64_t max_tokens;
  const char* const* stop;
  size_t stop_count;
  int32_t ignore_eos;
  double temperature;
  int32_t top_k;
  double top_p;
  double min_p;
  double repetition_penalty;
  double presence_penalty;
  double frequency_penalty;
  uint64_t seed;
  const int32_t* prompt_tokens;
  size_t prompt_token_count;
  const augur_message* messages;
  size_t message_count;
  int32_t penalty_window;
  const char* grammar;
  const char* grammar_kind;
} augur_request;

typedef struct augur_session_options {
  size_t size;
  int32_t parallel;
  int32_t queue;
  int64_t memory;
  int64_t cache_bytes;
} augur_session_options;

typedef int32_t (*augur_token_callback)(const char* text, size_t length, int32_t token, void* user);

const char* augur_last_error(void);
void augur_engine_options_init(augur_engine_options* options, size_t size);
void augur_request_init(augur_request* request, size_t size);
void augur_session_options_init(augur_session_options* options, size_t size);
augur_engine* augur_load(const augur_engine_options* options);
int32_t augur_free(augur_engine* engine);
augur_result* augur_generate(augur_engine* engine, const augur_request* request,
                             augur_token_callback on_token, void* user);
void augur_result_free(augur_result* result);
augur_session* augur_session_open(augur_engine* engine, const augur_session_options* options);
int32_t augur_session_close(augur_session* session);
augur_ticket* augur_submit(augur_session* session, const augur_request* request, int32_t priority,
                           augur_token_callback on_token, void* user);
augur_result* augur_wait(const augur_ticket* ticket);
void augur_ticket_free(augur_ticket* ticket);
const char* augur_result_text(const augur_result* result);
const int32_t* augur_result_tokens(const augur_result* result, size_t* count);
const char* augur_result_finish_reason(const augur_result* result);
#endif
