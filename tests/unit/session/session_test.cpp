#include "augur/session.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "grammar/compiler.h"
#include "support/eventually.h"
#include "support/stories_engine.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Holds the session's thread in a callback until it is opened.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    testing_support::wait_until(changed_, lock, [&] { return reached_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  bool reached_ = false;
};

class SessionTest : public testing_support::StoriesEngineTest {
 protected:
  static Request request(std::string prompt, std::int64_t tokens = 40) {
    Request request;
    request.prompt = std::move(prompt);
    request.max_tokens = tokens;
    return request;
  }

  /// Greedy and sampled, short and long, under several plans.
  static std::vector<Request> mixed() {
    const char* prompts[] = {"Once upon a time", "Lily and Tom went to the park. Tom saw a big", "One day,",
                             "The end. The end. The end."};
    std::vector<Request> requests;
    for (int i = 0; i < 24; ++i) {
      Request r = request(prompts[i % 4], 10 + 7 * (i % 5));
      if (i % 3 == 1) r.sampling = {.temperature = 0.8, .top_p = 0.95, .seed = static_cast<std::uint64_t>(i)};
      if (i % 3 == 2) r.sampling = {.temperature = 1.3, .repetition_penalty = 1.1, .seed = 9};
      const char* plans[] = {"none", "ngram", "draft:policy=eagle2,topk=3", "draft,ngram", ""};
      if (*plans[i % 5] != '\0') r.speculation = SpeculationPlan::parse(plans[i % 5]);
      requests.push_back(std::move(r));
    }
    return requests;
  }

  /// Takes megabytes.
  static std::string dear_expression() {
    std::string all;
    for (int i = 0; i < 4000; ++i) all += "[\u0100-\U0010ffff]";
    return all;
  }
  /// Groups that may be left out, so that each may be followed by all others: a minute and more of work.
  static std::string endless_grammar() {
    std::string text = "root ::=";
    for (int i = 0; i < 2000; ++i) text += fmt::format(" (\"a\" | [b-z] \"c\"){{0,{}}}", 500 + i);
    return text + "\n";
  }
};

TEST_F(SessionTest, TokensAreThoseOfOneAfterAnother) {
  const std::vector<Request> requests = mixed();
  std::vector<Result> alone;
  for (const Request& r : requests) alone.push_back(engine_->generate(r));
  for (const int parallel : {1, 3, 16}) {
    Session session(*engine_, {.parallel = parallel});
    // Four threads, each with some of the requests in an order of its own.
    std::vector<std::thread> clients;
    std::vector<std::optional<Result>> together(requests.size());
    for (std::size_t c = 0; c < 4; ++c) {
      clients.emplace_back([&, c] {
        std::vector<std::size_t> mine;
        for (std::size_t i = c; i < requests.size(); i += 4) mine.push_back(i);
        std::shuffle(mine.begin(), mine.end(), std::minstd_rand(static_cast<unsigned>(parallel)));
        std::vector<Ticket> tickets;
        for (const std::size_t i : mine) tickets.push_back(session.submit(requests[i]));
        for (std::size_t k = 0; k < mine.size(); ++k) together[mine[k]] = tickets[k].wait();
      });
    }
    for (std::thread& client : clients) client.join();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "request " << i << ", " << parallel << " at once");
      EXPECT_EQ(together[i]->tokens, alone[i].tokens);
      EXPECT_EQ(together[i]->text, alone[i].text);
      EXPECT_EQ(together[i]->finish_reason, alone[i].finish_reason);
    }
  }
}

TEST_F(SessionTest, CallbacksGetTheTextInOrderAndThenTheResult) {
  Session session(*engine_);
  std::string text;
  std::vector<TokenId> tokens;
  int results = 0;
  const Result result = session
                            .submit(request("Once upon a time"), {.on_token =
                                                                      [&](const TokenEvent& event) {
                                                                        EXPECT_EQ(results, 0);
                                                                        text += event.text;
                                                                        if (event.token >= 0)
                                                                          tokens.push_back(event.token);
                                                                        return true;
                                                                      },
                                                                  .on_result =
                                                                      [&](const Result& r) {
                                                                        ++results;
                                                                        EXPECT_EQ(r.text, text);
                                                                      }})
                            .wait();
  EXPECT_EQ(results, 1);
  EXPECT_EQ(result.text, text);
  EXPECT_EQ(result.tokens, tokens);
  EXPECT_EQ(result.tokens.size(), 40U);
}

