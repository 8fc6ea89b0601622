// What clients of llama.cpp's server ask of every API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "grammar/compiler.h"
#include "support/server_fixture.h"
#include "support/templated_stories.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using LlamaCppClients = testing_support::ServiceTest;

constexpr const char* kTemplate =
    "{% for m in messages %}{{ m.role + ':' + m.content + '|' }}{% endfor %}"
    "{% if mood is defined %}{{ '(' + mood + ')' }}{% endif %}"
    "{% if add_generation_prompt %}assistant:{% endif %}";

/// A server of the stories model with a chat template that knows no tools.
class LlamaCppChats : public testing_support::ServiceTest {
 protected:
  void SetUp() override {
    if (!stories_) stories_ = std::make_unique<testing_support::TemplatedStories>(kTemplate);
    service_.open(*stories_->engine, {.parallel = 4});
  }
  static void TearDownTestSuite() {
    stories_.reset();
    ServiceTest::TearDownTestSuite();
  }

  std::string prompt_of(json chat, const json& messages) {
    chat["messages"] = messages;
    return answer("/apply-template", chat)["prompt"];
  }
  std::string chat_refusal(json chat, const json& messages) {
    chat["messages"] = messages;
    return refusal("/v1/chat/completions", chat.dump());
  }

  inline static std::unique_ptr<testing_support::TemplatedStories> stories_;
};

json said(const char* role, const json& content) {
  return {{"role", role}, {"content", content}};
}

TEST_F(LlamaCppClients, AModelIsFoundByEachOfItsNames) {
  Service service{{.model = "org/stories", .api_keys = {}, .speculation = {}, .aliases = {"tales"}}};
  HttpServer server{{.port = 0}, service};
  service.open(*engine_, {.parallel = 4});
  httplib::Client client("127.0.0.1", server.port());
  for (const char* path : {"/v1/models/org/stories", "/v1/models/org%2Fstories", "/models/tales"}) {
    const httplib::Result found = client.Get(path);
    ASSERT_EQ(found->status, 200) << path;
    EXPECT_EQ(json::parse(found->body)["id"], "org/stories");
    EXPECT_EQ(client.Head(path)->status, 200) << path;
  }
  for (const char* path : {"/v1/models/stories", "/v1/models/org", "/models/nothing", "/v1/models/%zz"}) {
    const httplib::Result missing = client.Get(path);
    ASSERT_EQ(missing->status, 404) << path;
    EXPECT_EQ(json::parse(missing->body)["error"]["param"], "model");
    EXPECT_EQ(client.Head(path)->status, 404) << path;
  }
  const json all = json::parse(client.Get("/v1/models")->body)["data"];
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["aliases"], json({"org/stories", "tales"}));
  service.drain();
}

TEST_F(LlamaCppClients, WhatOtherModelsAreForIsNotServed) {
  open();
  for (const char* path : {"/v1/embeddings", "/embeddings", "/embedding", "/rerank", "/v1/rerank"}) {
    const httplib::Result result = post(path, R"({"input": "text"})");
    EXPECT_EQ(result->status, 501) << path;
    EXPECT_EQ(json::parse(result->body)["error"]["type"], "not_supported_error");
  }
}

TEST_F(LlamaCppClients, APromptThatIsTooLongIsTold) {
  open();
  const json body = {{"prompt", std::vector<int>(600, 5)}};
  for (const char* path : {"/completion", "/v1/completions"}) {
    const httplib::Result result = post(path, body.dump());
    ASSERT_EQ(result->status, 400);
    const json error = json::parse(result->body)["error"];
    EXPECT_EQ(error["type"], "exceed_context_size_error");
    EXPECT_EQ(error["n_prompt_tokens"], 600);
    EXPECT_EQ(error["n_ctx"], 512);
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("exceeds the available context size of 512"));
  }
}

