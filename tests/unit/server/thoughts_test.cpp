// Thoughts between tags: told from answers, bounded, and asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "grammar/compiler.h"
#include "server/http/http_server.h"
#include "server/service.h"
#include "server/turns/answer_parser.h"
#include "support/templated_stories.h"
#include "taken_apart.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::taken_apart;

constexpr ThoughtTags kThink = {"<think>", "</think>"};

AnswerParser thinking(bool begun = false, std::optional<ToolFormat> format = std::nullopt) {
  std::optional<ToolParser> tools;
  if (format) tools.emplace(*format, FunctionTypes{{"add", ArgumentTypes()}}, true);
  return {ThoughtReader(kThink, begun), std::move(tools), format == ToolFormat::Xml};
}

struct Thinker {
  std::string text;
  std::string expected;
  bool begun = false;
  std::optional<ToolFormat> format = {};
};

TEST(ThoughtReader, TellsThoughtsWhereverTheyAreCut) {
  const std::string call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  const std::string xml =
      "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>";
  const std::string python = "<|tool_call_start|>[add(a=1)]<|tool_call_end|>";
  const Thinker answers[] = {
      {"<think>\nOne, <b>two</b>.\n</think>\n\nThree.", "(One, <b>two</b>.)|Three."},
      {" \n<think>a</think>b", "(a)|b"},
      {"<think>\n\n</think>\n\nb", "b"},
      {"<think>a\n\n b", "(a\n\n b)"},
      {"<think>a</thin", "(a</thin)"},
      {"a\n</think>\n\nb", "(a)|b", true},
      {"a < b", "(a < b)", true},
      {"</think>b", "b", true},
      {"<think>a</think>\n" + call, "(a)|add:{\"a\": 1}", false, ToolFormat::Hermes},
      {"a</think>\nSo:\n" + call + "\n" + call, "(a)|So:|add:{\"a\": 1}|add:{\"a\": 1}", true,
       ToolFormat::Hermes},
      {"I could " + call + "</think>no", "(I could " + call + ")|no", true, ToolFormat::Hermes},
      {"<think>a\n" + xml + "\n</think>\nb", "(a)|add:{\"a\": 1}|b", false, ToolFormat::Xml},
      {"a\n" + xml + xml, "(a)|add:{\"a\": 1}|add:{\"a\": 1}", true, ToolFormat::Xml},
      {"<think>a</think>" + python + "b", "(a)|add:{\"a\": 1}|b", false, ToolFormat::Python},
      {"b <think>a</think>", "b <think>a</think>"},
      {"<thinking>a", "<thinking>a"},
      {"<thi", "<thi"},
      {"a</think>b", "a</think>b"},
      {"<think><think>a</think>b", "(<think>a)|b"},
      {"<think>a</think>b</think>", "(a)|b</think>"},
  };
  for (const Thinker& answer : answers)
    EXPECT_EQ(taken_apart(thinking(answer.begun, answer.format), answer.text), answer.expected)
        << answer.text;
}

TEST(ThoughtTags, AreThoseThatTheTemplateNames) {
  const auto begin = [](std::string_view source) {
    const std::optional<ThoughtTags> tags = thought_tags(source);
    return tags ? tags->begin : "";
  };
  EXPECT_EQ(begin("{{ '<think>\\n\\n</think>' }}"), "<think>");
  EXPECT_EQ(begin("{{ content.split('</think>')[-1] }}"), "<think>");
  EXPECT_EQ(begin("[THINK]{{ m }}[/THINK]"), "[THINK]");
  EXPECT_EQ(begin("<|START_THINKING|>{{ m }}<|END_THINKING|>"), "<|START_THINKING|>");
  EXPECT_EQ(begin("<seed:think>{{ m }}</seed:think>"), "<seed:think>");
  EXPECT_EQ(begin("{{ '<|channel>thought\\n<channel|>' }}"), "<|channel>thought");
  EXPECT_EQ(begin("{{ m.content }}"), "");
  EXPECT_TRUE(ends_in_thought("a<think>b", kThink));
  EXPECT_FALSE(ends_in_thought("<think>b</think>", kThink));
  EXPECT_FALSE(ends_in_thought("</think>", kThink));
}

