#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "support/eventually.h"
#include "support/logged_server.h"
#include "support/raw_client.h"
#include "support/stories_engine.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::RawClient;

class ErrorPathTest : public testing_support::StoriesEngineTest {
 protected:
  std::string raw(const std::string& request) {
    RawClient client(server_.port());
    client.send(request);
    return client.read_all();
  }
  std::string metrics() { return server_.get("/metrics")->body; }
  static json body_of(const std::string& answer) {
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }

  testing_support::LoggedServer server_;
};

TEST_F(ErrorPathTest, WhatIsNoHttpIsLoggedCountedAndHasAName) {
  server_.open(*engine_);
  const std::string answer = raw("no HTTP at all\r\n\r\n");
  EXPECT_THAT(answer,
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("X-Request-Id: "), HasSubstr("Connection: close")));
  EXPECT_EQ(body_of(answer)["error"]["type"], "invalid_request_error");
  EXPECT_THAT(raw("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(
      raw("GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"),
      StartsWith("HTTP/1.1 431"));
  const std::string counted = metrics();
  for (const char* status : {"400", "413", "431"}) {
    EXPECT_TRUE(server_.comes_to_log(std::string(" status=") + status + " ")) << server_.log();
    EXPECT_THAT(counted,
                HasSubstr(std::string("augur:requests_refused_total{model_name=\"stories\",status=\"") +
                          status + "\"} 1"));
  }
}

TEST_F(ErrorPathTest, EveryApiHasItsOwnForm) {
  server_.open(*engine_);
  const json ours = body_of(
      raw("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"));
  EXPECT_EQ(ours["error"]["code"], 413);
  const json theirs =
      body_of(raw("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"));
  EXPECT_EQ(theirs["type"], "error");
  EXPECT_EQ(theirs["error"]["type"], "request_too_large");
  const httplib::Result bad =
      httplib::Client("127.0.0.1", server_.port()).Post("/v1/messages", "{", "application/json");
  EXPECT_EQ(bad->status, 400);
  EXPECT_EQ(json::parse(bad->body)["type"], "error");
  const httplib::Result method = server_.get("/v1/messages");
  EXPECT_EQ(method->status, 405);
  EXPECT_EQ(method->get_header_value("Allow"), "POST");
  EXPECT_EQ(json::parse(method->body)["type"], "error");
}

TEST_F(ErrorPathTest, ACancelledRequestIsLoggedAsSuch) {
  server_.open(*engine_);
  const std::string body =
      R"({"prompt": "Once upon a time", "max_tokens": 400, "ignore_eos": true, "n": 16, "stream": true})";
  for (const bool streamed : {true, false}) {
    RawClient client(server_.port());
    const std::string text = streamed ? body : std::regex_replace(body, std::regex("true}$"), "false}");
    client.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                std::to_string(text.size()) + "\r\n\r\n" + text);
    if (streamed) {
      client.read_until("data: ");
    } else {
      httplib::Client other("127.0.0.1", server_.port());
      ASSERT_TRUE(
          testing_support::poll_until([&] { return json::parse(other.Get("/load")->body)["running"] != 0; }));
    }
  }
  EXPECT_TRUE(server_.comes_to_log("path=/v1/completions", 2)) << server_.log();
  EXPECT_EQ(server_.logged(" status=499 "), 2) << server_.log();
}

TEST_F(ErrorPathTest, AStreamThatFailsEndsWithTheErrorAndItsStatusIsLogged) {
  server_.open(*engine_);
  // 7,200 tokens: no machine writes them in so little time, which is enough for the first.
  const httplib::Result result = server_.post("/v1/completions", {{"prompt", "Once upon a time"},
                                                                  {"n", 16},
                                                                  {"max_tokens", 450},
                                                                  {"ignore_eos", true},
                                                                  {"stream", true},
                                                                  {"timeout", 0.005}});
  ASSERT_TRUE(result);
  const std::size_t last_event = result->body.rfind("data: ");
  const json last = json::parse(result->status == 200 ? result->body.substr(last_event + 6) : result->body);
  EXPECT_EQ(last["error"]["code"], 504) << result->body;
  EXPECT_TRUE(server_.comes_to_log(" status=504 ")) << server_.log();
  EXPECT_EQ(server_.logged("error=\"the request has not ended within 0.005 seconds\""), 1) << server_.log();
}

}  // namespace
}  // namespace augur
