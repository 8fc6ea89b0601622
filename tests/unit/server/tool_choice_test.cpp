// Calls that a request demands: whatever the model would rather write, the answer is calls in its template's
// form, whose arguments fit the schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <map>
#include <nlohmann/json.hpp>

#include "grammar/compiler.h"
#include "server/fields/bad_request.h"
#include "server/http/http_server.h"
#include "server/service.h"
#include "server/tools/tool_parser.h"
#include "server/tools/xml_grammar.h"
#include "support/templated_stories.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::string_view kMessages = "{% for m in messages %}{{ m.content }}\n{% endfor %}";

/// A template of each form, as tool_format() tells them.
std::string template_of(ToolFormat format) {
  const std::string tools = "{% if tools %}{{ tools | tojson }}";
  switch (format) {
    case ToolFormat::Hermes:
      return tools + "<tool_call>{% endif %}" + std::string(kMessages);
    case ToolFormat::Llama3:
      return tools + "<|start_header_id|> \"parameters\": {% endif %}" + std::string(kMessages);
    case ToolFormat::Mistral:
      return tools + "[TOOL_CALLS]{% endif %}" + std::string(kMessages);
    case ToolFormat::Python:
      return tools + "<|tool_call_start|>{% endif %}" + std::string(kMessages);
    case ToolFormat::Channels:
      return "{% if tools %}<|channel|>commentary<|message|>{% endif %}" + std::string(kMessages);
    case ToolFormat::Xml:
      // Its calls are long: without the tools' text they fit into the model's context.
      return "{% if tools %}<tool_call><function=N><parameter=P>{% endif %}" + std::string(kMessages);
    case ToolFormat::Glm:
      return "{% if tools %}<tool_call>N<arg_key>P</arg_key>{% endif %}" + std::string(kMessages);
    case ToolFormat::MiniMax:
      return "{% if tools %}<minimax:tool_call>{% endif %}" + std::string(kMessages);
    case ToolFormat::Kimi:
      return "{% if tools %}<|tool_calls_section_begin|>{% endif %}" + std::string(kMessages);
    case ToolFormat::DeepSeek:
      return "{% if tools %}<｜tool▁sep｜>{% endif %}" + std::string(kMessages);
  }
  return {};
}

const json kSchema = {
    {"type", "object"},
    {"properties", {{"place", {{"enum", {"Berlin", "Rome"}}}}, {"days", {{"enum", {1, 2, 3}}}}}},
    {"required", {"place", "days"}},
    {"additionalProperties", false}};

bool fits(const json& arguments) {
  return arguments.is_object() && arguments.size() == 2 &&
         (arguments.value("place", "") == "Berlin" || arguments.value("place", "") == "Rome") &&
         arguments.contains("days") && arguments["days"].is_number_integer() && arguments["days"] > 0 &&
         arguments["days"] < 4;
}

json function(const std::string& name) {
  return {{"type", "function"}, {"function", {{"name", name}, {"parameters", kSchema}}}};
}

json chat(json more) {
  json body = {{"messages", {{{"role", "user"}, {"content", "Once upon a time"}}}},
               {"tools", {function("weather"), function("trip")}},
               {"max_tokens", 300},
               {"temperature", 0}};
  body.update(more);
  return body;
}

class ToolChoiceTest : public testing::TestWithParam<ToolFormat> {
 protected:
  void SetUp() override {
    if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
    const ToolFormat format = GetParam();
    ASSERT_EQ(tool_format(template_of(format)), format);
    static std::map<ToolFormat, std::unique_ptr<testing_support::TemplatedStories>> models;
    auto& model = models[format];
    if (!model) model = std::make_unique<testing_support::TemplatedStories>(template_of(format), true);
    service_.open(*model->engine, {.parallel = 4});
  }
  void TearDown() override { service_.drain(); }