/// A server of a model whose prompts begin thoughts, unless they are not wanted.
class ThoughtService : public testing::Test {
 protected:
  ThoughtService() { service_.open(*model().engine, {.parallel = 2}); }
  ~ThoughtService() override { service_.drain(); }

  static testing_support::TemplatedStories new_model() {
    return testing_support::TemplatedStories(
        "{% for m in messages %}{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif "
        "%}"
        "{{ m.content }}\n{% endfor %}{% if reasoning_effort %}{{ reasoning_effort }}{% endif %}"
        "{% if enable_thinking is not defined or enable_thinking %}<think>\n{% endif %}",
        true);
  }
  static testing_support::TemplatedStories& model() {
    static testing_support::TemplatedStories model = new_model();
    return model;
  }

  json post(const char* path, json more) {
    json body = {{"messages", {{{"role", "user"}, {"content", "Once upon a time"}}}},
                 {"max_tokens", 60},
                 {"temperature", 0}};
    body.update(more);
    httplib::Client client("127.0.0.1", server_.port());
    return json::parse(client.Post(path, body.dump(), "application/json")->body);
  }
  json message(const json& more) {
    const json answer = post("/v1/chat/completions", more);
    return answer.contains("choices") ? answer["choices"][0]["message"] : answer;
  }
  std::string prompt(const json& more) {
    return post("/detokenize", {{"tokens", post("/tokenize", more)["tokens"]}})["content"];
  }

  Service service_{{.model = "stories", .api_keys = {}, .speculation = {}}};
  HttpServer server_{{.port = 0}, service_};
};

TEST_F(ThoughtService, ABudgetEndsThoughtsWhateverDraftsAndStreams) {
  const json free = message(json::object());
  EXPECT_EQ(free["content"], "") << "the model knows no tags";
  const std::string thoughts = free["reasoning_content"];
  for (const double temperature : {0.0, 1.0}) {
    for (const int budget : {0, 1, 7, 20}) {
      json asked = {{"thinking_budget_tokens", budget}, {"temperature", temperature}, {"seed", 3}};
      asked["speculative"] = {{"type", "none"}};
      const json plain = message(asked);
      EXPECT_EQ(plain.contains("reasoning_content"), budget > 0) << plain;
      EXPECT_NE(plain["content"], "") << plain;
      if (temperature == 0 && budget > 0) {
        EXPECT_THAT(thoughts, StartsWith(plain["reasoning_content"].get<std::string>()));
      }
      for (const char* type : {"ngram", "draft"}) {
        asked["speculative"] = {{"type", type}};
        EXPECT_EQ(message(asked), plain) << type << budget;
      }
      asked["stream"] = true;
      httplib::Client client("127.0.0.1", server_.port());
      json body = {{"messages", {{{"role", "user"}, {"content", "Once upon a time"}}}}, {"max_tokens", 60}};
      body.update(asked);
      std::istringstream lines(client.Post("/v1/chat/completions", body.dump(), "application/json")->body);
      std::string content;
      std::string reasoning;
      for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("data: {")) continue;
        const json event = json::parse(line.substr(6));
        if (event["choices"].empty()) continue;
        const json delta = event["choices"][0]["delta"];
        if (delta.contains("content") && delta["content"].is_string()) content += delta["content"];
        reasoning += delta.value("reasoning_content", "");
        EXPECT_EQ(delta.value("reasoning", ""), delta.value("reasoning_content", ""));
      }
      EXPECT_EQ(content, plain["content"]);
      EXPECT_EQ(reasoning, plain.value("reasoning_content", ""));
    }
  }
}