TEST_F(SessionTest, CancellingOneLeavesTheOthersAlone) {
  const Result alone = engine_->generate(request("One day,", 60));
  const Result whole = engine_->generate(request("Once upon a time", 60));
  Session session(*engine_);
  Gate gate;
  int seen = 0;
  Ticket cancelled = session.submit(request("Once upon a time", 60), {.on_token = [&](const TokenEvent&) {
                                      if (++seen == 5) gate.pass();
                                      return true;
                                    }});
  const Ticket other = session.submit(request("One day,", 60));
  gate.wait_until_reached();
  EXPECT_FALSE(cancelled.ended());
  cancelled.cancel();
  gate.open();
  const Result result = cancelled.wait();
  EXPECT_EQ(result.finish_reason, FinishReason::Cancelled);
  ASSERT_GE(result.tokens.size(), 5U);
  ASSERT_LT(result.tokens.size(), whole.tokens.size());
  EXPECT_TRUE(std::equal(result.tokens.begin(), result.tokens.end(), whole.tokens.begin()));
  EXPECT_EQ(other.wait().tokens, alone.tokens);
  cancelled.cancel();  // does nothing any more
  EXPECT_EQ(cancelled.wait().tokens, result.tokens);
}

TEST_F(SessionTest, TheHighestPriorityBeginsFirst) {
  Session session(*engine_, {.parallel = 1});
  Gate gate;
  std::vector<std::string> order;
  const auto named = [&](std::string name, int priority) {
    return SubmitOptions{.priority = priority,
                         .on_result = [&order, name](const Result&) { order.push_back(name); }};
  };
  session.submit(request("One", 1), {.on_token = [&](const TokenEvent&) {
                   gate.pass();
                   return true;
                 }});
  gate.wait_until_reached();
  std::vector<Ticket> tickets;
  tickets.push_back(session.submit(request("One", 2), named("first", 0)));
  tickets.push_back(session.submit(request("One", 2), named("second", 0)));
  tickets.push_back(session.submit(request("One", 2), named("low", -1)));
  tickets.push_back(session.submit(request("One", 2), named("high", 5)));
  EXPECT_EQ(session.load().running, 1U);
  EXPECT_EQ(session.load().waiting, 4U);
  gate.open();
  for (const Ticket& t : tickets) t.wait();
  EXPECT_THAT(order, ElementsAre("high", "first", "second", "low"));
}

TEST_F(SessionTest, AFullQueueSaysSoAndTakesNothingIn) {
  Session session(*engine_, {.parallel = 1, .queue = 2});
  Gate gate;
  session.submit(request("One", 1), {.on_token = [&](const TokenEvent&) {
                   gate.pass();
                   return true;
                 }});
  gate.wait_until_reached();
  Ticket waiting = session.submit(request("One", 2));
  const Ticket second = session.submit(request("One", 2));
  EXPECT_THROW(session.submit(request("One", 2)), QueueFull);
  EXPECT_EQ(session.load().waiting, 2U);
  waiting.cancel();  // before it has begun
  gate.open();
  EXPECT_EQ(waiting.wait().finish_reason, FinishReason::Cancelled);
  EXPECT_TRUE(waiting.wait().tokens.empty());
  EXPECT_EQ(second.wait().tokens.size(), 2U);
}

TEST_F(SessionTest, WhatIsThrownForOneRequestIsItsResult) {
  const Result alone = engine_->generate(request("One day,"));
  Session session(*engine_);
  const Ticket good = session.submit(request("One day,"));
  Request both = request("x");
  both.prompt_tokens = {1};
  const Ticket refused = session.submit(both);
  const Ticket callback = session.submit(request("x"), {.on_token = [](const TokenEvent&) -> bool {
                                           throw std::runtime_error("the callback's own");
                                         }});
  const Ticket at_the_end = session.submit(
      request("x"), {.on_result = [](const Result&) { throw std::runtime_error("the result's own"); }});
  EXPECT_EQ(refused.wait().finish_reason, FinishReason::Error);
  EXPECT_THAT(refused.wait().error, HasSubstr("prompt"));
  EXPECT_EQ(callback.wait().error, "the callback's own");
  EXPECT_EQ(at_the_end.wait().error, "the result's own");
  EXPECT_EQ(good.wait().tokens, alone.tokens);
}

