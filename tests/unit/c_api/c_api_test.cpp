#include <augur/augur.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

const std::string kModel = std::string(AUGUR_SOURCE_DIR) + "/models/stories260k";

TEST(CApi, TellsVersionAndCommit) {
  EXPECT_THAT(augur_version(), MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+"));
  EXPECT_THAT(augur_commit(), MatchesRegex("[0-9a-f]{12}(-dirty)?|unknown"));
}

TEST(CApi, LoadsStreamsAndStops) {
  augur_engine_options options = augur_engine_options_default();
  options.model = kModel.c_str();
  options.draft_model = kModel.c_str();
  options.spec_types = "ngram,draft";
  options.draft_max = 4;
  augur_engine* engine = augur_load(&options);
  ASSERT_NE(engine, nullptr) << augur_last_error();
  EXPECT_STREQ(augur_last_error(), "");

  augur_request request = augur_request_default();
  request.prompt = "Once upon a time";
  request.max_tokens = 60;
  std::string text;
  const auto take = [](const char* piece, size_t length, int32_t, void* user) -> int32_t {
    static_cast<std::string*>(user)->append(piece, length);
    return 1;
  };
  augur_result* result = augur_generate(engine, &request, take, &text);
  ASSERT_NE(result, nullptr) << augur_last_error();
  EXPECT_THAT(text, StartsWith(", there was a little girl named Lily."));
  EXPECT_EQ(text, augur_result_text(result));
  EXPECT_STREQ(augur_result_finish_reason(result), "length");
  size_t count = 0;
  EXPECT_NE(augur_result_tokens(result, &count), nullptr);
  EXPECT_EQ(count, 60u);
  EXPECT_GT(augur_result_mean_accepted_length(result), 1.5);
  EXPECT_GT(augur_result_tokens_per_second(result), 0.0);
  augur_result_free(result);

  const char* const stops[] = {"Lily"};
  request.stop = stops;
  request.stop_count = 1;
  result = augur_generate(engine, &request, nullptr, nullptr);
  ASSERT_NE(result, nullptr);
  EXPECT_STREQ(augur_result_text(result), ", there was a little girl named ");
  EXPECT_STREQ(augur_result_finish_reason(result), "stop");
  augur_result_free(result);

  result = augur_generate(
      engine, &request, [](const char*, size_t, int32_t, void*) -> int32_t { return 0; }, nullptr);
  ASSERT_NE(result, nullptr);
  EXPECT_STREQ(augur_result_finish_reason(result), "cancelled");
  augur_result_free(result);
  augur_free(engine);
}

TEST(CApi, FailuresAreNullAndSayWhy) {
  augur_engine_options options = augur_engine_options_default();
  options.model = "/no/such/model";
  EXPECT_EQ(augur_load(&options), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("/no/such/model"));
  EXPECT_EQ(augur_load(nullptr), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("NULL"));
  options.model = kModel.c_str();
  options.weights = "int1";
  EXPECT_EQ(augur_load(&options), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("int1"));
  options = {};
  EXPECT_EQ(augur_load(&options), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("size is 0"));
  EXPECT_EQ(augur_generate(nullptr, nullptr, nullptr, nullptr), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("engine is NULL"));
  augur_free(nullptr);
  augur_result_free(nullptr);
}

TEST(CApi, TakesTokensAndConversations) {
  augur_engine_options options = augur_engine_options_default();
  options.model = kModel.c_str();
  options.spec_types = "ngram";
  options.kv_type = "bf16";
  options.cost_cache = "none";
  augur_engine* engine = augur_load(&options);
  ASSERT_NE(engine, nullptr) << augur_last_error();

  const char* prompt = "Once upon a time";
  const int64_t count = augur_tokenize(engine, prompt, nullptr, 0);
  ASSERT_GT(count, 4) << augur_last_error();
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  EXPECT_EQ(augur_tokenize(engine, prompt, tokens.data(), 2), count);
  EXPECT_EQ(tokens[2], 0) << "more written than there was room for";
  EXPECT_EQ(augur_tokenize(engine, prompt, tokens.data(), tokens.size()), count);
  std::string text(5, 'x');
  EXPECT_EQ(augur_detokenize(engine, tokens.data(), tokens.size(), text.data(), 5), 16);
  EXPECT_STREQ(text.c_str(), "Once");

  augur_request request = augur_request_default();
  request.max_tokens = 12;
  request.prompt = prompt;
  augur_result* of_text = augur_generate(engine, &request, nullptr, nullptr);
  ASSERT_NE(of_text, nullptr) << augur_last_error();
  request.prompt_tokens = tokens.data();
  request.prompt_token_count = tokens.size();
  EXPECT_EQ(augur_generate(engine, &request, nullptr, nullptr), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("one of them"));
  request.prompt = nullptr;
  augur_result* of_tokens = augur_generate(engine, &request, nullptr, nullptr);
  ASSERT_NE(of_tokens, nullptr) << augur_last_error();
  EXPECT_STREQ(augur_result_text(of_tokens), augur_result_text(of_text));
  EXPECT_EQ(augur_result_prompt_tokens(of_tokens), count);
  EXPECT_GT(augur_result_target_calls(of_tokens), 0);
  EXPECT_LE(augur_result_target_calls(of_tokens), 12);
  augur_result_free(of_tokens);
  augur_result_free(of_text);

  const augur_message messages[] = {{"user", "Hello"}};
  request = augur_request_default();
  request.messages = messages;
  request.message_count = 1;
  EXPECT_EQ(augur_generate(engine, &request, nullptr, nullptr), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("chat template"));  // this model has none
  request.system = "Be brief.";
  EXPECT_EQ(augur_generate(engine, &request, nullptr, nullptr), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("system goes with chat"));
  request.system = nullptr;
  request.messages = nullptr;
  EXPECT_EQ(augur_generate(engine, &request, nullptr, nullptr), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("messages is NULL"));
  EXPECT_EQ(augur_tokenize(nullptr, "x", nullptr, 0), -1);
  EXPECT_EQ(augur_tokenize(engine, "x", nullptr, 7), -1);
  EXPECT_THAT(augur_last_error(), HasSubstr("tokens is NULL"));
  EXPECT_EQ(augur_detokenize(engine, nullptr, 3, nullptr, 0), -1);
  EXPECT_EQ(augur_detokenize(engine, tokens.data(), 1, nullptr, 3), -1);
  augur_free(engine);
}

TEST(CApi, TellsOfWhatSpeculationCannotUse) {
  augur_engine_options options = augur_engine_options_default();
  options.model = kModel.c_str();
  options.draft_model = kModel.c_str();
  options.spec_types = "draft";
  options.static_tree = "no_such_tree";
  EXPECT_EQ(augur_load(&options), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("no_such_tree"));
  options.static_tree = nullptr;
  options.draft_vocabulary = "some";
  EXPECT_EQ(augur_load(&options), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("some"));
  options.draft_vocabulary = nullptr;
  options.kv_type = "q1";
  EXPECT_EQ(augur_load(&options), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("expected one of auto, bf16, q8_0"));
}

TEST(CApi, ASessionServesManyRequestsAtOnce) {
  augur_engine_options options = augur_engine_options_default();
  options.model = kModel.c_str();
  options.draft_model = kModel.c_str();
  augur_engine* engine = augur_load(&options);
  ASSERT_NE(engine, nullptr) << augur_last_error();
  augur_request request = augur_request_default();
  request.max_tokens = 30;
  std::vector<std::string> alone;
  const std::vector<const char*> prompts = {"Once upon a time", "One day,", "Lily and Tom"};
  for (const char* prompt : prompts) {
    request.prompt = prompt;
    augur_result* result = augur_generate(engine, &request, nullptr, nullptr);
    alone.emplace_back(augur_result_text(result));
    augur_result_free(result);
  }

  augur_session_options wrong = augur_session_options_default();
  wrong.parallel = 0;
  EXPECT_EQ(augur_session_open(engine, &wrong), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("expected 1 to"));
  EXPECT_EQ(augur_session_open(nullptr, nullptr), nullptr);
  EXPECT_EQ(augur_submit(nullptr, &request, 0, nullptr, nullptr), nullptr);

  augur_session* session = augur_session_open(engine, nullptr);
  ASSERT_NE(session, nullptr) << augur_last_error();
  std::vector<std::string> streamed(prompts.size());
  std::vector<augur_ticket*> tickets;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    request.prompt = prompts[i];
    const auto take = [](const char* piece, size_t length, int32_t, void* user) -> int32_t {
      static_cast<std::string*>(user)->append(piece, length);
      return 1;
    };
    tickets.push_back(augur_submit(session, &request, 0, take, &streamed[i]));
    ASSERT_NE(tickets.back(), nullptr) << augur_last_error();
  }
  const int32_t outside = 1 << 30;
  augur_request bad = augur_request_default();
  bad.prompt_tokens = &outside;
  bad.prompt_token_count = 1;
  augur_ticket* refused = augur_submit(session, &bad, 0, nullptr, nullptr);
  EXPECT_EQ(augur_wait(refused), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("outside the vocabulary"));
  augur_ticket_free(refused);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    augur_result* result = augur_wait(tickets[i]);
    ASSERT_NE(result, nullptr) << augur_last_error();
    EXPECT_EQ(augur_result_text(result), alone[i]);
    EXPECT_EQ(streamed[i], alone[i]);
    EXPECT_EQ(augur_ended(tickets[i]), 1);
    augur_cancel(tickets[i]);  // too late to change anything
    augur_result_free(result);
    augur_ticket_free(tickets[i]);
  }
  EXPECT_EQ(augur_session_drain(session), 0);
  EXPECT_EQ(augur_submit(session, &request, 0, nullptr, nullptr), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("no more requests"));
  augur_session_close(session);
  augur_session_close(nullptr);
  augur_free(engine);
}

