#include "augur/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <new>
#include <stdexcept>

#include "base/arithmetic_law.h"
#include "base/cpu.h"
#include "base/local_time.h"
#include "kernels/law.h"
#include "support/error_of.h"
#include "support/stories_engine.h"
#include "support/test_files.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::stories_engine_options;
using testing_support::stories_known_answer;
using testing_support::stories_path;

class EngineTest : public testing_support::StoriesEngineTest {
 protected:
  static SpeculationPlan speculation(std::vector<std::string> drafters, int topk = 1) {
    return {.drafters = std::move(drafters), .tree_topk = topk};
  }
  static std::string refusal(const Request& request) {
    try {
      engine_->generate(request);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  }
  static Request plain(std::string prompt, std::int64_t tokens) {
    Request request;
    request.prompt = std::move(prompt);
    request.max_tokens = tokens;
    return request;
  }
};

TEST(ChatTemplateOption, StandsInForTheModelsOwn) {
  EngineOptions options = stories_engine_options();
  const Request chat{.messages = {{.role = "user", .content = "Hi"}}};
  std::vector<std::string> warnings;
  options.log = [&](LogLevel level, std::string_view text) {
    if (level >= LogLevel::Warning) warnings.emplace_back(text);
  };
  const auto engine = std::make_unique<Engine>(options);
  EXPECT_FALSE(engine->info().has_chat_template);
  EXPECT_THROW(engine->render_chat(chat), std::runtime_error);

  options.fallback_template = "{{ 'F ' + messages[0].content }}";
  const Engine fallback(options);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("has no chat template"), std::string::npos);
  EXPECT_EQ(fallback.render_chat(chat), "F Hi");
  EXPECT_EQ(fallback.prompt_tokens(chat), fallback.tokenize("F Hi")) << "a text begins as the tokenizer says";

  options.chat_template = "{{ bos_token + messages[0].content }}";
  const Engine given(options);
  EXPECT_EQ(warnings.size(), 1U);
  EXPECT_EQ(given.chat_template(), options.chat_template);
  EXPECT_EQ(given.prompt_tokens(chat)[0], given.tokenize("")[0]) << "once, whoever writes it";
  EXPECT_NE(given.prompt_tokens(chat)[1], given.tokenize("")[0]);
  options.chat_template = "{% if %}";
  EXPECT_THROW(Engine{options}, std::runtime_error) << "not only when a chat comes";
}

TEST(TemplateVariables, AreTheUsersUnlessARequestSaysOthers) {
  EngineOptions options = stories_engine_options();
  options.chat_template =
      "{% if enable_thinking is defined %}{{ enable_thinking }}{% else %}nothing{% endif %}|{{ mood }}";
  Request chat{.messages = {{.role = "user", .content = "Hi"}}};
  EXPECT_EQ(Engine(options).render_chat(chat), "nothing|") << "as templates are without";

  options.template_kwargs = R"({"enable_thinking": true, "mood": "</s>"})";
  const Engine engine(options);
  EXPECT_EQ(engine.render_chat(chat), "True|</s>");
  const auto ends = [&] {
    const std::vector<TokenId> ids = engine.prompt_tokens(chat);
    return std::count(ids.begin(), ids.end(), engine.info().end_tokens.front());
  };
  EXPECT_EQ(ends(), 1) << "the user's own text may hold control tokens";
  chat.template_kwargs = R"({"enable_thinking": false})";
  EXPECT_EQ(engine.render_chat(chat), "False|</s>");
  chat.template_kwargs = R"({"mood": "</s>"})";
  EXPECT_EQ(engine.render_chat(chat), "True|</s>");
  EXPECT_EQ(ends(), 0) << "a client's may not";

  for (const char* const wrong : {"[1]", "{", R"({"messages": []})", R"({"tools": []})"}) {
    options.template_kwargs = wrong;
    EXPECT_THROW(Engine{options}, std::runtime_error) << wrong << ": not only when a chat comes";
  }
}

