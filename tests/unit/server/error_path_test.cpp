#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "support/eventually.h"
#include "support/raw_client.h"
#include "support/server_fixture.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::RawClient;

class ErrorPathTest : public testing_support::ServiceTest {
 protected:
  std::string raw(const std::string& request) {
    RawClient client(server_.port());
    client.send(request);
    return client.read_all();
  }
  std::string metrics() { return httplib::Client("127.0.0.1", server_.port()).Get("/metrics")->body; }
  static json body_of(const std::string& answer) {
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }
  static int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
    return found;
  }
};

TEST_F(ErrorPathTest, WhatIsNoHttpIsLoggedCountedAndHasAName) {
  open();
  testing::internal::CaptureStderr();
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
  const std::string log = testing::internal::GetCapturedStderr();
  for (const char* status : {"400", "413", "431"}) {
    EXPECT_EQ(count(log, std::string(" status=") + status + " "), 1) << log;
    EXPECT_THAT(counted,
                HasSubstr(std::string("augur:requests_refused_total{model_name=\"stories\",status=\"") +
                          status + "\"} 1"));
  }
}

TEST_F(ErrorPathTest, EveryApiHasItsOwnForm) {
  open();
  const json ours = body_of(
      raw("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"));
  EXPECT_EQ(ours["error"]["code"], 413);
  const json theirs =
      body_of(raw("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"));
  EXPECT_EQ(theirs["type"], "error");
  EXPECT_EQ(theirs["error"]["type"], "request_too_large");
  const httplib::Result bad = post("/v1/messages", "{");
  EXPECT_EQ(bad->status, 400);
  EXPECT_EQ(json::parse(bad->body)["type"], "error");
  const httplib::Result method = httplib::Client("127.0.0.1", server_.port()).Get("/v1/messages");
  EXPECT_EQ(method->status, 405);
  EXPECT_EQ(method->get_header_value("Allow"), "POST");
  EXPECT_EQ(json::parse(method->body)["type"], "error");
}

TEST_F(ErrorPathTest, ACancelledRequestIsLoggedAsSuch) {
  open();
  testing::internal::CaptureStderr();
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
      while (json::parse(other.Get("/load")->body)["running"] == 0) std::this_thread::yield();
    }
  }
  service_.drain();  // all has ended, and is logged
  httplib::Client("127.0.0.1", server_.port()).Get("/health");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(count(log, "path=/v1/completions"), 2) << log;
  EXPECT_EQ(count(log, " status=499 "), 2) << log;
}

TEST_F(ErrorPathTest, AStreamThatFailsEndsWithTheErrorAndItsStatusIsLogged) {
  open();
  testing::internal::CaptureStderr();
  const httplib::Result result = post("/v1/completions",
                                      R"({"prompt": "Once upon a time", "max_tokens": 450, "ignore_eos": true,
                                          "stream": true, "timeout": 0.02})");
  ASSERT_TRUE(result);
  const json last = json::parse(result->status == 200 ? events(result->body).back() : result->body);
  EXPECT_EQ(last["error"]["code"], 504) << result->body;
  service_.drain();
  EXPECT_EQ(count(testing::internal::GetCapturedStderr(), " status=504 "), 1);
}

}  // namespace
}  // namespace augur
