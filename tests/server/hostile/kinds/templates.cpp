#include "server/hostile/catalogue.h"

namespace augur::hostile {
namespace {

std::string conversation(std::string_view list, std::string_view more = {}) {
  return post("/v1/chat/completions", R"({"max_tokens": 2, "messages": )" + std::string(list) +
                                          (more.empty() ? "" : ", ") + std::string(more) + "}");
}

}  // namespace

/// What a template meets: roles, contents, variables that take the place of its own.
std::vector<Case> templates() {
  const std::string turn = R"({"role":"user","content":"a"},)";
  return {
      {"no messages", conversation("[]"), {400}, "messages"},
      {"messages that are none", conversation("{}"), {400}, "messages"},
      {"a message that is a text", conversation(R"(["a"])"), {400}, "messages[0]"},
      {"a message without a role", conversation(R"([{"content": "a"}])"), {400}, "messages[0].role"},
      {"a role of no sort", conversation(R"([{"role": "god", "content": "a"}])"), {400}, "messages[0].role"},
      {"a role that is a list",
       conversation(R"([{"role": ["user"], "content": "a"}])"),
       {400},
       "messages[0].role"},
      {"a message of nothing", conversation(R"([{"role": "user"}])"), {400}, "messages[0].content"},
      {"a message of null",
       conversation(R"([{"role": "user", "content": null}])"),
       {400},
       "messages[0].content"},
      {"a picture",
       conversation(
           R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}])"),
       {400},
       "messages[0].content[0]"},
      {"a part without a text",
       conversation(R"([{"role": "user", "content": [{"type": "text"}]}])"),
       {400},
       "messages[0].content[0].text"},
      {"forty thousand parts",
       conversation(R"([{"role": "user", "content": [)" + repeated(R"({"type":"text","text":""},)", 30'000) +
                    R"({"type": "text", "text": "a"}]}])"),
       {200}},
      {"twenty thousand messages",
       conversation("[" + repeated(turn, 20'000) + R"({"role": "user", "content": "a"}])"),
       {400},
       "messages"},
      {"a text of the template's language",
       conversation(R"([{"role": "user", "content": "{{ messages }}{% for m in messages %}{% endfor %}"}])"),
       {200}},
      {"tools in the place of the tools",
       conversation(R"([{"role": "user", "content": "a"}])", R"("chat_template_kwargs": {"tools": 1})"),
       {200, 400}},
      {"messages in the place of the messages",
       conversation(R"([{"role": "user", "content": "a"}])",
                    R"("chat_template_kwargs": {"messages": [1, null, {"role": 2}]})"),
       {200, 400}},
      {"functions in the place of functions",
       conversation(
           R"([{"role": "user", "content": "a"}])",
           R"("chat_template_kwargs": {"raise_exception": 1, "range": [], "namespace": null, "loop": {}})"),
       {200, 400}},
      {"variables that are none",
       conversation(R"([{"role": "user", "content": "a"}])", R"("chat_template_kwargs": [1])"),
       {400},
       "chat_template_kwargs"},
      {"a prompt that is not asked for",
       conversation(R"([{"role": "user", "content": "a"}])", R"("add_generation_prompt": "yes")"),
       {200, 400}},
      {"a template of one's own",
       conversation(R"([{"role": "user", "content": "a"}])",
                    R"("chat_template": "{% for i in range(1000000000) %}x{% endfor %}")"),
       {400},
       "chat_template"},
      {"a text for the template that is long",
       post("/apply-template",
            R"({"messages": [{"role": "user", "content": ")" + std::string(900'000, 'a') + R"("}]})"),
       {200}},
      {"a conversation to count",
       post(
           "/v1/messages/count_tokens",
           R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "x"}}]}]})"),
       {200}},
      {"Anthropic's role of no sort",
       post("/v1/messages", R"({"max_tokens": 2, "messages": [{"role": "system", "content": "a"}]})"),
       {400},
       "messages[0].role"},
      {"a picture for Anthropic",
       post(
           "/v1/messages",
           R"({"max_tokens": 2, "messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}]}]})"),
       {400},
       "messages[0].content[0].type"},
      {"a system that is a number", messages(R"("system": 1)"), {400}, "system"},
      {"a thought",
       messages(R"("thinking": {"type": "enabled", "budget_tokens": 0})"),
       {400},
       "thinking.budget_tokens"},
      {"items of no sort",
       post("/v1/responses", R"({"input": [{"type": "magic"}]})"),
       {400},
       "input[0].type"},
      {"an item that is null", post("/v1/responses", R"({"input": [null]})"), {400}, "input[0]"},
      {"no input", post("/v1/responses", R"({"input": []})"), {400}, "input"},
      {"another answer to go on from",
       responses(R"("previous_response_id": "resp_1")"),
       {400},
       "previous_response_id"},
      {"what is not stored", responses(R"("background": true)"), {400}, "background"},
      {"infilling by a model that cannot",
       post("/infill", R"({"input_prefix": "a", "input_suffix": "b"})"),
       {501}},
      {"infilling of files that are none", post("/infill", R"({"input_extra": [1]})"), {400, 501}},
      {"an answer's fields that are paths to nowhere",
       llamacpp(R"("n_predict": 1, "response_fields": ["a/b/c", "/", "", "generation_settings/", "../x"])"),
       {200}},
      {"more of them than may be",
       llamacpp(R"("response_fields": [)" + repeated("\"a\",", 100) + "\"a\"]"),
       {400},
       "response_fields"},
      {"data that is none in a prompt",
       post("/completion", R"({"prompt": {"prompt_string": "a", "multimodal_data": ["AAAA"]}})"),
       {400}},
      {"a prompt of a prompt's object without a text", post("/completion", R"({"prompt": [{}]})"), {400}},
  };
}

}  // namespace augur::hostile
