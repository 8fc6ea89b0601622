/* Features of a session. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "features.h"

struct served {
  augur_engine* engine;
  augur_session* session;
};

static const char* serve(const struct place* place, struct served* served) {
  served->engine = usual_engine(place);
  CHECK(served->engine != NULL);
  served->session = augur_session_open(served->engine, NULL);
  CHECK(served->session != NULL);
  return NULL;
}

static const char* end(struct served* served) {
  CHECK(augur_session_close(served->session) == 0);
  CHECK(augur_free(served->engine) == 0);
  return NULL;
}

/* The ticket's result; then frees the ticket. */
static augur_result* waited(augur_ticket* ticket) {
  augur_result* result = augur_wait(ticket);
  augur_ticket_free(ticket);
  return result;
}

const char* feature_session(const struct place* place, struct outcome* out) {
  struct served served;
  augur_ticket* tickets[3];
  int i;
  const char* failure = serve(place, &served);
  if (failure != NULL) return failure;
  for (i = 0; i < 3; ++i) {
    augur_request request = usual_request();
    request.temperature = 0.5 * i;
    request.seed = (uint64_t)i;
    tickets[i] = augur_submit(served.session, &request, i, NULL, NULL);
  }
  for (i = 0; i < 3; ++i) CHECK(add_result(out, waited(tickets[i])));
  return end(&served);
}

const char* feature_clients(const struct place* place, struct outcome* out) {
  struct served served;
  augur_ticket* tickets[3];
  static const char* const kClients[] = {"a", "b", NULL};
  int i;
  const char* failure = serve(place, &served);
  if (failure != NULL) return failure;
  for (i = 0; i < 3; ++i) {
    const augur_request request = usual_request();
    augur_submit_options options = augur_submit_options_default();
    options.client = kClients[i];
    options.tenant = kClients[i];
    options.priority = 3 - i;
    tickets[i] = augur_session_submit(served.session, &request, &options);
  }
  for (i = 0; i < 3; ++i) CHECK(add_result(out, waited(tickets[i])));
  return end(&served);
}

const char* feature_deadline(const struct place* place, struct outcome* out) {
  struct served served;
  augur_submit_options options = augur_submit_options_default();
  const augur_request request = usual_request();
  const char* failure = serve(place, &served);
  if (failure != NULL) return failure;
  options.seconds = 1e-9;
  CHECK(waited(augur_session_submit(served.session, &request, &options)) == NULL);
  add_failure(out);
  return end(&served);
}

const char* feature_ticket_cancel(const struct place* place, struct outcome* out) {
  struct served served;
  augur_request request = usual_request();
  augur_ticket* ticket;
  augur_result* result;
  const char* failure = serve(place, &served);
  if (failure != NULL) return failure;
  request.max_tokens = -1;
  request.ignore_eos = 1;
  ticket = augur_submit(served.session, &request, 0, NULL, NULL);
  CHECK(augur_cancel(ticket) == 0);
  result = augur_wait(ticket);
  CHECK(augur_ended(ticket) == 1);
  add_text(out, augur_result_finish_reason(result));
  augur_result_free(result);
  augur_ticket_free(ticket);
  CHECK(augur_ended(ticket) == -1);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_MISUSE);
  return end(&served);
}

static void on_warnings(const char* const* warnings, size_t count, void* user) {
  size_t i;
  for (i = 0; i < count; ++i) add_text(user, warnings[i]);
}

static int32_t on_token(const char* text, size_t length, int32_t token, void* user) {
  (void)text;
  (void)length;
  add_number(user, token);
  return 1;
}

static void on_result(size_t index, augur_result* result, void* user) {
  add_number(user, (double)index);
  add_text(user, augur_result_finish_reason(result));
  add_result(user, result);
}

const char* feature_session_callbacks(const struct place* place, struct outcome* out) {
  struct served served;
  augur_request request = usual_request();
  augur_submit_options options = augur_submit_options_default();
  augur_ticket* ticket;
  char lines[1024];
  const char* failure = serve(place, &served);
  if (failure != NULL) return failure;
  request.grammar =
      "{\"type\": \"array\", \"items\": {\"enum\": [1, 22]}, \"maxItems\": 3, \"format\": \"email\"}";
  options.on_warnings = on_warnings;
  options.on_token = on_token;
  options.on_result = on_result;
  options.user = out;
  ticket = augur_session_submit(served.session, &request, &options);
  CHECK(ticket != NULL);
  augur_result_free(augur_wait(ticket));
  CHECK(augur_ticket_warnings(ticket, lines, sizeof(lines)) >= 0);
  add_text(out, lines);
  augur_ticket_free(ticket);
  return end(&served);
}

static const char* add_cached(struct outcome* out, augur_session* session, const char* salt,
                              const char* tenant) {
  augur_request request = usual_request();
  augur_submit_options options = augur_submit_options_default();
  augur_result* result;
  static int32_t prompt[200];
  int i;
  for (i = 0; i < 200; ++i) prompt[i] = 300 + i;
  request.prompt = NULL;
  request.prompt_tokens = prompt;
  request.prompt_token_count = 200;
  request.cache_salt = salt;
  options.tenant = tenant;
  result = waited(augur_session_submit(session, &request, &options));
  CHECK(result != NULL);
  add_number(out, (double)augur_result_cached_tokens(result));
  CHECK(add_result(out, result));
  return NULL;
}

