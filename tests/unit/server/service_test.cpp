#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/arithmetic_law.h"
#include "support/server_fixture.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing_support::ServiceTest;

TEST_F(ServiceTest, CompletionsAreTheEnginesOwnWithAnySpeculation) {
  const Result greedy = alone(50);
  const Result sampled = alone(50, {.temperature = 0.9, .top_p = 0.9, .seed = 17});
  open();
  for (const char* speculative : {"null", R"({"type": "none"})", R"({"type": "ngram", "n_max": 6})",
                                  R"({"type": "draft", "policy": "eagle2", "topk": 3, "depth": 3})",
                                  R"({"type": "draft,ngram", "policy": "auto"})"}) {
    SCOPED_TRACE(speculative);
    json body = {{"model", "stories"},
                 {"prompt", "Once upon a time"},
                 {"max_tokens", 50},
                 {"temperature", 0},
                 {"speculative", json::parse(speculative)}};
    json result = answer("/v1/completions", body);
    EXPECT_EQ(result["choices"][0]["text"], greedy.text);
    EXPECT_EQ(result["choices"][0]["finish_reason"], "length");
    EXPECT_EQ(result["object"], "text_completion");
    EXPECT_EQ(result["usage"]["completion_tokens"], 50);
    EXPECT_EQ(result["usage"]["prompt_tokens"], greedy.prompt_tokens);
    EXPECT_EQ(result["usage"]["total_tokens"], 50 + greedy.prompt_tokens);
    body.update({{"temperature", 0.9}, {"top_p", 0.9}, {"seed", 17}, {"n", 2}});
    result = answer("/v1/completions", body);
    EXPECT_EQ(result["choices"][0]["text"], sampled.text);
    EXPECT_EQ(result["choices"][1]["index"], 1);
    EXPECT_NE(result["choices"][1]["text"], sampled.text) << "the next seed's";
    EXPECT_EQ(result["usage"]["completion_tokens"], 100);
  }
  const json plain = answer("/v1/completions", {{"prompt", "Once"}, {"speculative", {{"type", "none"}}}});
  EXPECT_EQ(plain["usage"]["speculation"]["num_draft_tokens"], 0);
  EXPECT_EQ(plain["usage"]["completion_tokens"], 16) << "OpenAI's default";
}

TEST_F(ServiceTest, StreamsTheSameText) {
  const Result greedy = alone(50);
  open();
  json body = {{"prompt", "Once upon a time"},
               {"max_tokens", 50},
               {"temperature", 0},
               {"stream", true},
               {"n", 2},
               {"stream_options", {{"include_usage", true}}}};
  const httplib::Result result = post("/v1/completions", body.dump());
  ASSERT_TRUE(result);
  std::vector<std::string> all = events(result->body);
  ASSERT_GT(all.size(), 10U);
  EXPECT_EQ(all.back(), "[DONE]");
  all.pop_back();
  const json last = json::parse(all.back());
  EXPECT_TRUE(last["choices"].empty());
  EXPECT_EQ(last["usage"]["completion_tokens"], 100);
  all.pop_back();
  std::string texts[2];
  int ended = 0;
  for (const std::string& event : all) {
    const json choice = json::parse(event)["choices"].at(0);
    texts[choice["index"].get<int>()] += choice["text"];
    ended += choice["finish_reason"] == "length" ? 1 : 0;
  }
  EXPECT_EQ(texts[0], greedy.text);
  EXPECT_EQ(texts[1], greedy.text);
  EXPECT_EQ(ended, 2);
}

TEST_F(ServiceTest, StopsAndBiasesAndIds) {
  open();
  json body = {{"prompt", "Once upon a time"}, {"max_tokens", 50}, {"temperature", 0}, {"stop", "Lily"}};
  const json stopped = answer("/v1/completions", body);
  EXPECT_EQ(stopped["choices"][0]["text"], ", there was a little girl named ");
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  const json tokens = answer("/tokenize", {{"prompt", "Once upon a time"}});
  body["prompt"] = tokens["tokens"];
  EXPECT_EQ(answer("/v1/completions", body)["choices"][0]["text"], stopped["choices"][0]["text"]);
  EXPECT_THAT(answer("/detokenize", {{"tokens", tokens["tokens"]}})["content"].get<std::string>(),
              HasSubstr("Once upon a time"));
  const json bare = answer("/tokenize", {{"prompt", "Once upon a time"}, {"add_special_tokens", false}});
  EXPECT_EQ(bare["count"].get<int>(), tokens["count"].get<int>() - 1);
  EXPECT_EQ(bare["tokens"][0], tokens["tokens"][1]);
  EXPECT_EQ(answer("/tokenize", {{"prompt", "Once upon a time"}, {"add_special_tokens", true}}), tokens);
  EXPECT_THAT(refusal("/tokenize", R"({"prompt": "a", "add_special_tokens": 1})"),
              HasSubstr("400 'add_special_tokens'"));
  EXPECT_THAT(refusal("/tokenize", R"({"prompt": "a", "add_special_tokens": false, "top_pp": 1})"),
              HasSubstr("400 'top_pp'"));
}

