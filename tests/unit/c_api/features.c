/* What the features share. */
#include "features.h"

#include <string.h>

void add_text(struct outcome* out, const char* text) {
  const size_t used = strlen(out->text);
  const size_t room = sizeof(out->text) - used - 2;
  const size_t length = strlen(text) < room ? strlen(text) : room;
  memcpy(out->text + used, text, length);
  out->text[used + length] = '\n';
}

void add_number(struct outcome* out, double number) {
  if (out->number_count < sizeof(out->numbers) / sizeof(out->numbers[0]))
    out->numbers[out->number_count++] = number;
}

int add_result(struct outcome* out, augur_result* result) {
  size_t count = 0;
  const int32_t* tokens = augur_result_tokens(result, &count);
  size_t i;
  if (result == NULL) return 0;
  for (i = 0; i < count && out->id_count < sizeof(out->ids) / sizeof(out->ids[0]); ++i)
    out->ids[out->id_count++] = tokens[i];
  add_text(out, augur_result_text(result));
  augur_result_free(result);
  return 1;
}

void add_failure(struct outcome* out) {
  add_number(out, augur_last_error_kind());
  add_text(out, augur_last_error_field());
  add_text(out, augur_last_error());
}

augur_engine_options usual_options(const struct place* place) {
  augur_engine_options options = augur_engine_options_default();
  options.model = place->model;
  options.draft_model = place->model;
  options.spec_types = "draft,ngram:n-max=4";
  options.threads = 2;
  options.cost_cache = "none";
  options.draft_weights = "native"; /* not by times */
  return options;
}

augur_engine* usual_engine(const struct place* place) {
  const augur_engine_options options = usual_options(place);
  return augur_load(&options);
}

augur_request usual_request(void) {
  augur_request request = augur_request_default();
  request.prompt = "Once upon a time";
  request.max_tokens = 24;
  return request;
}
