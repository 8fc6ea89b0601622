#include "lab/load/load_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/small_server.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(Percentile, IsAValueOfTheList) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(percentile({3, 1, 2}, 0.99), 3);
  EXPECT_EQ(percentile({3, 1, 2}, 0.0), 1);
}

TEST(ServerAddress, IsHostAndPort) {
  const ServerAddress address = ServerAddress::parse("http://127.0.0.1:8080/");
  EXPECT_EQ(address.host, "127.0.0.1");
  EXPECT_EQ(address.port, "8080");
  for (const char* bad :
       {"", "127.0.0.1:80", "http://", "http://host", "http://host:", "http://:80", "http://a:b"}) {
    EXPECT_THROW(ServerAddress::parse(bad), Error) << bad;
  }
}

/// Answers with the prompt, letter by letter.
class Echo {
 public:
  ServerAddress address() const { return {.host = "127.0.0.1", .port = std::to_string(server_.port())}; }

 private:
  static void answer(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
    const json body = json::parse(request.body);
    if (body.contains("refuse")) return exchange->respond(418, "a teapot");
    const bool chat = request.path == "/v1/chat/completions";
    const std::string text =
        chat ? body["messages"].back()["content"].get<std::string>() : body["prompt"].get<std::string>();
    for (const char letter : text) {
      const std::string piece(1, letter);
      const json choice = chat ? json{{"delta", {{"content", piece}}}} : json{{"text", piece}};
      exchange->send_event(json{{"choices", {choice}}}.dump());
    }
    exchange->send_event(
        json{{"choices", json::array()}, {"usage", {{"completion_tokens", text.size()}}}}.dump());
    exchange->send_event("[DONE]");
    exchange->end_stream();
  }

  testing_support::SmallServer server_{{.port = 0}, answer};
};

TEST(LoadTest, EveryRequestIsAnsweredOnce) {
  const Echo echo;
  std::vector<LoadRequest> requests;
  for (int i = 0; i < 20; ++i) {
    TrainingPrompt prompt;
    const std::string text = "text " + std::to_string(i);
    i % 2 == 0 ? void(prompt.text = text) : prompt.messages.push_back({.role = "user", .content = text});
    requests.push_back(load_request(prompt, 10, {{"seed", 1}}));
    EXPECT_EQ(requests.back().body["seed"], 1);
    EXPECT_EQ(requests.back().body["max_tokens"], 10);
  }
  for (const int clients : {1, 4, 50}) {
    const LoadPass pass = run_load(echo.address(), "", requests, clients);
    std::int64_t tokens = 0;
    for (int i = 0; i < 20; ++i) {
      const ServedRequest& served = pass.requests[static_cast<std::size_t>(i)];
      EXPECT_EQ(served.text, "text " + std::to_string(i));
      EXPECT_EQ(served.gaps_ms.size() + 1, served.text.size());
      EXPECT_LE(served.first_ms, served.total_ms);
      tokens += std::ssize(served.text);
    }
    EXPECT_EQ(pass.tokens(), tokens);
    EXPECT_GT(pass.tokens_per_second(), 0);
  }
}

TEST(LoadTest, ARefusalIsAnErrorThatSaysWhy) {
  const Echo echo;
  TrainingPrompt prompt;
  prompt.text = "x";
  const std::vector<LoadRequest> requests(3, load_request(prompt, 1, {{"refuse", true}}));
  try {
    run_load(echo.address(), "", requests, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/v1/completions answered 418: a teapot"));
  }
  EXPECT_THROW(run_load({.host = "127.0.0.1", .port = "1"}, "", requests, 1), Error);
}

}  // namespace
}  // namespace augur