TEST(TemplateVariables, TellTheDateWhereItIsAskedFor) {
  EngineOptions options = stories_engine_options();
  options.chat_template = "{{ date_string is defined }}|{{ date_string }}|{{ datetime }}";
  const Request chat{.messages = {{.role = "user", .content = "Hi"}}};
  EXPECT_EQ(Engine(options).render_chat(chat), "False||") << "prompts do not change by the day";
  options.template_date = true;
  const Engine engine(options);
  const auto expected = [] {
    const std::time_t now = std::time(nullptr);
    return "True|" + local_time(now, "%d %b %Y") + "|" + local_time(now, "%b %d %Y");
  };
  const std::string before = expected();
  const std::string rendered = engine.render_chat(chat);
  EXPECT_TRUE(rendered == before || rendered == expected()) << rendered;
  options.template_kwargs = R"({"date_string": "1 Jan 2000"})";
  EXPECT_THAT(Engine(options).render_chat(chat), testing::StartsWith("True|1 Jan 2000|"));
}

TEST_F(EngineTest, WritesTheKnownAnswerWithEveryDrafter) {
  for (const SpeculationPlan& spec :
       {speculation({}), speculation({"none"}), speculation({"ngram"}), speculation({"draft"}),
        speculation({"draft"}, 4), speculation({"ngram", "draft"}, 2)}) {
    Request request = plain("", 200);
    request.speculation = spec;
    std::string streamed;
    const Result result = engine_->generate(request, [&](const TokenEvent& event) {
      streamed += event.text;
      return true;
    });
    EXPECT_EQ(result.text, stories_known_answer());
    EXPECT_EQ(streamed, result.text);
    EXPECT_EQ(result.tokens.size(), 200u);
    EXPECT_EQ(result.finish_reason, FinishReason::Length);
    EXPECT_EQ(result.prompt_tokens, 1);
    EXPECT_DOUBLE_EQ(result.tokens_per_second, 1000 * 200 / result.decode_ms);
    EXPECT_EQ(engine_->detokenize(result.tokens), result.text);
  }
}

TEST_F(EngineTest, AnUnknownPreTokenizerIsFoundBeforeWeightsAreRead) {
  const test::TemporaryFolder folder;
  const std::string unknown = folder.write("m.gguf", test::GgufBuilder()
                                                         .text("general.architecture", "llama")
                                                         .text("tokenizer.ggml.model", "gpt2")
                                                         .text("tokenizer.ggml.pre", "klingon")
                                                         .strings("tokenizer.ggml.tokens", {"a", "b"})
                                                         .strings("tokenizer.ggml.merges", {})
                                                         .build());
  const auto refused = [](const EngineOptions& options) {
    return testing_support::error_of([&] { Engine engine(options); });
  };
  const auto names_it =
      AllOf(HasSubstr("m.gguf: tokenizer.ggml.pre"), HasSubstr("unknown pre-tokenizer \"klingon\""));
  EXPECT_THAT(refused({.model = unknown}), names_it);
  // A draft model's, too, beside a target that has no weights.
  const std::filesystem::path target = folder.path() / "target";
  std::filesystem::create_directory(target);
  for (const char* file : {"config.json", "tokenizer.model"})
    std::filesystem::copy_file(stories_path() / file, target / file);
  EXPECT_THAT(refused({.model = target.string(), .draft_model = unknown}), names_it);
  EXPECT_THAT(refused({.model = target.string(), .draft_models = {{"small", unknown}}}), names_it);
}

TEST_F(EngineTest, KnownAnswerInEveryInstructionSet) {
  for (const Isa isa : supported_isas()) {
    EngineOptions options = stories_engine_options(stories_path().string());
    options.isa = name(isa);
    options.speculation = speculation({"draft"}, 3);
    Engine engine(options);
    EXPECT_EQ(engine.info().isa, name(isa));
    EXPECT_EQ(engine.generate(plain("", 200)).text, stories_known_answer()) << name(isa);
  }
}