/// How the first result of an engine came about: its drafts' length, 0 where the engine is refused.
double drafted(const augur_engine_options& options) {
  augur_engine* engine = augur_load(&options);
  if (engine == nullptr) return 0;
  augur_request request = augur_request_default();
  request.prompt = "Once upon a time";
  request.max_tokens = 30;
  augur_result* result = augur_generate(engine, &request, nullptr, nullptr);
  const double length = augur_result_mean_accepted_length(result);
  augur_result_free(result);
  augur_free(engine);
  return length;
}

TEST(CApi, DefaultsAreThoseOfTheProgram) {
  augur_engine_options options = augur_engine_options_default();
  EXPECT_EQ(options.draft_max, 0);
  EXPECT_EQ(options.ngram_max, 0);
  EXPECT_EQ(options.coupling, 1);
  options.model = kModel.c_str();
  EXPECT_EQ(drafted(options), 1.0) << "nothing drafts: " << augur_last_error();
  options.draft_model = kModel.c_str();
  // The draft model alone drafts, by what it costs: the costs are asked for, and reported missing.
  std::string warnings;
  options.warning = [](const char* text, void* user) { static_cast<std::string*>(user)->append(text); };
  options.warning_user = &warnings;
  options.cost_cache = "/dev/null/nowhere";
  EXPECT_GE(drafted(options), 1.0) << augur_last_error();
  EXPECT_THAT(warnings, HasSubstr("/dev/null/nowhere")) << "policy auto measures";
  warnings.clear();
  options.draft_max = 4;
  EXPECT_GT(drafted(options), 3.0) << "a chain, as its own draft model is always right";
  EXPECT_EQ(warnings, "");
  options.spec_types = "none";
  EXPECT_EQ(drafted(options), 1.0);
}

