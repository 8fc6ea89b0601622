/* Load a model and print what it writes, in C:  generate MODEL PROMPT */
#include <augur/augur.h>
#include <stdio.h>

static int32_t print(const char* text, size_t length, int32_t token, void* user) {
  (void)token, (void)user;
  fwrite(text, 1, length, stdout);
  return fflush(stdout) == 0; /* 0 stops */
}

static int failed(void) {
  fprintf(stderr, "%s\n", augur_last_error());
  return augur_last_error_kind() == AUGUR_ERROR_NOT_FOUND ? 2 : 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: generate MODEL PROMPT\n"), 2;
  augur_engine_options options = augur_engine_options_default();
  options.model = argv[1];
  options.spec_types = "ngram";
  augur_engine* const engine = augur_load(&options);
  if (engine == NULL) return failed();

  augur_request request = augur_request_default();
  request.prompt = argv[2];
  request.max_tokens = 40;
  augur_result* const result = augur_generate(engine, &request, print, NULL);
  const int code = result == NULL ? failed() : 0;
  if (code == 0) printf("\n[%s]\n", augur_result_finish_reason(result));
  augur_result_free(result);
  augur_free(engine);
  return code;
}