TEST_F(LlamaCppClients, ProbabilitiesBehindTheSamplers) {
  open();
  json body = {{"prompt", "Once upon a time"},
               {"n_predict", 6},
               {"temperature", 0.7},
               {"top_k", 3},
               {"top_p", 1},
               {"min_p", 0},
               {"seed", 11},
               {"n_probs", 10},
               {"post_sampling_probs", true},
               {"return_tokens", true}};
  const json whole = answer("/completion", body);
  const json all = whole["completion_probabilities"];
  ASSERT_EQ(all.size(), 6U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i]["top_probs"].size(), 3U) << "top_k leaves three";
    double sum = 0;
    bool there = false;
    for (const json& one : all[i]["top_probs"]) {
      sum += one["prob"].get<double>();
      there |= one["id"] == all[i]["id"] && one["prob"] == all[i]["prob"];
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    EXPECT_TRUE(there) << "the drawn token is one of them";
    EXPECT_FALSE(all[i].contains("logprob"));
  }
  body["speculative"] = {{"type", "ngram"}};
  EXPECT_EQ(answer("/completion", body)["completion_probabilities"], all) << "the same whatever drafts";
  // The same draws have the model's own probabilities in the same proportions.
  body["post_sampling_probs"] = false;
  const json model = answer("/completion", body);
  EXPECT_EQ(model["tokens"], whole["tokens"]);
  const json& own = model["completion_probabilities"][0]["top_logprobs"];
  const json& sampled = all[0]["top_probs"];
  const double ratio = std::log(sampled[0]["prob"].get<double>() / sampled[1]["prob"].get<double>());
  EXPECT_NEAR(ratio, (own[0]["logprob"].get<double>() - own[1]["logprob"].get<double>()) / 0.7, 1e-3);
}

TEST_F(LlamaCppClients, ARequestHasThePlaceThatItWants) {
  open();
  json body = {{"prompt", "Once upon a time"}, {"n_predict", 4}, {"id_slot", 2}};
  EXPECT_EQ(answer("/completion", body)["id_slot"], 2);
  body["id_slot"] = -1;
  EXPECT_EQ(answer("/completion", body)["id_slot"], 0);
  body["id_slot"] = 9;
  EXPECT_EQ(answer("/completion", body)["id_slot"], 0) << "there is no such place";
}

TEST_F(LlamaCppClients, StreamsTellHowFarTheyAre) {
  open();
  std::string prompt;
  for (int i = 0; i < 60; ++i) prompt += "Once upon a time ";
  json body = {{"prompt", prompt}, {"n_predict", 4},          {"stream", true},
               {"temperature", 0}, {"return_progress", true}, {"timings_per_token", true}};
  std::vector<json> progress;
  int tokens = 0;
  for (const std::string& event : events(post("/completion", body.dump())->body)) {
    const json chunk = json::parse(event);
    ASSERT_TRUE(chunk.contains("timings"));
    if (chunk.contains("prompt_progress")) {
      EXPECT_EQ(tokens, 0);
      progress.push_back(chunk["prompt_progress"]);
    }
    tokens += static_cast<int>(chunk["tokens"].size());
    if (chunk["stop"] == false) {
      EXPECT_EQ(chunk["timings"]["predicted_n"], chunk["tokens_predicted"]);
    }
  }
  ASSERT_GE(progress.size(), 2U);
  EXPECT_EQ(progress.front()["processed"], progress.front()["cache"]);
  EXPECT_EQ(progress.back()["processed"], progress.back()["total"]);
  for (std::size_t i = 1; i < progress.size(); ++i) {
    EXPECT_GT(progress[i]["processed"], progress[i - 1]["processed"]);
    EXPECT_EQ(progress[i]["cache"], progress[0]["cache"]);
  }
  // What is kept of it is told, too.
  for (const std::string& event : events(post("/v1/completions", body.dump())->body)) {
    if (event == "[DONE]") continue;
    const json chunk = json::parse(event);
    if (!chunk.contains("prompt_progress")) continue;
    EXPECT_GT(chunk["prompt_progress"]["cache"], 0);
    break;
  }
}

TEST_F(LlamaCppClients, TheServersSettingsAreTheDefaults) {
  Service service{{.model = "stories",
                   .api_keys = {},
                   .speculation = {},
                   .defaults = {.max_tokens = 7, .temperature = 0.5, .seed = 42}}};
  HttpServer server{{.port = 0}, service};
  service.open(*engine_, {.parallel = 4});
  httplib::Client client("127.0.0.1", server.port());
  const auto ask = [&](const char* path, const json& body) {
    return json::parse(client.Post(path, body.dump(), "application/json")->body);
  };
  const json settings = ask("/completion", {{"prompt", "Once"}})["generation_settings"];
  EXPECT_EQ(settings["n_predict"], 7);
  EXPECT_EQ(settings["temperature"], 0.5);
  EXPECT_EQ(settings["seed"], 42);
  EXPECT_EQ(json::parse(client.Get("/props")->body)["default_generation_settings"]["params"]["seed"], 42);
  const json own = ask("/completion", {{"prompt", "Once"}, {"seed", 1}, {"n_predict", 2}});
  EXPECT_EQ(own["generation_settings"]["seed"], 1);
  EXPECT_EQ(own["tokens_predicted"], 2);
  EXPECT_EQ(ask("/v1/completions", {{"prompt", "Once"}})["usage"]["completion_tokens"], 7);
  service.drain();
}

