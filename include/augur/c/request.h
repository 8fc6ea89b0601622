#ifndef AUGUR_C_REQUEST_H
#define AUGUR_C_REQUEST_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Cancels what it is given to, from any thread: a generation or the loading of an engine. One may be given to
 * several. augur_cancel_token_free() frees it, at any time. */
typedef struct augur_cancel_token augur_cancel_token;
/* NULL on failure. */
augur_cancel_token* augur_cancel_token_create(void);
/* 0, or -1 on failure. A generation ends with the tokens that it has, between two steps or chunks of its
 * prompt; its finish reason is "cancelled". */
int32_t augur_cancel_token_cancel(augur_cancel_token* token);
void augur_cancel_token_free(augur_cancel_token* token);

/* A function call that the model asks for. */
typedef struct augur_tool_call {
  const char* id;
  const char* name;
  const char* arguments; /* a JSON object */
} augur_tool_call;

/* How a template sees empty content. */
enum { AUGUR_CONTENT_EMPTY = 0, AUGUR_CONTENT_NULL = 1, AUGUR_CONTENT_MISSING = 2 };

/* One turn of a conversation. NULL texts are empty. */
typedef struct augur_message {
  const char* role;                  /* "system", "user", "assistant", "tool" */
  const char* content;               /* UTF-8 */
  const augur_tool_call* tool_calls; /* the assistant's */
  size_t tool_call_count;
  size_t tool_call_size;    /* of an element of tool_calls; 0: that of version 1, three pointers */
  const char* tool_call_id; /* role "tool": which call this answers */
  const char* name;         /* role "tool": of the function */
  const char* reasoning;    /* the assistant's, before its content */
  int64_t absence;          /* AUGUR_CONTENT_...: what empty content is */
} augur_message;

/* How the model marks its reasoning ("thoughts"): the fields of ThoughtOptions in augur/options.h. */
typedef struct augur_thoughts {
  size_t size;
  const char* begin;       /* opens thoughts */
  const char* end;         /* closes them */
  const char* again;       /* opens further ones behind `end`; NULL: there are none */
  const char* written_end; /* text to write in place of `end`, which it contains; NULL: `end` */
  const char* choice;  /* what `begin` and `again` end in, where a text could have gone on; NULL: nothing */
  int64_t begun;       /* 1: the prompt has already opened them */
  int64_t most_tokens; /* then `end` is written; < 0: no limit (-1) */
} augur_thoughts;

/* A token's log-probability at its place, in nats. */
typedef struct augur_token_logprobs {
  size_t size;
  double logprob;
  const int32_t* top_tokens; /* the most probable ones, falling */
  const float* top_logprobs; /* theirs */
  size_t top_count;
} augur_token_logprobs;

/* One generated token, with the text that is certain by it. */
typedef struct augur_token_event {
  size_t size;
  const char* text; /* `length` bytes, not terminated; perhaps of several tokens, or of none */
  size_t length;
  int32_t token;                        /* -1 when only held-back text is released */
  int32_t depth;                        /* in the drafted tree, from 1; 0: the model's own draw */
  const char* proposer;                 /* drafter that proposed the token; "": the model's own draw */
  const augur_token_logprobs* logprobs; /* where the request asks for them; otherwise NULL */
} augur_token_event;

/* One step of a request: the drafted tree as verified, and this request's share of the step's time. The
 * arrays have node_count elements; node 0 is the newest token of the text. */
typedef struct augur_draft_round {
  size_t size;
  size_t node_count;
  const int32_t* tokens;
  const int32_t* parents;       /* an earlier node; -1: this is node 0 */
  const int32_t* accepted;      /* 1 or 0 */
  const double* probabilities;  /* given the parent, by the drafter; 1 if it has none */
  const char* const* proposers; /* drafter that was the first to propose it; "" for node 0 */
  int64_t next;                 /* the model's own token after the accepted ones */
  int64_t drafted;              /* tokens that were proposed, before pruning */
  int64_t batch_rows;           /* rows of the verifying forward pass, of all requests and prompts */
  double draft_ms;
  double verify_ms;
  double other_ms;
} augur_draft_round;

/* text: `length` bytes, not terminated, valid during the call. token: -1 when only held-back text is
 * released. Return 0 to stop, any other value to continue. */
typedef int32_t (*augur_token_callback)(const char* text, size_t length, int32_t token, void* user);

