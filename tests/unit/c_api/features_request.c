/* Features of a request. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "features.h"

/* The result of one request of a new engine. */
static const char* generated(const struct place* place, const augur_request* request, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  CHECK(engine != NULL);
  CHECK(add_result(out, augur_generate(engine, request, NULL, NULL)));
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_greedy(const struct place* place, struct outcome* out) {
  const augur_request request = usual_request();
  return generated(place, &request, out);
}

const char* feature_sampled(const struct place* place, struct outcome* out) {
  augur_request request = usual_request();
  request.temperature = 0.9;
  request.top_k = 40;
  request.top_p = 0.95;
  request.min_p = 0.01;
  request.seed = 7;
  return generated(place, &request, out);
}

const char* feature_penalties(const struct place* place, struct outcome* out) {
  augur_request request = usual_request();
  request.repetition_penalty = 1.3;
  request.presence_penalty = 0.2;
  request.frequency_penalty = 0.1;
  request.penalty_window = 16;
  return generated(place, &request, out);
}

const char* feature_bias(const struct place* place, struct outcome* out) {
  const int32_t tokens[] = {432, 261, 300};
  const float values[] = {-INFINITY, -4.5f, 2.0f};
  augur_request request = usual_request();
  request.bias_tokens = tokens;
  request.bias_values = values;
  request.bias_count = 3;
  return generated(place, &request, out);
}

const char* feature_stop(const struct place* place, struct outcome* out) {
  const char* const stops[] = {"never said", "Lily"};
  augur_engine* engine = usual_engine(place);
  augur_request request = usual_request();
  augur_result_info info;
  augur_result* result;
  request.stop = stops;
  request.stop_count = 2;
  result = augur_generate(engine, &request, NULL, NULL);
  info.size = sizeof(info);
  CHECK(augur_result_get_info(result, &info) == 0);
  add_text(out, info.stop_string);
  add_text(out, info.finish_reason);
  add_number(out, (double)info.prompt_tokens);
  CHECK(add_result(out, result));
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_ignore_eos(const struct place* place, struct outcome* out) {
  augur_request request = usual_request();
  request.ignore_eos = 1;
  request.max_tokens = -1;
  return generated(place, &request, out);
}

static int32_t on_event(const augur_token_event* event, void* user) {
  struct outcome* out = user;
  add_number(out, event->token);
  add_number(out, event->depth);
  add_text(out, event->proposer);
  if (event->logprobs != NULL) add_number(out, event->logprobs->logprob);
  return event->size >= sizeof(*event);
}

const char* feature_events(const struct place* place, struct outcome* out) {
  augur_request request = usual_request();
  request.logprobs = 0;
  request.on_event = on_event;
  request.callback_user = out;
  return generated(place, &request, out);
}

static const char* add_logprobs(struct outcome* out, const augur_result* result) {
  augur_token_logprobs logprobs;
  augur_result_info info;
  size_t i;
  size_t k;
  logprobs.size = sizeof(logprobs);
  info.size = sizeof(info);
  CHECK(augur_result_get_info(result, &info) == 0);
  for (i = 0; i < info.logprob_count + info.prompt_logprob_count; ++i) {
    if (i < info.logprob_count) {
      CHECK(augur_result_get_logprobs(result, i, &logprobs) == 1);
    } else {
      CHECK(augur_result_get_prompt_logprobs(result, i - info.logprob_count, &logprobs) == 1);
    }
    add_number(out, logprobs.logprob);
    for (k = 0; k < logprobs.top_count; ++k) {
      add_number(out, logprobs.top_tokens[k]);
      add_number(out, (double)logprobs.top_logprobs[k]);
    }
  }
  CHECK(augur_result_get_logprobs(result, info.logprob_count, &logprobs) == 0);
  CHECK(augur_result_get_prompt_logprobs(result, info.prompt_logprob_count, &logprobs) == 0);
  return NULL;
}

static const char* scored(const struct place* place, const augur_request* request, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  augur_result* result = augur_generate(engine, request, NULL, NULL);
  const char* failure = add_logprobs(out, result);
  if (failure != NULL) return failure;
  CHECK(add_result(out, result));
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_logprobs(const struct place* place, struct outcome* out) {
  augur_request request = usual_request();
  request.logprobs = 3;
  return scored(place, &request, out);
}

const char* feature_sampled_logprobs(const struct place* place, struct outcome* out) {
  augur_request request = usual_request();
  request.temperature = 0.8;
  request.top_k = 5;
  request.logprobs = 5;
  request.sampled_logprobs = 1;
  return scored(place, &request, out);
}

const char* feature_prompt_logprobs(const struct place* place, struct outcome* out) {
  augur_request request = usual_request();
  request.logprobs = 2;
  request.prompt_logprobs = 1;
  return scored(place, &request, out);
}

static const char* drafted(const struct place* place, const char* plan, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  augur_request request = usual_request();
  augur_statistics statistics;
  augur_result* result;
  request.speculation = plan;
  result = augur_generate(engine, &request, NULL, NULL);
  statistics.size = sizeof(statistics);
  CHECK(augur_result_get_statistics(result, &statistics) == 0);
  add_text(out, statistics.type);
  add_number(out, (double)statistics.calls);
  CHECK(add_result(out, result));
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_plan(const struct place* place, struct outcome* out) {
  const char* failure = drafted(place, "none", out);
  return failure != NULL ? failure : drafted(place, "draft:topk=3,depth=3,size=12", out);
}

const char* feature_rejection(const struct place* place, struct outcome* out) {
  return drafted(place, "draft:n-max=4,verify=rejection", out);
}

/* A build without grammars refuses it in both. */
const char* feature_grammar(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  augur_request request = usual_request();
  augur_result_info info;
  augur_result* result;
  size_t i;
  request.grammar =
      "{\"type\": \"array\", \"items\": {\"enum\": [1, 22]}, \"maxItems\": 3, \"format\": \"email\"}";
  request.grammar_kind = "json-schema";
  result = augur_generate(engine, &request, NULL, NULL);
  info.size = sizeof(info);
  if (result == NULL) {
    add_failure(out);
  } else {
    CHECK(augur_result_get_info(result, &info) == 0);
    for (i = 0; i < info.warning_count; ++i) add_text(out, info.warnings[i]);
    CHECK(add_result(out, result));
  }
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_special(const struct place* place, struct outcome* out) {
  const int32_t shown[] = {1};
  const int32_t prompt[] = {1, 403, 407};
  const int32_t wanted[] = {1};
  const float much[] = {100.0f};
  augur_request request = usual_request();
  const char* failure;
  request.prompt = NULL;
  request.prompt_tokens = prompt;
  request.prompt_token_count = 3;
  request.max_tokens = 3;
  request.bias_tokens = wanted;
  request.bias_values = much;
  request.bias_count = 1;
  failure = generated(place, &request, out);
  if (failure != NULL) return failure;
  request.shown_tokens = shown;
  request.shown_token_count = 1;
  failure = generated(place, &request, out);
  if (failure != NULL) return failure;
  request.shown_tokens = NULL;
  request.shown_token_count = 0;
  request.show_special = 1;
  return generated(place, &request, out);
}

const char* feature_thoughts(const struct place* place, struct outcome* out) {
  augur_thoughts thoughts = augur_thoughts_default();
  augur_request request = usual_request();
  thoughts.begin = "<think>";
  thoughts.end = "</think>";
  thoughts.begun = 1;
  thoughts.most_tokens = 5;
  request.thoughts = &thoughts;
  return generated(place, &request, out);
}

const char* feature_prompt_ids(const struct place* place, struct outcome* out) {
  const int32_t prompt[] = {1, 403, 407, 261, 378};
  augur_request request = usual_request();
  request.prompt = NULL;
  request.prompt_tokens = prompt;
  request.prompt_token_count = 5;
  return generated(place, &request, out);
}

static void on_round(const augur_draft_round* round, void* user) {
  struct outcome* out = user;
  size_t i;
  add_number(out, (double)round->next);
  add_number(out, (double)round->drafted);
  add_number(out, (double)round->batch_rows);
  for (i = 0; i < round->node_count; ++i) {
    add_number(out, round->tokens[i]);
    add_number(out, round->parents[i]);
    add_number(out, round->accepted[i]);
    add_number(out, round->probabilities[i]);
    add_text(out, round->proposers[i]);
  }
}

const char* feature_rounds(const struct place* place, struct outcome* out) {
  augur_request request = usual_request();
  request.speculation = "draft:topk=2,depth=3,size=8";
  request.on_round = on_round;
  request.callback_user = out;
  return generated(place, &request, out);
}

static void on_prefill(int64_t done, int64_t total, void* user) {
  struct outcome* out = user;
  add_number(out, (double)done);
  add_number(out, (double)total);
}

const char* feature_prefill(const struct place* place, struct outcome* out) {
  augur_request request = usual_request();
  request.on_prefill = on_prefill;
  request.callback_user = out;
  return generated(place, &request, out);
}

const char* feature_statistics(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  const augur_request request = usual_request();
  augur_result* result = augur_generate(engine, &request, NULL, NULL);
  augur_statistics statistics;
  augur_result_info info;
  size_t i;
  statistics.size = sizeof(statistics);
  info.size = sizeof(info);
  CHECK(augur_result_get_statistics(result, &statistics) == 0);
  CHECK(augur_result_get_info(result, &info) == 0);
  add_text(out, statistics.type);
  add_number(out, (double)statistics.calls);
  add_number(out, (double)statistics.verified_tokens);
  add_number(out, (double)statistics.drafted_tokens);
  add_number(out, (double)statistics.accepted_tokens);
  add_number(out, statistics.mean_accepted_length);
  for (i = 0; i < statistics.position_count; ++i)
    add_number(out, (double)statistics.accepted_per_position[i]);
  CHECK(statistics.draft_ms > 0 && statistics.verify_ms > 0 && statistics.other_ms >= 0);
  CHECK(statistics.calls == augur_result_target_calls(result));
  CHECK(info.decode_ms > 0 && info.prompt_ms > 0);
  CHECK(info.tokens_per_second == augur_result_tokens_per_second(result));
  CHECK(add_result(out, result));
  CHECK(augur_free(engine) == 0);
  return NULL;
}

static int32_t stop_at_fifth(const char* text, size_t length, int32_t token, void* user) {
  (void)text;
  (void)length;
  (void)token;
  return ++*(int*)user < 5;
}

const char* feature_stopped_by_callback(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  const augur_request request = usual_request();
  int tokens = 0;
  augur_result* result = augur_generate(engine, &request, stop_at_fifth, &tokens);
  add_text(out, augur_result_finish_reason(result));
  CHECK(add_result(out, result));
  CHECK(augur_free(engine) == 0);
  return NULL;
}

struct cancelling {
  augur_cancel_token* token;
  int calls;
};

static void cancel_in_prefill(int64_t done, int64_t total, void* user) {
  struct cancelling* cancelling = user;
  (void)done;
  (void)total;
  ++cancelling->calls;
  augur_cancel_token_cancel(cancelling->token);
}

const char* feature_cancelled_in_prompt(const struct place* place, struct outcome* out) {
  static int32_t prompt[500];
  augur_engine* engine = usual_engine(place);
  struct cancelling cancelling = {0};
  augur_request request = usual_request();
  augur_result* result;
  size_t i;
  for (i = 0; i < 500; ++i) prompt[i] = 300 + (int32_t)(i % 100);
  cancelling.token = augur_cancel_token_create();
  CHECK(cancelling.token != NULL);
  request.prompt = NULL;
  request.prompt_tokens = prompt;
  request.prompt_token_count = 500;
  request.cancel = cancelling.token;
  request.on_prefill = cancel_in_prefill;
  request.callback_user = &cancelling;
  result = augur_generate(engine, &request, NULL, NULL);
  CHECK(result != NULL);
  add_text(out, augur_result_finish_reason(result));
  add_number(out, cancelling.calls);
  CHECK(add_result(out, result));
  augur_cancel_token_free(cancelling.token);
  CHECK(augur_generate(engine, &request, NULL, NULL) == NULL);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_MISUSE);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

static void* cancel(void* token) {
  augur_cancel_token_cancel(token);
  return NULL;
}

static int32_t cancel_by_thread(const augur_token_event* event, void* user) {
  pthread_t other;
  (void)event;
  if (pthread_create(&other, NULL, cancel, user) != 0) return 0;
  pthread_join(other, NULL);
  return 1;
}

const char* feature_cancelled_by_thread(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  augur_cancel_token* token = augur_cancel_token_create();
  augur_request request = usual_request();
  augur_result* result;
  request.speculation = "none";
  request.cancel = token;
  request.on_event = cancel_by_thread;
  request.callback_user = token;
  result = augur_generate(engine, &request, NULL, NULL);
  add_text(out, augur_result_finish_reason(result));
  CHECK(add_result(out, result));
  augur_cancel_token_free(token);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

static void on_result(size_t index, augur_result* result, void* user) {
  ((augur_result**)user)[index] = result;
}

const char* feature_many(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  const augur_request* requests[4];
  augur_request all[4];
  augur_result* results[4] = {0};
  augur_result_info info;
  int i;
  info.size = sizeof(info);
  for (i = 0; i < 4; ++i) {
    all[i] = usual_request();
    all[i].temperature = 0.7;
    all[i].seed = (uint64_t)i;
    requests[i] = &all[i];
  }
  all[2].top_p = -1;
  CHECK(augur_generate_many(engine, requests, 4, 2, on_result, results) == 0);
  for (i = 0; i < 4; ++i) {
    CHECK(augur_result_get_info(results[i], &info) == 0);
    add_text(out, info.finish_reason);
    add_text(out, info.error);
    add_number(out, info.error_kind);
    add_number(out, info.refused);
    CHECK(add_result(out, results[i]));
  }
  CHECK(augur_generate_many(engine, requests, 4, 0, on_result, results) == -1);
  add_failure(out);
  CHECK(augur_generate_many(engine, requests, 4, 2, NULL, NULL) == -1);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_MISUSE);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_errors(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  augur_request request = usual_request();
  request.temperature = -1;
  CHECK(augur_generate(engine, &request, NULL, NULL) == NULL);
  add_failure(out);
  request = usual_request();
  request.speculation = "draft:colour=red";
  CHECK(augur_generate(engine, &request, NULL, NULL) == NULL);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_REFUSED_FIELD ||
        augur_last_error_kind() == AUGUR_ERROR_MALFORMED);
  add_failure(out);
  CHECK(augur_token_bytes(engine, 1 << 20, NULL, 0) == -1);
  add_failure(out);
  CHECK(augur_free(engine) == 0);
  return NULL;
}