TEST_F(ServiceTest, TakesWhatVllmRouterWrites) {
  open();
  json body = {{"prompt", "Once upon a time"}, {"max_tokens", 8}, {"temperature", 0}};
  const json bare = answer("/v1/completions", body)["choices"];
  body.update({{"no_stop_trim", false},
               {"skip_special_tokens", true},
               {"return_hidden_states", false},
               {"continue_final_message", false},
               {"separate_reasoning", true},
               {"stream_reasoning", true},
               {"include_reasoning", true}});
  EXPECT_EQ(answer("/v1/completions", body)["choices"], bare);
}

TEST_F(ServiceTest, TellsWhatEndsAText) {
  open();
  const json info = json::parse(httplib::Client("127.0.0.1", server_.port()).Get("/tokenizer_info")->body);
  EXPECT_EQ(info["bos_token"], "<s>");
  EXPECT_EQ(info["eos_token"], "</s>");
  EXPECT_TRUE(info["chat_template"].is_null());
}

TEST_F(ServiceTest, LogprobsAreOfTheTokensAndTheSameWhateverDrafts) {
  open();
  json body = {{"prompt", "Once upon a time"}, {"max_tokens", 20}, {"temperature", 0}, {"logprobs", 2}};
  body["speculative"] = {{"type", "none"}};
  const json plain = answer("/v1/completions", body)["choices"][0];
  body["speculative"] = {{"type", "draft"}, {"policy", "eagle2"}};
  EXPECT_EQ(answer("/v1/completions", body)["choices"][0], plain);
  const json& logprobs = plain["logprobs"];
  std::string text;
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(logprobs["text_offset"][i], text.size());
    text += logprobs["tokens"][i].get<std::string>();
    const json& top = logprobs["top_logprobs"][i];
    EXPECT_EQ(top.size(), 2U);
    EXPECT_EQ(top.at(logprobs["tokens"][i].get<std::string>()), logprobs["token_logprobs"][i])
        << "it is greedy";
    EXPECT_LT(logprobs["token_logprobs"][i], 0);
  }
  EXPECT_EQ(text, plain["text"]);

  body["stream"] = true;
  std::vector<std::string> all = events(post("/v1/completions", body.dump())->body);
  json streamed = {{"tokens", json::array()},
                   {"token_logprobs", json::array()},
                   {"top_logprobs", json::array()},
                   {"text_offset", json::array()}};
  for (const std::string& event : all) {
    if (event == "[DONE]") continue;
    const json chunk = json::parse(event)["choices"][0]["logprobs"];
    for (auto& [key, list] : streamed.items()) {
      if (!chunk.is_null()) list.insert(list.end(), chunk[key].begin(), chunk[key].end());
    }
  }
  EXPECT_EQ(streamed, logprobs);
}

TEST_F(ServiceTest, AnEchoedPromptHasItsLogprobs) {
  open();
  const json first = answer(
      "/v1/completions",
      {{"prompt", "Once upon a time"}, {"max_tokens", 8}, {"temperature", 0}, {"logprobs", 1}})["choices"][0];
  // lm-eval's question: how probable is this text?
  json body = {
      {"prompt",
       answer("/tokenize", {{"prompt", "Once upon a time" + first["text"].get<std::string>()}})["tokens"]},
      {"max_tokens", 0},
      {"logprobs", 1},
      {"echo", true}};
  const json whole = answer("/v1/completions", body)["choices"][0];
  const json& logprobs = whole["logprobs"];
  EXPECT_EQ(whole["finish_reason"], "length");
  EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
  EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
  ASSERT_EQ(logprobs["tokens"].size(), body["prompt"].size());
  const std::size_t prompt = body["prompt"].size() - 8;
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(logprobs["tokens"][prompt + i], first["logprobs"]["tokens"][i]);
    EXPECT_EQ(logprobs["token_logprobs"][prompt + i], first["logprobs"]["token_logprobs"][i]);
  }
  body["max_tokens"] = 1;
  EXPECT_EQ(answer("/v1/completions", body)["choices"][0]["logprobs"]["tokens"].size(), prompt + 9);
  body.erase("logprobs");
  body["stream"] = true;
  const std::vector<std::string> all = events(post("/v1/completions", body.dump())->body);
  EXPECT_THAT(json::parse(all.at(0))["choices"][0]["text"].get<std::string>(), HasSubstr("Once upon a time"));
}

