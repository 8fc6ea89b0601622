/* Features for a program's own part in decoding: processors, what the model makes of a text, drafters,
 * policies.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "features.h"

/* Greedy and sampled, without drafts and with those of each plan: ids, text, and what drafting did. */
static const char* add_drafted(struct outcome* out, augur_engine* engine, augur_request request,
                               const char* const* plans, size_t count) {
  size_t i;
  for (i = 0; i < 2 * count; ++i) {
    augur_statistics statistics;
    augur_result* result;
    request.speculation = plans[i / 2];
    request.temperature = i % 2 == 0 ? 0 : 0.8;
    request.seed = 11;
    result = augur_generate(engine, &request, NULL, NULL);
    CHECK(result != NULL);
    statistics.size = sizeof(statistics);
    CHECK(augur_result_get_statistics(result, &statistics) == 0);
    add_number(out, (double)statistics.calls);
    add_number(out, (double)statistics.drafted_tokens);
    add_number(out, (double)statistics.accepted_tokens);
    CHECK(add_result(out, result));
  }
  return NULL;
}

/* No token twice in a row. */
static int32_t not_again(const int32_t* tokens, size_t count, float* logits, size_t vocab, void* user) {
  if (vocab != 512) return 0;
  logits[tokens[count - 1]] = -INFINITY;
  ++*(int*)user;
  return 1;
}

static int32_t fails(const int32_t* tokens, size_t count, float* logits, size_t vocab, void* user) {
  (void)tokens, (void)count, (void)logits, (void)vocab, (void)user;
  return 0;
}

const char* feature_logits_processor(const struct place* place, struct outcome* out) {
  static const char* const plans[] = {"none", "draft:policy=eagle2", "ngram:n-max=4"};
  augur_request request = usual_request();
  augur_engine* engine = usual_engine(place);
  const char* failure;
  int calls = 0;
  CHECK(engine != NULL);
  request.logits_processor = not_again;
  request.logits_user = &calls;
  failure = add_drafted(out, engine, request, plans, 3);
  if (failure != NULL) return failure;
  CHECK(calls > 0);
  request.logits_processor = fails;
  CHECK(augur_generate(engine, &request, NULL, NULL) == NULL);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_INTERNAL);
  CHECK(strstr(augur_last_error(), "logits_processor has failed") != NULL);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

static void add_floats(struct outcome* out, const float* numbers, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) add_number(out, numbers[i]);
}

static const int32_t kText[] = {1, 403, 407, 261, 378, 400};
enum { kTextCount = 6 };

static void add_rows(int64_t first, const float* rows, size_t row_count, size_t vocab, void* user) {
  size_t i;
  add_number(user, (double)first);
  for (i = 0; i < row_count; ++i) add_floats(user, rows + i * vocab, 4);
}

