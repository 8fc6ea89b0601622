// What an embedding program may not do is an error that names the rule, at once: nothing waits, nothing
// breaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "augur/session.h"
#include "support/eventually.h"
#include "support/stories_engine.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::awaited;
using testing_support::poll_until;

/// The message of the Error of kind Misuse that `action` throws; otherwise what it did instead.
std::string misuse(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Misuse) return error.what();
    return std::string("another error: ") + error.what();
  }
  return "no error";
}

class MisuseTest : public testing_support::StoriesEngineTest {
 protected:
  static Request request(std::int64_t tokens = 12) {
    Request request;
    request.prompt = "Once upon a time";
    request.max_tokens = tokens;
    return request;
  }
  /// What request() gives.
  static const std::vector<TokenId>& ids() {
    static const std::vector<TokenId> ids = another()->generate(request()).tokens;
    return ids;
  }
  static std::unique_ptr<Engine> another() {
    return testing_support::test_engine(testing_support::stories_engine_options());
  }
};

TEST_F(MisuseTest, ACallbackOfGenerateMayNotGenerate) {
  std::vector<std::string> said;
  const auto refused = [&] {
    said.push_back(misuse([&] { engine_->generate(request()); }));
    said.push_back(misuse([&] { engine_->generate_many({}, 1, {}); }));
    said.push_back(misuse([&] { engine_->forget(); }));
    said.push_back(misuse([&] { engine_->costs(); }));
    said.push_back(misuse([&] { const Session session(*engine_); }));
  };
  Request asked = request();
  int rounds = 0;
  asked.on_round = [&](const DraftRound&) {
    if (rounds++ == 0) refused();
  };
  int prefills = 0;
  asked.on_prefill = [&](std::int64_t, std::int64_t) {
    if (prefills++ == 0) refused();
  };
  int tokens = 0;
  const Result result = engine_->generate(asked, [&](const TokenEvent&) {
    if (tokens++ == 0) refused();
    return true;
  });
  EXPECT_EQ(result.tokens, ids());
  EXPECT_EQ(said.size(), 15u);
  for (const std::string& message : said)
    EXPECT_THAT(message, HasSubstr("in a callback of the same engine's"));
  EXPECT_EQ(engine_->generate(request()).tokens, ids()) << "it is free again";
}

TEST_F(MisuseTest, ACallbackOfGenerateManyMayNotGenerate) {
  const std::vector<Request> requests(2, request());
  int results = 0;
  engine_->generate_many(
      requests, 2,
      [&](std::size_t, const Result& result) {
        ++results;
        EXPECT_EQ(result.tokens, ids());
        EXPECT_THAT(misuse([&] { engine_->forget(); }), HasSubstr("forget(): it is called in a callback"));
      },
      [&](std::size_t, const TokenEvent&) {
        EXPECT_THAT(misuse([&] { engine_->generate(request()); }), HasSubstr("generate(): it is called"));
        return true;
      });
  EXPECT_EQ(results, 2);
}

TEST_F(MisuseTest, AnotherThreadsCallsAreRefusedAtOnce) {
  std::vector<std::string> said;
  bool asked = false;
  const Result result = engine_->generate(request(), [&](const TokenEvent&) {
    if (std::exchange(asked, true)) return true;
    std::thread other([&] {
      said.push_back(misuse([&] { engine_->generate(request()); }));
      said.push_back(misuse([&] { engine_->generate_many({}, 1, {}); }));
      said.push_back(misuse([&] { engine_->costs(); }));
      said.push_back(misuse([&] { const Session session(*engine_); }));
      EXPECT_FALSE(engine_->tokenize("Lily").empty()) << "the const functions are for all";
    });
    other.join();  // so whoever waited for this call would wait for ever
    return true;
  });
  EXPECT_EQ(result.tokens, ids());
  EXPECT_EQ(said.size(), 4u);
  for (const std::string& message : said)
    EXPECT_THAT(message, HasSubstr("another thread's call uses the engine"));
}

TEST_F(MisuseTest, OfManyThreadsOneGenerates) {
  std::atomic<int> done = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 4; ++round) {
        try {
          EXPECT_EQ(engine_->generate(request(4)).tokens.size(), 4u);
          ++done;
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::Misuse) << error.what();
          ++refused;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(done, 1);
  EXPECT_EQ(done + refused, 24);
}

