#ifndef AUGUR_TESTS_FEATURES_H
#define AUGUR_TESTS_FEATURES_H
/* What the C interface does, feature by feature, in C99; features_test.cpp does the same in C++ and compares.
 */
#include <augur/augur.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What came of a feature. */
struct outcome {
  int32_t ids[4096];
  size_t id_count;
  double numbers[4096];
  size_t number_count;
  char text[1 << 16];
};

struct place {
  const char* model;  /* the stories model's folder */
  const char* folder; /* an empty one, for files */
  const char* gguf;   /* a GGUF file, of which ids 0 to 9 are tokens */
  const char* head;   /* a draft head of another model */
};

/* Each returns NULL, or what was not as the header says. */
typedef const char* feature(const struct place* place, struct outcome* out);

feature feature_greedy, feature_sampled, feature_penalties, feature_bias, feature_stop, feature_ignore_eos,
    feature_events, feature_logprobs, feature_sampled_logprobs, feature_prompt_logprobs, feature_plan,
    feature_rejection, feature_grammar, feature_special, feature_thoughts, feature_prompt_ids, feature_rounds,
    feature_prefill, feature_statistics, feature_stopped_by_callback, feature_cancelled_in_prompt,
    feature_cancelled_by_thread, feature_many, feature_errors;
feature feature_templates, feature_tools, feature_chat, feature_chat_ends, feature_tokenize,
    feature_detokenize, feature_token_bytes, feature_prompt_tokens, feature_model_info, feature_infill_tokens,
    feature_engine_plan, feature_types_and_policies, feature_build_info, feature_costs, feature_forget,
    feature_progress, feature_aborted_loading;
feature feature_session, feature_clients, feature_deadline, feature_ticket_cancel, feature_session_callbacks,
    feature_kept_texts, feature_text_files, feature_session_load, feature_drain, feature_draft_limits;
feature feature_log, feature_description, feature_memory_estimate, feature_content;
feature feature_logits_processor, feature_logits, feature_hidden_states, feature_embed, feature_score,
    feature_own_drafter, feature_own_policy;

/* --- For the features themselves --- */
#define FEATURE_TEXT(x) #x
#define FEATURE_LINE(x) FEATURE_TEXT(x)
#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) return __FILE__ ":" FEATURE_LINE(__LINE__) ": " #condition; \
  } while (0)

void add_text(struct outcome* out, const char* text); /* and a line feed */
void add_number(struct outcome* out, double number);
/* The tokens and the text; then frees the result. 0: there is none. */
int add_result(struct outcome* out, augur_result* result);
/* Kind, field and message of the last failure. */
void add_failure(struct outcome* out);

/* Drafts with the model itself. */
augur_engine_options usual_options(const struct place* place);
augur_engine* usual_engine(const struct place* place);
/* "Once upon a time", 24 tokens. */
augur_request usual_request(void);

#ifdef __cplusplus
}
#endif
#endif