TEST(CApi, ThePlansTextAndItsFieldsSayTheSame) {
  augur_engine_options options = augur_engine_options_default();
  options.model = kModel.c_str();
  options.draft_model = kModel.c_str();
  options.cost_cache = "none";
  options.spec_types = "draft-simple,ngram:n-max=6";
  EXPECT_GT(drafted(options), 4.5) << augur_last_error();
  options.draft_max = 1;
  EXPECT_LE(drafted(options), 2.0) << "fields come on top";
  options.policy = "auto";
  EXPECT_EQ(drafted(options), 0);
  EXPECT_THAT(augur_last_error(), AllOf(HasSubstr("draft_max"), HasSubstr("auto decides")));
  options.draft_max = 1025;
  options.policy = nullptr;
  EXPECT_EQ(drafted(options), 0);
  EXPECT_THAT(augur_last_error(), AllOf(HasSubstr("draft_max"), HasSubstr("from 1 to 1024")));
  options.draft_max = 0;
  options.spec_types = "draft:colour=red";
  EXPECT_EQ(drafted(options), 0);
  EXPECT_THAT(augur_last_error(), HasSubstr("'colour'"));
  options.spec_types = "draft";
  options.verification = "hope";
  EXPECT_EQ(drafted(options), 0);
  EXPECT_THAT(augur_last_error(), AllOf(HasSubstr("verification"), HasSubstr("walk, rejection")));
}