TEST_F(EngineTest, TellsTheLawOfItsProducts) {
  const int law = law_number(law_of(parse_isa(engine_->info().isa), DType::BF16));
  ASSERT_EQ(engine_->info().weights, "bf16");
  EXPECT_EQ(engine_->info().law, law);
  EXPECT_THAT(engine_->info().fingerprint, HasSubstr(fmt::format("-law{}-", law)));
}

TEST_F(EngineTest, ALawIsTakenOrRefused) {
  EngineOptions options = stories_engine_options(stories_path().string());
  options.law = ArithmeticLaw::Chain;
  Engine chain(options);
  EXPECT_EQ(chain.info().law, kArithmeticLaw);
  EXPECT_NE(chain.info().isa, std::string(name(Isa::Amx)));
  EXPECT_THAT(chain.info().fingerprint, HasSubstr(fmt::format("-law{}-", kArithmeticLaw)));
  EXPECT_EQ(chain.generate(plain("", 200)).text, stories_known_answer());
  options.isa = name(Isa::Portable);  // as everywhere without AMX
  options.law = ArithmeticLaw::Blocks;
  EXPECT_THAT(testing_support::error_of([&] { Engine refused(options); }),
              AllOf(HasSubstr("law 'blocks'"), HasSubstr("AMX"), HasSubstr("portable, law 'chain'")));
}

TEST_F(EngineTest, LogprobsAreTheModelsOwnWhateverDrafts) {
  Request request = plain("Once upon a time", 60);
  request.logprobs = 3;
  std::int64_t accepted = 0;
  for (const double temperature : {0.0, 0.9}) {
    request.sampling = {.temperature = temperature, .repetition_penalty = 1.05, .seed = 5};
    request.speculation = speculation({});
    const Result alone = engine_->generate(request);
    ASSERT_EQ(alone.logprobs.size(), alone.tokens.size());
    for (std::size_t i = 0; i < alone.tokens.size(); ++i) {
      const TokenLogprobs& at = alone.logprobs[i];
      ASSERT_EQ(at.top.size(), 3U);
      EXPECT_GE(at.top[0].logprob, at.top[1].logprob);
      EXPECT_LE(std::exp(at.top[0].logprob) + std::exp(at.top[1].logprob) + std::exp(at.top[2].logprob),
                1.00001);
      EXPECT_LE(at.logprob, at.top[0].logprob);
    }
    for (const SpeculationPlan& spec : {speculation({"ngram"}), speculation({"ngram", "draft"}, 3)}) {
      request.speculation = spec;
      std::vector<TokenLogprobs> streamed;
      const Result drafted = engine_->generate(request, [&](const TokenEvent& event) {
        if (event.token >= 0) streamed.push_back(*event.logprobs);
        return true;
      });
      accepted += drafted.speculation.accepted_tokens;
      EXPECT_EQ(drafted.tokens, alone.tokens);
      EXPECT_EQ(drafted.logprobs, alone.logprobs);
      EXPECT_EQ(streamed, alone.logprobs);
    }
    // Read as a prompt, the same text has the same ones.
    Request read;
    read.prompt_tokens = engine_->prompt_tokens(request);
    const std::size_t prompt = read.prompt_tokens.size();
    read.prompt_tokens.insert(read.prompt_tokens.end(), alone.tokens.begin(), alone.tokens.end());
    read.max_tokens = 0;
    read.logprobs = 3;
    read.prompt_logprobs = true;
    const Result whole = engine_->generate(read);
    EXPECT_EQ(whole.finish_reason, FinishReason::Length);
    EXPECT_TRUE(whole.tokens.empty());
    ASSERT_EQ(whole.prompt_logprobs.size(), read.prompt_tokens.size() - 1);
    EXPECT_TRUE(std::equal(alone.logprobs.begin(), alone.logprobs.end(),
                           whole.prompt_logprobs.begin() + static_cast<std::ptrdiff_t>(prompt) - 1));
  }
  EXPECT_GT(accepted, 10);
}