TEST_F(ServiceTest, SeveralPromptsAreNumberedAsTheirChoices) {
  open();
  const auto text = [&](const std::string& prompt, int seed) {
    return answer("/v1/completions", {{"prompt", prompt}, {"seed", seed}})["choices"][0]["text"];
  };
  json body = {{"prompt", {"Once upon", "There was a"}}, {"n", 2}, {"seed", 7}};
  const json result = answer("/v1/completions", body);
  ASSERT_EQ(result["choices"].size(), 4U);
  EXPECT_EQ(result["choices"][1]["text"], text("Once upon", 8));
  EXPECT_EQ(result["choices"][2]["text"], text("There was a", 7));
  EXPECT_EQ(result["choices"][2]["index"], 2);
  std::size_t tokens = 0;
  for (json& prompt : body["prompt"]) {
    prompt = answer("/tokenize", {{"prompt", prompt}})["tokens"];
    tokens += prompt.size();
  }
  EXPECT_EQ(result["usage"]["prompt_tokens"], tokens);
  EXPECT_EQ(result["usage"]["completion_tokens"], 64);
  EXPECT_EQ(answer("/v1/completions", body)["choices"], result["choices"]) << "as token ids";
}

TEST_F(ServiceTest, TheFingerprintNamesModelAndFormats) {
  open();
  const std::string fingerprint = answer("/v1/completions", {{"prompt", "Once"}})["system_fingerprint"];
  EXPECT_EQ(fingerprint, engine_->info().fingerprint);
  EXPECT_THAT(fingerprint, AllOf(HasSubstr(std::string(version())), HasSubstr(engine_->info().weights),
                                 HasSubstr("-kv-"), HasSubstr(fmt::format("-law{}-", engine_->info().law))));
}