  httplib::Result post(const std::string& path, const json& body) {
    httplib::Client client("127.0.0.1", server_.port());
    return client.Post(path, body.dump(), "application/json");
  }
  json answer(const std::string& path, const json& body) {
    const httplib::Result result = post(path, body);
    EXPECT_EQ(result->status, 200) << result->body;
    return json::parse(result->body);
  }
  json message(const json& more) {
    const json choice = answer("/v1/chat/completions", chat(more))["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "tool_calls") << choice;
    return choice["message"];
  }

  Service service_{{.model = "stories", .api_keys = {}, .speculation = {}}};
  HttpServer server_{{.port = 0}, service_};
};

TEST_P(ToolChoiceTest, ARequiredCallIsThereAndItsArgumentsFit) {
  for (const double temperature : {0.0, 1.5}) {
    const json required = message({{"tool_choice", "required"},
                                   {"temperature", temperature},
                                   {"seed", 7},
                                   {"parallel_tool_calls", false}});
    ASSERT_EQ(required["tool_calls"].size(), 1U) << required;
    EXPECT_TRUE(fits(json::parse(required["tool_calls"][0]["function"]["arguments"].get<std::string>())))
        << required;
  }
  for (const char* name : {"weather", "trip"}) {
    const json named = message({{"tool_choice", {{"type", "function"}, {"function", {{"name", name}}}}}});
    ASSERT_FALSE(named["tool_calls"].empty()) << named;
    for (const json& call : named["tool_calls"]) {
      EXPECT_EQ(call["function"]["name"], name);
      EXPECT_TRUE(fits(json::parse(call["function"]["arguments"].get<std::string>()))) << call;
    }
  }
}

/// Whatever channels are open to gpt-oss, a budget that is spent leads to the call.
TEST(ChannelThoughts, AreNotBegunAnewOnceTheirTokensAreSpent) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  const testing_support::TemplatedStories model(template_of(ToolFormat::Channels), true);
  Service service{{.model = "stories", .api_keys = {}, .speculation = {}}};
  HttpServer server{{.port = 0}, service};
  service.open(*model.engine, {.parallel = 2});
  httplib::Client client("127.0.0.1", server.port());
  const auto end = std::ssize(model.engine->tokenize_part("<|end|>"));
  // It would rather think than anything else, of nothing but this.
  json wish;
  for (TokenId token = 0; token < model.engine->info().vocab; ++token)
    if (const std::string text = model.engine->token_bytes(token); text == "<" || text == "a")
      wish[std::to_string(token)] = 60;
  ASSERT_GE(wish.size(), 2U);
  for (const int budget : {0, 3, 9}) {
    for (int seed = 0; seed < 6; ++seed) {
      json body = chat({{"tool_choice", "required"},
                        {"temperature", 1.5},
                        {"seed", seed},
                        {"logit_bias", wish},
                        {"thinking_budget_tokens", budget},
                        {"speculative", {{"type", "none"}}}});
      const auto answer = [&] {
        return json::parse(client.Post("/v1/chat/completions", body.dump(), "application/json")->body);
      };
      const json plain = answer();
      const json message = plain["choices"][0]["message"];
      ASSERT_EQ(message["tool_calls"].size(), 1U) << plain;
      const auto count = plain["usage"]["completion_tokens_details"]["reasoning_tokens"].get<std::int64_t>();
      EXPECT_LE(count, budget == 0 ? 0 : budget + end) << plain;
      EXPECT_EQ(message.contains("reasoning_content"), budget > 0) << plain;
      body["speculative"] = {{"type", "draft"}};
      json drafted = answer()["choices"][0]["message"];
      drafted["tool_calls"][0]["id"] = message["tool_calls"][0]["id"];
      EXPECT_EQ(drafted, message) << budget << " " << seed;
    }
  }
  service.drain();
}

/// The tokens are the same with speculation and without, whole or streamed.
TEST_P(ToolChoiceTest, SpeculationAndStreamsChangeNothing) {
  const json more = {{"tool_choice", "required"}, {"parallel_tool_calls", false}};
  const json whole = message(more)["tool_calls"][0]["function"];
  json plain = more;
  plain["speculative"] = {{"type", "none"}};
  EXPECT_EQ(message(plain)["tool_calls"][0]["function"], whole);
  json streamed = chat(more);
  streamed["stream"] = true;
  const std::string body = post("/v1/chat/completions", streamed)->body;
  json joined = {{"name", ""}, {"arguments", ""}};
  int deltas = 0;
  for (std::size_t at = 0; (at = body.find("data: {", at)) != std::string::npos; at += 6) {
    const json event = json::parse(body.substr(at + 6, body.find('\n', at) - at - 6));
    for (const json& call : event["choices"][0]["delta"].value("tool_calls", json::array())) {
      for (const auto& [key, value] : call["function"].items()) {
        joined[key] = joined[key].get<std::string>() + value.get<std::string>();
      }
      ++deltas;
    }
  }
  EXPECT_EQ(joined, whole);
  EXPECT_GT(deltas, 2) << "arguments come as they are written";
}

