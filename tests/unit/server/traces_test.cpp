#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "server/traces/collector.h"
#include "server/traces/span_exporter.h"
#include "server/traces/trace_context.h"
#include "support/error_of.h"
#include "support/logged_server.h"
#include "support/stories_engine.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::LoggedServer;
using testing_support::poll_until;

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kCaller = "00f067aa0ba902b7";

TEST(TraceContext, IsReadFromTheHeader) {
  const auto context = parse_traceparent("00-" + kTrace + "-" + kCaller + "-01");
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace, kTrace);
  EXPECT_EQ(context->span, kCaller);
  EXPECT_TRUE(context->sampled);
  EXPECT_FALSE(parse_traceparent("00-" + kTrace + "-" + kCaller + "-00")->sampled);
  EXPECT_TRUE(parse_traceparent("cc-" + kTrace + "-" + kCaller + "-03-more")->sampled) << "a later version";
}

TEST(TraceContext, WhatIsNoneIsNone) {
  const std::string zeros(32, '0');
  for (const std::string& header :
       {std::string(), "00-" + kTrace + "-" + kCaller, "00-" + kTrace + "-" + kCaller + "-01-more",
        "ff-" + kTrace + "-" + kCaller + "-01", "00-" + zeros + "-" + kCaller + "-01",
        "00-" + kTrace + "-" + zeros.substr(16) + "-01", "00-" + kTrace + "_" + kCaller + "-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + kCaller + "-01", "00-" + kTrace + "-" + kCaller + "-0x",
        "cc-" + kTrace + "-" + kCaller + "-01more", std::string(1000, '-')}) {
    EXPECT_FALSE(parse_traceparent(header)) << header;
  }
}

TEST(TraceContext, AShareIsThatOfAllTraces) {
  int traced = 0;
  for (int i = 0; i < 1000; ++i) traced += is_in_share(random_trace_id(), 0.5);
  EXPECT_GT(traced, 350);
  EXPECT_LT(traced, 650);
  EXPECT_FALSE(is_in_share(std::string(32, '0'), 0));
  EXPECT_TRUE(is_in_share(std::string(32, 'f'), 1));
}

TEST(CollectorAddress, IsReadFromAUrl) {
  const auto parts = [](const std::string& url) {
    const CollectorAddress to = CollectorAddress::parse(url);
    return to.host + " " + to.port + " " + to.path;
  };
  EXPECT_EQ(parts("http://localhost"), "localhost 4318 /v1/traces");
  EXPECT_EQ(parts("http://10.0.0.1:80/"), "10.0.0.1 80 /v1/traces");
  EXPECT_EQ(parts("http://[::1]:4318/otlp"), "::1 4318 /otlp/v1/traces");
  EXPECT_EQ(parts("http://c/v1/traces"), "c 4318 /v1/traces");
}

TEST(CollectorAddress, WhatIsNoneIsRefused) {
  for (const char* url :
       {"", "localhost:4318", "https://c", "http://", "http://:4318", "http://c:0x1",
        "http://c:", "http://c:99999", "http://user@c", "http://c/a b", "http://c/\r\nX: y"}) {
    EXPECT_THAT(testing_support::error_of([&] { CollectorAddress::parse(url); }),
                HasSubstr("--otlp-endpoint"))
        << url;
  }
}

