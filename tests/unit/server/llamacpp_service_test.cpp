#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "files/gguf/writer.h"
#include "grammar/compiler.h"
#include "support/quantised_models.h"
#include "support/server_fixture.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using LlamaCppService = testing_support::ServiceTest;

TEST_F(LlamaCppService, CompletesWithItsOwnFields) {
  const Result sampled =
      alone(30, {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .min_p = 0.05, .seed = 3});
  open();
  json body = {{"prompt", "Once upon a time"}, {"n_predict", 30}, {"seed", 3}, {"return_tokens", true}};
  const json whole = answer("/completion", body);
  EXPECT_EQ(whole["content"], sampled.text) << "with llama.cpp's defaults";
  EXPECT_EQ(whole["tokens"], sampled.tokens);
  EXPECT_EQ(whole["stop"], true);
  EXPECT_EQ(whole["stop_type"], "limit");
  EXPECT_EQ(whole["tokens_predicted"], 30);
  EXPECT_EQ(whole["tokens_evaluated"], sampled.prompt_tokens);
  EXPECT_EQ(whole["generation_settings"]["seed"], 3);
  EXPECT_EQ(whole["timings"]["predicted_n"], 30);

  body["stream"] = true;
  const std::vector<std::string> all = events(post("/completion", body.dump())->body);
  std::string text;
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const json event = json::parse(all[i]);
    EXPECT_EQ(event["stop"], false);
    text += event["content"];
    tokens.insert(tokens.end(), event["tokens"].begin(), event["tokens"].end());
  }
  EXPECT_EQ(text, sampled.text);
  EXPECT_EQ(tokens, sampled.tokens);
  const json last = json::parse(all.back());
  EXPECT_EQ(last["stop"], true);
  EXPECT_EQ(last["content"], "");
  EXPECT_EQ(last["stop_type"], "limit");
}

TEST_F(LlamaCppService, SaysWhyItStopped) {
  open();
  json body = {
      {"prompt", "Once upon a time"}, {"n_predict", 50}, {"temperature", 0}, {"stop", {"girl", "Lily"}}};
  json result = answer("/completion", body);
  EXPECT_EQ(result["content"], ", there was a little ");
  EXPECT_EQ(result["stop_type"], "word");
  EXPECT_EQ(result["stopping_word"], "girl");
  body.erase("stop");
  body["logit_bias"] = {{engine_->tokenize("").front() + 1, 1000}};  // its end of sequence
  result = answer("/completion", body);
  EXPECT_EQ(result["stop_type"], "eos");
  EXPECT_EQ(result["stopping_word"], "");
}

TEST_F(LlamaCppService, PromptsMayBeMixed) {
  open();
  json body = {{"prompt", "Once upon a time"}, {"n_predict", 20}, {"temperature", 0}};
  const std::string text = answer("/completion", body)["content"];
  const json ids = answer("/tokenize", {{"content", "Once upon a time"}, {"add_special", true}})["tokens"];
  body["prompt"] = ids;
  EXPECT_EQ(answer("/completion", body)["content"], text);
  body["prompt"] = {ids[0], "Once upon a time"};
  EXPECT_EQ(answer("/completion", body)["content"], text);
}

TEST_F(LlamaCppService, SeveralPromptsAndAnswers) {
  open();
  json body = {{"prompt", "Once upon a time"}, {"n_predict", 12}, {"temperature", 0}};
  const std::string once = answer("/completion", body)["content"];
  body["prompt"] = "The sun";
  const std::string sun = answer("/completion", body)["content"];
  const json ids = answer("/tokenize", {{"content", "Once upon a time"}, {"add_special", true}})["tokens"];
  body["prompt"] = {"Once upon a time", "The sun", ids, {ids[0], "Once upon a time"}};
  const json all = answer("/completion", body);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0]["content"], once);
  EXPECT_EQ(all[1]["content"], sun);
  EXPECT_EQ(all[2]["content"], once);
  EXPECT_EQ(all[3]["content"], once);
  EXPECT_EQ(all[3]["index"], 3);
  body["prompt"] = {{"prompt_string", "The sun"}};
  EXPECT_EQ(answer("/completion", body)["content"], sun);
  body["prompt"]["multimodal_data"] = {"aGk="};
  EXPECT_THAT(refusal("/completion", body.dump()), HasSubstr("400 'prompt.multimodal_data'"));
  body["prompt"] = {"Once upon a time", {{"prompt_string", "The sun"}}, ids, {ids[0], "Once upon a time"}};
  body["stream"] = true;
  std::map<int, std::string> streamed;
  int ended = 0;
  for (const std::string& event : events(post("/completion", body.dump())->body)) {
    const json chunk = json::parse(event);
    streamed[chunk["index"]] += chunk["content"];
    ended += chunk["stop"] == true ? 1 : 0;
  }
  EXPECT_EQ(ended, 4);
  EXPECT_EQ(streamed[1], sun);
  EXPECT_EQ(streamed[3], once);
  body.erase("stream");
  body.update({{"prompt", "The sun"}, {"n", 2}, {"temperature", 1}, {"seed", 5}});
  const json two = answer("/completion", body);
  ASSERT_EQ(two.size(), 2U);
  body.update({{"n", 1}, {"seed", 6}});
  EXPECT_EQ(two[1]["content"], answer("/completion", body)["content"]) << "choice i has the seed plus i";
}