const char* feature_kept_texts(const struct place* place, struct outcome* out) {
  struct served served;
  const char* failure = serve(place, &served);
  if (failure == NULL) failure = add_cached(out, served.session, NULL, NULL);
  if (failure == NULL) failure = add_cached(out, served.session, NULL, NULL);
  if (failure == NULL) failure = add_cached(out, served.session, "salt", NULL);
  if (failure == NULL) failure = add_cached(out, served.session, "salt", "tenant");
  if (failure == NULL) failure = add_cached(out, served.session, "salt", "tenant");
  return failure != NULL ? failure : end(&served);
}

struct told {
  struct outcome* out;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int times;
};

static void tell(struct told* told) {
  pthread_mutex_lock(&told->mutex);
  ++told->times;
  pthread_cond_signal(&told->changed);
  pthread_mutex_unlock(&told->mutex);
}

static void on_file(const augur_text_file* file, void* user) {
  struct told* told = user;
  add_number(told->out, (double)file->tokens);
  add_number(told->out, (double)file->bytes);
  add_text(told->out, file->error);
  tell(told);
}

static void wait_for(struct told* told, int times) {
  pthread_mutex_lock(&told->mutex);
  while (told->times < times) pthread_cond_wait(&told->changed, &told->mutex);
  pthread_mutex_unlock(&told->mutex);
}

const char* feature_text_files(const struct place* place, struct outcome* out) {
  struct told told = {out, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
  augur_text_owner owner = {sizeof(augur_text_owner), "tenant", "salt"};
  struct served served;
  int32_t prompt[200];
  char path[512];
  int i;
  const char* failure = serve(place, &served);
  if (failure != NULL) return failure;
  for (i = 0; i < 200; ++i) prompt[i] = 300 + i;
  snprintf(path, sizeof(path), "%s/text", place->folder);
  failure = add_cached(out, served.session, "salt", "tenant");
  if (failure != NULL) return failure;
  CHECK(augur_session_save_text(served.session, prompt, 200, path, &owner, on_file, &told) == 0);
  wait_for(&told, 1);
  CHECK(augur_session_forget_text(served.session, prompt, 200, &owner, on_file, &told) == 0);
  wait_for(&told, 2);
  failure = add_cached(out, served.session, "salt", "tenant");
  if (failure != NULL) return failure;
  CHECK(augur_session_forget_text(served.session, prompt, 200, &owner, NULL, NULL) == 0);
  CHECK(augur_session_load_text(served.session, path, &owner, on_file, &told) == 0);
  wait_for(&told, 3);
  failure = add_cached(out, served.session, "salt", "tenant");
  if (failure != NULL) return failure;
  CHECK(augur_session_load_text(served.session, "/no/such/text", NULL, on_file, &told) == 0);
  wait_for(&told, 4);
  return end(&served);
}

static void on_ping(void* user) {
  tell(user);
}

const char* feature_session_load(const struct place* place, struct outcome* out) {
  struct told told = {out, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
  augur_session_options options = augur_session_options_default();
  const augur_request request = usual_request();
  augur_session_load load;
  struct served served;
  served.engine = usual_engine(place);
  options.memory = 64 << 20;
  options.cache_bytes = 8 << 20;
  served.session = augur_session_open(served.engine, &options);
  CHECK(served.session != NULL);
  CHECK(add_result(out, waited(augur_submit(served.session, &request, 0, NULL, NULL))));
  CHECK(augur_session_ping(served.session, on_ping, &told) == 0);
  wait_for(&told, 1);
  CHECK(augur_session_ping(served.session, NULL, NULL) == -1);
  load.size = sizeof(load);
  CHECK(augur_session_get_load(served.session, &load) == 0);
  add_number(out, (double)load.running);
  add_number(out, (double)load.waiting);
  add_number(out, (double)load.steps);
  add_number(out, (double)load.preemptions);
  add_number(out, (double)load.memory);
  add_number(out, (double)load.memory_in_use);
  add_number(out, (double)load.memory_running);
  add_number(out, (double)load.page_tokens);
  add_number(out, (double)load.page_bytes);
  add_number(out, (double)load.keeps_texts);
  add_number(out, (double)load.cache_bytes_in_use);
  add_number(out, (double)load.prompt_tokens);
  add_number(out, (double)load.cached_tokens);
  add_number(out, (double)load.drafted_tokens);
  add_number(out, (double)load.accepted_tokens);
  return end(&served);
}

const char* feature_drain(const struct place* place, struct outcome* out) {
  struct served served;
  const augur_request request = usual_request();
  const char* failure = serve(place, &served);
  if (failure != NULL) return failure;
  CHECK(add_result(out, waited(augur_submit(served.session, &request, 0, NULL, NULL))));
  add_number(out, (double)augur_session_drain_for(served.session, 1e12));
  CHECK(augur_submit(served.session, &request, 0, NULL, NULL) == NULL);
  add_failure(out);
  return end(&served);
}

const char* feature_draft_limits(const struct place* place, struct outcome* out) {
  struct served served;
  augur_session_options options = augur_session_options_default();
  augur_request request = usual_request();
  served.engine = usual_engine(place);
  options.draft_depth = 5;
  served.session = augur_session_open(served.engine, &options);
  CHECK(served.session != NULL);
  request.speculation = "draft:topk=2,depth=9,size=20";
  CHECK(waited(augur_submit(served.session, &request, 0, NULL, NULL)) == NULL);
  add_failure(out);
  request.speculation = "draft:topk=2,depth=5,size=20";
  CHECK(add_result(out, waited(augur_submit(served.session, &request, 0, NULL, NULL))));
  return end(&served);
}