/* The same with all that is known of the token. Return 0 to stop, any other value to continue. */
typedef int32_t (*augur_event_callback)(const augur_token_event* event, void* user);
/* `done` of `total` tokens of the prompt are read: when reading begins, and after every chunk. */
typedef void (*augur_prefill_callback)(int64_t done, int64_t total, void* user);
/* After every step. */
typedef void (*augur_round_callback)(const augur_draft_round* round, void* user);

/* Changes the logits of one place of a text, in place, before the next token is drawn there: a pure function
 * of its arguments, as augur/logits_processor.h says. `tokens`: the text up to the place; `logits`: [vocab],
 * -infinity forbids a token. Return 0 where it fails, which ends the request with an error, any other value
 * to continue. */
typedef int32_t (*augur_logits_processor)(const int32_t* tokens, size_t count, float* logits, size_t vocab,
                                          void* user);

/* How the prompt of a conversation ends. */
enum {
  AUGUR_CHAT_END_REPLY = 0, /* where the assistant's reply begins */
  AUGUR_CHAT_END_TURN = 1,  /* after the last message, without a generation prompt */
  AUGUR_CHAT_END_CONTINUE =
      2 /* within the last message, the assistant's, which the generated text continues */
};

/* What to generate. */
typedef struct augur_request {
  size_t size;
  const char* prompt;      /* UTF-8; with `chat`, the user's message */
  const char* system;      /* system message, with `chat` and `prompt` only; NULL: none */
  int32_t chat;            /* apply the model's chat template */
  int64_t max_tokens;      /* < 0: until the context is full */
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
  /* In place of `prompt`, `system` and `chat`, one of: token ids, used as they are; or a conversation, which
   * the model's chat template renders. */
  const int32_t* prompt_tokens;
  size_t prompt_token_count;
  const augur_message* messages;
  size_t message_count;
  int32_t penalty_window; /* last tokens that penalties look at; -1: all */
  /* The grammar or schema that the text must match; NULL: none. grammar_kind is its notation: "json-schema"
   * (also NULL), "json" (any JSON object; grammar is ""), "regex", "gbnf", "ebnf", "structural-tag". */
  const char* grammar;
  const char* grammar_kind;
  /* Of an element of `messages`; augur_request_default() sets it. 0: that of version 1 of augur_message. */
  size_t message_size;
  const char* tools;           /* for the template: a JSON list in OpenAI's form; NULL: none */
  const char* template_kwargs; /* further variables for the template: a JSON object; NULL: none */
  int32_t chat_end;            /* AUGUR_CHAT_END_... */
  int32_t show_special;        /* special tokens appear in the text */
  const int32_t* shown_tokens; /* special tokens that appear in it all the same */
  size_t shown_token_count;
  const char* speculation;  /* a plan in the text form of augur/plan.h; NULL: the engine's */
  double tpot_ms;           /* promised time per token, for "auto" in a session; 0: none */
  const char* cache_salt;   /* only requests of one salt share kept texts and what look-ups learn */
  int32_t cache_prompt;     /* 1, the default: use what a session has kept, and keep this text; 0: do not */
  int32_t logprobs;         /* of each token, and this many most probable ones at its place; < 0: none (-1) */
  int32_t sampled_logprobs; /* they are those of the distribution that is drawn from, not the model's own */
  int32_t prompt_logprobs;  /* with `logprobs`: of the prompt, too */
  const int32_t* bias_tokens; /* bias_values are added to the logits of these; -infinity forbids a token */
  const float* bias_values;
  size_t bias_count;
  const augur_thoughts* thoughts; /* NULL: the model does not mark thoughts */
  augur_cancel_token* cancel;     /* augur_generate() and augur_generate_many() only; NULL: none */
  augur_event_callback on_event;  /* these three, each of which may be NULL, are called with callback_user */
  augur_prefill_callback on_prefill;
  augur_round_callback on_round;
  void* callback_user;
  augur_logits_processor logits_processor; /* before the grammar, biases and all of sampling; may be NULL */
  void* logits_user;
} augur_request;

void augur_request_init(augur_request* request, size_t size);
static inline augur_request augur_request_default(void) {
  augur_request request;
  augur_request_init(&request, sizeof(request));
  request.message_size = sizeof(augur_message);
  return request;
}
void augur_thoughts_init(augur_thoughts* thoughts, size_t size);
static inline augur_thoughts augur_thoughts_default(void) {
  augur_thoughts thoughts;
  augur_thoughts_init(&thoughts, sizeof(thoughts));
  return thoughts;
}

#ifdef __cplusplus
}
#endif
#endif
