#include "older_program.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "older_augur.h"

#define CHECK(condition)                                                                            \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      snprintf(failure, sizeof(failure), "line %d: %s; the library said: %s", __LINE__, #condition, \
               augur_last_error());                                                                 \
      return failure;                                                                               \
    }                                                                                               \
  } while (0)

enum { kTokens = 24, kGuard = 0x5a };

static char failure[512];

/* A struct as the program has it, and what lies behind it in its memory. */
struct guarded_options {
  augur_engine_options options;
  unsigned char behind[256];
};
struct guarded_request {
  augur_request request;
  unsigned char behind[256];
};

static int untouched(const unsigned char* behind) {
  for (int i = 0; i < 256; ++i) {
    if (behind[i] != kGuard) return 0;
  }
  return 1;
}

const char* run_older_program(const char* model, const char* spec_types, double temperature) {
  struct guarded_options of_engine;
  memset(&of_engine, kGuard, sizeof(of_engine));
  augur_engine_options_init(&of_engine.options, sizeof(of_engine.options));
  CHECK(untouched(of_engine.behind));
  CHECK(of_engine.options.size == sizeof(augur_engine_options));
  CHECK(of_engine.options.coupling == 1);
  of_engine.options.model = model;
  of_engine.options.draft_model = model;
  of_engine.options.spec_types = spec_types;
  of_engine.options.threads = 2;
  of_engine.options.cost_cache = "none";
  augur_engine* engine = augur_load(&of_engine.options);
  CHECK(engine != NULL);

  struct guarded_request asked;
  memset(&asked, kGuard, sizeof(asked));
  augur_request_init(&asked.request, sizeof(asked.request));
  CHECK(untouched(asked.behind));
  CHECK(asked.request.size == sizeof(augur_request));
  CHECK(asked.request.max_tokens == -1 && asked.request.top_p == 1.0);
  asked.request.prompt = "Once upon a time";
  asked.request.max_tokens = kTokens;
  asked.request.temperature = temperature;
  asked.request.seed = 7;
  augur_result* alone = augur_generate(engine, &asked.request, NULL, NULL);
  CHECK(alone != NULL);
  size_t count = 0;
  const int32_t* tokens = augur_result_tokens(alone, &count);
  CHECK(count == kTokens);
  CHECK(strcmp(augur_result_finish_reason(alone), "length") == 0);
  CHECK(temperature > 0 ||
        strncmp(augur_result_text(alone), ", there was a little girl named Lily.", 37) == 0);

  augur_session_options of_session;
  augur_session_options_init(&of_session, sizeof(of_session));
  CHECK(of_session.size == sizeof(augur_session_options));
  of_session.parallel = 2;
  of_session.cache_bytes = 0;
  augur_session* session = augur_session_open(engine, &of_session);
  CHECK(session != NULL);
  augur_ticket* ticket = augur_submit(session, &asked.request, 0, NULL, NULL);
  CHECK(ticket != NULL);
  augur_result* together = augur_wait(ticket);
  CHECK(together != NULL);
  size_t again = 0;
  const int32_t* same = augur_result_tokens(together, &again);
  CHECK(again == count && memcmp(same, tokens, count * sizeof(int32_t)) == 0);

  augur_result_free(together);
  augur_ticket_free(ticket);
  CHECK(augur_session_close(session) == 0);
  augur_result_free(alone);
  CHECK(augur_free(engine) == 0);
  return NULL;
}