TEST_F(EngineTest, LogprobsEndWithTheText) {
  Request request = plain("Once upon a time", 60);
  request.speculation = speculation({"draft"});
  request.stop = {"Lily"};
  request.logprobs = 0;
  const Result result = engine_->generate(request);
  EXPECT_EQ(result.finish_reason, FinishReason::Stop);
  EXPECT_EQ(result.logprobs.size(), result.tokens.size());
  EXPECT_TRUE(result.logprobs[0].top.empty());
  EXPECT_TRUE(result.prompt_logprobs.empty());
}

TEST_F(EngineTest, ALongPromptsLogprobsDoNotDependOnItsChunks) {
  Request request;
  request.prompt_tokens.assign(500, 0);
  for (std::size_t i = 0; i < 500; ++i) request.prompt_tokens[i] = static_cast<TokenId>(i * 7 % 400 + 3);
  request.max_tokens = 1;
  request.logprobs = 2;
  request.prompt_logprobs = true;
  const Result whole = engine_->generate(request);
  ASSERT_EQ(whole.prompt_logprobs.size(), 499U);
  request.prompt_tokens.resize(30);
  const Result part = engine_->generate(request);
  EXPECT_TRUE(
      std::equal(part.prompt_logprobs.begin(), part.prompt_logprobs.end(), whole.prompt_logprobs.begin()));
  EXPECT_EQ(part.logprobs.size(), 1U);
}

TEST_F(EngineTest, EventsSayWhoProposedWhat) {
  Request request = plain("Once", 40);
  request.speculation = speculation({"draft"});
  int drafted = 0;
  int own = 0;
  std::vector<TokenId> ids;
  const Result result = engine_->generate(request, [&](const TokenEvent& event) {
    (event.proposer.empty() ? own : drafted) += 1;
    EXPECT_EQ(event.proposer, event.depth > 0 ? "draft" : "");
    ids.push_back(event.token);
    return true;
  });
  EXPECT_EQ(ids, result.tokens);
  EXPECT_EQ(result.speculation.type, "draft");
  EXPECT_EQ(drafted, result.speculation.accepted_tokens);
  EXPECT_EQ(own, result.speculation.calls);
}

TEST_F(EngineTest, StopStringsEndTheTextBeforeThem) {
  for (const auto& types : {std::vector<std::string>{"none"}, std::vector<std::string>{"draft"}}) {
    Request request = plain("", 200);
    request.stop = {"in the park. One", "never"};
    request.speculation = speculation(types);
    std::string streamed;
    const Result result = engine_->generate(request, [&](const TokenEvent& event) {
      streamed += event.text;
      return true;
    });
    EXPECT_EQ(result.text,
              "Once upon a time, there was a little girl named Lily. She loved to play outside ");
    EXPECT_EQ(streamed, result.text) << "nothing of the stop string was ever shown";
    EXPECT_EQ(result.finish_reason, FinishReason::Stop);
  }
}

TEST_F(EngineTest, StopsWhenTheCallbackOrTheFlagSaysSo) {
  const Result result = engine_->generate(plain("", 50), [](const TokenEvent&) { return false; });
  EXPECT_EQ(result.finish_reason, FinishReason::Cancelled);
  EXPECT_EQ(result.tokens.size(), 1u);
  const std::atomic<bool> cancel{true};
  Request request = plain("", 50);
  request.cancel = &cancel;
  EXPECT_EQ(engine_->generate(request).tokens.size(), 0u);
}

