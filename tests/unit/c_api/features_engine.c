/* Features of an engine. */
#include <string.h>

#include "features.h"

static const char kTemplate[] =
    "{% for m in messages %}[{{ m.role }}|{{ m.content }}{% if m.reasoning_content %}|{{ m.reasoning_content "
    "}}{% endif %}"
    "{% for c in m.tool_calls %}|{{ c.id }}:{{ c.function.name }}:{{ c.function.arguments }}{% endfor %}"
    "{% if m.tool_call_id %}|{{ m.tool_call_id }}|{{ m.name }}{% endif %}]{% endfor %}"
    "{% if tools %}{{ tools | length }} tools{% endif %}{{ colour }}{{ mood }}"
    "{% if add_generation_prompt %}[assistant|{% endif %}";

static augur_engine* chatting(const struct place* place) {
  augur_engine_options options = usual_options(place);
  options.chat_template = kTemplate;
  options.template_kwargs = "{\"colour\": \"red\", \"mood\": \"calm\"}";
  return augur_load(&options);
}

static const char* add_chat(struct outcome* out, const augur_engine* engine, const augur_request* request) {
  char text[2048];
  const int64_t length = augur_render_chat(engine, request, text, sizeof(text));
  CHECK(length >= 0);
  CHECK(strlen(text) == (size_t)length);
  add_text(out, text);
  return NULL;
}

static augur_request asking(const augur_message* messages, size_t count) {
  augur_request request = augur_request_default();
  request.max_tokens = 16;
  request.messages = messages;
  request.message_count = count;
  return request;
}

const char* feature_templates(const struct place* place, struct outcome* out) {
  const augur_message messages[] = {{.role = "system", .content = "Be brief."},
                                    {.role = "user", .content = "Hi"}};
  augur_engine_options options = usual_options(place);
  augur_request request = asking(messages, 2);
  const char* failure;
  char source[2048];
  augur_engine* engine = chatting(place);
  CHECK(engine != NULL);
  request.template_kwargs = "{\"mood\": \"gay\"}";
  failure = add_chat(out, engine, &request);
  if (failure != NULL) return failure;
  CHECK(augur_engine_chat_template(engine, source, sizeof(source)) == (int64_t)strlen(kTemplate));
  add_text(out, source);
  CHECK(augur_free(engine) == 0);
  options.fallback_template = "{{ messages[0].content }}";
  engine = augur_load(&options);
  request.template_kwargs = NULL;
  failure = add_chat(out, engine, &request);
  if (failure != NULL) return failure;
  CHECK(augur_free(engine) == 0);
  engine = usual_engine(place);
  CHECK(augur_render_chat(engine, &request, source, sizeof(source)) == -1);
  add_failure(out);
  CHECK(augur_engine_chat_template(engine, NULL, 0) == 0);
  CHECK(augur_free(engine) == 0);
  options.template_kwargs = "[]";
  CHECK(augur_load(&options) == NULL);
  add_failure(out);
  return NULL;
}