TEST_F(SessionTest, CallbacksMaySubmitAndCancel) {
  Session session(*engine_, {.parallel = 1});
  std::optional<Ticket> next;
  session
      .submit(request("One", 3),
              {.on_result = [&](const Result&) { next = session.submit(request("One", 4)); }})
      .wait();
  EXPECT_EQ(next->wait().tokens.size(), 4U);
  std::optional<Ticket> self;
  Gate gate;
  self = session.submit(request("One", 30), {.on_token = [&](const TokenEvent&) {
                          gate.pass();
                          self->cancel();
                          return true;
                        }});
  gate.open();
  EXPECT_EQ(self->wait().finish_reason, FinishReason::Cancelled);
}

TEST_F(SessionTest, DrainingEndsWhatIsThereAndTakesInNoMore) {
  Session session(*engine_, {.parallel = 2});
  std::vector<Ticket> tickets;
  for (int i = 0; i < 6; ++i) tickets.push_back(session.submit(request("One day,", 20)));
  session.drain();
  for (const Ticket& t : tickets) {
    EXPECT_TRUE(t.ended());
    EXPECT_EQ(t.wait().tokens.size(), 20U);
  }
  EXPECT_THROW(session.submit(request("One")), std::runtime_error);
  session.drain();
}

TEST_F(SessionTest, ItsEndCancelsWhatHasNotEnded) {
  std::vector<Ticket> tickets;
  {
    Session session(*engine_, {.parallel = 2, .queue = 4});
    // The first one goes on until the session takes in no more.
    const auto until_it_closes = [&](const TokenEvent&) {
      for (;;) {
        try {
          session.submit(request("One", 1));
        } catch (const QueueFull&) {
        } catch (const std::runtime_error&) {
          return true;
        }
      }
    };
    tickets.push_back(session.submit(request("One day,", 200), {.on_token = until_it_closes}));
    for (int i = 0; i < 3; ++i) tickets.push_back(session.submit(request("One day,", 200)));
  }
  for (Ticket& t : tickets) {
    EXPECT_EQ(t.wait().finish_reason, FinishReason::Cancelled);
    t.cancel();
  }
}

TEST_F(SessionTest, TheClientWithTheFewestRunningIsNext) {
  Session session(*engine_, {.parallel = 2});
  Gate gate;
  std::vector<std::string> order;
  const auto of = [&](const std::string& client) {
    return SubmitOptions{.client = client,
                         .on_result = [&order, client](const Result&) { order.push_back(client); }};
  };
  const Ticket first =
      session.submit(request("One", 40), {.client = "many", .on_token = [&](const TokenEvent&) {
                                            gate.pass();
                                            return true;
                                          }});
  gate.wait_until_reached();
  std::vector<Ticket> tickets;
  for (int i = 0; i < 3; ++i) tickets.push_back(session.submit(request("One", 2), of("many")));
  for (int i = 0; i < 2; ++i) tickets.push_back(session.submit(request("One", 2), of("few")));
  gate.open();
  for (const Ticket& t : tickets) t.wait();
  first.wait();
  EXPECT_THAT(order, ElementsAre("few", "few", "many", "many", "many"));
}

TEST_F(SessionTest, ARequestThatTakesTooLongIsAnError) {
  Session session(*engine_, {.parallel = 1});
  // Time enough for a first token, whatever the machine: doubled until one comes. Behind it time runs out.
  for (double seconds = 0.02;; seconds *= 2) {
    SCOPED_TRACE(seconds);
    ASSERT_LT(seconds, 60) << "no first token comes at all";
    const auto run_out = [&](const TokenEvent&) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      return true;
    };
    const Ticket slow = session.submit(request("One", 200), {.seconds = seconds, .on_token = run_out});
    const Ticket waiting = session.submit(request("One", 5), {.seconds = 1e-6});
    const Ticket patient = session.submit(request("One", 5), {.seconds = 600});
    for (const Ticket& t : {slow, waiting}) {
      ASSERT_EQ(t.wait().finish_reason, FinishReason::Error);
      EXPECT_TRUE(t.wait().expired);
    }
    EXPECT_THAT(slow.wait().error, HasSubstr(fmt::format("within {} seconds", seconds)));
    EXPECT_THAT(waiting.wait().error, HasSubstr("1e-06 seconds"));
    EXPECT_TRUE(waiting.wait().tokens.empty());
    EXPECT_EQ(patient.wait().tokens.size(), 5U);
    if (!slow.wait().tokens.empty()) break;
  }
}

