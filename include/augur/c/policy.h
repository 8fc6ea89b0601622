#ifndef AUGUR_C_POLICY_H
#define AUGUR_C_POLICY_H
#include <stddef.h>
#include <stdint.h>

#include "augur/c/drafter.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A policy of the program's own, which shapes the trees of one drafter of one sequence: the parts of
 * augur/custom_policy.h, which say more of each. Threads, failures and lifetimes are those of a drafter of
 * the program's own (augur/c/drafter.h). */

/* A drafted tree, valid during the call: arrays of node_count elements. Node 0 is the root, and a parent
 * precedes its children. */
typedef struct augur_drafted_tree {
  size_t size;
  size_t node_count;
  const int32_t* tokens;
  const int32_t* parents;   /* -1: of the root */
  const int32_t* depths;    /* 0: the root's */
  const float* log_probs;   /* of a node if its parent is right, by its drafter */
  const float* scores;      /* sum of log_probs along the path */
  const uint8_t* proposers; /* 0: the root, i: the sequence's i-th drafter, which was first */
  const float* entropies;   /* of what a node's children were taken from, NaN: not known; NULL: not wanted */
  int64_t drawn;            /* 1: candidates were drawn, so `keep` must not choose by their tokens */
} augur_drafted_tree;

/* Prices on this machine, in ms; guesses unless the policy needs_costs. Valid until the round's `observe`. */
typedef struct augur_round_costs {
  size_t size;
  const void* costs;                                   /* the first argument of the functions */
  double (*verify_ms)(const void* costs, double rows); /* the target's forward pass, with the check */
  /* A level of the drafter's tree; level 0: `rows` of the text (augur_policy_round.behind), others: nodes. */
  double (*draft_ms)(const void* costs, int32_t level, int32_t rows);
  double other_ms; /* of a step */
} augur_round_costs;

/* The circumstances of one round. */
typedef struct augur_policy_round {
  size_t size;
  int64_t context;   /* tokens of the text before the root */
  int64_t room;      /* most nodes besides the root that can be verified */
  int64_t max_depth; /* deeper nodes are dropped, too */
  int64_t levels;    /* that are useful and that the drafter can draft */
  const augur_drafter_traits* drafter;
  int64_t behind; /* rows that the drafter's first level runs */
  double tpot_ms; /* augur_request.tpot_ms */
  double late_ms; /* lateness of the newest token against it; negative: early */
  const augur_round_costs* costs;
} augur_policy_round;

/* What came of a round. */
typedef struct augur_verified_round {
  size_t size;
  const augur_drafted_tree* tree; /* as verified: the trees of all drafters, merged */
  const int32_t* accepted;        /* nodes, the root first */
  size_t accepted_count;
  /* As in augur_draft_round. */
  int64_t next;
  int64_t drafted;
  int64_t batch_rows;
  double draft_ms;
  double verify_ms;
  double other_ms;
} augur_verified_round;

/* A list of nodes that a policy writes: at most `capacity`, and their `count`. */
typedef struct augur_node_list {
  size_t size;
  size_t capacity; /* nodes of the tree */
  int32_t* nodes;
  size_t count;
} augur_node_list;

/* What a policy is made for. Valid during the call. */
typedef struct augur_policy_setup {
  size_t size;
  const char* drafter; /* as plans have it; "grammar" beside them for a request with one */
  const augur_drafter_traits* traits;
  const char* const* setting_keys;   /* settings of the plan's "policy=@NAME:KEY=VALUE": arrays of */
  const char* const* setting_values; /* setting_count elements */
  size_t setting_count;
} augur_policy_setup;

/* A kind of policy, which plans name as "@NAME". Per round: begin; grow until it names no nodes; keep; then,
 * after verification, observe. */
typedef struct augur_policy_type {
  size_t size;
  const char* name; /* NAME: letters, digits, '.', '_' and '-' */
  void* user;
  /* The policy of one drafter of one sequence, as a pointer of its own; NULL refuses the drafter or a
   * setting.
   */
  void* (*make)(const augur_policy_setup* setup, void* user);
  void (*destroy)(void* policy, void* user);
  int32_t (*begin)(void* policy, const augur_policy_round* round, void* user);
  /* Writes to `nodes`, which is empty, the nodes that are to get children, none twice in a round: first the
   * root, or nothing, which ends drafting. Returns the most children of each, at least 1; for a one_shot
   * drafter, which is asked once, the most tokens. -1 where it fails. Not NULL. */
  int32_t (*grow)(void* policy, const augur_drafted_tree* tree, augur_node_list* nodes, void* user);
  /* `nodes` has all nodes of the tree; those that it holds afterwards are verified: with each its parent, and
   * no more than most_nodes besides the root. */
  int32_t (*keep)(void* policy, const augur_drafted_tree* tree, augur_node_list* nodes, void* user);
  int32_t (*observe)(void* policy, const augur_verified_round* round, void* user);
  int32_t (*abandoned)(void* policy,
                       void* user); /* in place of observe: the step failed, and is made again */
  void (*forget)(void* user);       /* called by augur_engine_forget() */
  int64_t wants_entropies;          /* 1: augur_drafted_tree has entropies, which take time */
  int64_t branches;                 /* 1, the default: a one_shot drafter may add more than one branch */
  int64_t most_nodes;               /* besides the root that keep leaves (63) */
  int64_t most_expanded;            /* nodes of a tree that grow names (64) */
  int64_t needs_costs;              /* 1: costs are measured before it starts */
} augur_policy_type;
void augur_policy_type_init(augur_policy_type* type, size_t size);
static inline augur_policy_type augur_policy_type_default(void) {
  augur_policy_type type;
  augur_policy_type_init(&type, sizeof(type));
  return type;
}

#ifdef __cplusplus
}
#endif
#endif