TEST_F(ThoughtService, TokensOfThoughtsAreCounted) {
  const auto count = [&](json more, const char* path = "/v1/chat/completions") {
    const json usage = post(path, std::move(more))["usage"];
    const char* const details =
        usage.contains("output_tokens") ? "output_tokens_details" : "completion_tokens_details";
    return usage[details]["reasoning_tokens"].get<std::int64_t>();
  };
  const auto tag = std::ssize(model().engine->tokenize_part("</think>"));
  EXPECT_EQ(count(json::object()), 60) << "the model knows no tags";
  EXPECT_EQ(count({{"n", 2}}), 120);
  EXPECT_EQ(count({{"reasoning_effort", "none"}}), 0);
  EXPECT_EQ(count({{"reasoning_format", "none"}}), 0);
  for (const int budget : {0, 1, 7, 20})
    for (const char* type : {"none", "draft"})
      EXPECT_EQ(count({{"thinking_budget_tokens", budget}, {"speculative", {{"type", type}}}}), budget + tag);
  json asked = {{"input", "Once upon a time"},
                {"max_output_tokens", 40},
                {"messages", nullptr},
                {"max_tokens", nullptr}};
  EXPECT_EQ(count(asked, "/v1/responses"), 40);
  asked["reasoning"] = {{"effort", "none"}};
  EXPECT_EQ(count(asked, "/v1/responses"), 0);
  asked.erase("reasoning");
  const json whole = post("/v1/responses", asked);
  asked.update({{"stream", true}, {"model", "stories"}, {"temperature", 0}});
  httplib::Client client("127.0.0.1", server_.port());
  const std::string events = client.Post("/v1/responses", asked.dump(), "application/json")->body;
  EXPECT_THAT(events,
              HasSubstr("\"output_tokens_details\":" + whole["usage"]["output_tokens_details"].dump()));
}

TEST_F(ThoughtService, ThoughtsHaveBothNamesInBothDirections) {
  const json answer = message(json::object());
  EXPECT_NE(answer["reasoning"], "");
  EXPECT_EQ(answer["reasoning"], answer["reasoning_content"]);
  json back = answer;
  back["content"] = "a";
  const json history = {{{"role", "user"}, {"content", "q"}}, back, {{"role", "user"}, {"content", "q"}}};
  EXPECT_THAT(prompt({{"messages", history}}), HasSubstr(answer["reasoning"].get<std::string>()));
}

TEST_F(ThoughtService, WishesReachTheTemplate) {
  EXPECT_THAT(prompt(json::object()), HasSubstr("<think>"));
  EXPECT_EQ(prompt({{"chat_template_kwargs", {{"enable_thinking", false}}}}).find("<think>"),
            std::string::npos);
  const std::string none = prompt({{"reasoning_effort", "none"}});
  EXPECT_THAT(none, HasSubstr("none"));
  EXPECT_EQ(none.find("<think>"), std::string::npos);
  EXPECT_THAT(prompt({{"reasoning_effort", "high"}}), HasSubstr("high<think>"));
  EXPECT_THAT(prompt({{"reasoning_effort", "none"}, {"chat_template_kwargs", {{"enable_thinking", true}}}}),
              HasSubstr("none<think>"))
      << "what the client says of a variable itself comes first";
  const json history = {{{"role", "user"}, {"content", "q"}},
                        {{"role", "assistant"}, {"content", "a"}, {"reasoning", "Hm."}},
                        {{"role", "user"}, {"content", "q"}}};
  EXPECT_THAT(prompt({{"messages", history}}), HasSubstr("Hm.</think>a"));
  EXPECT_EQ(message({{"reasoning_effort", "none"}}).contains("reasoning_content"), false);
  const json raw = message({{"reasoning_format", "none"}, {"thinking_budget_tokens", 3}});
  EXPECT_THAT(raw["content"].get<std::string>(), HasSubstr("</think>"));
  EXPECT_THAT(message({{"reasoning_effort", "much"}})["error"]["message"].get<std::string>(),
              HasSubstr("'reasoning_effort'"));
}

TEST_F(ThoughtService, TheOtherApisBoundThoughtsToo) {
  json messages = post("/v1/messages", {{"thinking", {{"type", "enabled"}, {"budget_tokens", 5}}}});
  ASSERT_EQ(messages["content"].size(), 2U) << messages;
  EXPECT_EQ(messages["content"][0]["type"], "thinking");
  EXPECT_NE(messages["content"][1]["text"], "");
  messages = post("/v1/messages", {{"thinking", {{"type", "disabled"}}}});
  EXPECT_EQ(messages["content"][0]["type"], "text");
  const json asked =
      json::parse(R"([{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]},
      {"role": "assistant", "content": "a"}, {"role": "user", "content": "q"}])");
  const json response = post("/v1/responses", {{"input", asked},
                                               {"reasoning", {{"effort", "high"}}},
                                               {"max_output_tokens", 8},
                                               {"messages", nullptr},
                                               {"max_tokens", nullptr}});
  ASSERT_TRUE(response.contains("output")) << response;
  EXPECT_EQ(response["output"][0]["type"], "reasoning");
  EXPECT_EQ(response["reasoning"]["effort"], "high");
}

