/* A program in C that pkg-config alone builds:  program MODEL */
#include <augur/augur.h>
#include <stdio.h>

#if AUGUR_VERSION < 1000 || AUGUR_ABI_VERSION < 1
#error "expected the version of the headers"
#endif

int main(int argc, char** argv) {
  augur_engine_options options = augur_engine_options_default();
  augur_request request = augur_request_default();
  augur_engine* engine;
  augur_result* result;
  char version[32];
  if (argc != 2) return 2;
  snprintf(version, sizeof(version), "%d.%d.%d", AUGUR_VERSION_MAJOR, AUGUR_VERSION_MINOR,
           AUGUR_VERSION_PATCH);
  printf("headers %s, library %s\n", version, augur_version());
  options.model = argv[1];
  options.threads = 1;
  engine = augur_load(&options);
  if (engine == NULL) return fprintf(stderr, "%s\n", augur_last_error()), 1;
  request.prompt = "Once upon a time";
  request.max_tokens = 16;
  result = augur_generate(engine, &request, NULL, NULL);
  if (result == NULL) return fprintf(stderr, "%s\n", augur_last_error()), 1;
  printf("%s\n", augur_result_text(result));
  augur_result_free(result);
  return augur_free(engine);
}