TEST_F(LlamaCppService, AnswersWhatIsAskedFor) {
  open();
  const json body = {{"prompt", "Once upon a time"},
                     {"n_predict", 8},
                     {"response_fields", {"content", "generation_settings/n_predict", "nothing/here"}}};
  const json result = answer("/completion", body);
  EXPECT_EQ(result.size(), 2U);
  EXPECT_TRUE(result["content"].is_string());
  EXPECT_EQ(result["generation_settings/n_predict"], 8);
}

TEST_F(LlamaCppService, TellsProbabilities) {
  open();
  json body = {{"prompt", "Once upon a time"}, {"n_predict", 5}, {"temperature", 0}, {"n_probs", 2}};
  const json all = answer("/completion", body)["completion_probabilities"];
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0]["top_logprobs"].size(), 2U);
  EXPECT_EQ(all[0]["id"], all[0]["top_logprobs"][0]["id"]);
  EXPECT_EQ(all[0]["logprob"], all[0]["top_logprobs"][0]["logprob"]);
  body["stream"] = true;
  const std::vector<std::string> streamed = events(post("/completion", body.dump())->body);
  EXPECT_EQ(json::parse(streamed[0])["completion_probabilities"][0], all[0]);
}

TEST_F(LlamaCppService, RefusesWhatItDoesNotDo) {
  open();
  const auto completion = [&](const std::string& field) {
    return refusal("/completion", R"({"prompt": "Once", )" + field + "}");
  };
  EXPECT_THAT(completion(R"("mirostat": 2)"), AllOf(HasSubstr("400 'mirostat'"), HasSubstr("not support")));
  EXPECT_THAT(completion(R"("typical_p": 0.5)"), HasSubstr("400 'typical_p'"));
  EXPECT_THAT(completion(R"("samplers": ["top_k", "temperature"])"), HasSubstr("400 'samplers'"));
  EXPECT_THAT(completion(R"("grammar": 3)"), HasSubstr("400 'grammar'"));
  EXPECT_THAT(completion(R"("lora": [{"id": 0, "scale": 1}])"), HasSubstr("400 'lora'"));
  EXPECT_THAT(completion(R"("cache_prompt": 1)"), HasSubstr("400 'cache_prompt'"));
  EXPECT_THAT(completion(R"("logit_bias": [[99999, 1]])"), HasSubstr("400 'logit_bias'"));
  EXPECT_THAT(completion(R"("speculative.n_max": 100000)"), HasSubstr("400 'speculative'"));
  EXPECT_THAT(refusal("/completion", R"({"prompt": ["a", [["b"]]]})"), HasSubstr("400 'prompt[1]'"));
  EXPECT_THAT(refusal("/completion", R"({"prompt": []})"), HasSubstr("400 'prompt'"));
  EXPECT_THAT(refusal("/completion", "{}"), HasSubstr("400 'prompt': is missing"));
  EXPECT_THAT(refusal("/infill", R"({"input_prefix": "a", "input_suffix": "b"})"),
              HasSubstr("501 the model has no tokens"));
  // What is off may be said to be off, with what would shape it.
  const httplib::Result off = post("/completion", R"({"prompt": "Once", "n_predict": 1, "mirostat": 0,
      "mirostat_tau": 5, "typical_p": 1.0, "xtc_probability": 0, "dry_multiplier": 0, "dry_base": 1.75,
      "cache_prompt": false, "id_slot": -1, "lora": [], "grammar": "",
      "samplers": ["penalties", "temperature", "top_k", "top_p", "min_p"], "speculative.n_max": 3,
      "logit_bias": [[5, false], ["Lily", -1.5]]})");
  EXPECT_EQ(off->status, 200) << off->body;
}

TEST_F(LlamaCppService, DescribesItself) {
  open();
  httplib::Client client("127.0.0.1", server_.port());
  const json props = json::parse(client.Get("/props")->body);
  EXPECT_EQ(props["total_slots"], 4);
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], 512);
  EXPECT_EQ(props["default_generation_settings"]["params"]["top_k"], 40);
  EXPECT_THAT(props["model_path"].get<std::string>(), testing::Not(HasSubstr("/")));
  EXPECT_EQ(props["chat_template"], "");
  EXPECT_THAT(props["speculative"]["types"].get<std::vector<std::string>>(),
              testing::IsSupersetOf({"none", "ngram", "draft"}));
  EXPECT_EQ(props["speculative"]["default"], "draft,ngram");
  EXPECT_THAT(refusal("/apply-template", R"({"messages": [{"role": "user", "content": "Hi"}]})"),
              AllOf(HasSubstr("400 'messages'"), HasSubstr("chat template")));
}