TEST_F(EngineTest, EndOfSequenceEndsOrIsIgnored) {
  // Bias makes EOS certain; ignoring it makes it impossible.
  Request request = plain("Once", 20);
  request.sampling.logit_bias = {{2, 100.0f}};
  const Result ended = engine_->generate(request);
  EXPECT_EQ(ended.finish_reason, FinishReason::Stop);
  EXPECT_EQ(ended.tokens, std::vector<TokenId>{2});
  EXPECT_EQ(ended.text, "");
  request.ignore_eos = true;
  const Result ignored = engine_->generate(request);
  EXPECT_EQ(ignored.finish_reason, FinishReason::Length);
  EXPECT_EQ(std::count(ignored.tokens.begin(), ignored.tokens.end(), 2), 0);
}

TEST_F(EngineTest, ManyRequestsEqualOneAtATime) {
  std::vector<Request> requests;
  for (const char* text : {"", "Once upon", "Lily", "The dog", "A red", "He said", "One day, Tom"}) {
    Request request = plain(text, 20 + 5 * static_cast<int>(requests.size()));
    request.sampling.temperature = 0.8;
    request.sampling.seed = requests.size();
    request.speculation = speculation(
        requests.size() % 2 == 0 ? std::vector<std::string>{"draft"} : std::vector<std::string>{"ngram"}, 3);
    requests.push_back(request);
  }
  std::vector<Result> alone;
  for (const Request& request : requests) alone.push_back(engine_->generate(request));
  requests.push_back(plain(std::string(6000, 'x'), 5));  // does not fit
  for (const int parallel : {1, 3, 16}) {
    std::vector<Result> together(requests.size());
    std::vector<int> seen(requests.size(), 0);
    engine_->generate_many(requests, parallel, [&](std::size_t index, Result result) {
      ++seen[index];
      together[index] = std::move(result);
    });
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(seen[i], 1);
      EXPECT_EQ(together[i].tokens, alone[i].tokens);
      EXPECT_EQ(together[i].text, alone[i].text);
      EXPECT_EQ(together[i].finish_reason, alone[i].finish_reason);
      EXPECT_EQ(together[i].speculation.accepted_tokens, alone[i].speculation.accepted_tokens);
    }
    EXPECT_EQ(together.back().finish_reason, FinishReason::Error);
    EXPECT_THAT(together.back().error, HasSubstr("the context holds 512"));
  }
  EXPECT_THROW(engine_->generate_many(requests, 0, {}), std::runtime_error);
}

TEST_F(EngineTest, ManyRequestsHandOutTheirTokens) {
  std::vector<Request> requests = {plain("Once upon", 12), plain("Lily", 30), plain("The dog", 20)};
  std::vector<std::vector<TokenId>> handed_out(requests.size());
  std::vector<Result> results(requests.size());
  engine_->generate_many(
      requests, 2, [&](std::size_t index, Result result) { results[index] = std::move(result); },
      [&](std::size_t index, const TokenEvent& event) {
        if (event.token >= 0) handed_out[index].push_back(event.token);
        return index != 1 || handed_out[1].size() < 5;
      });
  for (std::size_t i = 0; i < requests.size(); ++i) EXPECT_EQ(handed_out[i], results[i].tokens);
  EXPECT_EQ(results[0].tokens, engine_->generate(requests[0]).tokens);
  EXPECT_EQ(results[1].finish_reason, FinishReason::Cancelled);
  EXPECT_EQ(results[1].tokens.size(), 5u);
}

TEST_F(EngineTest, WhateverIsThrownForOneOfManyRequestsIsThatOnesResult) {
  std::vector<Request> requests = {plain("Once upon", 12), plain("Lily", 12), plain("The dog", 12),
                                   plain("A red", 12), plain("He said", 12)};
  std::vector<Result> results(requests.size());
  engine_->generate_many(
      requests, 4, [&](std::size_t index, Result result) { results[index] = std::move(result); },
      [&](std::size_t index, const TokenEvent&) -> bool {
        if (index == 1) throw std::logic_error("no such token");
        if (index == 2) throw std::bad_alloc();
        if (index == 3) throw 42;
        return true;
      });
  for (const std::size_t good : {std::size_t{0}, std::size_t{4}}) {
    EXPECT_EQ(results[good].tokens, engine_->generate(requests[good]).tokens);
    EXPECT_EQ(results[good].finish_reason, FinishReason::Length);
  }
  const std::pair<std::size_t, const char*> bad[] = {
      {1, "no such token"}, {2, "out of memory"}, {3, "unknown failure"}};
  for (const auto& [index, error] : bad) {
    EXPECT_EQ(results[index].finish_reason, FinishReason::Error);
    EXPECT_EQ(results[index].error, error);
  }
}