const char* feature_logits(const struct place* place, struct outcome* out) {
  static float logits[kTextCount * 512];
  augur_engine* engine = usual_engine(place);
  augur_cancel_token* cancel = augur_cancel_token_create();
  CHECK(engine != NULL);
  CHECK(augur_logits(engine, kText, kTextCount, NULL, 0, NULL) == kTextCount * 512);
  CHECK(augur_logits(engine, kText, kTextCount, logits, kTextCount * 512, cancel) == kTextCount * 512);
  add_floats(out, logits, kTextCount * 512);
  logits[600] = 7.0f;
  logits[599] = 7.0f;
  CHECK(augur_logits(engine, kText, kTextCount, logits, 600, NULL) == kTextCount * 512);
  CHECK(logits[600] == 7.0f && logits[599] != 7.0f);
  CHECK(augur_logits_in_parts(engine, kText, kTextCount, add_rows, out, NULL) == 0);
  CHECK(augur_logits(engine, kText, 0, logits, 600, NULL) == -1);
  add_failure(out);
  CHECK(augur_cancel_token_cancel(cancel) == 0);
  CHECK(augur_logits(engine, kText, kTextCount, logits, 600, cancel) == -1);
  add_failure(out);
  augur_cancel_token_free(cancel);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_hidden_states(const struct place* place, struct outcome* out) {
  float states[kTextCount * 64];
  augur_engine* engine = usual_engine(place);
  augur_model_info info;
  int32_t layer;
  CHECK(engine != NULL);
  info.size = sizeof(info);
  CHECK(augur_engine_get_info(engine, &info) == 0);
  CHECK(info.hidden == 64);
  for (layer = 0; layer <= info.layers; ++layer) {
    CHECK(augur_hidden_states(engine, kText, kTextCount, layer, states, kTextCount * 64, NULL) ==
          kTextCount * 64);
    add_floats(out, states, kTextCount * 64);
  }
  CHECK(augur_hidden_states(engine, kText, kTextCount, layer, states, kTextCount * 64, NULL) == -1);
  add_failure(out);
  CHECK(augur_hidden_states(engine, kText, kTextCount, 0, NULL, 0, NULL) == kTextCount * 64);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_embed(const struct place* place, struct outcome* out) {
  float vector[64];
  augur_embed_options options = augur_embed_options_default();
  augur_engine* engine = usual_engine(place);
  CHECK(engine != NULL);
  CHECK(augur_embed(engine, kText, kTextCount, NULL, vector, 64) == 64);
  add_floats(out, vector, 64);
  options.pooling = AUGUR_POOLING_MEAN;
  options.normalised = 0;
  CHECK(augur_embed(engine, kText, kTextCount, &options, vector, 64) == 64);
  add_floats(out, vector, 64);
  options.pooling = 2;
  CHECK(augur_embed(engine, kText, kTextCount, &options, vector, 64) == -1);
  CHECK(strcmp(augur_last_error_field(), "pooling") == 0);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

static void add_score(size_t index, const augur_text_score* score, void* user) {
  add_number(user, (double)index);
  add_floats(user, score->logprobs, score->logprob_count);
  add_number(user, score->sum);
  add_number(user, (double)score->greedy);
}

const char* feature_score(const struct place* place, struct outcome* out) {
  float logprobs[kTextCount];
  augur_text_score score;
  augur_scored_text texts[2];
  const augur_scored_text* pointers[2];
  augur_engine* engine = usual_engine(place);
  CHECK(engine != NULL);
  score.size = sizeof(score);
  CHECK(augur_score(engine, kText, kTextCount, 2, NULL, 0, NULL, NULL) == kTextCount - 2);
  CHECK(augur_score(engine, kText, kTextCount, 2, logprobs, kTextCount, &score, NULL) == kTextCount - 2);
  CHECK(score.logprobs == logprobs);
  add_score(0, &score, out);
  texts[0] = texts[1] = augur_scored_text_default();
  texts[0].tokens = kText;
  texts[0].token_count = kTextCount;
  texts[1].tokens = kText;
  texts[1].token_count = 4;
  texts[1].from = 3;
  pointers[0] = &texts[0];
  pointers[1] = &texts[1];
  CHECK(augur_score_many(engine, pointers, 2, add_score, out, NULL) == 0);
  texts[1].from = 0;
  CHECK(augur_score_many(engine, pointers, 2, add_score, out, NULL) == -1);
  add_failure(out);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

/* Proposes after a token what followed it when it was last seen. */
struct bigrams {
  int32_t newest;
  int32_t next[512];
};

struct counts {
  int made;
  int destroyed;
  int forgotten;
  int failing; /* proposals fail */
  int rounds;
  int priced;
};

static int32_t reset_bigrams(void* drafter, void* user) {
  struct bigrams* const own = drafter;
  size_t i;
  (void)user;
  own->newest = -1;
  for (i = 0; i < 512; ++i) own->next[i] = -1;
  return 1;
}

static void* make_bigrams(const augur_drafter_setup* setup, augur_drafter_traits* traits, void* user) {
  struct bigrams* own;
  size_t i;
  for (i = 0; i < setup->setting_count; ++i)
    if (strcmp(setup->setting_keys[i], "refuse") == 0) return NULL;
  if (setup->vocab != 512 || traits->has_probabilities != 0) return NULL;
  own = malloc(sizeof(*own));
  if (own == NULL) return NULL;
  traits->learns = 1;
  ++((struct counts*)user)->made;
  reset_bigrams(own, user);
  return own;
}

static void destroy(void* own, void* user) {
  ++((struct counts*)user)->destroyed;
  free(own);
}

static int32_t read_bigrams(void* drafter, const int32_t* tokens, size_t count, int32_t drafted, void* user) {
  struct bigrams* const own = drafter;
  size_t i;
  (void)user;
  if (drafted < 0 || (size_t)drafted > count) return 0;
  for (i = 0; i < count; ++i) {
    if (own->newest >= 0) own->next[own->newest] = tokens[i];
    own->newest = tokens[i];
  }
  return 1;
}

static int32_t propose_bigrams(void* drafter, const augur_draft_request* request, augur_proposals* proposals,
                               void* user) {
  const struct bigrams* const own = drafter;
  size_t i;
  if (((struct counts*)user)->failing) return 0;
  for (i = 0; i < request->frontier_count && proposals->count < proposals->capacity; ++i) {
    const int32_t node = request->frontier[i];
    const int32_t next = own->next[request->tokens[node]];
    if (next < 0) continue;
    proposals->parents[proposals->count] = node;
    proposals->tokens[proposals->count] = next;
    proposals->log_probs[proposals->count] = -0.5f;
    ++proposals->count;
  }
  return 1;
}

static void forget(void* user) {
  ++((struct counts*)user)->forgotten;
}

/* Leaves all to the built-in drafter "draft". */
struct around {
  augur_built_in_drafter* built_in;
};

static void* make_around(const augur_drafter_setup* setup, augur_drafter_traits* traits, void* user) {
  struct around* const own = malloc(sizeof(*own));
  if (own == NULL) return NULL;
  own->built_in = augur_make_built_in_drafter(setup->maker, "draft", traits);
  ++((struct counts*)user)->made;
  return own;
}

static int32_t propose_around(void* drafter, const augur_draft_request* request, augur_proposals* proposals,
                              void* user) {
  const struct around* const own = drafter;
  (void)proposals;
  if (((struct counts*)user)->failing) /* also for nodes that it was not asked for */
    return augur_built_in_drafter_draft(own->built_in, request->tokens, 1) == 0;
  return augur_built_in_drafter_draft(own->built_in, request->frontier, request->frontier_count) == 0;
}

static augur_drafter_type bigram_type(struct counts* counts) {
  augur_drafter_type type = augur_drafter_type_default();
  type.name = "bigram";
  type.user = counts;
  type.make = make_bigrams;
  type.destroy = destroy;
  type.reset = reset_bigrams;
  type.accepted = read_bigrams;
  type.propose = propose_bigrams;
  type.forget = forget;
  return type;
}

/* The request in a session, with a processor and the plan. */
static const char* add_submitted(struct outcome* out, augur_engine* engine, augur_request request,
                                 const char* plan) {
  augur_session* session = augur_session_open(engine, NULL);
  augur_ticket* ticket;
  int calls = 0;
  CHECK(session != NULL);
  request.speculation = plan;
  request.logits_processor = not_again;
  request.logits_user = &calls;
  ticket = augur_submit(session, &request, 0, NULL, NULL);
  CHECK(ticket != NULL);
  CHECK(add_result(out, augur_wait(ticket)));
  augur_ticket_free(ticket);
  CHECK(augur_session_close(session) == 0);
  CHECK(calls > 0);
  return NULL;
}

const char* feature_own_drafter(const struct place* place, struct outcome* out) {
  static const char* const plans[] = {"none", "@bigram:policy=eagle2", "@bigram:n-max=3",
                                      "@around:policy=eagle2,topk=3,size=10",
                                      "@bigram,@around:policy=eagle2"};
  struct counts counts = {0, 0, 0, 0, 0, 0};
  augur_engine_options options = usual_options(place);
  augur_request request = usual_request();
  augur_drafter_type types[2];
  const augur_drafter_type* pointers[2];
  augur_engine* engine;
  const char* failure;
  types[0] = bigram_type(&counts);
  types[1] = augur_drafter_type_default();
  types[1].name = "around";
  types[1].user = &counts;
  types[1].make = make_around;
  types[1].destroy = destroy;
  types[1].propose = propose_around;
  pointers[0] = &types[0];
  pointers[1] = &types[1];
  options.custom_drafters = pointers;
  options.custom_drafter_count = 2;
  engine = augur_load(&options);
  CHECK(engine != NULL);
  memset(types, 0, sizeof(types)); /* has been copied */
  failure = add_drafted(out, engine, request, plans, 5);
  if (failure != NULL) return failure;
  failure = add_submitted(out, engine, request, plans[1]);
  if (failure != NULL) return failure;
  CHECK(augur_engine_forget(engine) == 0);
  CHECK(counts.forgotten == 1);
  request.speculation = "@bigram:drafter=@bigram.refuse=1";
  CHECK(augur_generate(engine, &request, NULL, NULL) == NULL);
  CHECK(strstr(augur_last_error(), "drafter @bigram: make has failed") != NULL);
  counts.failing = 1;
  request.speculation = "@bigram:policy=eagle2";
  CHECK(augur_generate(engine, &request, NULL, NULL) == NULL);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_INTERNAL);
  CHECK(strstr(augur_last_error(), "propose has failed") != NULL);
  request.speculation = "@around:policy=eagle2";
  CHECK(augur_generate(engine, &request, NULL, NULL) == NULL);
  CHECK(strstr(augur_last_error(), "is not of the frontier") != NULL);
  CHECK(augur_free(engine) == 0);
  CHECK(counts.made > 0 && counts.destroyed == counts.made);
  options.custom_drafters = pointers; /* without functions */
  types[0].size = sizeof(types[0]);
  CHECK(augur_load(&options) == NULL);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_MISUSE);
  return NULL;
}

/* Every node that was added last grows two children, `levels` times; the first seven nodes stay. */
struct wide {
  int64_t levels;
  int64_t level;
  size_t grown; /* nodes below this one have been named */
};

static void* make_wide(const augur_policy_setup* setup, void* user) {
  struct wide* own;
  if (setup->setting_count != 1 || strcmp(setup->setting_keys[0], "levels") != 0) return NULL;
  own = malloc(sizeof(*own));
  if (own == NULL) return NULL;
  own->levels = atoi(setup->setting_values[0]);
  ++((struct counts*)user)->made;
  return own;
}

static int32_t begin_wide(void* policy, const augur_policy_round* round, void* user) {
  struct wide* const own = policy;
  own->level = round->room < 7 || round->levels < own->levels ? own->levels : 0;
  own->grown = 0;
  if (round->costs->verify_ms(round->costs->costs, 8) > 0) ++((struct counts*)user)->priced;
  return 1;
}

static int32_t grow_wide(void* policy, const augur_drafted_tree* tree, augur_node_list* nodes, void* user) {
  struct wide* const own = policy;
  if (((struct counts*)user)->failing) return -1;
  if (own->level++ >= own->levels) return 0;
  for (; own->grown < tree->node_count; ++own->grown) nodes->nodes[nodes->count++] = (int32_t)own->grown;
  return 2;
}

static int32_t keep_wide(void* policy, const augur_drafted_tree* tree, augur_node_list* nodes, void* user) {
  (void)policy, (void)tree, (void)user;
  if (nodes->count > 8) nodes->count = 8;
  return 1;
}

static int32_t observe_wide(void* policy, const augur_verified_round* round, void* user) {
  (void)policy;
  ++((struct counts*)user)->rounds;
  return round->accepted_count > 0 && round->accepted[0] == 0 && round->tree->parents[0] == -1;
}

const char* feature_own_policy(const struct place* place, struct outcome* out) {
  static const char* const plans[] = {"none", "draft:policy=@wide:levels=3", "@bigram:policy=@wide:levels=2"};
  struct counts counts = {0, 0, 0, 0, 0, 0};
  struct counts of_drafter = {0, 0, 0, 0, 0, 0};
  augur_engine_options options = usual_options(place);
  augur_request request = usual_request();
  augur_policy_type type = augur_policy_type_default();
  const augur_policy_type* const pointer = &type;
  const augur_drafter_type drafter = bigram_type(&of_drafter);
  const augur_drafter_type* const drafters = &drafter;
  augur_engine* engine;
  const char* failure;
  CHECK(type.most_nodes == 63 && type.most_expanded == 64 && type.branches == 1);
  type.name = "wide";
  type.user = &counts;
  type.make = make_wide;
  type.destroy = destroy;
  type.begin = begin_wide;
  type.grow = grow_wide;
  type.keep = keep_wide;
  type.observe = observe_wide;
  type.forget = forget;
  options.custom_policies = &pointer;
  options.custom_policy_count = 1;
  options.custom_drafters = &drafters;
  options.custom_drafter_count = 1;
  engine = augur_load(&options);
  CHECK(engine != NULL);
  failure = add_drafted(out, engine, request, plans, 3);
  if (failure != NULL) return failure;
  add_number(out, counts.rounds);
  CHECK(counts.priced >= counts.rounds);
  CHECK(augur_engine_forget(engine) == 0);
  CHECK(counts.forgotten > 0);
  request.speculation = "draft:policy=@wide";
  CHECK(augur_generate(engine, &request, NULL, NULL) == NULL);
  CHECK(strstr(augur_last_error(), "make has failed") != NULL);
  counts.failing = 1;
  request.speculation = plans[1];
  CHECK(augur_generate(engine, &request, NULL, NULL) == NULL);
  CHECK(strstr(augur_last_error(), "policy @wide: grow has failed") != NULL);
  CHECK(augur_free(engine) == 0);
  CHECK(counts.made > 0 && counts.destroyed == counts.made);
  return NULL;
}
