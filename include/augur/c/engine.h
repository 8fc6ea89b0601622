#ifndef AUGUR_C_ENGINE_H
#define AUGUR_C_ENGINE_H
#include <stddef.h>
#include <stdint.h>

#include "augur/c/drafter.h"
#include "augur/c/model.h"
#include "augur/c/policy.h"
#include "augur/c/request.h"
#include "augur/c/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A loaded model; augur_free() frees it. */
typedef struct augur_engine augur_engine;

/* While loading, on the thread that loads: what is loaded, and the fraction done, 0 to 1. 0 aborts it. */
typedef int32_t (*augur_progress_callback)(const char* what, double fraction, void* user);

/* How much a line of the log matters; later versions may have more levels. */
enum {
  AUGUR_LOG_DEBUG = 0,  /* for who looks for a fault */
  AUGUR_LOG_INFO = 1,   /* what was loaded, and what was chosen for it */
  AUGUR_LOG_WARNING = 2 /* what a user should know though the work goes on */
};
/* A line without its end, valid during the call. On the threads that load, generate, or are a session's, one
 * line at a time. */
typedef void (*augur_log_callback)(int32_t level, const char* text, void* user);

typedef struct augur_engine_options {
  size_t size;
  const char* model;       /* Hugging Face folder or GGUF file */
  const char* draft_model; /* the same, or a draft head's folder; NULL: the model's own layers, if any */
  /* What drafts: "none", "ngram", "draft", a list ("ngram,draft"), or a whole plan in the text form of
   * augur/plan.h ("eagle3,ngram:policy=hetero,topk=8"). NULL: "auto" (what the files are made for) if there
   * is a draft model or the model has layers that draft, otherwise "none". The fields marked "plan" below
   * set single fields of SpeculationPlan and win over this text; 0 and NULL mean not set. Without a policy, a
   * tree and a limit of the shape, the policy is "auto", which accepts none of these limits. */
  const char* spec_types;
  int32_t threads; /* 0: one per usable core */
  int32_t pin_threads;
  int64_t context;              /* 0: the model's own limit */
  const char* weights;          /* "auto", "native", "bf16", "f32"; NULL: "auto" */
  int32_t draft_max;            /* plan: tokens of a chain, at most (4) */
  int32_t draft_min;            /* plan: shorter chains are not verified (0) */
  double draft_p_min;           /* plan: a chain ends before a less probable token (0) */
  int32_t tree_topk;            /* plan: candidates per node (4) */
  int32_t tree_depth;           /* plan: levels (4) */
  int32_t tree_size;            /* plan: nodes verified, the newest token included (16) */
  const char* verification;     /* plan: "walk", "rejection"; NULL: "walk" */
  int32_t coupling;             /* plan: 1, the default: drafters propose what the noise of the target's draws
                                 * makes likely; 0: they do not */
  const char* policy;           /* plan: what shapes the drafts, NAME[:KEY=VALUE,...] */
  const char* static_tree;      /* plan: a published tree's name or a JSON file of paths */
  const char* draft_vocabulary; /* plan: "full", "frspec[:FILE][:SIZE]", ...; NULL: "auto" */
  const char* datastore;        /* file of `augur datastore build`, for "suffix"; NULL: none */
  int32_t ngram_min;            /* plan: shortest suffix that "ngram" looks up (1) */
  int32_t ngram_max;            /* plan: longest (4); at most 64 */
  int32_t exit_layer;           /* plan: "layerskip": layers of the target that draft (as its files say) */
  const char* kv_type;          /* keys and values: "auto", "bf16", "q8_0", "f32"; NULL: "auto" */
  const char* cost_cache;       /* folder for measured costs; "none": nowhere; NULL: ~/.cache/augur/costs */
  /* Called for problems that a user should know but that do not stop the work; may be NULL. */
  void (*warning)(const char* text, void* user);
  void* warning_user;
  const char* draft_weights; /* "auto", "native", "bf16", "q8_0", "q4_0", "q4_1"; NULL: "auto" */
  /* Further draft models or heads, which spec_types names as "@NAME": NAME=PATH each. */
  const char* const* draft_models;
  size_t draft_model_count;
  const char* law; /* sums of bf16 weights: "auto", "chain", "blocks" (with AMX alone); NULL: "auto" */
  augur_progress_callback progress; /* may be NULL */
  void* progress_user;
  augur_cancel_token* cancel; /* aborts loading from another thread; NULL: nothing does */
  const char* isa; /* of the kernels: "portable", "avx2", ...; NULL: AUGUR_ISA, or the best there is */
  const char* chat_template;     /* Jinja template in place of the model's; NULL: the model's */
  const char* fallback_template; /* the same for a model without one; NULL: such a model cannot chat */
  const char* template_kwargs;   /* further variables for templates: a JSON object; NULL: none */
  int64_t template_date;         /* 1: templates have today's date */
  int64_t template_steps;        /* most steps of rendering a template; 0: the default */
  int64_t template_bytes;        /* most bytes of the same; 0: the default */
  double grammar_seconds;        /* most seconds of compiling a grammar; 0: the default */
  int64_t grammar_bytes;         /* most bytes of the same; 0: the default */
  augur_log_callback log; /* gets what the engine and its session tell, warnings included; may be NULL */
  void* log_user;
  const augur_model_content* model_content; /* in place of the path `model`, then only its name; NULL: none */
  const augur_drafter_type* const* custom_drafters; /* of the program's own, which plans name "@NAME" */
  size_t custom_drafter_count;
  const augur_policy_type* const* custom_policies; /* policies, likewise */
  size_t custom_policy_count;
} augur_engine_options;

