#ifndef AUGUR_C_TEXT_OUTPUTS_H
#define AUGUR_C_TEXT_OUTPUTS_H
#include <stddef.h>
#include <stdint.h>

#include "augur/c/engine.h"
#include "augur/c/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the model makes of a given text, whose ids are used as they are: at least one, at most the context,
 * beyond which it is AUGUR_ERROR_CONTEXT_FULL. Nothing of it is kept or learnt. These functions use the
 * engine as augur_generate() does. `cancel`, which may be NULL, ends a call between passes of 256 tokens with
 * AUGUR_ERROR_CANCELLED.
 *
 * Those that write numbers write at most `capacity` of them and return how many there are, or -1 on failure.
 * With capacity 0 the array may be NULL, and nothing is computed. */

/* [count, vocab] the model's logits after every token. */
int64_t augur_logits(augur_engine* engine, const int32_t* tokens, size_t count, float* logits,
                     size_t capacity, augur_cancel_token* cancel);
/* `rows` is [row_count, vocab], of the tokens from number `first` on. Valid during the call. */
typedef void (*augur_logits_callback)(int64_t first, const float* rows, size_t row_count, size_t vocab,
                                      void* user);
/* The same in parts of at most 256 rows, in order. 0, or -1 on failure. */
int32_t augur_logits_in_parts(augur_engine* engine, const int32_t* tokens, size_t count,
                              augur_logits_callback on_rows, void* user, augur_cancel_token* cancel);
/* [count, hidden] the residual stream that enters `layer`, from 0 (the embeddings) to augur_model_info.layers
 * (what the last layer leaves, before the final norm). */
int64_t augur_hidden_states(augur_engine* engine, const int32_t* tokens, size_t count, int32_t layer,
                            float* states, size_t capacity, augur_cancel_token* cancel);

/* Which of a text's states stand for it. */
enum {
  AUGUR_POOLING_LAST = 0, /* that of its last token */
  AUGUR_POOLING_MEAN = 1  /* the mean of all tokens' states */
};
typedef struct augur_embed_options {
  size_t size;
  int64_t pooling;            /* AUGUR_POOLING_... */
  int64_t normalised;         /* 1, the default: divided by its Euclidean length */
  augur_cancel_token* cancel; /* may be NULL */
} augur_embed_options;
void augur_embed_options_init(augur_embed_options* options, size_t size);
static inline augur_embed_options augur_embed_options_default(void) {
  augur_embed_options options;
  augur_embed_options_init(&options, sizeof(options));
  return options;
}
/* [hidden] of the states behind the final norm. Options may be NULL: defaults. */
int64_t augur_embed(augur_engine* engine, const int32_t* tokens, size_t count,
                    const augur_embed_options* options, float* vector, size_t capacity);

typedef struct augur_text_score {
  size_t size;
  const float* logprobs; /* of the tokens from number `from` on, by the model's own distribution */
  size_t logprob_count;
  double sum;     /* of `logprobs`, in their order */
  int64_t greedy; /* 1: greedy decoding would have written these tokens */
} augur_text_score;
/* Log-probabilities of the tokens from number `from` on, at least 1. `score`, which may be NULL, gets the
 * rest; its `logprobs` are the caller's array, and as many as that had room for. */
int64_t augur_score(augur_engine* engine, const int32_t* tokens, size_t count, int64_t from, float* logprobs,
                    size_t capacity, augur_text_score* score, augur_cancel_token* cancel);

/* A text to be scored. */
typedef struct augur_scored_text {
  size_t size;
  const int32_t* tokens;
  size_t token_count;
  int64_t from; /* number of the first token whose log-probability is wanted, at least 1 (1) */
} augur_scored_text;
void augur_scored_text_init(augur_scored_text* text, size_t size);
static inline augur_scored_text augur_scored_text_default(void) {
  augur_scored_text text;
  augur_scored_text_init(&text, sizeof(text));
  return text;
}
/* With every text's score as soon as it is known, in the order of the texts. Valid during the call. */
typedef void (*augur_score_callback)(size_t index, const augur_text_score* score, void* user);
/* Many texts, which share forward passes. Nothing is read if one of them is invalid. 0, or -1 on failure. */
int32_t augur_score_many(augur_engine* engine, const augur_scored_text* const* texts, size_t count,
                         augur_score_callback on_score, void* user, augur_cancel_token* cancel);

#ifdef __cplusplus
}
#endif
#endif