TEST_F(LlamaCppService, TokenizesInPieces) {
  open();
  const json bare = answer("/tokenize", {{"content", "Once upon"}})["tokens"];
  const json special = answer("/tokenize", {{"content", "Once upon"}, {"add_special", true}})["tokens"];
  EXPECT_EQ(special.size(), bare.size() + 1);
  const json pieces =
      answer("/tokenize", {{"content", "Once \xe4\xb8\x96"}, {"with_pieces", true}})["tokens"];
  EXPECT_EQ(pieces.back()["piece"], json::array({0x96}));
  EXPECT_TRUE(pieces[0]["piece"].is_string());
  EXPECT_THAT(refusal("/tokenize", R"({"content": "a", "parse_special": 1})"),
              HasSubstr("400 'parse_special'"));
}

TEST_F(LlamaCppService, TextsAreWhatGrammarsSay) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  open();
  json body = {{"prompt", "Once upon a time"}, {"n_predict", 60}, {"seed", 3}};
  body["grammar"] = R"(root ::= "a" [0-9] [0-9] "b")";
  const json by_grammar = answer("/completion", body);
  EXPECT_THAT(by_grammar["content"].get<std::string>(), testing::MatchesRegex("a[0-9][0-9]b"));
  EXPECT_EQ(by_grammar["stop_type"], "eos");
  body["json_schema"] = {{"type", "integer"}, {"minimum", 3}, {"maximum", 5}};
  EXPECT_THAT(refusal("/completion", body.dump()), HasSubstr("400"));
  body["grammar"] = "";
  const json by_schema = answer("/completion", body);
  EXPECT_THAT(by_schema["content"].get<std::string>(), testing::MatchesRegex("[345]"));
}

/// A GGUF file of the stories model that says which tokens infilling has.
std::filesystem::path with_infill_tokens(const std::filesystem::path& folder) {
  const GgufFile file = GgufFile::open(testing_support::write_quantised_stories(folder, DType::Q8_0));
  GgufMetadata metadata;
  for (const auto& [key, value] : file.metadata()) metadata.copy(key, value);
  metadata.set_u32("tokenizer.ggml.fim_pre_token_id", 300);
  metadata.set_u32("tokenizer.ggml.fim_suf_token_id", 301);
  metadata.set_u32("tokenizer.ggml.fim_mid_token_id", 302);
  metadata.set_u32("tokenizer.ggml.fim_sep_token_id", 303);
  std::vector<GgufWriter::Entry> entries;
  for (const GgufTensorInfo& info : file.tensor_infos()) {
    const StoredTensor tensor = file.tensor(info);
    entries.push_back({info.name, tensor.dtype, tensor.shape});
  }
  const std::filesystem::path path = folder / "infill.gguf";
  GgufWriter writer(path, metadata, entries);
  for (const GgufTensorInfo& info : file.tensor_infos()) writer.write(file.tensor(info).bytes);
  writer.finish();
  return path;
}

TEST(Infill, TokensAreTheFilesOwn) {
  const testing_support::TemporaryFolder folder;
  EngineOptions options = testing_support::stories_engine_options();
  options.model = with_infill_tokens(folder.path()).string();
  Engine engine(options);
  Service service({.model = "stories", .api_keys = {}, .speculation = {}});
  service.open(engine, {});
  HttpServer server({.port = 0}, service);
  httplib::Client client("127.0.0.1", server.port());
  const json body = {{"input_prefix", "Lily"}, {"input_suffix", "Tom"},
                     {"prompt", "and"},        {"input_extra", {{{"filename", "a"}, {"text", "One"}}}},
                     {"n_predict", 8},         {"temperature", 0}};
  const httplib::Result result = client.Post("/infill", body.dump(), "application/json");
  ASSERT_TRUE(result) << "no answer in httplib's five seconds";
  ASSERT_EQ(result->status, 200) << result->body;
  std::vector<TokenId> expected = engine.tokenize("");
  const auto add = [&](std::optional<TokenId> token, const char* text) {
    if (token) expected.push_back(*token);
    const std::vector<TokenId> more = engine.tokenize_part(text);
    expected.insert(expected.end(), more.begin(), more.end());
  };
  add(303, "a\n");
  add(std::nullopt, "One");
  add(303, "filename\n");
  add(300, "Lily");
  add(301, "Tom");
  add(302, "and");
  Request asked;
  asked.prompt_tokens = expected;
  asked.max_tokens = 8;
  Engine alone(options);  // an engine with a session is that session's
  EXPECT_EQ(json::parse(result->body)["content"], alone.generate(asked).text);
  EXPECT_EQ(json::parse(result->body)["tokens_evaluated"], expected.size());
}

}  // namespace
}  // namespace augur
