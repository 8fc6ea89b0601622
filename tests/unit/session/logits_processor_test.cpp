// A request's logits processors change what is written, and the same way whatever drafts, batch or memory:
// they are asked for the places that verification looks at, on the thread that decodes.
#include "augur/logits_processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "augur/session.h"
#include "grammar/compiler.h"
#include "support/custom_speculation.h"
#include "support/error_of.h"
#include "support/stories_engine.h"

namespace augur {
namespace {

using testing::HasSubstr;

constexpr float kNever = -std::numeric_limits<float>::infinity();

class LogitsProcessors : public testing_support::StoriesEngineTest {
 protected:
  static constexpr const char* kPlans[] = {"draft:policy=eagle2,topk=3,size=12",
                                           "draft:n-max=4",
                                           "ngram:n-max=5",
                                           "draft,ngram:policy=auto",
                                           "layerskip:n-max=3",
                                           "draft:coupling=0,policy=eagle2"};

  /// No token twice in a row, and none whose id is the text's length modulo 7.
  static void forbid_some(std::span<const TokenId> tokens, std::span<float> logits) {
    logits[static_cast<std::size_t>(tokens.back())] = kNever;
    for (std::size_t id = tokens.size() % 7; id < logits.size(); id += 7) logits[id] = kNever;
  }
  /// Something smooth that depends on the whole text.
  static void tilt(std::span<const TokenId> tokens, std::span<float> logits) {
    std::uint32_t hash = 1;
    for (const TokenId token : tokens) hash = hash * 31u + static_cast<std::uint32_t>(token);
    for (std::size_t id = 0; id < logits.size(); ++id)
      logits[id] += static_cast<float>((hash >> (id % 24)) & 7u) * 0.25f;
  }
  static Request request(double temperature, std::uint64_t seed) {
    Request request;
    request.prompt = seed % 2 == 0 ? "Once upon a time" : "Lily and Tom went to the park.";
    request.max_tokens = 48;
    request.sampling.temperature = temperature;
    request.sampling.seed = seed;
    request.logits_processors = {forbid_some, tilt};
    return request;
  }
  static Result generate(Request request, const char* plan) {
    request.speculation = SpeculationPlan::parse(plan);
    return engine_->generate(request);
  }
};

TEST_F(LogitsProcessors, GiveTheTextOfPlainDecodingWhateverDrafts) {
  for (const double temperature : {0.0, 0.9}) {
    Request asked = request(temperature, 4);
    if (temperature > 0) asked.sampling.top_p = 0.9;
    asked.sampling.frequency_penalty = 0.3;
    const Result plain = generate(asked, "none");
    Request unchanged = asked;
    unchanged.logits_processors.clear();
    EXPECT_NE(generate(unchanged, "none").tokens, plain.tokens);
    std::size_t length = static_cast<std::size_t>(plain.prompt_tokens);
    for (const TokenId token : plain.tokens) EXPECT_NE(static_cast<std::size_t>(token) % 7, length++ % 7);
    for (const char* plan : kPlans) {
      const Result drafted = generate(asked, plan);
      EXPECT_EQ(drafted.tokens, plain.tokens) << plan << " at " << temperature;
      if (std::string(plan).find("auto") == std::string::npos) {  // which may not draft
        EXPECT_GT(drafted.speculation.drafted_tokens, 0) << plan;
      }
    }
    if (temperature == 0) {
      EXPECT_EQ(generate(asked, "draft:verify=rejection").tokens, plain.tokens);
    }
  }
}

/// Under rejection sampling, which draws from what they leave.
TEST_F(LogitsProcessors, HoldUnderRejection) {
  for (const char* plan :
       {"draft:verify=rejection", "draft:verify=rejection,policy=eagle2", "ngram:verify=rejection"}) {
    const Result result = generate(request(1.0, 3), plan);
    std::size_t length = static_cast<std::size_t>(result.prompt_tokens);
    for (const TokenId token : result.tokens)
      EXPECT_NE(static_cast<std::size_t>(token) % 7, length++ % 7) << plan;
    EXPECT_EQ(result.tokens.size(), 48u);
  }
}

/// In a Session: in one batch with requests that have none, suspended and resumed, from kept texts.
TEST_F(LogitsProcessors, AreAskedTheSameInEverySession) {
  std::vector<Request> requests;
  std::vector<Result> alone;
  for (std::uint64_t i = 0; i < 12; ++i) {
    Request r = request(i % 3 == 0 ? 0.0 : 0.8, i);
    r.max_tokens = 90;
    if (i % 4 == 3) r.logits_processors.clear();
    alone.push_back(generate(r, "none"));
    r.speculation = SpeculationPlan::parse(kPlans[i % std::size(kPlans)]);
    requests.push_back(std::move(r));
  }
  const std::vector<Result> suspended = testing_support::generate_suspended(*engine_, requests);
  for (std::size_t i = 0; i < suspended.size(); ++i) EXPECT_EQ(suspended[i].tokens, alone[i].tokens) << i;
  constexpr std::int64_t kMemory = 24 * 40960;  // for about two requests
  for (const std::int64_t memory : {std::int64_t{0}, kMemory}) {
    Session session(*engine_, {.parallel = 8, .memory = memory, .cache_bytes = kMemory});
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::vector<Ticket> tickets;
      for (const Request& r : requests) tickets.push_back(session.submit(r));
      for (std::size_t i = 0; i < requests.size(); ++i) {
        const Result result = tickets[i].wait();
        EXPECT_EQ(result.error, "");
        EXPECT_EQ(result.tokens, alone[i].tokens) << i;
        if (repeat == 1 && memory == 0) {
          EXPECT_GT(result.cached_tokens, 0);
        }
      }
    }
  }
}

/// They come before the grammar, which no processor can get round.
TEST_F(LogitsProcessors, ComeBeforeTheGrammar) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  for (const double temperature : {0.0, 1.0}) {
    Request asked = request(temperature, 2);
    asked.logits_processors = {tilt, [](std::span<const TokenId>, std::span<float> logits) {
                                 logits[0] = 1e9f;  // which the grammar does not allow
                               }};
    asked.grammar = Grammar{.kind = GrammarKind::Regex, .text = "[a-z ]{20,30}\\.", .field = {}};
    const Result plain = generate(asked, "none");
    EXPECT_THAT(plain.text, testing::MatchesRegex("[a-z ]+\\."));
    for (const char* plan : kPlans) EXPECT_EQ(generate(asked, plan).tokens, plain.tokens) << plan;
    asked.logits_processors.push_back([](std::span<const TokenId>, std::span<float> logits) {
      std::fill(logits.begin() + 1, logits.end(), kNever);
    });
    EXPECT_THAT(testing_support::error_of([&] { generate(asked, "none"); }),
                HasSubstr("logits_processors: with logit_bias and the grammar they forbid every token"));
  }
}