TEST_F(SessionTest, WhatWasReadOrWrittenIsNotReadAgain) {
  Request first = request("Lily and Tom went to the park. Tom saw a big", 30);
  const std::vector<TokenId> prompt = engine_->prompt_tokens(first);
  const Result alone = engine_->generate(first);
  Request next;
  next.prompt_tokens = prompt;
  next.prompt_tokens.insert(next.prompt_tokens.end(), alone.tokens.begin(), alone.tokens.end());
  next.prompt_tokens.push_back(410);
  next.prompt_tokens.push_back(420);
  next.max_tokens = 30;
  const Result next_alone = engine_->generate(next);
  EXPECT_EQ(next_alone.cached_tokens, 0);
  {
    Session session(*engine_);
    EXPECT_EQ(session.submit(first).wait().cached_tokens, 0);
    const Result result = session.submit(next).wait();
    EXPECT_EQ(result.tokens, next_alone.tokens);
    EXPECT_EQ(result.prompt_tokens, std::ssize(next.prompt_tokens));
    EXPECT_GE(result.cached_tokens, std::ssize(next.prompt_tokens) - 5);
    next.cache_prompt = false;
    EXPECT_EQ(session.submit(next).wait().cached_tokens, 0);
    const SessionLoad load = session.load();
    EXPECT_EQ(load.cached_tokens, result.cached_tokens);
    EXPECT_GT(load.cache_bytes_in_use, 0);
    EXPECT_GE(load.memory_in_use, load.cache_bytes_in_use);
  }
  next.cache_prompt = true;
  Session none(*engine_, {.cache_bytes = 0});
  none.submit(first).wait();
  EXPECT_EQ(none.submit(next).wait().cached_tokens, 0);
}

TEST_F(SessionTest, LittleMemoryChangesNoToken) {
  std::vector<Request> requests = mixed();
  for (Request& r : requests) r.max_tokens *= 3;
  std::vector<Result> alone;
  std::int64_t prompt_tokens = 0;
  for (const Request& r : requests) {
    alone.push_back(engine_->generate(r));
    prompt_tokens += alone.back().prompt_tokens;
  }
  // A page of this model, and of the draft model, has 41 kB: about two requests fit.
  const std::int64_t memory = 24 * 40960;
  for (const std::int64_t cache : {std::int64_t{0}, memory}) {
    Session session(*engine_, {.parallel = 16, .memory = memory, .cache_bytes = cache});
    std::vector<Ticket> tickets;
    for (const Request& r : requests) tickets.push_back(session.submit(r));
    for (std::size_t i = 0; i < requests.size(); ++i)
      EXPECT_EQ(tickets[i].wait().tokens, alone[i].tokens) << i;
    EXPECT_LE(session.load().memory_in_use, memory);
    EXPECT_EQ(session.load().memory, memory);
    if (cache > 0) {
      EXPECT_LE(session.load().prompt_tokens, prompt_tokens)
          << "a suspended text's own beginning is no prompt";
    }
  }
}

/// Whatever drafts: its own memory is not the text's.
TEST_F(SessionTest, ATextEndsWhereItsMemoryDoes) {
  constexpr std::int64_t kMemory = 8 * 40960;
  Session session(*engine_, {.memory = kMemory, .cache_bytes = 0});
  std::vector<TokenId> plain;
  for (const char* plan : {"none", "draft:n-max=4", "draft,ngram:policy=auto", "layerskip:n-max=3",
                           "suffix,draft:policy=eagle2,topk=2,size=8"}) {
    SCOPED_TRACE(plan);
    Request r = request("Once upon a time", -1);
    r.ignore_eos = true;
    r.speculation = SpeculationPlan::parse(plan);
    std::int64_t most = 0;
    const auto look = [&](const TokenEvent&) {
      most = std::max(most, session.load().memory_in_use);
      return true;
    };
    const Result result = session.submit(r, {.on_token = look}).wait();
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.finish_reason, FinishReason::Length);
    EXPECT_GT(result.tokens.size(), 100U);
    EXPECT_LT(result.tokens.size(), 400U);
    if (plain.empty()) plain = result.tokens;
    EXPECT_EQ(result.tokens, plain);
    EXPECT_LE(most, kMemory);
    Request long_prompt;
    long_prompt.prompt_tokens.assign(400, 400);
    long_prompt.speculation = r.speculation;
    EXPECT_TRUE(session.submit(long_prompt).wait().refused);
  }
}