TEST_F(ThoughtService, AGrammarHoldsForWhatFollowsThoughts) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  const json format = {{"type", "json_schema"},
                       {"json_schema", {{"name", "n"}, {"schema", {{"enum", {"Rome", "Berlin"}}}}}}};
  const json plain =
      message({{"response_format", format}, {"thinking_budget_tokens", 6}, {"max_tokens", 80}});
  EXPECT_THAT(plain["content"].get<std::string>(), testing::AnyOf("\"Rome\"", "\"Berlin\""));
  EXPECT_NE(plain.value("reasoning_content", ""), "");
  for (const char* type : {"none", "draft"})
    EXPECT_EQ(message({{"response_format", format},
                       {"thinking_budget_tokens", 6},
                       {"max_tokens", 80},
                       {"speculative", {{"type", type}}}}),
              plain);
}

TEST_F(ThoughtService, TheServersFlagsAreForRequestsThatDoNotSay) {
  const testing_support::TemplatedStories other = new_model();
  Service service{{.model = "stories",
                   .api_keys = {},
                   .speculation = {},
                   .defaults = {.thoughts_as_content = true, .most_thought_tokens = 4}}};
  HttpServer server{{.port = 0}, service};
  service.open(*other.engine, {.parallel = 1});
  httplib::Client client("127.0.0.1", server.port());
  json body = {{"messages", {{{"role", "user"}, {"content", "Once upon a time"}}}},
               {"max_tokens", 40},
               {"temperature", 0}};
  const auto said = [&] {
    return json::parse(
        client.Post("/v1/chat/completions", body.dump(), "application/json")->body)["choices"][0]["message"];
  };
  EXPECT_THAT(said()["content"].get<std::string>(), HasSubstr("</think>"));
  EXPECT_FALSE(said().contains("reasoning_content"));
  body["reasoning_format"] = "auto";
  EXPECT_TRUE(said().contains("reasoning_content"));
  EXPECT_NE(said()["content"], "");
  body["thinking_budget_tokens"] = -1;
  EXPECT_EQ(said()["content"], "");
  service.drain();
}

TEST(ChannelGrammar, HoldsForTheFinalChannel) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  const testing_support::TemplatedStories model(
      "{% for m in messages %}{{ m.content }}\n{% endfor %}{{ reasoning_effort }}<|start|>assistant"
      "{% if false %}<|channel|>final<|message|>{% endif %}",
      true);
  Service service{{.model = "stories", .api_keys = {}, .speculation = {}}};
  HttpServer server{{.port = 0}, service};
  service.open(*model.engine, {.parallel = 1});
  httplib::Client client("127.0.0.1", server.port());
  json body = {{"messages", {{{"role", "user"}, {"content", "Once upon a time"}}}},
               {"max_tokens", 80},
               {"temperature", 0},
               {"reasoning_effort", "minimal"},
               {"reasoning_budget_tokens", 0},
               {"response_format",
                {{"type", "json_schema"},
                 {"json_schema", {{"name", "n"}, {"schema", {{"enum", {"Rome", "Berlin"}}}}}}}}};
  const auto answer = [&](const char* path) {
    return json::parse(client.Post(path, body.dump(), "application/json")->body);
  };
  for (const char* type : {"none", "draft"}) {
    body["speculative"] = {{"type", type}};
    const json message = answer("/v1/chat/completions")["choices"][0]["message"];
    EXPECT_THAT(json::parse(message["content"].get<std::string>()), testing::AnyOf("Rome", "Berlin"))
        << message;
  }
  EXPECT_THAT(answer("/apply-template")["prompt"].get<std::string>(), HasSubstr("low<|start|>assistant"))
      << "the nearest effort that gpt-oss knows";
  // A reply that goes on does so in its channel.
  body.erase("response_format");
  body["messages"].push_back({{"role", "assistant"}, {"content", "there was"}});
  EXPECT_THAT(answer("/apply-template")["prompt"].get<std::string>(),
              HasSubstr("<|start|>assistant<|channel|>final<|message|>there was"));
  EXPECT_NE(answer("/v1/chat/completions")["choices"][0]["message"]["content"], "");
  service.drain();
}

}  // namespace
}  // namespace augur