TEST_F(EngineTest, AMemoryThatNoMachineHasIsRefusedBeforeWorkStarts) {
  // As many hidden states of 64 as 4096 sequences of 4096 nodes have are 4 GiB.
  Request large = plain("Once", 4);
  large.speculation = SpeculationPlan::parse("draft:size=4096");
  const Request usual = plain("Once", 4);
  std::vector<Result> results(2);
  engine_->generate_many(std::vector<Request>{large, usual}, Engine::kMostParallel,
                         [&](std::size_t index, Result result) { results[index] = std::move(result); });
  EXPECT_EQ(results[0].finish_reason, FinishReason::Error);
  EXPECT_THAT(results[0].error, AllOf(HasSubstr("size: 4096 nodes"), HasSubstr("expected at most 2 GiB")));
  EXPECT_EQ(results[1].finish_reason, FinishReason::Length);
  EXPECT_EQ(engine_->generate(large).tokens, results[1].tokens) << "alone it is possible";
}

TEST_F(EngineTest, TreesAreWideUnlessToldOtherwise) {
  const auto drafted_a_call = [](const char* plan) {
    Request request = plain("Once upon a time", 40);
    request.speculation = SpeculationPlan::parse(plan);
    const SpeculationStatistics s = engine_->generate(request).speculation;
    return static_cast<double>(s.drafted_tokens) / static_cast<double>(s.calls);
  };
  EXPECT_LE(drafted_a_call("draft:n-min=1"), 4) << "a chain";
  EXPECT_GT(drafted_a_call("draft:depth=3"), 8) << "a tree";
  EXPECT_GT(drafted_a_call("draft:policy=eagle2"), 8) << "a policy that draws trees";
  EXPECT_LE(drafted_a_call("draft:policy=eagle2,topk=1"), 4) << "one candidate per node";
}

TEST_F(EngineTest, ADraftModelAloneIsUsedWithLookUpsAndCostsDecide) {
  const auto type_of = [](Engine& engine) { return engine.generate(plain("Once", 12)).speculation.type; };
  EXPECT_EQ(type_of(*engine_), "ngram,draft");
  const MeasuredCosts costs = engine_->costs();
  ASSERT_EQ(costs.drafters.size(), 2u) << "policy auto asked for them";
  EXPECT_EQ(costs.drafters.front().name, "draft");
  EngineOptions options = stories_engine_options(stories_path().string());
  options.speculation.drafters = {"none"};
  Engine told_not_to(options);
  EXPECT_EQ(type_of(told_not_to), "none");
  EXPECT_TRUE(told_not_to.costs().drafters.empty());
  Engine without(stories_engine_options());
  EXPECT_EQ(type_of(without), "none");
}