/// Of arguments whose texts have no quotes, what can be held to a schema is, and the rest is named.
TEST(XmlGrammar, TextsAreHeldToWhatTheyCanBe) {
  Tool tool{.name = "f", .field = "tools[0].parameters"};
  const auto refusal = [&](const char* schema) -> std::string {
    tool.parameters = schema;
    try {
      xml_arguments(tool, kQwenCalls, true);
    } catch (const BadRequest& error) {
      return error.what();
    }
    return "";
  };
  for (const char* fine :
       {"{}", R"({"properties": {"a": {"type": "string", "description": "d"}}, "required": ["a"]})",
        R"({"properties": {"a": {"type": "number", "minimum": 3}, "b": {}}, "additionalProperties": false})",
        R"({"properties": {"a": {"anyOf": [{"enum": ["x", 1]}, {"type": "null"}]}}, "title": "t"})"}) {
    EXPECT_EQ(refusal(fine), "") << fine;
  }
  EXPECT_THAT(refusal(R"({"properties": {"a": {"type": "string", "pattern": "x"}}})"),
              HasSubstr("properties.a: 'pattern' cannot be enforced"));
  EXPECT_THAT(refusal(R"({"properties": {}, "required": ["b"]})"), HasSubstr("\"required\" names \"b\""));
  EXPECT_THAT(refusal(R"({"properties": {"a>": {}}})"), HasSubstr("expected a name without"));
  EXPECT_THAT(refusal(R"({"anyOf": [{}]})"), HasSubstr("'anyOf' cannot be enforced"));
  EXPECT_THAT(refusal(R"({"properties": 3})"), HasSubstr("properties: expected an object"));
  EXPECT_THAT(
      refusal(R"({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}})"),
      HasSubstr("lead nowhere"));
  EXPECT_THAT(refusal(R"({"properties": {"a": {"$ref": "#/$defs/a"}},
                          "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]}}})"),
              HasSubstr("or too far"));
}

TEST_P(ToolChoiceTest, TheOtherApisDemandCallsToo) {
  const json tools = {{{"name", "weather"}, {"input_schema", kSchema}},
                      {{"name", "trip"}, {"input_schema", kSchema}}};
  json body = {{"messages", {{{"role", "user"}, {"content", "Once"}}}},
               {"tools", tools},
               {"max_tokens", 300},
               {"temperature", 0},
               {"tool_choice", {{"type", "any"}, {"disable_parallel_tool_use", true}}}};
  json message = answer("/v1/messages", body);
  EXPECT_EQ(message["stop_reason"], "tool_use");
  ASSERT_EQ(message["content"].size(), 1U) << message;
  EXPECT_TRUE(fits(message["content"][0]["input"])) << message;
  body["tool_choice"] = {{"type", "tool"}, {"name", "trip"}, {"disable_parallel_tool_use", true}};
  message = answer("/v1/messages", body);
  EXPECT_EQ(message["content"][0]["name"], "trip");

  json responses = {{"input", "Once"},        {"max_output_tokens", 200},
                    {"temperature", 0},       {"tool_choice", {{"type", "function"}, {"name", "trip"}}},
                    {"tools", json::array()}, {"parallel_tool_calls", false}};
  for (const char* name : {"weather", "trip"}) {
    responses["tools"].push_back(
        {{"type", "function"}, {"name", name}, {"parameters", kSchema}, {"strict", true}});
  }
  const json output = answer("/v1/responses", responses)["output"];
  ASSERT_EQ(output.size(), 1U) << output;
  EXPECT_EQ(output[0]["name"], "trip");
  EXPECT_TRUE(fits(json::parse(output[0]["arguments"].get<std::string>())));
}