TEST_F(LlamaCppClients, WhatEndsATextIsForbiddenWhereItIsIgnored) {
  open();
  json body = {{"prompt", "Once"}, {"n_predict", 2}, {"ignore_eos", true}};
  const json bias = answer("/completion", body)["generation_settings"]["logit_bias"];
  ASSERT_EQ(bias.size(), 1U);
  EXPECT_TRUE(bias[0]["bias"].is_null());
  body["ignore_eos"] = false;
  EXPECT_TRUE(answer("/completion", body)["generation_settings"]["logit_bias"].empty());
}

TEST_F(LlamaCppChats, HowAPromptEnds) {
  const json asked = json::array({said("user", "Hi")});
  const json begun = {said("user", "Hi"), said("assistant", "Well")};
  const json empty = json::object();
  EXPECT_EQ(prompt_of(empty, asked), "user:Hi|assistant:");
  EXPECT_EQ(prompt_of({{"add_generation_prompt", false}}, asked), "user:Hi|");
  EXPECT_EQ(prompt_of({{"add_generation_prompt", false}}, begun), "user:Hi|assistant:Well|");
  EXPECT_EQ(prompt_of({{"add_generation_prompt", true}}, begun), "user:Hi|assistant:Well|assistant:");
  EXPECT_EQ(prompt_of(empty, begun), "user:Hi|assistant:Well") << "as llama.cpp has it";
  EXPECT_EQ(prompt_of({{"continue_final_message", true}, {"add_generation_prompt", false}}, begun),
            "user:Hi|assistant:Well");
  EXPECT_EQ(prompt_of({{"chat_template_kwargs", {{"mood", "calm"}}}}, asked), "user:Hi|(calm)assistant:");

  EXPECT_THAT(chat_refusal({{"continue_final_message", true}, {"add_generation_prompt", true}}, begun),
              StartsWith("400 'continue_final_message'"));
  EXPECT_THAT(chat_refusal({{"continue_final_message", true}}, asked),
              HasSubstr("400 'messages': the last message"));
  EXPECT_THAT(chat_refusal(empty, {said("user", "a"), said("assistant", "b"), said("assistant", "c")}),
              HasSubstr("400 'messages': the last two messages"));
  EXPECT_THAT(chat_refusal({{"chat_template_kwargs", {{"messages", 1}}}}, asked),
              HasSubstr("chat_template_kwargs"));
  EXPECT_THAT(chat_refusal({{"chat_template_kwargs", 1}}, asked), StartsWith("400 'chat_template_kwargs'"));
}

TEST_F(LlamaCppChats, WhatIsContinuedIsText) {
  const json chat = {{"messages", {said("user", "Hi"), said("assistant", "a</s>b")}}};
  const json tokens = answer("/tokenize", chat)["tokens"];
  const TokenId end = stories_->engine->info().end_tokens.front();
  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), end), 0);
}

TEST_F(LlamaCppChats, ConversationsMayGoOnAsTheyAreWithoutPrefill) {
  EngineOptions options = testing_support::stories_engine_options();
  options.chat_template = kTemplate;
  Engine engine(options);
  Service service{
      {.model = "stories", .api_keys = {}, .speculation = {}, .defaults = {.prefill_assistant = false}}};
  HttpServer server{{.port = 0}, service};
  service.open(engine, {.parallel = 1});
  const json body = {{"messages", {said("user", "Hi"), said("assistant", "Well")}}};
  const auto result =
      httplib::Client("127.0.0.1", server.port()).Post("/apply-template", body.dump(), "application/json");
  EXPECT_EQ(json::parse(result->body)["prompt"], "user:Hi|assistant:Well|assistant:");
  service.drain();
}

TEST_F(LlamaCppChats, ARequestsVariablesGoBeforeTheServers) {
  service_.drain();
  EngineOptions options = testing_support::stories_engine_options();
  options.chat_template = kTemplate;
  options.template_kwargs = R"({"mood": "calm"})";
  Engine engine(options);
  Service service{{.model = "stories", .api_keys = {}, .speculation = {}}};
  HttpServer server{{.port = 0}, service};
  service.open(engine, {.parallel = 1});
  httplib::Client client("127.0.0.1", server.port());
  json body = {{"messages", {said("user", "Hi")}}};
  const auto prompt = [&] {
    const auto result = client.Post("/apply-template", body.dump(), "application/json");
    return json::parse(result->body)["prompt"].get<std::string>();
  };
  EXPECT_EQ(prompt(), "user:Hi|(calm)assistant:");
  body["chat_template_kwargs"] = {{"mood", "wild"}};
  EXPECT_EQ(prompt(), "user:Hi|(wild)assistant:");
  service.drain();
}