/* Fills a struct of `size` bytes with defaults: the fields that both the caller and the library know. */
void augur_engine_options_init(augur_engine_options* options, size_t size);
static inline augur_engine_options augur_engine_options_default(void) {
  augur_engine_options options;
  augur_engine_options_init(&options, sizeof(options));
  return options;
}

/* NULL on failure; AUGUR_ERROR_CANCELLED where `progress` or `cancel` has aborted it. */
augur_engine* augur_load(const augur_engine_options* options);
/* 0; -1, and nothing is freed, while a session or a call of another thread or of a callback's uses it. In a
 * child of fork() its memory stays. */
int32_t augur_free(augur_engine* engine);

/* --- What reads an engine: from any thread at any time
 * -------------------------------------------------------- */
typedef struct augur_model_info {
  size_t size;
  const char* path;
  const char* family;
  int64_t vocab;
  int64_t context;
  int64_t weight_bytes; /* that one token reads */
  const char* weights;  /* types of the weights, the most frequent first */
  const char* isa;
  int64_t law; /* number of the law that the products follow (docs/law.md) */
  int64_t threads;
  int64_t has_chat_template;
  const int32_t* end_tokens; /* that end a text */
  size_t end_token_count;
  const char* bos_token;   /* as it is written in a text; "" without one */
  const char* eos_token;   /* the first of end_tokens */
  const char* fingerprint; /* equal: the same tokens on any machine (ModelInfo in augur/engine.h) */
  int64_t hidden;          /* width of a hidden state */
  int64_t layers;
} augur_model_info;
/* 0, or -1 on failure. */
int32_t augur_engine_get_info(const augur_engine* engine, augur_model_info* info);

/* Tokens for filling in the middle of a text; -1: the model's file does not name it. */
typedef struct augur_infill_tokens {
  size_t size;
  int32_t prefix;
  int32_t suffix;
  int32_t middle;
  int32_t repository; /* before a repository's name */
  int64_t file;       /* before a file's name */
} augur_infill_tokens;
/* 0, or -1 on failure. */
int32_t augur_engine_get_infill_tokens(const augur_engine* engine, augur_infill_tokens* tokens);

/* The complete plan for requests that have none, in the text form of augur/plan.h. */
int64_t augur_engine_speculation(const augur_engine* engine, char* text, size_t capacity);
/* Names of the loaded drafters, joined by commas. */
int64_t augur_engine_drafters(const augur_engine* engine, char* text, size_t capacity);
/* The chat template in use; "": none. */
int64_t augur_engine_chat_template(const augur_engine* engine, char* text, size_t capacity);

/* Token ids of a text as a prompt, its beginning-of-sequence token included. Writes at most `capacity` of
 * them to `tokens` (which may be NULL with capacity 0) and returns how many there are; -1 on failure. */
int64_t augur_tokenize(const augur_engine* engine, const char* text, int32_t* tokens, size_t capacity);
/* The text of token ids, terminated, in at most `capacity` bytes of `text` (NULL with capacity 0). Returns
 * its length without the end, which may be more than there was room for; -1 on failure. */
int64_t augur_detokenize(const augur_engine* engine, const int32_t* tokens, size_t count, char* text,
                         size_t capacity);

