// Answers that have to fit a schema do, whatever drafts, greedy and sampled, and are the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "grammar/compiler.h"
#include "support/error_of.h"
#include "support/schema_check.h"
#include "support/stories_engine.h"

namespace augur {
namespace {

using nlohmann::json;
using testing_support::error_of;

class StructuredOutput : public testing_support::StoriesEngineTest {
 protected:
  void SetUp() override {
    if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  }

  static Request request(Grammar grammar, double temperature, std::uint64_t seed) {
    Request request;
    request.prompt = "Once upon a time";
    request.max_tokens = 400;
    request.sampling.temperature = temperature;
    request.sampling.seed = seed;
    // The model has never seen JSON: it would fill it with the whitespace that it may have, and write digits
    // for as long as it may.
    for (const char* blank : {" ", "\n"}) {
      for (const TokenId token : engine_->tokenize(blank))
        request.sampling.logit_bias.emplace_back(token, -20.0f);
    }
    // Nor that an object may end, where a schema lets it have more.
    for (const TokenId token : engine_->tokenize_part("}"))
      request.sampling.logit_bias.emplace_back(token, 30.0f);
    request.sampling.logit_bias.emplace_back(2, 60.0f);  // its end of sequence
    request.grammar = std::move(grammar);
    return request;
  }

  static Result answer(Request request, const char* plan) {
    request.speculation = SpeculationPlan::parse(plan);
    return engine_->generate(request);
  }
};

TEST_F(StructuredOutput, FitsEverySchemaWhateverDrafts) {
  std::ifstream file(std::string(AUGUR_SOURCE_DIR) + "/tests/data/schemas/structured_output.json");
  const auto schemas = nlohmann::ordered_json::parse(file);
  ASSERT_GE(schemas.size(), 50u);
  int index = 0;
  for (const auto& [name, schema] : schemas.items()) {
    const json root = json::parse(schema.dump());
    const testing_support::SchemaCheck check(root);
    const double temperature = index++ % 4 == 0 ? 0.0 : 1.0;
    SCOPED_TRACE(name + " at temperature " + std::to_string(temperature));
    const Request asked = request({GrammarKind::JsonSchema, schema.dump()}, temperature, 5);
    const Result plain = answer(asked, "none");
    ASSERT_EQ(plain.finish_reason, FinishReason::Stop) << plain.text;
    const json value = json::parse(plain.text, nullptr, false);
    ASSERT_FALSE(value.is_discarded()) << plain.text;
    EXPECT_EQ(check.problem(value), "");
    for (const char* plan : {"draft:policy=eagle2", "ngram", "draft,ngram:policy=auto"}) {
      EXPECT_EQ(answer(asked, plan).tokens, plain.tokens) << plan;
    }
    if (temperature == 0.0) {
      EXPECT_EQ(answer(asked, "draft:verify=rejection").tokens, plain.tokens);
    }
  }
}

TEST_F(StructuredOutput, OtherKindsEndWhereTheyMay) {
  const Result number = answer(request({GrammarKind::Regex, "[1-9][0-9]{2}"}, 1.0, 3), "draft");
  EXPECT_EQ(number.finish_reason, FinishReason::Stop);
  EXPECT_THAT(number.text, testing::MatchesRegex("[1-9][0-9][0-9]"));
  const Result word = answer(request({GrammarKind::Gbnf, "root ::= \"yes\" | \"no\""}, 1.0, 3), "ngram");
  EXPECT_THAT(word.text, testing::AnyOf("yes", "no"));
  const Result object = answer(request({GrammarKind::JsonSchema, R"({"type":"object","maxProperties":1,
      "additionalProperties":{"type":"integer","minimum":0,"maximum":9}})"},
                                       0.0, 3),
                               "none");
  EXPECT_TRUE(json::parse(object.text).is_object());
}

TEST_F(StructuredOutput, WhatCannotBeIsAnError) {
  Request both = request({GrammarKind::Regex, "a+"}, 0, 1);
  both.ignore_eos = true;
  EXPECT_THAT(error_of([&] { engine_->generate(both); }), testing::HasSubstr("ignore_eos"));
  EXPECT_THAT(
      error_of([] {
        engine_->generate(request({GrammarKind::JsonSchema, R"({"type":"array","uniqueItems":true})"}, 0, 1));
      }),
      testing::HasSubstr("#/uniqueItems"));
}

/// Names of properties, and all else that leaves no choice, are drafted without a model: beside any drafter,
/// and alone.
TEST_F(StructuredOutput, WhatIsForcedIsDrafted) {
  const Grammar grammar{GrammarKind::JsonSchema, R"({"type":"object","properties":{
      "temperature_in_degrees":{"enum":["warm_and_sunny","cold_and_rainy"]},"recommendations":{"type":"boolean"}},
      "required":["temperature_in_degrees","recommendations"]})"};
  for (const double temperature : {0.0, 1.0}) {
    const Request asked = request(grammar, temperature, 4);
    const Result plain = answer(asked, "none");
    ASSERT_EQ(plain.finish_reason, FinishReason::Stop) << plain.text;
    const Result forced = answer(asked, "grammar:n-max=16");
    EXPECT_EQ(forced.tokens, plain.tokens);
    EXPECT_EQ(forced.speculation.type, "grammar");
    EXPECT_GT(forced.speculation.accepted_tokens, 8) << plain.text;
    const Result beside = answer(asked, "ngram:n-max=16");
    EXPECT_EQ(beside.tokens, plain.tokens);
    EXPECT_EQ(beside.speculation.type, "ngram,grammar");
    EXPECT_GE(beside.speculation.accepted_tokens, forced.speculation.accepted_tokens);
  }
  Request free = request({}, 0.0, 4);
  free.grammar.reset();
  EXPECT_EQ(answer(free, "ngram").speculation.type, "ngram");
  EXPECT_EQ(answer(free, "grammar").speculation.accepted_tokens, 0) << "nothing says what the text has to be";
}

}  // namespace
}  // namespace augur