/// Takes spans as a collector does.
class Collector {
 public:
  explicit Collector(int status = 200) {
    server_.Post("/v1/traces", [this, status](const httplib::Request& request, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      type_ = request.get_header_value("Content-Type");
      const json body = json::parse(request.body);
      for (const json& resource : body["resourceSpans"]) {
        for (const json& scope : resource["scopeSpans"]) {
          for (const json& span : scope["spans"]) spans_.push_back(span);
        }
      }
      response.status = status;
      response.set_content("{}", "application/json");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  ~Collector() {
    server_.stop();
    thread_.join();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<json> spans() {
    const std::lock_guard lock(mutex_);
    return spans_;
  }
  std::vector<json> await(std::size_t count) {
    EXPECT_TRUE(poll_until([&] { return spans().size() >= count; }));
    return spans();
  }
  std::string type() {
    const std::lock_guard lock(mutex_);
    return type_;
  }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::mutex mutex_;
  std::vector<json> spans_;
  std::string type_;
  std::thread thread_;
};

ServiceOptions traced(const std::string& url, double share = 1) {
  return {.model = "stories", .api_keys = {}, .speculation = {}, .traces = {.endpoint = url, .share = share}};
}

/// The attribute's value, as text.
std::string attribute(const json& of, const std::string& name) {
  for (const json& attribute : of["attributes"]) {
    if (attribute["key"] != name) continue;
    const json& value = attribute["value"].begin().value();
    return value.is_string() ? value.get<std::string>() : value.dump();
  }
  return "none";
}

const json& named(const std::vector<json>& spans, const std::string& name) {
  static const json kNone;
  for (const json& span : spans) {
    if (span["name"] == name) return span;
  }
  ADD_FAILURE() << "there is no span " << name;
  return kNone;
}

using TracesTest = testing_support::StoriesEngineTest;

TEST_F(TracesTest, ARequestsSpansContinueItsCallersTrace) {
  Collector collector;
  LoggedServer server(traced(collector.url()));
  server.open(*engine_);
  const httplib::Result answer = server.post("/v1/completions",
                                             {{"prompt", "Once upon a time"},
                                              {"max_tokens", 20},
                                              {"temperature", 0},
                                              {"ignore_eos", true},
                                              {"speculative", {{"type", "draft"}, {"policy", "eagle2"}}}},
                                             {{"traceparent", "00-" + kTrace + "-" + kCaller + "-01"},
                                              {"tracestate", "vendor=1"},
                                              {"X-Request-Id", "abc"}});
  ASSERT_EQ(answer->status, 200) << answer->body;
  const std::vector<json> spans = collector.await(4);
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(collector.type(), "application/json");
  const json& whole = named(spans, "POST /v1/completions");
  EXPECT_EQ(whole["parentSpanId"], kCaller);
  EXPECT_EQ(whole["kind"], 2) << "a server's";
  EXPECT_EQ(attribute(whole, "http.response.status_code"), "200");
  EXPECT_EQ(attribute(whole, "augur.request_id"), "abc");
  EXPECT_EQ(attribute(whole, "gen_ai.usage.output_tokens"), "20");
  EXPECT_FALSE(whole.contains("status"));
  const auto time = [](const json& span, const char* end) {
    return std::stoll(span[end].get<std::string>());
  };
  for (const json& span : spans) {
    EXPECT_EQ(span["traceId"], kTrace);
    EXPECT_EQ(span["traceState"], "vendor=1");
    EXPECT_EQ(span["spanId"].get<std::string>().size(), 16U);
    EXPECT_LE(time(span, "startTimeUnixNano"), time(span, "endTimeUnixNano"));
    EXPECT_GE(time(span, "startTimeUnixNano"), time(whole, "startTimeUnixNano"));
    EXPECT_LE(time(span, "endTimeUnixNano"), time(whole, "endTimeUnixNano"));
    EXPECT_EQ(span["parentSpanId"], span == whole ? json(kCaller) : whole["spanId"]);
    EXPECT_THAT(span.dump(), testing::Not(HasSubstr("Once"))) << "never a prompt";
  }
  EXPECT_LE(time(named(spans, "queue"), "endTimeUnixNano"),
            time(named(spans, "prompt"), "startTimeUnixNano"));
  EXPECT_LE(time(named(spans, "prompt"), "endTimeUnixNano"),
            time(named(spans, "answer"), "startTimeUnixNano"));
  const json& written = named(spans, "answer");
  EXPECT_EQ(std::to_string(written["events"].size()), attribute(written, "augur.rounds"));
  std::int64_t accepted = 0;
  for (const json& round : written["events"]) {
    EXPECT_EQ(round["name"], "round");
    accepted += std::stoll(attribute(round, "augur.accepted_tokens"));
    EXPECT_NE(attribute(round, "augur.verified_tokens"), "none");
  }
  EXPECT_GE(accepted, std::stoll(attribute(written, "augur.accepted_tokens")));
  EXPECT_GT(accepted, 0);
  EXPECT_TRUE(poll_until([&] {
    return server.get("/metrics")->body.find("augur:trace_spans_total{model_name=\"stories\"} 4\n") !=
           std::string::npos;
  }));
}

TEST_F(TracesTest, CallersAndTheShareDecideWhatIsTraced) {
  Collector collector;
  {
    LoggedServer server(traced(collector.url(), 0));
    server.open(*engine_);
    server.get("/v1/models");
    server.get("/v1/models", {{"traceparent", "00-" + kTrace + "-" + kCaller + "-00"}});
    server.get("/v1/models", {{"traceparent", "00-" + kTrace + "-" + kCaller + "-01"}});
  }
  {
    LoggedServer server(traced(collector.url(), 1));
    server.open(*engine_);
    server.get("/health", {{"traceparent", "00-" + kTrace + "-" + kCaller + "-01"}});
    server.get("/nowhere");
    server.post("/v1/completions", {{"prompt", 7}});
  }
  const std::vector<json> spans = collector.spans();  // servers send what waits before they end
  ASSERT_EQ(spans.size(), 2U) << json(spans).dump();
  EXPECT_EQ(spans[0]["traceId"], kTrace);
  EXPECT_FALSE(spans[1].contains("parentSpanId")) << "a trace of its own";
  EXPECT_EQ(attribute(spans[1], "http.response.status_code"), "400");
  EXPECT_FALSE(spans[1].contains("status")) << "the client's mistake";
}

TEST_F(TracesTest, ALongAnswersRoundsAreCounted) {
  Collector collector;
  LoggedServer server(traced(collector.url()));
  server.open(*engine_);
  server.post(
      "/v1/completions",
      {{"prompt", "Once"}, {"max_tokens", 200}, {"ignore_eos", true}, {"speculative", {{"type", "none"}}}});
  const std::vector<json> spans = collector.await(4);
  const json& answer = named(spans, "answer");
  EXPECT_EQ(answer["events"].size(), 128U);
  EXPECT_EQ(answer["droppedEventsCount"], 200 - 128);
}

/// Nobody waits for a collector that is not there, or refuses, or says nothing.
TEST_F(TracesTest, ACollectorThatTakesNothingCostsSpansOnly) {
  Collector refusing(400);
  httplib::Server silent;  // accepts, and never answers
  const int silent_port = silent.bind_to_any_port("127.0.0.1");
  for (const std::string& url : {std::string("http://127.0.0.1:1"), refusing.url(),
                                 "http://127.0.0.1:" + std::to_string(silent_port)}) {
    LoggedServer server(traced(url));
    server.open(*engine_);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(server.post("/v1/completions", {{"prompt", "Once"}, {"max_tokens", 3}})->status, 200);
    }
    if (url == refusing.url()) {
      EXPECT_TRUE(server.comes_to_log("msg=\"traces cannot be sent to " + url + ": it answers 400\""));
    }
    EXPECT_EQ(server.service().drain(), 0U);
  }
}

TEST(SpanExporter, DropsAndCountsWhatFindsTheQueueFull) {
  httplib::Server silent;
  const std::string url = "http://127.0.0.1:" + std::to_string(silent.bind_to_any_port("127.0.0.1"));
  SpanExporter exporter({.endpoint = url}, {}, [](const std::string&) {});
  const auto spans = [] {
    return std::vector<Span>(10, Span{.attributes = {{"text", std::string(100'000, 'x')}}});
  };
  constexpr int kTimes = 40;
  for (int i = 0; i < kTimes; ++i) exporter.take(spans());
  EXPECT_GE(exporter.dropped(), (kTimes - 2 * 16) * 10) << "one queue's worth may be on its way";
  EXPECT_EQ(exporter.sent(), 0);
}

}  // namespace
}  // namespace augur
