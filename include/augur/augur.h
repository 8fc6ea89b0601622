#ifndef AUGUR_AUGUR_H
#define AUGUR_AUGUR_H
/* The stable C interface. Structs start with their size, so that fields can be added at their end; use the
 * *_default functions (or *_init with the size of your struct), then change what you need. No function throws
 * or aborts. After a failure, augur_last_error() of the same thread has a message for people,
 * augur_last_error_kind() and augur_last_error_field() have the details for programs. A NULL handle is a
 * failure, except for the *_free functions, which then do nothing.
 *
 * Threads: augur_tokenize() and augur_detokenize() may be called from any thread at any time, also while the
 * engine generates or a session uses it. augur_generate() may be called by one thread at a time, and by none
 * while a session uses the engine. Functions of sessions and tickets may be called from any thread, but not
 * while the session or ticket is being closed or freed. A call that breaks these rules, or that a callback
 * must not make, fails at once with AUGUR_ERROR_MISUSE. So does every call that needs threads in a child of
 * fork(), which has none of them.
 *
 * The caller's rounding mode, treatment of denormal numbers and locale do not change results. */
#include <stddef.h>
#include <stdint.h>

#include "augur/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct augur_engine augur_engine;
typedef struct augur_result augur_result;
typedef struct augur_session augur_session;
typedef struct augur_ticket augur_ticket;

typedef struct augur_engine_options {
  size_t size;
  const char* model; /* Hugging Face folder or GGUF file */
  const char*
      draft_model; /* the same, or a draft head's folder; NULL: the model's own layers that draft, if any */
  /* What drafts: "none", "ngram", "draft", a list ("ngram,draft"), or a whole plan in the text form of
   * augur/plan.h ("eagle3,ngram:policy=hetero,topk=8"). NULL: "auto" (what the files are made for) if there
   * is a draft model or the model has layers that draft, otherwise "none". The fields marked "plan" below
   * set single fields of SpeculationPlan and win over this text; 0 and NULL mean not set. Without a policy, a
   * tree and a limit of the shape, the policy is "auto", which accepts none of these limits. */
  const char* spec_types;
  int32_t threads; /* 0: one per usable core */
  int32_t pin_threads;
  int64_t context;          /* 0: the model's own limit */
  const char* weights;      /* "auto", "native", "bf16", "f32"; NULL: "auto" */
  int32_t draft_max;        /* plan: tokens of a chain, at most (4) */
  int32_t draft_min;        /* plan: shorter chains are not verified (0) */
  double draft_p_min;       /* plan: a chain ends before a less probable token (0) */
  int32_t tree_topk;        /* plan: candidates per node (4) */
  int32_t tree_depth;       /* plan: levels (4) */
  int32_t tree_size;        /* plan: nodes verified, the newest token included (16) */
  const char* verification; /* plan: "walk", "rejection"; NULL: "walk" */
  int32_t coupling;         /* plan: 1, the default: drafters propose what the noise of the target's draws
                             * makes likely; 0: they do not */
  const char* policy;       /* plan: what shapes the drafts, NAME[:KEY=VALUE,...] */
  const char* static_tree;  /* plan: a published tree's name or a JSON file of paths */
  const char*
      draft_vocabulary;   /* plan: "full", "frspec[:FILE][:SIZE]", "dynaspec[:FOLDER]", ...; NULL: "auto" */
  const char* datastore;  /* file of `augur datastore build`, for "suffix"; NULL: none */
  int32_t ngram_min;      /* plan: shortest suffix that "ngram" looks up (1) */
  int32_t ngram_max;      /* plan: longest (4); at most 64 */
  int32_t exit_layer;     /* plan: "layerskip": layers of the target that draft (as its files say) */
  const char* kv_type;    /* keys and values: "auto", "bf16", "q8_0", "f32"; NULL: "auto" */
  const char* cost_cache; /* folder for measured costs; "none": nowhere; NULL: ~/.cache/augur/costs */
  /* Called for problems that a user should know but that do not stop the work; may be NULL. */
  void (*warning)(const char* text, void* user);
  void* warning_user;
  const char* draft_weights; /* "auto", "native", "bf16", "q8_0", "q4_0", "q4_1"; NULL: "auto" */
  /* Further draft models or heads, which spec_types names as "@NAME": NAME=PATH each. */
  const char* const* draft_models;
  size_t draft_model_count;
  const char*
      law; /* sums of bf16 weights: "auto", "chain" (every processor's), "blocks" (AMX's); NULL: "auto" */
} augur_engine_options;

typedef struct augur_message {
  const char* role;    /* "system", "user", "assistant", "tool" */
  const char* content; /* UTF-8 */
} augur_message;

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
} augur_request;

/* text: `length` bytes, not terminated, valid during the call. token: -1 when only held-back text is
 * released. Return 0 to stop, any other value to continue. */
typedef int32_t (*augur_token_callback)(const char* text, size_t length, int32_t token, void* user);

const char* augur_version(void);
/* The commit that the library is built from: twelve hexadecimal digits, followed by "-dirty" if files
 * differed; or "unknown". */
const char* augur_commit(void);
/* Message of this thread's last call that could fail; "" when it did not. Valid until the next such call. */
const char* augur_last_error(void);