TEST_P(ToolChoiceTest, AnthropicsFormatOfTheAnswer) {
  if (GetParam() == ToolFormat::Channels) GTEST_SKIP() << "the model does not come to the final channel";
  const json message = answer(
      "/v1/messages",
      {{"messages", {{{"role", "user"}, {"content", "Once"}}}},
       {"max_tokens", 300},
       {"temperature", 0},
       {"output_config", {{"format", {{"type", "json_schema"}, {"schema", kSchema}}}, {"effort", "high"}}}});
  EXPECT_EQ(message["stop_reason"], "end_turn");
  EXPECT_TRUE(fits(json::parse(message["content"][0]["text"].get<std::string>()))) << message;
}

/// What a text is left free to be, it is: a strict tool alone changes no token of an answer without calls.
TEST_P(ToolChoiceTest, AStrictToolLeavesOtherTextAlone) {
  if (GetParam() == ToolFormat::Channels) GTEST_SKIP() << "its other text has a form, too";
  json strict = chat({{"max_tokens", 40}});
  const json free = answer("/v1/chat/completions", strict)["choices"][0]["message"];
  strict["tools"][0]["function"]["strict"] = true;
  EXPECT_EQ(answer("/v1/chat/completions", strict)["choices"][0]["message"]["content"], free["content"]);
  EXPECT_EQ(free["content"].get<std::string>().empty(), false);
}