const char* feature_tools(const struct place* place, struct outcome* out) {
  const augur_tool_call calls[] = {{"c1", "weather", "{\"city\": \"Oslo\"}"}, {"c2", "time", "{}"}};
  const augur_message messages[] = {
      {.role = "user", .content = "Warm?"},
      {.role = "assistant",
       .tool_calls = calls,
       .tool_call_count = 2,
       .reasoning = "look it up",
       .absence = AUGUR_CONTENT_NULL},
      {.role = "tool", .content = "3 degrees", .tool_call_id = "c1", .name = "weather"}};
  augur_engine* engine = chatting(place);
  augur_request request = asking(messages, 3);
  const char* failure;
  request.tools =
      "[{\"type\": \"function\", \"function\": {\"name\": \"weather\", \"parameters\": {\"type\": "
      "\"object\"}}}]";
  failure = add_chat(out, engine, &request);
  if (failure != NULL) return failure;
  CHECK(add_result(out, augur_generate(engine, &request, NULL, NULL)));
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_chat(const struct place* place, struct outcome* out) {
  augur_engine* engine = chatting(place);
  augur_request request = augur_request_default();
  request.max_tokens = 16;
  request.chat = 1;
  request.system = "Be brief.";
  request.prompt = "Once";
  CHECK(add_result(out, augur_generate(engine, &request, NULL, NULL)));
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_chat_ends(const struct place* place, struct outcome* out) {
  const augur_message messages[] = {{.role = "user", .content = "Tell"},
                                    {.role = "assistant", .content = "Once"}};
  augur_engine* engine = chatting(place);
  augur_request request = asking(messages, 2);
  const char* failure;
  request.chat_end = AUGUR_CHAT_END_TURN;
  failure = add_chat(out, engine, &request);
  if (failure != NULL) return failure;
  request.chat_end = AUGUR_CHAT_END_CONTINUE;
  failure = add_chat(out, engine, &request);
  if (failure != NULL) return failure;
  request.chat_end = 3;
  CHECK(augur_render_chat(engine, &request, NULL, 0) == -1);
  CHECK(strcmp(augur_last_error_field(), "chat_end") == 0);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

static const char* add_tokens(struct outcome* out, const augur_engine* engine, const char* text,
                              int32_t flags) {
  int32_t tokens[256];
  const int64_t count = augur_tokenize_text(engine, text, strlen(text), flags, tokens, 256);
  int64_t i;
  CHECK(count >= 0 && count <= 256);
  for (i = 0; i < count; ++i) out->ids[out->id_count++] = tokens[i];
  return NULL;
}

const char* feature_tokenize(const struct place* place, struct outcome* out) {
  static const char text[] = "Lily</s> was <s>happy";
  augur_engine* engine = usual_engine(place);
  int32_t flags;
  for (flags = 0; flags <= 3; ++flags) {
    const char* failure = add_tokens(out, engine, text, flags);
    if (failure != NULL) return failure;
  }
  CHECK(augur_tokenize_text(engine, text, 4, AUGUR_TEXT_SHOW_SPECIAL, NULL, 0) == -1);
  CHECK(strcmp(augur_last_error_field(), "flags") == 0);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_detokenize(const struct place* place, struct outcome* out) {
  const int32_t tokens[] = {1, 403, 407, 261, 378, 2};
  augur_engine* engine = usual_engine(place);
  char text[256];
  CHECK(augur_detokenize_tokens(engine, tokens, 6, 0, text, sizeof(text)) > 0);
  add_text(out, text);
  CHECK(augur_detokenize_tokens(engine, tokens, 6, AUGUR_TEXT_SHOW_SPECIAL, text, sizeof(text)) > 0);
  add_text(out, text);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_token_bytes(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  int32_t token;
  for (token = 0; token < 512; ++token) {
    char bytes[64];
    const int64_t length = augur_token_bytes(engine, token, bytes, sizeof(bytes));
    int64_t i;
    CHECK(length >= 0 && length < 64);
    for (i = 0; i < length; ++i) add_number(out, (unsigned char)bytes[i]);
  }
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_prompt_tokens(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  const augur_request request = usual_request();
  const int64_t count = augur_prompt_tokens(engine, &request, out->ids, 4096);
  CHECK(count > 0);
  out->id_count = (size_t)count;
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_model_info(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  augur_model_info info;
  size_t i;
  info.size = sizeof(info);
  CHECK(augur_engine_get_info(engine, &info) == 0);
  add_text(out, info.path);
  add_text(out, info.family);
  add_text(out, info.weights);
  add_text(out, info.isa);
  add_text(out, info.bos_token);
  add_text(out, info.eos_token);
  add_text(out, info.fingerprint);
  add_number(out, (double)info.vocab);
  add_number(out, (double)info.context);
  add_number(out, (double)info.weight_bytes);
  add_number(out, (double)info.law);
  add_number(out, (double)info.threads);
  add_number(out, (double)info.has_chat_template);
  for (i = 0; i < info.end_token_count; ++i) out->ids[out->id_count++] = info.end_tokens[i];
  /* A caller of a smaller struct. */
  memset(&info, 0x5a, sizeof(info));
  info.size = offsetof(augur_model_info, vocab);
  CHECK(augur_engine_get_info(engine, &info) == 0);
  CHECK(info.size == offsetof(augur_model_info, vocab));
  CHECK(info.vocab == 0x5a5a5a5a5a5a5a5a);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_infill_tokens(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  augur_infill_tokens tokens;
  tokens.size = sizeof(tokens);
  CHECK(augur_engine_get_infill_tokens(engine, &tokens) == 0);
  add_number(out, tokens.prefix);
  add_number(out, tokens.suffix);
  add_number(out, tokens.middle);
  add_number(out, tokens.repository);
  add_number(out, (double)tokens.file);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_engine_plan(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  char text[1024];
  CHECK(augur_engine_speculation(engine, text, sizeof(text)) > 0);
  add_text(out, text);
  CHECK(augur_engine_drafters(engine, text, sizeof(text)) > 0);
  add_text(out, text);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_types_and_policies(const struct place* place, struct outcome* out) {
  augur_speculation_policy policy;
  augur_speculation_type type;
  size_t i;
  (void)place;
  policy.size = sizeof(policy);
  type.size = sizeof(type);
  for (i = 0; augur_get_speculation_type(i, &type) == 1; ++i) {
    add_text(out, type.name);
    add_text(out, type.alias);
    add_text(out, type.summary);
    add_number(out, type.needs_draft_model);
    add_number(out, type.in_models);
  }
  CHECK(augur_last_error_kind() == AUGUR_ERROR_NONE);
  for (i = 0; augur_get_speculation_policy(i, &policy) == 1; ++i) {
    add_text(out, policy.name);
    add_text(out, policy.summary);
  }
  CHECK(augur_get_speculation_policy(0, NULL) == -1);
  return NULL;
}

const char* feature_build_info(const struct place* place, struct outcome* out) {
  augur_build_info info;
  (void)place;
  info.size = sizeof(info);
  CHECK(augur_get_build_info(&info) == 0);
  add_text(out, info.version);
  add_text(out, info.commit);
  add_text(out, info.compiler);
  add_text(out, info.type);
  add_text(out, info.flags);
  CHECK(strcmp(info.version, augur_version()) == 0);
  CHECK(strcmp(info.commit, augur_commit()) == 0);
  return NULL;
}

/* Times differ from one measurement to the next: what was measured is compared. */
const char* feature_costs(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  augur_costs* costs = augur_engine_measure_costs(engine, 1);
  augur_target_costs target;
  augur_draft_costs draft;
  size_t i;
  size_t d;
  CHECK(costs != NULL);
  target.size = sizeof(target);
  draft.size = sizeof(draft);
  CHECK(augur_costs_get_target(costs, &target) == 0);
  for (i = 0; i < target.verify.count; ++i) {
    add_number(out, target.verify.rows[i]);
    CHECK(target.verify.ms[i] > 0);
  }
  add_number(out, target.context);
  add_number(out, (double)target.experts);
  add_number(out, (double)target.expert_row_count);
  add_text(out, target.file);
  for (d = 0; augur_costs_get_drafter(costs, d, &draft) == 1; ++d) {
    add_text(out, draft.name);
    for (i = 0; i < draft.first_level.count; ++i) add_number(out, draft.first_level.rows[i]);
    for (i = 0; i < draft.level.count; ++i) add_number(out, draft.level.rows[i]);
  }
  CHECK(d == 2);
  augur_costs_free(costs);
  CHECK(augur_costs_get_target(costs, &target) == -1);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_MISUSE);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_forget(const struct place* place, struct outcome* out) {
  augur_engine* engine = usual_engine(place);
  augur_request request = usual_request();
  int i;
  request.speculation = "suffix:n-max=4";
  for (i = 0; i < 3; ++i) {
    augur_result* result = augur_generate(engine, &request, NULL, NULL);
    add_number(out, (double)augur_result_target_calls(result));
    CHECK(add_result(out, result));
    if (i == 1) CHECK(augur_engine_forget(engine) == 0);
  }
  CHECK(augur_free(engine) == 0);
  return NULL;
}

struct loading {
  struct outcome* out;
  int calls;
  int most;                  /* of calls */
  augur_cancel_token* token; /* cancelled by the last of them; NULL: that one returns 0 */
};

static int32_t on_progress(const char* what, double fraction, void* user) {
  struct loading* loading = user;
  if (loading->out != NULL && fraction == 1.0) add_text(loading->out, what);
  if (++loading->calls != loading->most) return 1;
  if (loading->token == NULL) return 0;
  augur_cancel_token_cancel(loading->token);
  return 1;
}

const char* feature_progress(const struct place* place, struct outcome* out) {
  augur_engine_options options = usual_options(place);
  struct loading loading = {0};
  augur_engine* engine;
  loading.out = out;
  options.progress = on_progress;
  options.progress_user = &loading;
  engine = augur_load(&options);
  CHECK(engine != NULL);
  CHECK(loading.calls > 1);
  CHECK(augur_free(engine) == 0);
  return NULL;
}

const char* feature_aborted_loading(const struct place* place, struct outcome* out) {
  augur_engine_options options = usual_options(place);
  struct loading loading = {0};
  loading.most = 1;
  options.progress = on_progress;
  options.progress_user = &loading;
  CHECK(augur_load(&options) == NULL);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_CANCELLED);
  CHECK(loading.calls == 1);
  loading.calls = 0;
  loading.token = augur_cancel_token_create();
  options.cancel = loading.token;
  CHECK(augur_load(&options) == NULL);
  add_number(out, augur_last_error_kind());
  CHECK(loading.calls == 1);
  options.progress = NULL;
  CHECK(augur_load(&options) == NULL);
  add_number(out, augur_last_error_kind());
  augur_cancel_token_free(loading.token);
  CHECK(augur_load(&options) == NULL);
  CHECK(augur_last_error_kind() == AUGUR_ERROR_MISUSE);
  options.cancel = NULL;
  CHECK(augur_free(augur_load(&options)) == 0);
  return NULL;
}
