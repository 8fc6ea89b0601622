#ifndef AUGUR_C_DRAFTER_H
#define AUGUR_C_DRAFTER_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A drafter of the program's own: the parts of augur/custom_drafter.h, which say more of each. It cannot
 * change the text, only the speed: what it proposes may be wrong or missing.
 *
 * Threads: the thread that decodes calls its functions (that of augur_generate(), or the session's own), one
 * at a time; those about measuring costs come from the thread that makes the engine or opens the session. Of
 * the engine they may only call what reads it. A function that returns 0, or NULL, has failed, which ends its
 * request with an error and no other; so does what it may not propose. */

/* What policies may count on about a drafter (DrafterTraits in augur/drafter_traits.h). */
typedef struct augur_drafter_traits {
  size_t size;
  int64_t one_shot;          /* it adds whole branches at once, when it is asked for the root */
  int64_t branching;         /* what it then adds can be a tree */
  int64_t has_probabilities; /* of a drafter that leaves all to a built-in one, if that one has it; */
  int64_t has_confidence;    /* this one likewise */
  int64_t learns;            /* what it knows grows with the sequence */
  int64_t learns_across_sequences;
  int64_t max_depth; /* levels that it can draft at all (INT32_MAX) */
} augur_drafter_traits;

/* What a drafter is asked for; tree and arrays are valid during the call. Node 0 is the root, the newest
 * token of the text, and a parent precedes its children. */
typedef struct augur_draft_request {
  size_t size;
  const int32_t* text; /* prompt and generated tokens, the root the last */
  size_t text_count;
  /* The drafter's own tree of this round: three arrays of node_count elements. */
  const int32_t* tokens;
  const int32_t* parents; /* -1: of the root */
  const int32_t* depths;  /* 0: the root's */
  size_t node_count;
  const int32_t* frontier; /* nodes to continue: the root alone, or nodes that were proposed in this round */
  size_t frontier_count;
  int64_t most_children; /* of one node */
  int64_t most_nodes;    /* proposals of this call */
} augur_draft_request;

/* What a drafter proposes: it writes at most `capacity` elements of the three arrays, and `count`. */
typedef struct augur_proposals {
  size_t size;
  size_t capacity; /* augur_draft_request.most_nodes */
  /* A parent is a node of the frontier. A one_shot drafter may also continue its own proposal number i of the
   * same call: node_count + i, with i less than its own number. */
  int32_t* parents;
  int32_t* tokens;
  float* log_probs; /* each log_prob is that of the token if its parent is right: finite, at most 0 */
  size_t count;     /* 0 before the call: nothing, which ends the round's drafting */
} augur_proposals;

/* One of the engine's own drafters that works for one of the program's. It ends with that one. */
typedef struct augur_built_in_drafter augur_built_in_drafter;
/* Makes built-in drafters; only for the call of augur_drafter_type.make. */
typedef struct augur_drafter_maker augur_drafter_maker;

/* What a drafter is made for. Valid during the call. */
typedef struct augur_drafter_setup {
  size_t size;
  int64_t context;                   /* most tokens of the sequence, drafted ones included */
  int64_t vocab;                     /* ids are below this */
  const char* const* setting_keys;   /* the plan's settings "@NAME.KEY", by KEY: arrays of */
  const char* const* setting_values; /* setting_count elements */
  size_t setting_count;
  augur_drafter_maker* maker;
} augur_drafter_setup;

/* Makes one of the engine's drafters (augur_engine_drafters()) for the sequence: "ngram", "eagle3", "@NAME"
 * of a draft model. At most one for each drafter. It follows the text by itself. `traits`, which may be NULL,
 * gets its traits. NULL on failure. */
augur_built_in_drafter* augur_make_built_in_drafter(augur_drafter_maker* maker, const char* name,
                                                    augur_drafter_traits* traits);
/* Drafts for these nodes of the frontier in place of proposals for them: the root, or nodes that it has added
 * in this round. Within augur_drafter_type.propose, once in a call. 0, or -1 on failure. */
int32_t augur_built_in_drafter_draft(augur_built_in_drafter* drafter, const int32_t* nodes, size_t count);

/* A kind of drafter, which plans name as "@NAME". What is made by `make` is the drafter of one sequence;
 * `user` is the field below. Functions and `user` must stay until the engine has been freed. Those that are
 * not needed are NULL. */
typedef struct augur_drafter_type {
  size_t size;
  const char* name; /* NAME: letters, digits, '.', '_' and '-'; no draft model has the same */
  void* user;
  /* Makes the drafter, which it returns as a pointer of its own, never NULL unless it fails. `traits` has the
   * defaults, and may be changed. Also called for sequences that measure the drafter's costs. */
  void* (*make)(const augur_drafter_setup* setup, augur_drafter_traits* traits, void* user);
  void (*destroy)(void* drafter, void* user);
  /* The sequence is new, or it begins again: its text is told from the start. */
  int32_t (*reset)(void* drafter, void* user);
  /* The next tokens of the text: a part of the prompt (`drafted` is 0), or those of a round, of which the
   * first `drafted` were drafted, by whichever drafter. */
  int32_t (*accepted)(void* drafter, const int32_t* tokens, size_t count, int32_t drafted, void* user);
  /* Not NULL. */
  int32_t (*propose)(void* drafter, const augur_draft_request* request, augur_proposals* proposals,
                     void* user);
  void (*forget)(void* user); /* called by augur_engine_forget() */
} augur_drafter_type;
void augur_drafter_type_init(augur_drafter_type* type, size_t size);
static inline augur_drafter_type augur_drafter_type_default(void) {
  augur_drafter_type type;
  augur_drafter_type_init(&type, sizeof(type));
  return type;
}

#ifdef __cplusplus
}
#endif
#endif