/* The same with flags, and for texts that may have zero bytes. */
enum {
  AUGUR_TEXT_PART = 1,        /* to tokens: a part of a prompt, without the beginning-of-sequence token */
  AUGUR_TEXT_PLAIN = 2,       /* to tokens: what looks like a control token stays text */
  AUGUR_TEXT_SHOW_SPECIAL = 4 /* to text: special tokens appear in it */
};
int64_t augur_tokenize_text(const augur_engine* engine, const char* text, size_t length, int32_t flags,
                            int32_t* tokens, size_t capacity);
int64_t augur_detokenize_tokens(const augur_engine* engine, const int32_t* tokens, size_t count,
                                int32_t flags, char* text, size_t capacity);
/* The bytes of a token within a text, perhaps a part of a character. */
int64_t augur_token_bytes(const augur_engine* engine, int32_t token, char* bytes, size_t capacity);
/* The request's conversation as the chat template writes it. */
int64_t augur_render_chat(const augur_engine* engine, const augur_request* request, char* text,
                          size_t capacity);
/* The ids of the request's prompt. */
int64_t augur_prompt_tokens(const augur_engine* engine, const augur_request* request, int32_t* tokens,
                            size_t capacity);

/* --- What uses an engine: one thread at a time
 * ------------------------------------------------------------------ */
/* NULL on failure. `on_token` may be NULL. augur_result_free() frees the result. */
augur_result* augur_generate(augur_engine* engine, const augur_request* request,
                             augur_token_callback on_token, void* user);

/* Of request number `index`; the callback frees the result, then or later. */
typedef void (*augur_result_callback)(size_t index, augur_result* result, void* user);
/* Runs `count` requests, `parallel` of them in one batch (1 to 4096); when one ends, the next takes its
 * place. Each result is given to `on_result` when its request ends. A request that is refused, or fails, has
 * a result whose finish reason is "error"; the others continue. 0, or -1 on failure of the whole call. */
int32_t augur_generate_many(augur_engine* engine, const augur_request* const* requests, size_t count,
                            int32_t parallel, augur_result_callback on_result, void* user);

/* Forgets what was learnt from texts; the next text is drafted like the first one. 0, or -1 on failure. */
int32_t augur_engine_forget(augur_engine* engine);

/* Times of this machine, by which policies decide; augur_costs_free() frees them. */
typedef struct augur_costs augur_costs;
/* Measured now if they are unknown or `anew` is not 0. NULL on failure. */
augur_costs* augur_engine_measure_costs(augur_engine* engine, int32_t anew);
void augur_costs_free(augur_costs* costs);

/* Times in ms by rows; both arrays have `count` elements. */
typedef struct augur_cost_curve {
  const int32_t* rows;
  const double* ms;
  size_t count;
} augur_cost_curve;
typedef struct augur_target_costs {
  size_t size;
  double context;          /* tokens of text before the rows that `verify` was measured with */
  augur_cost_curve verify; /* a forward pass with logits */
  double growth_one;       /* relative increase of one row's time for each token of text */
  double growth_many;      /* the same for 64 rows and more */
  double other_ms;         /* of a step that is neither drafting nor verification */
  const char* file;        /* where the costs are stored; "": nowhere */
  /* Of a mixture of experts: distinct experts of a layer in use by expert_rows; experts 0: the model is
   * dense. */
  int64_t experts;       /* of a layer */
  int64_t active;        /* that one row uses */
  int64_t expert_layers; /* that have experts */
  double expert_ms;      /* that one more expert in one layer adds to a forward pass */
  const int32_t* expert_rows;
  const double* experts_expected; /* as learned from the texts so far */
  const double* experts_even;     /* if every row chose its experts at random */
  size_t expert_row_count;
} augur_target_costs;
/* 0, or -1 on failure. */
int32_t augur_costs_get_target(const augur_costs* costs, augur_target_costs* target);
typedef struct augur_draft_costs {
  size_t size;
  const char* name;
  augur_cost_curve first_level; /* rows: tokens that the drafter must read first, including the newest one */
  augur_cost_curve level;       /* every further level; empty for one-shot drafters */
} augur_draft_costs;
/* Of drafter number `index`, from 0. 1; 0: there are no more; -1 on failure. */
int32_t augur_costs_get_drafter(const augur_costs* costs, size_t index, augur_draft_costs* drafter);

#ifdef __cplusplus
}
#endif
#endif
