/* Load a model, stream what it writes and tell what drafting did, in C99:  stream MODEL PROMPT [DRAFT_MODEL]
 */
#include <augur/augur.h>
#include <stdio.h>

static int32_t on_progress(const char* what, double fraction, void* user) {
  (void)user;
  fprintf(stderr, "\rloading %s: %3.0f%%", what, 100 * fraction);
  return 1; /* 0 aborts */
}

static int32_t on_event(const augur_token_event* event, void* user) {
  *(size_t*)user += event->length;
  fwrite(event->text, 1, event->length, stdout);
  fflush(stdout);
  return *(size_t*)user < 200; /* 0 stops */
}

static int failed(void) {
  fprintf(stderr, "%s\n", augur_last_error());
  return augur_last_error_kind() == AUGUR_ERROR_NOT_FOUND ? 2 : 1;
}

int main(int argc, char** argv) {
  augur_engine_options options = augur_engine_options_default();
  augur_request request = augur_request_default();
  augur_statistics statistics;
  augur_engine* engine;
  augur_result* result;
  size_t bytes = 0;
  if (argc < 3) return fprintf(stderr, "usage: stream MODEL PROMPT [DRAFT_MODEL]\n"), 2;

  options.model = argv[1];
  if (argc > 3) {
    options.draft_model = argv[3]; /* what it is, its files say; how much it drafts, measured costs decide */
  } else {
    options.spec_types = "ngram:n-max=6";
  }
  options.progress = on_progress;
  engine = augur_load(&options);
  fprintf(stderr, "\n");
  if (engine == NULL) return failed();

  request.prompt = argv[2];
  request.on_event = on_event;
  request.callback_user = &bytes;
  result = augur_generate(engine, &request, NULL, NULL);
  if (result == NULL) return failed();
  statistics.size = sizeof(statistics);
  augur_result_get_statistics(result, &statistics);
  printf("\n[%s, %.1f tokens a call, drafted by %s]\n", augur_result_finish_reason(result),
         statistics.mean_accepted_length, statistics.type);
  augur_result_free(result);
  return augur_free(engine) == 0 ? 0 : failed();
}
