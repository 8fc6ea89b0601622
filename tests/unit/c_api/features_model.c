/* Features of loading: the log, what is known of a model before, and where it may come from. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "features.h"

static void log_line(int32_t level, const char* text, void* user) {
  add_number(user, level);
  add_text(user, text);
}

static void add_warning(const char* text, void* user) {
  add_text(user, "warning");
  add_text(user, text);
}

const char* feature_log(const struct place* place, struct outcome* out) {
  augur_engine_options options = usual_options(place);
  augur_engine* engine;
  options.fallback_template = "{{ messages[0].content }}";
  options.log = log_line;
  options.log_user = out;
  options.warning = add_warning;
  options.warning_user = out;
  engine = augur_load(&options);
  CHECK(engine != NULL);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

static const char* add_description(struct outcome* out, augur_model_description* description) {
  augur_model_facts facts;
  augur_model_file file;
  augur_weight_type type;
  augur_model_metadata metadata;
  augur_model_problem problem;
  size_t i;
  facts.size = sizeof(facts);
  file.size = sizeof(file);
  type.size = sizeof(type);
  metadata.size = sizeof(metadata);
  problem.size = sizeof(problem);
  CHECK(augur_model_description_get_facts(description, &facts) == 0);
  {
    const char* const texts[] = {facts.path,      facts.family,      facts.tokenizer,  facts.chat_template,
                                 facts.head_type, facts.head_target, facts.own_drafter};
    const int64_t numbers[] = {facts.gguf,         facts.has_shape,   facts.layers,          facts.hidden,
                               facts.intermediate, facts.heads,       facts.kv_heads,        facts.head_dim,
                               facts.vocab,        facts.context,     facts.tied_embeddings, facts.tensors,
                               facts.parameters,   facts.weight_bytes};
    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) add_text(out, texts[i]);
    for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i) add_number(out, (double)numbers[i]);
  }
  for (i = 0; augur_model_description_get_file(description, i, &file) == 1; ++i) {
    add_text(out, file.path);
    add_number(out, (double)file.tensors);
    add_number(out, (double)file.bytes);
  }
  for (i = 0; augur_model_description_get_weight_type(description, i, &type) == 1; ++i) {
    add_text(out, type.name);
    add_number(out, (double)type.tensors);
    add_number(out, (double)type.bytes);
  }
  for (i = 0; augur_model_description_get_metadata(description, i, &metadata) == 1; ++i) {
    add_text(out, metadata.key);
    add_text(out, metadata.text);
  }
  for (i = 0; augur_model_description_get_problem(description, i, &problem) == 1; ++i) {
    add_number(out, (double)problem.kind);
    add_text(out, problem.text);
  }
  augur_model_description_free(description);
  CHECK(augur_model_description_get_facts(description, &facts) == -1);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_MISUSE);
  return NULL;
}

const char* feature_description(const struct place* place, struct outcome* out) {
  const char* const paths[] = {place->model, place->head, place->gguf};
  augur_model_description* unheard_of;
  augur_model_problem problem;
  char path[512];
  FILE* file;
  size_t i;
  for (i = 0; i < sizeof(paths) / sizeof(paths[0]); ++i) {
    const char* failure;
    augur_model_description* const description = augur_describe_model(paths[i], NULL);
    CHECK(description != NULL);
    failure = add_description(out, description);
    if (failure != NULL) return failure;
  }
  snprintf(path, sizeof(path), "%s/config.json", place->folder);
  file = fopen(path, "w");
  CHECK(file != NULL);
  fputs("{\"model_type\": \"unheard-of\"}", file);
  fclose(file);
  unheard_of = augur_describe_model(place->folder, NULL);
  problem.size = sizeof(problem);
  CHECK(augur_model_description_get_problem(unheard_of, 0, &problem) == 1);
  add_number(out, (double)problem.kind);
  CHECK(strstr(problem.text, "unheard-of") != NULL);
  CHECK(augur_model_description_get_problem(unheard_of, 1, &problem) == 0);
  augur_model_description_free(unheard_of);
  CHECK(augur_describe_model("nothing", NULL) == NULL);
  add_failure(out);
  return NULL;
}

const char* feature_memory_estimate(const struct place* place, struct outcome* out) {
  const augur_engine_options options = usual_options(place);
  augur_session_options session = augur_session_options_default();
  augur_memory_estimate estimates[2];
  size_t i;
  session.parallel = 3;
  session.cache_bytes = 1 << 20;
  estimates[0].size = sizeof(estimates[0]);
  estimates[1].size = sizeof(estimates[1]);
  CHECK(augur_estimate_memory(&options, 2, &estimates[0]) == 0);
  CHECK(augur_estimate_session_memory(&options, &session, &estimates[1]) == 0);
  for (i = 0; i < 2; ++i) {
    const augur_memory_estimate* const each = &estimates[i];
    const int64_t numbers[] = {each->mapped, each->weights, each->draft_weights, each->workspace, each->token,
                               each->text,   each->texts,   each->kept,          each->loaded,    each->most};
    size_t k;
    for (k = 0; k < sizeof(numbers) / sizeof(numbers[0]); ++k) add_number(out, (double)numbers[k]);
  }
  return NULL;
}

static void count_release(void* user) {
  ++*(int*)user;
}

/* The ids of an engine made of the content, and what is said of it. */
static const char* add_loaded(const struct place* place, struct outcome* out,
                              const augur_model_content* content) {
  static const int32_t prompt[] = {5, 6, 7, 8};
  augur_engine_options options = usual_options(place);
  augur_request request = augur_request_default();
  augur_engine* engine;
  augur_model_info info;
  options.model = "content";
  options.draft_model = NULL;
  options.spec_types = "ngram:n-max=4";
  options.model_content = content;
  engine = augur_load(&options);
  CHECK(engine != NULL);
  info.size = sizeof(info);
  CHECK(augur_engine_get_info(engine, &info) == 0);
  add_text(out, info.path);
  add_text(out, info.fingerprint);
  request.prompt_tokens = prompt;
  request.prompt_token_count = 4;
  request.max_tokens = 16;
  CHECK(add_result(out, augur_generate(engine, &request, NULL, NULL)));
  CHECK(augur_free(engine) == 0);
  return add_description(out, augur_describe_model("content", content));
}

const char* feature_content(const struct place* place, struct outcome* out) {
  static char bytes[1 << 20];
  augur_engine_options options = usual_options(place);
  augur_model_content content = augur_model_content_default();
  FILE* const file = fopen(place->gguf, "rb");
  const char* failure;
  int released = 0;
  CHECK(file != NULL);
  content.bytes = bytes;
  content.byte_count = fread(bytes, 1, sizeof(bytes), file);
  fclose(file);
  CHECK(content.byte_count > 0 && content.byte_count < sizeof(bytes));
  content.release = count_release;
  content.user = &released;
  failure = add_loaded(place, out, &content);
  if (failure != NULL) return failure;
  CHECK(released == 1);
  content.byte_count /= 2;
  options.model_content = &content;
  CHECK(augur_load(&options) == NULL);
  add_failure(out);
  CHECK(released == 1); /* not by a call that fails */
  content = augur_model_content_default();
  CHECK(augur_load(&options) == NULL);
  CHECK(strcmp(augur_last_error_field(), "model_content") == 0);
  content.descriptor = open(place->gguf, O_RDONLY);
  CHECK(content.descriptor >= 0);
  failure = add_loaded(place, out, &content);
  close((int)content.descriptor);
  return failure;
}