TEST(CApi, ALawIsOneOfTheWords) {
  augur_engine_options options = augur_engine_options_default();
  options.model = kModel.c_str();
  options.law = "trees";
  EXPECT_EQ(augur_load(&options), nullptr);
  EXPECT_THAT(augur_last_error(),
              AllOf(HasSubstr("law"), HasSubstr("auto, chain, blocks"), HasSubstr("trees")));
  options.law = "chain";
  augur_engine* engine = augur_load(&options);
  ASSERT_NE(engine, nullptr) << augur_last_error();
  augur_free(engine);
}

TEST(CApi, TextsAreWhatGrammarsSay) {
  augur_engine_options options = augur_engine_options_default();
  options.model = kModel.c_str();
  const std::string named = "self=" + kModel;
  const char* const models[] = {named.c_str()};
  options.draft_models = models;
  options.draft_model_count = 1;
  options.spec_types = "@self:n-max=3";
  augur_engine* engine = augur_load(&options);
  ASSERT_NE(engine, nullptr) << augur_last_error();
  augur_request request = augur_request_default();
  request.prompt = "Once upon a time";
  request.max_tokens = 40;
  const auto text_of = [&](const char* grammar, const char* kind) {
    request.grammar = grammar;
    request.grammar_kind = kind;
    augur_result* result = augur_generate(engine, &request, nullptr, nullptr);
    const std::string text = result == nullptr ? augur_last_error() : augur_result_text(result);
    augur_result_free(result);
    return text;
  };
  if (std::string none = text_of("[0-9]{3}", "regex"); none.find("without xgrammar") == std::string::npos) {
    EXPECT_THAT(none, testing::MatchesRegex("[0-9][0-9][0-9]"));
    EXPECT_THAT(text_of(R"({"enum": ["yes", "no"]})", nullptr), testing::AnyOf("\"yes\"", "\"no\""));
    EXPECT_THAT(text_of(R"(root ::= "a" "b")", "gbnf"), "ab");
    EXPECT_THAT(text_of(R"({"uniqueItems": true})", "json-schema"), HasSubstr("uniqueItems"));
  }
  EXPECT_THAT(text_of("a", "perl"), AllOf(HasSubstr("grammar_kind"), HasSubstr("structural-tag")));
  EXPECT_THAT(text_of(nullptr, "regex"), HasSubstr("goes with grammar"));
  augur_free(engine);
  const char* const wrong[] = {"self"};
  options.draft_models = wrong;
  EXPECT_EQ(augur_load(&options), nullptr);
  EXPECT_THAT(augur_last_error(), HasSubstr("expected NAME=PATH"));
}

TEST(CApi, ANewerCallersFieldsAreEmptied) {
  struct {
    augur_request known;
    int64_t field_to_come;
  } newer = {.known = {}, .field_to_come = 7};
  augur_request_init(&newer.known, sizeof(newer));
  EXPECT_EQ(newer.known.size, sizeof(newer));
  EXPECT_EQ(newer.known.max_tokens, -1);
  EXPECT_EQ(newer.field_to_come, 0);
}

TEST(CApi, ANullResultIsEmpty) {
  size_t count = 7;
  augur_result_tokens(nullptr, &count);
  EXPECT_EQ(count, 0u);
  EXPECT_STREQ(augur_result_text(nullptr), "");
  EXPECT_EQ(augur_result_target_calls(nullptr), 0);
}

TEST(CApi, FieldsThatAnOlderCallerLacksKeepTheirDefaults) {
  constexpr std::size_t kOlder = offsetof(augur_engine_options, draft_model);
  augur_engine_options options;
  std::memset(&options, 0x5a, sizeof(options));
  augur_engine_options_init(&options, kOlder);
  EXPECT_EQ(options.size, kOlder);
  EXPECT_EQ(options.tree_size, 0x5a5a5a5a) << "written beyond the caller's struct";
  options.model = kModel.c_str();
  augur_engine* engine = augur_load(&options);
  EXPECT_NE(engine, nullptr) << augur_last_error();
  augur_free(engine);
}

}  // namespace