TEST_F(EngineTest, RefusesWhatItCannotDo) {
  Request request = plain("x", 5);
  request.speculation = speculation({"telepathy"});
  EXPECT_THAT(refusal(request), HasSubstr("telepathy"));
  request.speculation = speculation({"none", "ngram"});
  EXPECT_THAT(refusal(request), HasSubstr("none"));
  request.speculation = speculation({"ngram"});
  request.speculation->ngram_max = 65;
  EXPECT_THAT(refusal(request), HasSubstr("ngram_max"));
  request.speculation = speculation({"recycling"});
  request.speculation->drafter_settings = {{"recycling.colour", "red"}};
  EXPECT_THAT(refusal(request), HasSubstr("drafter recycling: unknown setting 'colour'; known: prompts"));
  request.speculation->drafter_settings = {{"recycling.prompts", "x"}};
  EXPECT_THAT(refusal(request), HasSubstr("drafter recycling: prompts: expected 0 or 1, found 'x'"));
  request.speculation->drafter_settings = {{"telepathy.prompts", "1"}};
  EXPECT_THAT(refusal(request), HasSubstr("telepathy"));
  request.speculation = speculation({"draft"});
  request.speculation->draft_max = 0;
  EXPECT_THAT(refusal(request), HasSubstr("draft_max"));
  request.speculation = speculation({"draft"}, 4);
  request.speculation->tree_size = 1;
  EXPECT_THAT(refusal(request), HasSubstr("tree_size"));
  request.speculation = speculation({"draft"}, 4);
  request.speculation->policy.name = "auto";
  EXPECT_THAT(refusal(request), AllOf(HasSubstr("tree_topk"), HasSubstr("auto decides")));
  request.speculation->policy.name = "eagle2";
  request.speculation->static_tree = "mc_sim_7b_63";
  EXPECT_THAT(refusal(request), HasSubstr("static_tree: policy eagle2 does not read it"));
  request.speculation.reset();
  request.sampling.top_p = 1.5;
  EXPECT_THAT(refusal(request), HasSubstr("top_p"));
  request.sampling = {};
  request.stop = {""};
  EXPECT_THAT(refusal(request), HasSubstr("stop string"));
  request.stop = {};
  request.prompt_tokens = {1};
  EXPECT_THAT(refusal(request), HasSubstr("more than one"));
  request.prompt.clear();
  request.prompt_tokens = {600};
  EXPECT_THAT(refusal(request), HasSubstr("token 600"));
  request.prompt_tokens.clear();
  request.messages = {{"user", "hello"}};
  EXPECT_THAT(refusal(request), HasSubstr("no chat template"));
}

TEST_F(EngineTest, LoadErrorsNameTheirCause) {
  const auto load_error = [](const EngineOptions& options) -> std::string {
    try {
      Engine engine(options);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  };
  EngineOptions options = stories_engine_options();
  options.model = "/no/such/model";
  EXPECT_THAT(load_error(options), HasSubstr("/no/such/model"));
  options = stories_engine_options();
  options.isa = "abacus";
  EXPECT_THAT(load_error(options), HasSubstr("abacus"));
  options = stories_engine_options();
  options.speculation.drafters = {"draft"};
  EXPECT_THAT(load_error(options), HasSubstr("needs a draft model"));
  options = stories_engine_options(std::string(AUGUR_SOURCE_DIR) + "/models/smollm2-draft-11m");
  const std::string other = load_error(options);
  EXPECT_THAT(other, HasSubstr("another vocabulary"));
  EXPECT_THAT(other, HasSubstr("stories260k"));
  EXPECT_THAT(other, HasSubstr("smollm2-draft-11m"));
}

TEST_F(EngineTest, ReportsProgressWhileLoadingAndReadingThePrompt) {
  EngineOptions options = stories_engine_options();
  double last = -1;
  options.progress = [&](std::string_view what, double fraction) {
    EXPECT_EQ(what, "model");
    EXPECT_GE(fraction, last);
    last = fraction;
  };
  Engine engine(options);
  EXPECT_EQ(last, 1.0);
  Request request;
  request.prompt_tokens.assign(400, 300);
  request.max_tokens = 1;
  std::vector<std::int64_t> done;
  request.on_prefill = [&](std::int64_t tokens, std::int64_t total) {
    EXPECT_EQ(total, 400);
    done.push_back(tokens);
  };
  engine.generate(request);
  EXPECT_EQ(done, (std::vector<std::int64_t>{0, 256, 399}));
}

}  // namespace
}  // namespace augur