TEST_F(MisuseTest, AnEngineServesOneSession) {
  std::optional<Session> session(std::in_place, *engine_);
  for (const std::string& message :
       {misuse([&] { const Session second(*engine_); }), misuse([&] { engine_->generate(request()); }),
        misuse([&] { engine_->costs(); }), misuse([&] { engine_->forget(); })})
    EXPECT_THAT(message, HasSubstr("a session uses the engine"));
  std::promise<std::string> said;
  SubmitOptions options;
  options.on_result = [&](const Result&) { said.set_value(misuse([&] { engine_->generate(request()); })); };
  EXPECT_EQ(session->submit(request(), std::move(options)).wait().tokens, ids());
  EXPECT_THAT(awaited(said.get_future()), HasSubstr("a session uses the engine"));
  session.reset();
  EXPECT_EQ(engine_->generate(request()).tokens, ids());
  const Session next(*engine_);
}

TEST_F(MisuseTest, AnEngineThatEndsFirstLeavesItsSessionWhole) {
  std::unique_ptr<Engine> engine = another();
  Session session(*engine);
  Engine moved(std::move(*engine));
  engine.reset();
  EXPECT_EQ(session.submit(request()).wait().tokens, ids());
  { const Engine gone(std::move(moved)); }
  EXPECT_EQ(session.submit(request()).wait().tokens, ids());
}

TEST_F(MisuseTest, AnEngineMayEndInItsOwnCallback) {
  std::unique_ptr<Engine> engine = another();
  const Result result = engine->generate(request(), [&](const TokenEvent&) {
    engine.reset();
    return true;
  });
  EXPECT_EQ(result.tokens, ids());
}

TEST_F(MisuseTest, CallbacksAboutTextsMayBeEmptyAndMayThrow) {
  const std::unique_ptr<Engine> engine = another();
  Session session(*engine);
  EXPECT_EQ(session.submit(request()).wait().tokens, ids());
  const auto throws = [](const TextFile&) { throw std::runtime_error("nobody hears it"); };
  for (const Session::TextFileCallback& done :
       {Session::TextFileCallback(), Session::TextFileCallback(throws)}) {
    session.save_text(engine->prompt_tokens(request()), "/no/such/folder/text", done);
    session.load_text("/no/such/text", done);
    session.forget_text({1, 2, 3}, done);
  }
  session.ping([] { throw std::runtime_error("nobody hears it"); });
  EXPECT_THROW(session.ping({}), Error);
  EXPECT_EQ(session.submit(request()).wait().tokens, ids());
}

TEST_F(MisuseTest, WhatHasBeenMovedFromSaysSo) {
  const std::unique_ptr<Engine> engine = another();
  Engine moved(std::move(*engine));
  const char* const rule = "the engine has been moved from";
  EXPECT_EQ(misuse([&] { engine->generate(request()); }), rule);
  EXPECT_EQ(misuse([&] { engine->generate_many({}, 1, {}); }), rule);
  EXPECT_EQ(misuse([&] { engine->costs(); }), rule);
  EXPECT_EQ(misuse([&] { engine->forget(); }), rule);
  EXPECT_EQ(misuse([&] { engine->info(); }), rule);
  EXPECT_EQ(misuse([&] { engine->tokenize("Once"); }), rule);
  EXPECT_EQ(misuse([&] { engine->tokenize_part("Once"); }), rule);
  EXPECT_EQ(misuse([&] { engine->detokenize({}); }), rule);
  EXPECT_EQ(misuse([&] { engine->token_bytes(1); }), rule);
  EXPECT_EQ(misuse([&] { engine->render_chat({}); }), rule);
  EXPECT_EQ(misuse([&] { engine->prompt_tokens(request()); }), rule);
  EXPECT_EQ(misuse([&] { engine->chat_template(); }), rule);
  EXPECT_EQ(misuse([&] { engine->infill_tokens(); }), rule);
  EXPECT_EQ(misuse([&] { engine->speculation(); }), rule);
  EXPECT_EQ(misuse([&] { engine->drafters(); }), rule);
  EXPECT_EQ(misuse([&] { const Session session(*engine); }), rule);

  Session session(moved);
  Ticket ticket = session.submit(request());
  Ticket taken(std::move(ticket));
  // NOLINTBEGIN(bugprone-use-after-move): that is what is tried
  EXPECT_EQ(misuse([&] { ticket.wait(); }), "the ticket has been moved from");
  EXPECT_EQ(misuse([&] { ticket.ended(); }), "the ticket has been moved from");
  EXPECT_EQ(misuse([&] { ticket.cancel(); }), "the ticket has been moved from");
  EXPECT_EQ(misuse([&] { ticket.warnings(); }), "the ticket has been moved from");
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_EQ(taken.wait().tokens, ids());
}