/* What was wrong, for programs. */
typedef enum augur_error_kind {
  AUGUR_ERROR_NONE = 0,
  AUGUR_ERROR_NOT_FOUND = 1,     /* a file, a model or a part is not there, or cannot be opened or written */
  AUGUR_ERROR_MALFORMED = 2,     /* a file or a text is not what its format says */
  AUGUR_ERROR_UNSUPPORTED = 3,   /* sound, but of a kind that this version, build or processor does not do */
  AUGUR_ERROR_OUT_OF_MEMORY = 4, /* memory or threads: the system has refused them, or a limit has */
  AUGUR_ERROR_CONTEXT_FULL = 5,  /* a text is longer than the model's context */
  AUGUR_ERROR_REFUSED_FIELD = 6, /* a field of options or of a request has a value that it cannot have */
  AUGUR_ERROR_CANCELLED = 7,
  AUGUR_ERROR_QUEUE_FULL = 8, /* as many requests wait as may: try again later */
  AUGUR_ERROR_MISUSE = 9,     /* a rule of this interface is broken: NULL, threads, callbacks, forks */
  AUGUR_ERROR_INTERNAL = 10   /* anything else */
} augur_error_kind;

/* An augur_error_kind, of the same failure. Later versions may have further ones. */
int32_t augur_last_error_kind(void);
/* The field of the options or of the request that is to blame; "" where there is none, or it is not known. */
const char* augur_last_error_field(void);

/* Fills a struct of `size` bytes with defaults: the fields that both the caller and the library know. */
void augur_engine_options_init(augur_engine_options* options, size_t size);
void augur_request_init(augur_request* request, size_t size);

static inline augur_engine_options augur_engine_options_default(void) {
  augur_engine_options options;
  augur_engine_options_init(&options, sizeof(options));
  return options;
}
static inline augur_request augur_request_default(void) {
  augur_request request;
  augur_request_init(&request, sizeof(request));
  return request;
}

/* NULL on failure. */
augur_engine* augur_load(const augur_engine_options* options);
/* 0; -1, and nothing is freed, while a session or a call of another thread or of a callback's uses it. In a
 * child of fork() its memory stays. */
int32_t augur_free(augur_engine* engine);

/* Token ids of a text as a prompt, its beginning-of-sequence token included. Writes at most `capacity` of
 * them to `tokens` (which may be NULL with capacity 0) and returns how many there are; -1 on failure. */
int64_t augur_tokenize(augur_engine* engine, const char* text, int32_t* tokens, size_t capacity);
/* The text of token ids, terminated, in at most `capacity` bytes of `text` (NULL with capacity 0). Returns
 * its length without the end, which may be more than there was room for; -1 on failure. */
int64_t augur_detokenize(augur_engine* engine, const int32_t* tokens, size_t count, char* text,
                         size_t capacity);

/* NULL on failure. `on_token` may be NULL. */
augur_result* augur_generate(augur_engine* engine, const augur_request* request,
                             augur_token_callback on_token, void* user);
void augur_result_free(augur_result* result);

/* --- Many requests at once ---------------------------------------------------------------------------------
 * A session decodes the requests of many threads in one batch; their tokens are those of augur_generate().
 * Callbacks run on the session's own thread: they should return soon, and may submit and cancel, but must not
 * wait. */
typedef struct augur_session_options {
  size_t size;
  int32_t parallel; /* requests that are decoded at once (16) */
  int32_t queue;    /* requests that may wait for their turn (1024) */
  int64_t
      memory; /* bytes for the caches of requests and of kept texts; 0: a quarter of what is available (0) */
  int64_t cache_bytes; /* part of memory for texts kept for later requests (1 GiB) */
} augur_session_options;

void augur_session_options_init(augur_session_options* options, size_t size);
static inline augur_session_options augur_session_options_default(void) {
  augur_session_options options;
  augur_session_options_init(&options, sizeof(options));
  return options;
}

/* Uses the engine, which must outlive the session; meanwhile the engine may only tokenise and detokenise.
 * Options may be NULL: defaults. NULL on failure. */
augur_session* augur_session_open(augur_engine* engine, const augur_session_options* options);
/* Accepts no more requests and returns when all have ended: 0, or -1 on failure. */
int32_t augur_session_drain(augur_session* session);
/* Cancels running requests, and returns when all have ended: 0. In one of its callbacks: -1; it stays open.
 */
int32_t augur_session_close(augur_session* session);

/* Accepts a request and returns at once; NULL on failure, for example if too many wait. Requests with the
 * highest priority begin first. `on_token` may be NULL. The caller frees the ticket, at any time. */
augur_ticket* augur_submit(augur_session* session, const augur_request* request, int32_t priority,
                           augur_token_callback on_token, void* user);
/* Ends the request with the tokens that it has: 0, or -1 on failure. */
int32_t augur_cancel(augur_ticket* ticket);
/* 1: the request has ended; 0: it has not; -1 on failure. */
int32_t augur_ended(const augur_ticket* ticket);
/* Blocks until the request has ended. Returns a new result with each call; NULL if the request failed without
 * a token. If it failed later, the result has the tokens so far and the finish reason "error", and
 * augur_last_error() says why. Must not be called from a callback of its session, which it would wait for. */
augur_result* augur_wait(const augur_ticket* ticket);
/* Frees the ticket; the request continues. */
void augur_ticket_free(augur_ticket* ticket);

/* Texts and tokens are valid until the result is freed. For a NULL result: "", no tokens, 0. */
const char* augur_result_text(const augur_result* result);
const int32_t* augur_result_tokens(const augur_result* result, size_t* count);
const char* augur_result_finish_reason(
    const augur_result* result); /* "stop", "length", "cancelled"; "error" */
double augur_result_tokens_per_second(const augur_result* result);
double augur_result_mean_accepted_length(const augur_result* result);
int64_t augur_result_prompt_tokens(const augur_result* result);
int64_t augur_result_cached_tokens(const augur_result* result); /* part of prompt_tokens, not read again */
int64_t augur_result_target_calls(const augur_result* result);  /* forwards of the target after the prompt */

#ifdef __cplusplus
}
#endif
#endif
