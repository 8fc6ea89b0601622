/* The rules of augur.h, broken by a program in C99: each time an error at once. */
#include "misuse.h"

#include <augur/augur.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT(x) #x
#define LINE(x) TEXT(x)
#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) return __FILE__ ":" LINE(__LINE__) ": " #condition; \
  } while (0)
/* That the call before failed by misuse, and said why. */
#define CHECK_MISUSE(words)                               \
  do {                                                    \
    CHECK(augur_last_error_kind() == AUGUR_ERROR_MISUSE); \
    CHECK(strstr(augur_last_error(), words) != NULL);     \
  } while (0)

struct asked {
  augur_engine* engine;
  augur_session* session;
  augur_ticket* ticket; /* of another request; NULL: none yet */
  const char* failure;  /* of what the callback checks; NULL: none */
  int rounds;
  int enough; /* 0: no; 1: set by the main thread */
  pthread_mutex_t mutex;
  pthread_cond_t changed;
};

static augur_engine* load(const char* model) {
  augur_engine_options options = augur_engine_options_default();
  options.model = model;
  options.threads = 2;
  options.cost_cache = "none";
  return augur_load(&options);
}

static augur_request request(void) {
  augur_request asked = augur_request_default();
  asked.prompt = "Once upon a time";
  asked.max_tokens = 12;
  return asked;
}

static const char* in_generate(augur_engine* engine) {
  const augur_request nested = request();
  CHECK(augur_generate(engine, &nested, NULL, NULL) == NULL);
  CHECK_MISUSE("in a callback of the same engine's");
  CHECK(augur_session_open(engine, NULL) == NULL);
  CHECK_MISUSE("in a callback of the same engine's");
  CHECK(augur_free(engine) == -1);
  CHECK_MISUSE("augur_free(): it is called in a callback");
  CHECK(augur_tokenize(engine, "Lily", NULL, 0) > 0);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_NONE);
  return NULL;
}

static void* beside_generate(void* user) {
  struct asked* asked = user;
  const augur_request beside = request();
  if (augur_generate(asked->engine, &beside, NULL, NULL) != NULL ||
      augur_last_error_kind() != AUGUR_ERROR_MISUSE ||
      strstr(augur_last_error(), "another thread's call uses the engine") == NULL ||
      augur_free(asked->engine) != -1 || augur_last_error_kind() != AUGUR_ERROR_MISUSE)
    asked->failure = "a call beside another thread's";
  return NULL;
}

static int32_t on_token(const char* text, size_t length, int32_t token, void* user) {
  struct asked* asked = user;
  pthread_t other;
  (void)text;
  (void)length;
  (void)token;
  if (asked->rounds++ > 0 || asked->failure != NULL) return 1;
  asked->failure = in_generate(asked->engine);
  augur_tokenize(NULL, "Lily", NULL, 0); /* a failure that is the callback's own */
  if (asked->failure != NULL) return 1;
  if (pthread_create(&other, NULL, beside_generate, asked) != 0) {
    asked->failure = "pthread_create";
  } else {
    pthread_join(other, NULL);
  }
  return 1;
}

const char* misuse_of_an_engine(const char* model) {
  struct asked asked = {0};
  const augur_request outer = request();
  augur_result* result;
  augur_session* session;
  asked.engine = load(model);
  CHECK(asked.engine != NULL);
  result = augur_generate(asked.engine, &outer, on_token, &asked);
  if (asked.failure != NULL) return asked.failure;
  CHECK(result != NULL);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_NONE && augur_last_error()[0] == '\0');
  CHECK(asked.rounds == 12 || asked.rounds == 13);
  augur_result_free(result);

  session = augur_session_open(asked.engine, NULL);
  CHECK(session != NULL);
  CHECK(augur_session_open(asked.engine, NULL) == NULL);
  CHECK_MISUSE("a session uses the engine");
  CHECK(augur_generate(asked.engine, &outer, NULL, NULL) == NULL);
  CHECK_MISUSE("a session uses the engine");
  CHECK(augur_free(asked.engine) == -1);
  CHECK_MISUSE("a session uses the engine");
  CHECK(augur_session_close(session) == 0);
  result = augur_generate(asked.engine, &outer, NULL, NULL);
  CHECK(result != NULL);
  augur_result_free(result);
  CHECK(augur_free(asked.engine) == 0);

  CHECK(augur_generate(NULL, &outer, NULL, NULL) == NULL);
  CHECK_MISUSE("the engine is NULL");
  CHECK(augur_submit(NULL, &outer, 0, NULL, NULL) == NULL);
  CHECK_MISUSE("the session is NULL");
  CHECK(augur_wait(NULL) == NULL);
  CHECK_MISUSE("the ticket is NULL");
  CHECK(augur_session_drain(NULL) == -1);
  CHECK_MISUSE("the session is NULL");
  return NULL;
}