TEST_F(ServiceTest, ARefusedFieldIsNamed) {
  open();
  const auto completion = [&](const std::string& field) {
    return refusal("/v1/completions", R"({"prompt": "Once", )" + field + "}");
  };
  EXPECT_THAT(completion(R"("skip_special_tokens": false)"), HasSubstr("400 'skip_special_tokens'"));
  EXPECT_THAT(completion(R"("return_hidden_states": true)"), HasSubstr("400 'return_hidden_states'"));
  EXPECT_THAT(completion(R"("best_of": 2)"), AllOf(HasSubstr("400 'best_of'"), HasSubstr("not support")));
  EXPECT_THAT(completion(R"("suffix": "end")"), AllOf(HasSubstr("400 'suffix'"), HasSubstr("not support")));
  EXPECT_THAT(completion(R"("logprobs": 21)"), HasSubstr("400 'logprobs': expected an integer from 0 to 20"));
  EXPECT_THAT(completion(R"("echo": true, "logprobs": 1, "stream": true)"), HasSubstr("400 'echo'"));
  EXPECT_THAT(refusal("/v1/completions", R"({"prompt": ["Once", 5]})"), HasSubstr("400 'prompt[1]'"));
  EXPECT_THAT(refusal("/v1/completions", R"({"prompt": [[5], ["a"]]})"), HasSubstr("400 'prompt[1][0]'"));
  EXPECT_THAT(refusal("/v1/chat/completions",
                      R"({"messages": [{"role": "user", "content": "Hi"}], "top_logprobs": 2})"),
              HasSubstr("400 'top_logprobs': goes with"));
  EXPECT_THAT(completion(R"("temperature": -1)"), HasSubstr("400 'temperature': expected a number from 0"));
  EXPECT_THAT(completion(R"("max_tokens": "many")"), HasSubstr("400 'max_tokens': expected an integer"));
  EXPECT_THAT(completion(R"("n": 17)"), HasSubstr("400 'n': expected an integer from 1 to 16"));
  EXPECT_THAT(completion(R"("stop": [""])"), HasSubstr("400 'stop[0]'"));
  EXPECT_THAT(completion(R"("stream_options": {"include_usage": true})"), HasSubstr("400 'stream_options'"));
  EXPECT_THAT(completion(R"("logit_bias": {"": 1})"), HasSubstr("400 'logit_bias'"));
  EXPECT_THAT(completion(R"("speculative": {"tree": "/etc/passwd"})"), HasSubstr("400 'speculative.tree'"));
  EXPECT_THAT(completion(R"("speculative": {"policy": "c2t:model=/etc"})"),
              HasSubstr("400 'speculative.policy'"));
  EXPECT_THAT(completion(R"("speculative": {"type": "draft,ngram:tree=/etc/passwd"})"),
              HasSubstr("400 'speculative.type'"));
  EXPECT_THAT(completion(R"("speculative": {"type": "eagle3"})"), HasSubstr("400 ")) << "it is not loaded";
  EXPECT_THAT(completion(R"("logit_bias": {"99999": 1})"), HasSubstr("400 "));
  EXPECT_THAT(completion(R"("logit_bias": {"99999": 1}, "stream": true)"), HasSubstr("400 "));
  EXPECT_THAT(refusal("/tokenize", R"({"prompt": "Once", "logit_bias": {"99999": 1}})"),
              HasSubstr("400 'logit_bias': expected token ids below"));
  EXPECT_THAT(completion(R"("speculative": {"n_max": 1000000})"), HasSubstr("400 'speculative'"));
  EXPECT_THAT(completion(R"("speculative": {"type": "nothing"})"), HasSubstr("400 'speculative'"));
  EXPECT_THAT(refusal("/v1/completions", "{}"), HasSubstr("400 'prompt': is missing"));
  EXPECT_THAT(refusal("/v1/completions", "{"), HasSubstr("400 the body is no JSON at its end"));
  EXPECT_THAT(refusal("/v1/completions", "[]"), HasSubstr("400 the body is not a JSON object"));
  EXPECT_THAT(refusal("/v1/completions", std::string(100, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal("/v1/completions", R"({"prompt": [99999]})"), HasSubstr("outside the vocabulary"));
  EXPECT_THAT(
      refusal("/v1/completions", json{{"prompt", std::vector<int>(600, 5)}}.dump()),
      HasSubstr("400 'prompt': its 600 tokens are a prompt that exceeds the available context size of 512"));
  EXPECT_THAT(refusal("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "Hi"}]})"),
              AllOf(HasSubstr("400 'messages'"), HasSubstr("chat template")));
  EXPECT_THAT(refusal("/v1/chat/completions", R"({"messages": [{"role": "wizard", "content": "Hi"}]})"),
              HasSubstr("400 'messages[0].role'"));
  EXPECT_THAT(refusal("/v1/chat/completions",
                      R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})"),
              HasSubstr("400 'messages[0].content[0]'"));
  EXPECT_THAT(refusal("/detokenize", R"({"tokens": [-1]})"), HasSubstr("400 'tokens[0]'"));
  EXPECT_THAT(refusal("/v1/nothing", "{}"), HasSubstr("404"));
  EXPECT_THAT(refusal("/v1/models", "{}"), HasSubstr("405"));
}

TEST_F(ServiceTest, UnknownFieldsAreIgnoredAndNamed) {
  open();
  json body = {{"prompt", "Once upon a time"}, {"max_tokens", 8}, {"temperature", 0}};
  const json bare = answer("/v1/completions", body)["choices"];
  body.update({{"chat_template_kwargs", json::object()},
               {"user", "me"},
               {"metadata", {{"a", "b"}}},
               {"store", true},
               {"safety_identifier", "x"},
               {"prompt_cache_key", "k"},
               {"service_tier", "auto"}});
  const httplib::Result known = post("/v1/completions", body.dump());
  EXPECT_EQ(json::parse(known->body)["choices"], bare);
  EXPECT_FALSE(known->has_header("X-Augur-Warning"));
  body.update({{"colour", 1}, {"stream_options", {{"sparkle\n", 2}}}, {"stream", true}});
  const httplib::Result unknown = post("/v1/completions", body.dump());
  EXPECT_EQ(unknown->status, 200);
  EXPECT_EQ(unknown->get_header_value("X-Augur-Warning"), "ignored fields: colour,stream_options.sparkle?");
  EXPECT_THAT(refusal("/v1/completions", R"({"prompt": "Once", "temprature": 0})"),
              HasSubstr("400 'temprature': is not known: did you mean 'temperature'?"));
  EXPECT_THAT(refusal("/v1/completions", R"({"prompt": "Once", "prompt": "Twice"})"),
              HasSubstr("400 'prompt': the key is there twice"));
}

TEST_F(ServiceTest, StrictFieldsRefuseEveryUnknownOne) {
  Service service({.model = "stories", .api_keys = {}, .speculation = {}, .strict_fields = true});
  service.open(*engine_, {.parallel = 1});
  HttpServer server({.port = 0}, service);
  httplib::Client client("127.0.0.1", server.port());
  const httplib::Result refused =
      client.Post("/v1/completions", R"({"prompt": "Once", "colour": 1})", "application/json");
  EXPECT_EQ(refused->status, 400);
  EXPECT_THAT(refused->body, HasSubstr("'colour': is not known"));
  service.drain();
}

TEST_F(ServiceTest, AnyNameIsTheModelsUnlessItIsStrict) {
  open();
  const json any = answer("/v1/completions", {{"prompt", "Once"}, {"model", "gpt-4o"}});
  EXPECT_EQ(any["model"], "stories") << "what was served";
  Engine engine(testing_support::stories_engine_options());
  Service service({.model = "stories", .api_keys = {}, .speculation = {}, .strict_model = true});
  service.open(engine, {.parallel = 1});
  HttpServer server({.port = 0}, service);
  httplib::Client client("127.0.0.1", server.port());
  for (const char* path : {"/v1/completions", "/v1/chat/completions", "/v1/messages", "/v1/responses"}) {
    const httplib::Result refused = client.Post(
        path,
        path == std::string("/v1/completions") ? R"({"prompt": "Once", "model": "gpt-4o"})"
        : path == std::string("/v1/responses") ? R"({"input": "Once", "model": "gpt-4o"})"
                                               : R"({"messages": [{"role": "user", "content": "Hi"}],
                                                         "max_tokens": 4, "model": "gpt-4o"})",
        "application/json");
    EXPECT_EQ(refused->status, 404) << path;
    EXPECT_THAT(refused->body, HasSubstr("the model 'gpt-4o' is not served here")) << path;
  }
  service.drain();
}