/// A session in whose memory no text fits would refuse every request.
TEST_F(SessionTest, SaysHowMuchMemoryItNeeds) {
  constexpr std::int64_t kPage = 40960;
  try {
    const Session session(*engine_, {.memory = 3 * kPage});
    ADD_FAILURE() << "it serves nobody";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("expected 0.2 MiB at least, which 64 tokens take"));
  }
  Session session(*engine_, {.memory = 4 * kPage, .cache_bytes = 0});
  Request r = request("Once", -1);
  r.ignore_eos = true;
  const Result result = session.submit(r).wait();
  EXPECT_EQ(result.error, "");
  EXPECT_GT(result.tokens.size(), 30U);
}

/// Of two servers on a machine each takes its part.
TEST_F(SessionTest, TakesItsShareOfTheMemory) {
  const auto memory = [](double share) { return Session(*engine_, {.memory_share = share}).load().memory; };
  const std::int64_t whole = memory(0.8);
  EXPECT_LT(memory(0.2), whole / 2);
}

/// The program that embeds it has other plans for the machine.
TEST_F(SessionTest, LeavesMostOfTheMemoryByDefault) {
  const auto memory = [](const SessionOptions& options) { return Session(*engine_, options).load().memory; };
  EXPECT_LT(memory({}), memory({.memory_share = 1}) / 2);
  EXPECT_EQ(SessionOptions{}.cache_bytes, std::int64_t{1} << 30);
}

TEST_F(SessionTest, RefusesWhatCannotBe) {
  EXPECT_THROW(Session(*engine_, {.parallel = 0}), std::runtime_error);
  EXPECT_THROW(Session(*engine_, {.parallel = Engine::kMostParallel + 1}), std::runtime_error);
  EXPECT_THROW(Session(*engine_, {.queue = 0}), std::runtime_error);
  EXPECT_THROW(Session(*engine_, {.prompt_share = -1}), std::runtime_error);
  EXPECT_THROW(Session(*engine_, {.memory = -1}), std::runtime_error);
  EXPECT_THROW(Session(*engine_, {.memory_share = 0}), std::runtime_error);
  EXPECT_THROW(Session(*engine_, {.memory_share = 1.5}), std::runtime_error);
  EXPECT_THROW(Session(*engine_, {.cache_bytes = -1}), std::runtime_error);
  Session session(*engine_);
  const std::atomic<bool> flag = false;
  Request r = request("One");
  r.cancel = &flag;
  EXPECT_THROW(session.submit(r), std::runtime_error);
}

/// Grammars are compiled beside the batch: requests with one wait for it, others and those that are cancelled
/// do not, and the tokens are those of a request alone.
TEST_F(SessionTest, GrammarsAreCompiledBesideTheBatch) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  Request constrained = request("Once upon a time");
  constrained.grammar = Grammar{.kind = GrammarKind::Regex, .text = "[a-z ]{20,30}\\.", .field = "pattern"};
  const Result alone = Engine(testing_support::stories_engine_options()).generate(constrained);
  Session session(*engine_);
  std::vector<Ticket> tickets;
  for (int i = 0; i < 6; ++i) {
    if (i % 2 == 1) constrained.grammar->text += "a?";
    tickets.push_back(session.submit(i % 3 == 2 ? request("One day,") : constrained));
  }
  Request impossible = request("One day,");
  impossible.grammar = Grammar{.kind = GrammarKind::Regex, .text = "(a", .field = "pattern"};
  const Result refused = session.submit(impossible).wait();
  EXPECT_TRUE(refused.refused);
  EXPECT_EQ(refused.refused_field, "pattern");
  EXPECT_THAT(refused.error, HasSubstr("grammar"));
  impossible.grammar = Grammar{.kind = GrammarKind::Regex, .text = "[a-f]{900,1000}", .field = "pattern"};
  Ticket cancelled = session.submit(impossible);
  cancelled.cancel();
  EXPECT_EQ(cancelled.wait().finish_reason, FinishReason::Cancelled);
  for (Ticket& ticket : tickets) EXPECT_EQ(ticket.wait().error, "");
  EXPECT_EQ(tickets[0].wait().tokens, alone.tokens);
  EXPECT_EQ(session.submit(constrained).wait().finish_reason, tickets[4].wait().finish_reason);
}

