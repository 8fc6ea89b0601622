#include "lab/load/long_prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "support/error_of.h"
#include "support/small_server.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::error_of;

/// Counts words. A stream (its text is "stream") answers "ab"; behind the first `alone` of them it keeps back
/// the "b" until a prompt has been answered. Any other text is answered with "c".
class Reader {
 public:
  explicit Reader(int alone = 0) : alone_(alone) {}
  ~Reader() {
    for (std::thread& thread : held_) thread.join();
  }

  ServerAddress address() const { return {.host = "127.0.0.1", .port = std::to_string(server_.port())}; }
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  static void finish(HttpExchange& exchange, const std::string& prompt) {
    const auto words = std::count(prompt.begin(), prompt.end(), ' ');
    exchange.send_event(
        json{{"choices", json::array()}, {"usage", {{"completion_tokens", 2}, {"prompt_tokens", words}}}}
            .dump());
    exchange.send_event("[DONE]");
    exchange.end_stream();
  }
  static void say(HttpExchange& exchange, const std::string& text) {
    exchange.send_event(json{{"choices", {{{"text", text}}}}}.dump());
  }

  void answer(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
    const json body = json::parse(request.body);
    const std::string prompt = body["prompt"];
    if (body.contains("refuse")) return exchange->respond(418, "a teapot");
    const std::lock_guard lock(mutex_);
    asked_.push_back(prompt);
    if (prompt != "stream") {
      say(*exchange, "c");
      finish(*exchange, prompt);
      prompts_ += 1;
      read_.notify_all();
      return;
    }
    say(*exchange, "a");
    if (body.contains("short")) return finish(*exchange, prompt);
    streams_ += 1;
    held_.emplace_back([this, exchange, prompt, hold = streams_ > alone_] {
      std::unique_lock waiting(mutex_);
      read_.wait(waiting, [&] { return !hold || prompts_ > 0; });
      say(*exchange, "b");
      finish(*exchange, prompt);
    });
  }

  int alone_;
  mutable std::mutex mutex_;
  std::condition_variable read_;
  std::vector<std::string> asked_;
  int streams_ = 0;
  int prompts_ = 0;
  std::vector<std::thread> held_;
  testing_support::SmallServer server_{
      {.port = 0}, [this](const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
        answer(request, exchange);
      }};
};

std::vector<LoadRequest> streams(std::size_t count, const json& fields = json::object()) {
  TrainingPrompt prompt;
  prompt.text = "stream";
  return std::vector<LoadRequest>(count, load_request(prompt, 10, fields));
}

TEST(LongText, HasAboutAsManyTokensAsTheServerCounts) {
  const Reader server;
  for (const std::int64_t tokens : {1, 100, 4000}) {
    const std::string text = long_text(server.address(), "", tokens);
    const auto words = std::count(text.begin(), text.end(), ' ');
    EXPECT_NEAR(static_cast<double>(words), static_cast<double>(tokens), 21) << "a sentence";
  }
}

TEST(LongPrompt, ComesWhenAllStreamsHaveBegunAndItsGapsAreKnown) {
  Reader server(3);
  const LongPromptPass pass = run_long_prompt(server.address(), "", streams(3), "once more ", json::object());
  EXPECT_EQ(pass.alone_ms.size(), 3U);
  EXPECT_EQ(pass.with_ms.size(), 3U);
  EXPECT_EQ(pass.reading_ms.size(), 3U) << "each waited until the prompt was read";
  EXPECT_GT(pass.read_ms, 0);
  EXPECT_EQ(pass.prompt_tokens, 2 + 2);
  const std::vector<std::string> asked = server.asked();
  ASSERT_EQ(asked.size(), 3U + 3 + 1);
  EXPECT_THAT(asked.back(), AllOf(StartsWith("Conversation "), HasSubstr(". once more ")));
}

TEST(LongPrompt, StreamsThatEndBeforeAreTold) {
  Reader server;
  const LongPromptPass pass =
      run_long_prompt(server.address(), "", streams(2, {{"short", true}}), "x ", json::object());
  EXPECT_FALSE(pass.outlasted);
  EXPECT_TRUE(pass.reading_ms.empty());
}

TEST(LongPrompt, ARefusalIsAnErrorAndNobodyWaits) {
  Reader server(2);
  EXPECT_THAT(error_of([&] {
                run_long_prompt(server.address(), "", streams(2, {{"refuse", true}}), "x", json::object());
              }),
              HasSubstr("answered 418"));
  EXPECT_THAT(error_of([&] {
                run_long_prompt(server.address(), "", streams(1, {{"short", true}}), "x", {{"refuse", true}});
              }),
              HasSubstr("answered 418"));
}

TEST(TwoTurns, TheSecondGoesOnWithTheFirstsAnswer) {
  Reader server;
  run_two_turns(server.address(), "", "long ago ", json::object());
  run_two_turns(server.address(), "", "long ago ", json::object());
  const std::vector<std::string> asked = server.asked();
  ASSERT_EQ(asked.size(), 4U);
  EXPECT_EQ(asked[1], asked[0] + "c And then?");
  EXPECT_NE(asked[0], asked[2]) << "no server has kept its beginning";
}

}  // namespace
}  // namespace augur