TEST_F(ServiceTest, WhatIsSwitchedOffSaysSo) {
  Service service({.model = "stories",
                   .api_keys = {},
                   .speculation = {},
                   .serves_metrics = false,
                   .serves_slots = false,
                   .serves_page = false});
  service.open(*engine_, {.parallel = 1});
  HttpServer server({.port = 0}, service);
  httplib::Client client("127.0.0.1", server.port());
  EXPECT_EQ(client.Get("/metrics")->status, 501);
  EXPECT_EQ(client.Get("/slots")->status, 501);
  EXPECT_EQ(client.Get("/")->status, 404);
  EXPECT_EQ(client.Get("/models")->status, 200);
  service.drain();
}

TEST_F(ServiceTest, BiasesMayNameTexts) {
  open();
  json body = {{"prompt", "Once upon a time"}, {"max_tokens", 20}, {"temperature", 0}};
  body["logit_bias"] = {{" Lily", -100}};
  const std::string text = answer("/v1/completions", body)["choices"][0]["text"];
  EXPECT_THAT(text, testing::Not(HasSubstr("Lily")));
}

TEST_F(ServiceTest, SaysWhatItIsDoing) {
  httplib::Client client("127.0.0.1", server_.port());
  EXPECT_EQ(client.Get("/health")->status, 503) << "it is loading";
  open();
  EXPECT_EQ(client.Get("/health")->status, 200);
  const json models = json::parse(client.Get("/v1/models")->body);
  EXPECT_EQ(models["data"][0]["id"], "stories");
  service_.drain();
  const httplib::Result late = client.Get("/health");
  EXPECT_EQ(late->status, 503);
  EXPECT_EQ(late->get_header_value("Retry-After"), "1");
}