TEST_P(ToolChoiceTest, WhatCannotBeDemandedIsNamed) {
  const auto refused = [&](const std::string& path, const json& body) {
    const httplib::Result result = post(path, body);
    const json error = json::parse(result->body)["error"];
    return std::to_string(result->status) + " " + error["param"].get<std::string>();
  };
  const auto chat_refused = [&](const json& more) { return refused("/v1/chat/completions", chat(more)); };
  EXPECT_EQ(chat_refused({{"tool_choice", {{"type", "function"}, {"function", {{"name", "swim"}}}}}}),
            "400 tool_choice.function.name");
  EXPECT_EQ(chat_refused({{"tool_choice", {{"type", "function"}, {"function", "trip"}}}}), "400 tool_choice");
  EXPECT_EQ(chat_refused({{"tool_choice", "any"}}), "400 tool_choice");
  EXPECT_EQ(chat_refused({{"tool_choice", "required"}, {"response_format", {{"type", "json_object"}}}}),
            "400 tool_choice");
  json odd = function("odd");
  odd["function"]["parameters"] = {{"type", "object"},
                                   {"properties", {{"a", {{"type", "array"}, {"uniqueItems", true}}}}}};
  EXPECT_EQ(chat_refused({{"tools", {odd}}, {"tool_choice", "required"}}),
            "400 tools[0].function.parameters");
  odd["function"]["strict"] = true;
  EXPECT_EQ(chat_refused({{"tools", {function("trip"), odd}}}), "400 tools[1].function.parameters");
  odd["function"]["parameters"] = {{"type", "array"}};
  EXPECT_EQ(chat_refused({{"tools", {odd}}}), "400 tools[0].function.parameters");
  odd["function"]["parameters"] = {{"type", "object"},
                                   {"properties", {{"a", {{"type", "array"}, {"uniqueItems", true}}}}}};
  odd["function"]["strict"] = false;
  const json any = answer("/v1/chat/completions", chat({{"tools", {odd}}, {"tool_choice", "required"}}));
  EXPECT_EQ(any["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "odd")
      << "not strict: any object";
}

TEST(ToolHistory, IsContentWhereLfmsTemplateHasNoPlaceForCalls) {
  const testing_support::TemplatedStories model(template_of(ToolFormat::Python));
  Service service{{.model = "stories", .api_keys = {}, .speculation = {}}};
  HttpServer server{{.port = 0}, service};
  service.open(*model.engine, {.parallel = 1});
  httplib::Client client("127.0.0.1", server.port());
  const auto answer = [&](const char* path, const json& body) {
    return json::parse(client.Post(path, body.dump(), "application/json")->body);
  };
  const json call = {{"id", "1"},
                     {"type", "function"},
                     {"function", {{"name", "trip"}, {"arguments", R"({"place": "Rome", "days": 2})"}}}};
  const json asked = {{"role", "user"}, {"content", "Go."}};
  const json called = {{"role", "assistant"}, {"content", "So: "}, {"tool_calls", {call, call}}};
  const json body = {{"messages", {asked, called, asked}}, {"tools", {function("trip")}}};
  const json tokens = answer("/tokenize", body)["tokens"];
  EXPECT_THAT(
      answer("/detokenize", {{"tokens", tokens}})["content"].get<std::string>(),
      HasSubstr(
          R"(So: <|tool_call_start|>[trip(place="Rome", days=2), trip(place="Rome", days=2)]<|tool_call_end|>)"));
  service.drain();
}

TEST(ToolHistory, IsTheTemplatesOfDeepSeekWhichHasNoPlaceForTools) {
  const testing_support::TemplatedStories model(
      "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls %}"
      "<｜tool▁call▁begin｜>{{ c.function.name }}<｜tool▁sep｜>{{ c.function.arguments | tojson }}{% endfor "
      "%}\n"
      "{% endfor %}");
  Service service{{.model = "stories", .api_keys = {}, .speculation = {}}};
  HttpServer server{{.port = 0}, service};
  service.open(*model.engine, {.parallel = 1});
  httplib::Client client("127.0.0.1", server.port());
  const json call = {{"id", "1"},
                     {"type", "function"},
                     {"function", {{"name", "trip"}, {"arguments", R"({"place": "Rome"})"}}}};
  json body = {{"messages",
                {{{"role", "user"}, {"content", "Go."}},
                 {{"role", "assistant"}, {"content", "So: "}, {"tool_calls", {call}}},
                 {{"role", "tool"}, {"content", "Gone."}, {"tool_call_id", "1"}}}},
               {"tools", {function("trip")}}};
  body["tools"][0]["function"]["description"] = "Travels.";
  const auto prompt = [&] {
    return json::parse(client.Post("/apply-template", body.dump(), "application/json")->body)["prompt"]
        .get<std::string>();
  };
  EXPECT_THAT(prompt(), testing::StartsWith("system: ## Tools\n"));
  EXPECT_THAT(prompt(), HasSubstr("### trip\nDescription: Travels.\n\nParameters: {\""));
  EXPECT_THAT(prompt(), HasSubstr("<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>ARGUMENTS<｜tool▁call▁end｜>"));
  EXPECT_THAT(
      prompt(),
      HasSubstr("assistant: So: <｜tool▁call▁begin｜>trip<｜tool▁sep｜>{\"place\": \"Rome\"}tool: Gone."));
  body["messages"].insert(body["messages"].begin(), json({{"role", "system"}, {"content", "Be kind."}}));
  EXPECT_THAT(prompt(), testing::StartsWith("system: Be kind.\n\n## Tools\n"));
  service.drain();
}

std::string name_of(const testing::TestParamInfo<ToolFormat>& form) {
  return form.param == ToolFormat::Hermes     ? "Hermes"
         : form.param == ToolFormat::Llama3   ? "Llama3"
         : form.param == ToolFormat::Mistral  ? "Mistral"
         : form.param == ToolFormat::Xml      ? "Xml"
         : form.param == ToolFormat::Python   ? "Python"
         : form.param == ToolFormat::Glm      ? "Glm"
         : form.param == ToolFormat::MiniMax  ? "MiniMax"
         : form.param == ToolFormat::Kimi     ? "Kimi"
         : form.param == ToolFormat::DeepSeek ? "DeepSeek"
                                              : "Channels";
}
INSTANTIATE_TEST_SUITE_P(Forms, ToolChoiceTest,
                         testing::Values(ToolFormat::Hermes, ToolFormat::Llama3, ToolFormat::Mistral,
                                         ToolFormat::Xml, ToolFormat::Python, ToolFormat::Glm,
                                         ToolFormat::MiniMax, ToolFormat::Kimi, ToolFormat::DeepSeek,
                                         ToolFormat::Channels),
                         name_of);

}  // namespace
}  // namespace augur