/// What it is told is a text that plain decoding has come by, or a drafted path behind one, and the same row
/// each time.
TEST_F(LogitsProcessors, SeeTheTokensOfThePathAndTheModelsRow) {
  using Rows = std::map<std::vector<TokenId>, std::vector<float>>;
  Request asked = request(0.7, 8);
  const auto rows_of = [&](const char* plan, Result& result) {
    Rows rows;
    asked.logits_processors = {[&](std::span<const TokenId> tokens, std::span<float> logits) {
      const auto [at, fresh] =
          rows.emplace(std::vector(tokens.begin(), tokens.end()), std::vector(logits.begin(), logits.end()));
      EXPECT_TRUE(fresh || std::equal(logits.begin(), logits.end(), at->second.begin()));
      tilt(tokens, logits);
    }};
    result = generate(asked, plan);
    return rows;
  };
  Result plain;
  const Rows expected = rows_of("none", plain);
  EXPECT_EQ(expected.size(), plain.tokens.size());
  for (const char* plan : kPlans) {
    Result drafted;
    const Rows rows = rows_of(plan, drafted);
    EXPECT_EQ(drafted.tokens, plain.tokens) << plan;
    EXPECT_EQ(rows, expected) << plan << ": the walk looks at the path that becomes the text";
  }
}

/// The look-up proposes the token that ends the text, and what came behind it before.
TEST_F(LogitsProcessors, AreNotAskedBehindTheEndOfAText) {
  const TokenId end = engine_->info().end_tokens.front();
  Request asked;
  const std::vector<TokenId> words = engine_->tokenize("Once upon a time");
  asked.prompt_tokens = words;
  asked.prompt_tokens.push_back(end);
  asked.prompt_tokens.insert(asked.prompt_tokens.end(), words.begin(), words.end());
  const std::size_t prompt = asked.prompt_tokens.size();
  asked.logits_processors = {[=](std::span<const TokenId> tokens, std::span<float> logits) {
    if (tokens.size() > prompt && tokens.back() == end) throw std::logic_error("behind the end");
    logits[static_cast<std::size_t>(end)] = 1e6f;
  }};
  for (const char* plan : {"none", "ngram:n-max=5", "ngram:n-max=5,verify=rejection"}) {
    const Result result = generate(asked, plan);
    EXPECT_EQ(result.tokens, std::vector{end}) << plan;
    EXPECT_EQ(result.finish_reason, FinishReason::Stop);
    EXPECT_EQ(result.speculation.drafted_tokens > 0, std::string(plan) != "none");
  }
}