TEST_F(ServiceTest, AFullQueueIsA429) {
  service_.open(*engine_, {.parallel = 1, .queue = 16});
  // Sixteen that wait, and one that runs at most: as many again find no room.
  const std::string sixteen = R"({"prompt": "Once", "n": 16, "max_tokens": 300, "stream": true})";
  httplib::Request request;
  request.method = "POST";
  request.path = "/v1/completions";
  request.body = sixteen;
  std::optional<httplib::Result> answered;
  request.content_receiver = [&](const char*, std::size_t, std::uint64_t, std::uint64_t) {
    if (!answered) answered = post("/v1/completions", sixteen);
    return false;  // this client goes away
  };
  httplib::Client("127.0.0.1", server_.port()).send(request);
  ASSERT_TRUE(answered && *answered);
  const httplib::Result& result = *answered;
  EXPECT_EQ(result->status, 429);
  EXPECT_EQ(result->get_header_value("Retry-After"), "1");
  // What had begun is cancelled, and then there is room.
  int status = 0;
  for (int i = 0; i < 1000 && status != 200; ++i)
    status = post("/v1/completions", R"({"prompt": "Once"})")->status;
  EXPECT_EQ(status, 200);
}

TEST_F(ServiceTest, WhatTakesTooLongIsA504) {
  service_.open(*engine_, {.parallel = 1});
  EXPECT_THAT(
      refusal("/v1/completions", R"({"prompt": "Once", "n": 16, "max_tokens": 400, "timeout": 0.002})"),
      AllOf(HasSubstr("504"), HasSubstr("0.002 seconds")));
  EXPECT_THAT(refusal("/v1/completions", R"({"prompt": "Once", "timeout": 0})"), HasSubstr("400 'timeout'"));
}

TEST_F(ServiceTest, APromiseChangesNoToken) {
  const Result greedy = alone(50);
  open();
  const json result =
      answer("/v1/completions", {{"prompt", "Once upon a time"},
                                 {"max_tokens", 50},
                                 {"temperature", 0},
                                 {"speculative", {{"type", "draft,ngram"}, {"policy", "auto"}}},
                                 {"slo", {{"tpot_ms", 0.01}}}});
  EXPECT_EQ(result["choices"][0]["text"], greedy.text);
  EXPECT_THAT(refusal("/v1/completions", R"({"prompt": "Once", "slo": {"tpot_ms": -1}})"),
              HasSubstr("400 'slo.tpot_ms'"));
  EXPECT_THAT(refusal("/v1/completions", R"({"prompt": "Once", "slo": {"ttft_ms": 1}})"),
              HasSubstr("400 'slo.ttft_ms'"));
}

TEST_F(ServiceTest, PromptsThatBeginAlikeAreReadOnce) {
  open();
  json body = {
      {"prompt", "Lily and Tom went to the park. Tom saw a big"}, {"max_tokens", 20}, {"temperature", 0}};
  const auto cached = [](const json& result) {
    return result["usage"]["prompt_tokens_details"]["cached_tokens"].get<std::int64_t>();
  };
  const json first = answer("/v1/completions", body);
  EXPECT_EQ(cached(first), 0);
  const json again = answer("/v1/completions", body);
  EXPECT_EQ(cached(again), again["usage"]["prompt_tokens"].get<std::int64_t>() - 2);
  EXPECT_EQ(again["choices"], first["choices"]);
  body["cache_prompt"] = false;
  const json anew = answer("/v1/completions", body);
  EXPECT_EQ(cached(anew), 0);
  EXPECT_EQ(anew["choices"], first["choices"]);
}

TEST_F(ServiceTest, KeysOpenEverythingButHealth) {
  Service locked({.model = "stories", .api_keys = {"first", "second"}, .speculation = {}});
  locked.open(*engine_, {});
  HttpServer server({.port = 0}, locked);
  httplib::Client client("127.0.0.1", server.port());
  EXPECT_EQ(client.Get("/health")->status, 200);
  EXPECT_EQ(client.Get("/v1/models")->status, 401);
  EXPECT_EQ(client.Get("/v1/models", {{"Authorization", "Bearer third!"}})->status, 401);
  EXPECT_EQ(client.Get("/v1/models", {{"Authorization", "second"}})->status, 401);
  EXPECT_EQ(client.Get("/v1/models", {{"Authorization", "Bearer second"}})->status, 200);
  locked.drain();
}

}  // namespace
}  // namespace augur