TEST_F(MisuseTest, ACallbackOfASessionMayNotWaitForIt) {
  Session session(*engine_);
  const Ticket first = session.submit(request());
  EXPECT_EQ(first.wait().tokens, ids());
  std::promise<Ticket> other;
  std::shared_future<Ticket> others = other.get_future().share();
  std::vector<std::string> said;
  SubmitOptions options;
  options.on_token = [&](const TokenEvent&) {
    if (!said.empty()) return true;
    said.push_back(misuse([&] { static_cast<void>(others.get().wait()); }));
    said.push_back(misuse([&] { session.drain(); }));
    said.push_back(misuse([&] { session.drain(0); }));
    EXPECT_EQ(first.wait().tokens, ids()) << "what has ended is there";
    return true;
  };
  const Ticket asking = session.submit(request(), std::move(options));
  other.set_value(session.submit(request()));
  EXPECT_EQ(asking.wait().tokens, ids());
  EXPECT_EQ(others.get().wait().tokens, ids());
  EXPECT_EQ(said.size(), 3u);
  for (const std::string& message : said)
    EXPECT_THAT(message, HasSubstr("in one of the session's callbacks"));
  EXPECT_EQ(session.submit(request()).wait().tokens, ids()) << "it takes in requests, still";
}

TEST_F(MisuseTest, ASessionMayEndInItsOwnCallback) {
  auto session = std::make_unique<Session>(*engine_);
  std::promise<void> begin;
  std::shared_future<void> begun = begin.get_future().share();
  SubmitOptions options;
  options.on_token = [&](const TokenEvent&) {
    begun.wait();
    session.reset();
    return true;
  };
  const Ticket ticket = session->submit(request(), std::move(options));
  begin.set_value();
  EXPECT_EQ(ticket.wait().finish_reason, FinishReason::Cancelled);
  EXPECT_TRUE(poll_until([&] {
    try {
      return engine_->generate(request()).tokens == ids();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Misuse) << error.what();
      return false;  // it is about to end
    }
  }));
}

/// What `body` returns in a child of this process, which a hang would end, too.
int in_a_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST_F(MisuseTest, AChildOfForkHasNoEngine) {
  const auto refused = [](const std::function<void()>& action) {
    return misuse(action).find("a child that was forked") != std::string::npos;
  };
  EXPECT_EQ(in_a_child([&] {
              if (!refused([&] { engine_->generate(request()); })) return 1;
              if (!refused([&] { const Session session(*engine_); })) return 2;
              if (engine_->tokenize("Lily").empty()) return 3;
              engine_.reset();  // waits for no thread
              return 0;
            }),
            0);
  auto session = std::make_unique<Session>(*engine_);
  std::promise<void> begin;
  std::shared_future<void> begun = begin.get_future().share();
  SubmitOptions options;
  options.on_token = [&](const TokenEvent&) {
    begun.wait();
    return true;
  };
  Ticket ticket = session->submit(request(), std::move(options));
  EXPECT_EQ(in_a_child([&] {
              if (!refused([&] { session->submit(request()); })) return 1;
              if (!refused([&] { static_cast<void>(ticket.wait()); })) return 2;
              if (!refused([&] { static_cast<void>(ticket.ended()); })) return 3;
              if (!refused([&] { ticket.cancel(); })) return 4;
              if (!refused([&] { session->drain(); })) return 5;
              if (!refused([&] { static_cast<void>(session->load()); })) return 6;
              if (!refused([&] { session->ping([] {}); })) return 7;
              if (!refused([&] { session->save_text({1}, "/dev/null/no", {}); })) return 8;
              if (!refused([&] { session->load_text("/dev/null/no", {}); })) return 9;
              if (!refused([&] { engine_->generate(request()); })) return 10;
              session.reset();
              return 0;
            }),
            0);
  begin.set_value();
  EXPECT_EQ(ticket.wait().tokens, ids()) << "the parent goes on";
}

}  // namespace
}  // namespace augur