TEST_F(LlamaCppChats, VerboseShowsPromptAndSettings) {
  json chat = {{"messages", {said("user", "Hi")}}, {"max_tokens", 3}, {"verbose", true}, {"seed", 5}};
  const json whole = answer("/v1/chat/completions", chat);
  EXPECT_THAT(whole["__verbose"]["prompt"].get<std::string>(), HasSubstr("user:Hi|assistant:"));
  EXPECT_EQ(whole["__verbose"]["generation_settings"]["seed"], 5);
  EXPECT_EQ(whole["__verbose"]["content"], whole["choices"][0]["message"]["content"]);
  EXPECT_EQ(whole["timings"]["predicted_n"], 3);
  chat["verbose"] = false;
  EXPECT_FALSE(answer("/v1/chat/completions", chat).contains("__verbose"));
}

TEST_F(LlamaCppChats, AStreamBeginsWithWhoSpeaks) {
  json chat = {{"messages", {said("user", "Hi")}},
               {"max_tokens", 3},
               {"stream", true},
               {"stream_options", {{"include_usage", true}}},
               {"timings_per_token", true},
               {"return_progress", true}};
  const std::vector<std::string> all = events(post("/v1/chat/completions", chat.dump())->body);
  const json first = json::parse(all.front());
  EXPECT_EQ(first["choices"][0]["delta"], json({{"role", "assistant"}, {"content", nullptr}}));
  EXPECT_FALSE(first.contains("timings"));
  bool told = false;
  for (std::size_t i = 1; i + 1 < all.size(); ++i) {
    const json chunk = json::parse(all[i]);
    ASSERT_TRUE(chunk.contains("timings")) << chunk;
    told |= chunk.contains("prompt_progress");
    if (!chunk["choices"].empty()) {
      EXPECT_FALSE(chunk["choices"][0]["delta"].contains("role"));
    }
  }
  EXPECT_TRUE(told);
  EXPECT_EQ(json::parse(all[all.size() - 2])["timings"]["predicted_n"], 3);
}

const json kTools = {{{"type", "function"},
                      {"function",
                       {{"name", "add"},
                        {"description", "Adds"},
                        {"parameters",
                         {{"type", "object"},
                          {"properties", {{"a", {{"type", "boolean"}}}}},
                          {"required", {"a"}},
                          {"additionalProperties", false}}}}}}};

TEST_F(LlamaCppChats, ToolsAreDescribedWhereTheTemplateKnowsNone) {
  const json call = {
      {"id", "1"}, {"type", "function"}, {"function", {{"name", "add"}, {"arguments", R"({"a":true})"}}}};
  const std::string prompt =
      prompt_of({{"tools", kTools}}, {said("system", "Be brief."),
                                      said("user", "Add"),
                                      {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {call}}},
                                      {{"role", "tool"}, {"tool_call_id", "1"}, {"content", "7"}},
                                      said("user", "And?")});
  EXPECT_THAT(prompt, StartsWith("system:Be brief.\n\nYou may call these functions"));
  EXPECT_THAT(prompt, HasSubstr(R"({"name":"add","description":"Adds","parameters":{)"));
  EXPECT_THAT(
      prompt,
      HasSubstr("assistant:<tool_call>\n{\"name\":\"add\",\"arguments\":{\"a\":true}}\n</tool_call>|"));
  EXPECT_THAT(prompt, EndsWith("user:<tool_response>\n7\n</tool_response>\nAnd?|assistant:"))
      << "turns alternate";
  EXPECT_THAT(prompt_of({{"tools", kTools}}, json::array({said("user", "Add")})),
              EndsWith("</tool_call>\n\nAdd|assistant:"));
  EXPECT_EQ(prompt_of({{"tools", kTools}, {"tool_choice", "none"}}, json::array({said("user", "Add")})),
            "user:Add|assistant:");
}

TEST_F(LlamaCppChats, DescribedToolsAreCalled) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  const json chat = {{"messages", {said("user", "Add")}}, {"tools", kTools},   {"tool_choice", "required"},
                     {"parallel_tool_calls", false},      {"max_tokens", 100}, {"temperature", 0}};
  const json choice = answer("/v1/chat/completions", chat)["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  const json function = choice["message"]["tool_calls"][0]["function"];
  EXPECT_EQ(function["name"], "add");
  EXPECT_TRUE(json::parse(function["arguments"].get<std::string>())["a"].is_boolean());
}

}  // namespace
}  // namespace augur