static const char* in_session(struct asked* asked) {
  CHECK(augur_wait(asked->ticket) == NULL);
  CHECK_MISUSE("in one of the session's callbacks");
  CHECK(augur_session_drain(asked->session) == -1);
  CHECK_MISUSE("in one of the session's callbacks");
  CHECK(augur_session_close(asked->session) == -1);
  CHECK_MISUSE("in one of the session's callbacks");
  CHECK(augur_ended(asked->ticket) == 0);
  return NULL;
}

static int32_t on_session_token(const char* text, size_t length, int32_t token, void* user) {
  struct asked* asked = user;
  (void)text;
  (void)length;
  (void)token;
  pthread_mutex_lock(&asked->mutex);
  while (!asked->enough) pthread_cond_wait(&asked->changed, &asked->mutex);
  pthread_mutex_unlock(&asked->mutex);
  if (asked->rounds++ == 0) asked->failure = in_session(asked);
  return 1;
}

static int in_child(struct asked* asked, augur_ticket* ticket) {
  const augur_request one = request();
  const int32_t misuse = AUGUR_ERROR_MISUSE;
  alarm(60);
  if (augur_generate(asked->engine, &one, NULL, NULL) != NULL || augur_last_error_kind() != misuse) return 1;
  if (augur_submit(asked->session, &one, 0, NULL, NULL) != NULL || augur_last_error_kind() != misuse)
    return 2;
  if (augur_wait(ticket) != NULL || augur_last_error_kind() != misuse) return 3;
  if (augur_ended(ticket) != -1 || augur_last_error_kind() != misuse) return 4;
  if (augur_cancel(ticket) != -1 || augur_last_error_kind() != misuse) return 5;
  if (augur_session_drain(asked->session) != -1 || augur_last_error_kind() != misuse) return 6;
  if (augur_session_close(asked->session) != -1 || augur_last_error_kind() != misuse) return 7;
  if (augur_tokenize(asked->engine, "Lily", NULL, 0) < 1) return 8;
  if (augur_free(asked->engine) != 0) return 9;
  return 0;
}

const char* misuse_of_a_session(const char* model) {
  struct asked asked = {0};
  const augur_request one = request();
  augur_ticket* ticket;
  augur_result* result;
  pid_t child;
  int status = 0;
  pthread_mutex_init(&asked.mutex, NULL);
  pthread_cond_init(&asked.changed, NULL);
  asked.engine = load(model);
  CHECK(asked.engine != NULL);
  asked.session = augur_session_open(asked.engine, NULL);
  CHECK(asked.session != NULL);
  ticket = augur_submit(asked.session, &one, 0, on_session_token, &asked);
  CHECK(ticket != NULL);
  asked.ticket = augur_submit(asked.session, &one, 0, NULL, NULL);
  CHECK(asked.ticket != NULL);

  child = fork();
  if (child == 0) _exit(in_child(&asked, ticket));
  CHECK(child > 0);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);

  pthread_mutex_lock(&asked.mutex);
  asked.enough = 1;
  pthread_cond_broadcast(&asked.changed);
  pthread_mutex_unlock(&asked.mutex);
  result = augur_wait(ticket);
  CHECK(result != NULL);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_NONE);
  augur_result_free(result);
  if (asked.failure != NULL) return asked.failure;
  CHECK(asked.rounds > 0);
  augur_ticket_free(ticket);
  augur_ticket_free(asked.ticket);
  CHECK(augur_session_close(asked.session) == 0);
  CHECK(augur_free(asked.engine) == 0);
  pthread_cond_destroy(&asked.changed);
  pthread_mutex_destroy(&asked.mutex);
  return NULL;
}