TEST_F(LogitsProcessors, RunOnTheDecodingThreadInTheHostsEnvironment) {
  Request asked = request(0.0, 0);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::set<int> modes;
  asked.logits_processors = {[&](std::span<const TokenId>, std::span<float>) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    modes.insert(std::fegetround());
  }};
  Request other = asked;
  other.prompt = "One day,";
  const std::vector<Request> both = {asked, other};
  std::fesetround(FE_UPWARD);
  engine_->generate_many(both, 2, [](std::size_t, const Result& result) { EXPECT_EQ(result.error, ""); });
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  EXPECT_EQ(modes, std::set{FE_UPWARD});
  threads.clear();
  Session session(*engine_);
  std::vector<Ticket> tickets = {session.submit(asked), session.submit(other)};
  for (const Ticket& ticket : tickets) EXPECT_EQ(ticket.wait().error, "");
  EXPECT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0u);
}

TEST_F(LogitsProcessors, LogprobsAreTheModelsOrWhatIsDrawnFrom) {
  Request asked = request(1.0, 5);
  asked.logits_processors = {forbid_some};
  asked.logprobs = 3;
  asked.max_tokens = 12;
  for (const char* plan : {"none", "draft:policy=eagle2"}) {
    asked.sampled_logprobs = false;
    const Result own = generate(asked, plan);
    Request unchanged = asked;
    unchanged.logits_processors.clear();
    EXPECT_EQ(own.logprobs[0].top, generate(unchanged, plan).logprobs[0].top);
    int calls = 0;
    asked.logits_processors = {forbid_some, [&](std::span<const TokenId>, std::span<float>) { ++calls; }};
    asked.sampled_logprobs = true;
    const Result sampled = generate(asked, plan);
    EXPECT_EQ(sampled.tokens, own.tokens);
    for (std::size_t i = 0; i < sampled.tokens.size(); ++i) {
      const std::size_t length = static_cast<std::size_t>(own.prompt_tokens) + i;
      for (const TokenLogprob& top : sampled.logprobs[i].top)
        EXPECT_NE(static_cast<std::size_t>(top.token) % 7, length % 7);
      EXPECT_GT(sampled.logprobs[i].logprob, own.logprobs[i].logprob);
    }
    EXPECT_EQ(calls, 12) << "once a place";
    asked.logits_processors.pop_back();
  }
}

TEST_F(LogitsProcessors, WhatTheyThrowOrSpoilEndsTheirRequestOnly) {
  struct Mine {};
  const auto at_length = [](std::size_t length, auto then) {
    return [=](std::span<const TokenId> tokens, std::span<float> logits) {
      if (tokens.size() == length) then(logits);
    };
  };
  constexpr std::size_t kLater = 24;
  struct Case {
    LogitsProcessor processor;
    const char* message;
  };
  const Case cases[] = {
      {at_length(kLater, [](std::span<float> l) { l[5] = std::nanf(""); }),
       "logits_processors: number 1 makes the logit of token 5 nan"},
      {at_length(kLater, [](std::span<float> l) { l[7] = -kNever; }),
       "logits_processors: number 1 makes the logit of token 7 inf"},
      {at_length(kLater, [](std::span<float> l) { std::fill(l.begin(), l.end(), kNever); }),
       "logits_processors: number 1 forbids every token"},
      {at_length(kLater, [](std::span<float>) { throw std::runtime_error("no more"); }), "no more"},
      {LogitsProcessor(), "logits_processors: one of them is empty"},
  };
  for (const char* plan : {"none", "draft:policy=eagle2"}) {
    for (const Case& wrong : cases) {
      SCOPED_TRACE(wrong.message);
      std::vector<Request> requests(3, request(0.0, 2));
      for (Request& r : requests) r.speculation = SpeculationPlan::parse(plan);
      const Result alone = engine_->generate(requests[0]);
      requests[1].logits_processors = {tilt, wrong.processor};
      engine_->generate_many(requests, 3, [&](std::size_t i, const Result& result) {
        if (i != 1) {
          EXPECT_EQ(result.tokens, alone.tokens);
          return;
        }
        EXPECT_THAT(result.error, HasSubstr(wrong.message));
        EXPECT_EQ(result.finish_reason, FinishReason::Error);
        if (wrong.processor) {
          EXPECT_FALSE(result.tokens.empty()) << "what there is, is in the result";
        }
        if (result.error != "no more") {
          EXPECT_EQ(result.refused_field, "logits_processors");
        }
      });
    }
    Request throwing = request(0.0, 2);
    throwing.logits_processors = {[](std::span<const TokenId>, std::span<float>) { throw Mine(); }};
    EXPECT_THROW(generate(throwing, plan), Mine);
    EXPECT_FALSE(generate(request(0.0, 2), plan).tokens.empty()) << "the engine goes on";
  }
}

}  // namespace
}  // namespace augur