TEST_F(SessionTest, ItsEndCancelsWhatIsBeingCompiled) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  std::vector<Ticket> tickets;
  {
    Session session(*engine_);
    for (int i = 0; i < 4; ++i) {
      Request constrained = request("Once upon a time");
      constrained.grammar =
          Grammar{.kind = GrammarKind::Regex, .text = "[a-g]{90" + std::to_string(i) + ",1000}", .field = {}};
      tickets.push_back(session.submit(constrained));
    }
  }
  for (const Ticket& ticket : tickets) EXPECT_TRUE(ticket.ended());
}

/// A request has its bounds; what the engine's own plan has is allowed as well.
TEST_F(SessionTest, DraftsOfARequestAreBounded) {
  EngineOptions options = testing_support::stories_engine_options();
  options.speculation = SpeculationPlan::parse("ngram:n-max=9");
  Engine engine(options);
  Session session(engine, {.drafts = {.nodes = 8, .depth = 3, .topk = 2}});
  const auto ask = [&](const char* plan) {
    Request r = request("One day,", 2);
    r.speculation = SpeculationPlan::parse(plan);
    return session.submit(r).wait();
  };
  for (const char* plan : {"ngram:n-max=10", "draft:policy=eagle2,size=9", "draft:policy=eagle2,depth=4",
                           "draft:policy=eagle2,topk=3"}) {
    const Result refused = ask(plan);
    EXPECT_TRUE(refused.refused) << plan;
    EXPECT_EQ(refused.refused_field, "speculative") << plan;
    EXPECT_THAT(refused.error, HasSubstr("at most")) << plan;
  }
  for (const char* plan : {"ngram:n-max=8", "ngram:n-max=9", "none"}) {
    EXPECT_EQ(ask(plan).error, "") << plan;
  }
}

/// A schema that takes far more than a budget allows is refused, its field and the budget named, while others
/// run.
TEST_F(SessionTest, AGrammarBeyondItsBudgetIsRefused) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  EngineOptions options = testing_support::stories_engine_options();
  options.grammar_budget.bytes = 1 << 20;
  Engine engine(options);
  Session session(engine);
  Request dear = request("One day,");
  dear.grammar = Grammar{.kind = GrammarKind::Regex, .text = dear_expression(), .field = "pattern"};
  const Result refused = session.submit(dear).wait();
  EXPECT_TRUE(refused.refused);
  EXPECT_EQ(refused.refused_field, "pattern");
  EXPECT_THAT(refused.error, HasSubstr("1 MiB of memory"));
}

/// A request's own time is up while its grammar is compiled and nothing else runs: that is when it ends.
TEST_F(SessionTest, TimeIsUpDuringACompilation) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  EngineOptions options = testing_support::stories_engine_options();
  options.grammar_budget = {.seconds = 1e6, .bytes = std::int64_t{1} << 40};
  Engine engine(options);
  Session session(engine);
  Request endless = request("One day,");
  endless.grammar = Grammar{.kind = GrammarKind::Ebnf, .text = endless_grammar(), .field = "grammar"};
  const Result late = session.submit(endless, {.seconds = 0.2}).wait();
  EXPECT_TRUE(late.expired);
  EXPECT_FALSE(late.refused);
  EXPECT_TRUE(late.tokens.empty());
  EXPECT_THAT(late.error, HasSubstr("0.2 seconds"));
}

/// Two of three compilations would hardly end: the third is none the worse for them, and draining ends them.
TEST_F(SessionTest, SeveralGrammarsCompileAtOnceAndDrainingEndsThem) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  EngineOptions options = testing_support::stories_engine_options();
  options.grammar_budget = {.seconds = 1e6, .bytes = std::int64_t{1} << 40};
  Engine engine(options);
  Session session(engine, {.compilers = 3});
  std::vector<Ticket> endless;
  for (int i = 0; i < 2; ++i) {
    Request r = request("One day,");
    r.grammar =
        Grammar{.kind = GrammarKind::Ebnf, .text = endless_grammar() + std::string(i, '\n'), .field = {}};
    endless.push_back(session.submit(r));
  }
  Request quick = request("One day,");
  quick.grammar = Grammar{.kind = GrammarKind::Regex, .text = "[a-z]{3}", .field = {}};
  EXPECT_EQ(session.submit(quick).wait().error, "");
  EXPECT_EQ(session.drain(0), 2U);
  for (const Ticket& ticket : endless) {
    const Result result = ticket.wait();
    EXPECT_EQ(result.finish_reason, FinishReason::Cancelled);
    EXPECT_TRUE(result.tokens.empty());
  }
  EXPECT_EQ(session.drain(), 0U);
}

}  // namespace
}  // namespace augur
