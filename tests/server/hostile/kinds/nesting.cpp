#include "server/hostile/catalogue.h"

namespace augur::hostile {
namespace {

std::string nested(std::string_view open, int levels, std::string_view inner, std::string_view close) {
  return repeated(open, levels) + std::string(inner) + repeated(close, levels);
}
std::string lists(int levels) {
  return nested("[", levels, "", "]");
}
std::string objects(int levels) {
  return nested(R"({"a":)", levels, "0", "}");
}
/// A conversation in which a function was called, with arguments that are text.
std::string called(std::string_view arguments) {
  return R"({"max_tokens": 2, "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "",
      "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": )" +
         json_string(arguments) + R"(}}]}, {"role": "tool", "tool_call_id": "1", "content": "b"}]})";
}

}  // namespace

/// Depth, and what closes in another order than it was opened.
std::vector<Case> nesting() {
  return {
      {"as deep as may be", chat(R"("max_tokens": 2, "metadata": )" + objects(63)), {200}},
      {"a level deeper", chat(R"("max_tokens": 2, "metadata": )" + objects(64)), {400}},
      {"lists without end", post("/v1/completions", R"({"prompt": )" + repeated("[", 500'000)), {400}},
      {"lists that end", post("/v1/completions", R"({"prompt": )" + lists(300'000) + "}"), {400}},
      {"objects without end", post("/v1/responses", repeated(R"({"input":)", 100'000)), {400}},
      {"lists in lists of prompts", llamacpp(R"("max_tokens": 2, "stop": )" + lists(40)), {400}, "stop[0]"},
      {"a prompt of lists",
       post("/completion", R"({"n_predict": 2, "prompt": )" + lists(50) + "}"),
       {400},
       "prompt[0]"},
      {"a bracket for a brace", post("/v1/completions", R"({"prompt": ["a"}])"), {400}},
      {"a list for a body", post("/v1/messages", "[]"), {400}},
      {"a body behind a body",
       post("/v1/completions", R"({"prompt": "a", "max_tokens": 1}{"prompt": "b"})"),
       {400}},
      {"nothing", post("/v1/chat/completions", ""), {400}},
      {"a string for a body", post("/completion", R"("prompt")"), {400}},
      {"brackets in a string",
       llamacpp(R"("n_predict": 2, "cache_salt": ")" + repeated("[{", 200) + "\""),
       {200}},
      {"arguments that are deep inside a text",
       post("/v1/chat/completions", called(objects(100'000))),
       {400},
       "messages[1].tool_calls[0].function.arguments"},
      {"arguments of lists",
       post("/apply-template", called(R"({"a": )" + lists(200'000) + "}")),
       {400},
       "messages[1].tool_calls[0].function.arguments"},
      {"arguments at the limit", post("/apply-template", called(objects(60))), {200}},
      {"deep arguments in the Responses' form",
       post("/v1/responses",
            R"({"max_output_tokens": 2, "input": [{"type": "function_call", "call_id": "1", "name": "f",
           "arguments": )" +
                json_string(objects(100'000)) +
                R"(}, {"type": "function_call_output", "call_id": "1", "output": "b"}]})"),
       {400},
       "input[0].arguments"},
      {"deep input in Anthropic's form",
       post("/v1/messages",
            R"({"max_tokens": 2, "messages": [{"role": "user", "content": "a"}, {"role": "assistant",
           "content": [{"type": "tool_use", "id": "1", "name": "f", "input": )" +
                objects(58) + R"(}]}, {"role": "user",
           "content": [{"type": "tool_result", "tool_use_id": "1", "content": "b"}]}]})"),
       {200}},
      {"a schema as a deep text",
       completions(R"("max_tokens": 2, "guided_json": )" +
                   json_string(nested(R"({"not":)", 50'000, "{}", "}"))),
       {400},
       "guided_json"},
      {"a schema of arrays of arrays",
       completions(R"("max_tokens": 2, "guided_json": )" +
                   json_string(nested(R"({"items":)", 60, "{}", "}"))),
       {200}},
      {"a schema that is a deep constant",
       completions(R"("max_tokens": 2, "guided_json": )" +
                   json_string(R"({"const":)" + lists(100'000) + "}")),
       {400},
       "guided_json"},
      {"a structural tag as a deep text",
       completions(R"("max_tokens": 2, "structured_outputs": {"structural_tag": )" +
                   json_string(nested(R"({"type":"star","content":)", 20'000, "{}", "}")) + "}"),
       {400},
       "structured_outputs.structural_tag"},
      {"a regular expression of parentheses",
       completions(R"("max_tokens": 2, "guided_regex": )" + json_string(nested("(", 20'000, "a", ")"))),
       {400},
       "guided_regex"},
      {"a grammar of parentheses",
       llamacpp(R"("n_predict": 2, "grammar": )" +
                json_string("root ::= " + nested("(", 20'000, "\"a\"", ")"))),
       {400},
       "grammar"},
      {"an EBNF of parentheses",
       completions(R"("max_tokens": 2, "guided_grammar": )" +
                   json_string("root ::= " + nested("(", 20'000, "\"a\"", ")"))),
       {400},
       "guided_grammar"},
  };
}

}  // namespace augur::hostile
