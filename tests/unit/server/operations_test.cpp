#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <regex>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "grammar/compiler.h"
#include "server/request_log.h"
#include "support/eventually.h"
#include "support/server_fixture.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class OperationsTest : public testing_support::ServiceTest {
 protected:
  std::string metrics() { return client_.Get("/metrics")->body; }
  httplib::Client client_{"127.0.0.1", server_.port()};
};

TEST_F(OperationsTest, MetricsCountWhatWasDone) {
  open();
  answer("/v1/completions", {{"prompt", "Once upon a time"},
                             {"max_tokens", 30},
                             {"temperature", 0},
                             {"speculative", {{"type", "draft"}, {"policy", "eagle2"}}}});
  answer("/completion", {{"prompt", "Once upon a time"}, {"n_predict", 10}, {"temperature", 0}});
  EXPECT_THAT(client_.Get("/metrics")->get_header_value("Content-Type"), HasSubstr("text/plain"));
  std::string text = metrics();
  // A step is counted when its answers have been given.
  for (int i = 0;
       i < 1000 && text.find("num_requests_running{model_name=\"stories\"} 0") == std::string::npos; ++i) {
    text = metrics();
  }
  const auto value = [&](const std::string& name) {
    std::smatch match;
    return std::regex_search(text, match, std::regex("\n" + name + " ([0-9.]+)")) ? std::stod(match[1])
                                                                                  : -1.0;
  };
  const std::string model = R"(\{model_name="stories"\})";
  EXPECT_EQ(value("vllm:generation_tokens_total" + model), 40) << text;
  EXPECT_EQ(value("vllm:time_to_first_token_seconds_count" + model), 2);
  EXPECT_EQ(value("vllm:inter_token_latency_seconds_count" + model), 38);
  EXPECT_EQ(value("vllm:e2e_request_latency_seconds_count" + model), 2);
  EXPECT_EQ(value("vllm:num_requests_running" + model), 0);
  EXPECT_GT(value("vllm:prefix_cache_queries_total" + model), 0);
  EXPECT_EQ(value(R"(vllm:request_success_total\{model_name="stories",finished_reason="length"\})"), 2);
  EXPECT_GT(value("vllm:spec_decode_num_accepted_tokens_total" + model), 0);
  EXPECT_GT(
      value(R"(vllm:spec_decode_num_accepted_tokens_per_pos_total\{model_name="stories",position="0"\})"), 0);
  EXPECT_EQ(value(R"(augur:mean_accepted_length_count\{model_name="stories",drafter="draft"\})"), 1);
}

/// While a request runs, and when nothing does.
TEST_F(OperationsTest, MetricsShowWhatIsBeingDone) {
  open();
  const auto value = [&](const std::string& text, const std::string& name) {
    std::smatch match;
    const std::regex line("\n" + name + R"(\{model_name="stories"\} ([0-9.e+-]+))");
    return std::regex_search(text, match, line) ? std::stod(match[1]) : -1.0;
  };
  httplib::Request request;
  request.method = "POST";
  request.path = "/v1/completions";
  request.body =
      R"({"prompt": "Once upon a time", "max_tokens": 400, "n": 8, "stream": true, "ignore_eos": true})";
  std::string running;
  request.content_receiver = [&](const char*, std::size_t, std::uint64_t, std::uint64_t) {
    if (running.empty()) running = metrics();
    return true;
  };
  ASSERT_TRUE(httplib::Client("127.0.0.1", server_.port()).send(request));
  EXPECT_GT(value(running, "vllm:generation_tokens_total"), 0) << "they count as they are made";
  EXPECT_LT(value(running, "vllm:generation_tokens_total"), 3200);
  EXPECT_GT(value(running, "vllm:prompt_tokens_total"), 0);
  EXPECT_GT(value(running, "vllm:request_queue_time_seconds_count"), 0);
  std::string idle;
  ASSERT_TRUE(
      testing_support::poll_until([&] { return value(idle = metrics(), "vllm:num_requests_running") == 0; }));
  EXPECT_EQ(value(idle, "vllm:generation_tokens_total"), 3200);
  EXPECT_EQ(value(idle, "vllm:kv_cache_usage_perc"), 0) << "kept texts give way";
  EXPECT_EQ(value(idle, "augur:kv_memory_running_bytes"), 0);
  EXPECT_GT(value(idle, "augur:prefix_cache_bytes"), 0);
}

/// A client that has all places gives one to another.
TEST_F(OperationsTest, PreemptionsAreCounted) {
  Service service({.model = "stories", .api_keys = {}, .speculation = {}, .trusted_proxies = {"127.0.0.1"}});
  service.open(*engine_, {.parallel = 2});
  HttpServer server({.port = 0}, service);
  const auto ask = [&](const char* from, int choices, int tokens, const std::function<void()>& during) {
    httplib::Request request;
    request.method = "POST";
    request.path = "/v1/completions";
    request.headers = {{"X-Forwarded-For", from}};
    request.body = json{
        {"prompt", "Once"},
        {"max_tokens", tokens},
        {"n", choices},
        {"ignore_eos", true},
        {"stream",
         true}}.dump();
    bool asked = false;
    request.content_receiver = [&](const char*, std::size_t, std::uint64_t, std::uint64_t) {
      if (!std::exchange(asked, true)) during();
      return true;
    };
    return httplib::Client("127.0.0.1", server.port()).send(request);
  };
  // More than once: a place may just have become free.
  ASSERT_TRUE(ask("203.0.113.1", 16, 400, [&] {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(ask("203.0.113.2", 1, 5, [] {}));
  }));
  const std::string metrics = httplib::Client("127.0.0.1", server.port()).Get("/metrics")->body;
  const std::size_t found = metrics.find("\nvllm:num_preemptions_total{model_name=\"stories\"} ");
  ASSERT_NE(found, std::string::npos);
  EXPECT_NE(metrics.at(metrics.find("} ", found) + 2), '0');
  service.drain();
}

TEST_F(OperationsTest, SlotsShowWhatRuns) {
  open();
  json slots = json::parse(client_.Get("/slots")->body);
  ASSERT_EQ(slots.size(), 4U);
  EXPECT_EQ(slots[0]["is_processing"], false);
  httplib::Request request;
  request.method = "POST";
  request.path = "/v1/completions";
  request.body = R"({"prompt": "Once upon a time", "max_tokens": 400, "stream": true, "ignore_eos": true})";
  bool asked = false;
  request.content_receiver = [&](const char*, std::size_t, std::uint64_t, std::uint64_t) {
    if (!std::exchange(asked, true)) slots = json::parse(client_.Get("/slots")->body);
    return true;
  };
  ASSERT_TRUE(httplib::Client("127.0.0.1", server_.port()).send(request));
  EXPECT_EQ(slots[0]["is_processing"], true);
  EXPECT_GT(slots[0]["next_token"][0]["n_decoded"], 0);
  EXPECT_GT(slots[0]["n_prompt_tokens"], 1);
  slots = json::parse(client_.Get("/slots")->body);
  EXPECT_EQ(slots[0]["is_processing"], false) << "it has ended";
}

TEST_F(OperationsTest, RequestsKeepTheirNames) {
  open();
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const httplib::Result named = client_.Get("/health", {{"X-Request-Id", "abc-1"}, {"traceparent", trace}});
  EXPECT_EQ(named->get_header_value("X-Request-Id"), "abc-1");
  EXPECT_EQ(named->get_header_value("Traceparent"), trace);
  EXPECT_EQ(named->get_header_value("Server"), "augur");
  EXPECT_THAT(named->get_header_value("Date"), HasSubstr("GMT"));
  const httplib::Result unnamed = client_.Get("/health");
  EXPECT_EQ(unnamed->get_header_value("X-Request-Id").size(), 32U);
  EXPECT_FALSE(unnamed->has_header("Traceparent"));
  EXPECT_EQ(client_.Get("/health", {{"X-Request-Id", std::string(200, 'x')}})
                ->get_header_value("X-Request-Id")
                .size(),
            32U);
  const httplib::Result streamed = client_.Post("/v1/completions", {{"X-Request-Id", "abc-2"}},
                                                R"({"prompt": "Once", "stream": true})", "application/json");
  EXPECT_EQ(streamed->get_header_value("X-Request-Id"), "abc-2");
}

TEST_F(OperationsTest, PagesOfKnownOriginsMayAsk) {
  Service service(
      {.model = "stories", .api_keys = {"key"}, .speculation = {}, .cors_origins = {"https://a.example"}});
  service.open(*engine_, {});
  HttpServer server({.port = 0}, service);
  httplib::Client client("127.0.0.1", server.port());
  const httplib::Headers known = {{"Origin", "https://a.example"}, {"Access-Control-Request-Method", "POST"}};
  const httplib::Result preflight = client.Options("/v1/completions", known);
  EXPECT_EQ(preflight->status, 200);
  EXPECT_EQ(preflight->get_header_value("Access-Control-Allow-Origin"), "https://a.example");
  EXPECT_THAT(preflight->get_header_value("Access-Control-Allow-Headers"), HasSubstr("Authorization"));
  httplib::Headers asking = known;
  asking.emplace("Access-Control-Request-Headers", "anthropic-version,x-stainless-os");
  const httplib::Result headers = client.Options("/v1/messages", asking);
  EXPECT_THAT(headers->get_header_value("Access-Control-Allow-Headers"),
              AllOf(HasSubstr("anthropic-version"), HasSubstr("x-stainless-os")));
  EXPECT_EQ(client.Get("/health", known)->get_header_value("Access-Control-Allow-Origin"),
            "https://a.example");
  const httplib::Result other = client.Options("/v1/completions", {{"Origin", "https://b.example"}});
  EXPECT_EQ(other->status, 403);
  EXPECT_FALSE(other->has_header("Access-Control-Allow-Origin"));
  service.drain();
}

TEST_F(OperationsTest, ListensAtAUnixSocket) {
  open();
  const testing_support::TemporaryFolder folder;
  const std::string path = (folder.path() / "augur.sock").string();
  {
    HttpServer server({.host = path}, service_);
    httplib::Client client(path);
    client.set_address_family(AF_UNIX);
    const httplib::Result health = client.Get("/health");
    ASSERT_TRUE(health);
    EXPECT_EQ(health->status, 200);
    EXPECT_THROW(HttpServer({.host = path}, service_), Error) << "somebody listens there";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

class RequestLogTest : public testing::Test {
 protected:
  std::string line(const LogOptions& options, const RequestRecord& record) {
    std::ostringstream out;
    RequestLog(options, std::make_shared<spdlog::sinks::ostream_sink_mt>(out)).write(record);
    return out.str();
  }
  RequestRecord record_{.id = "id-1",
                        .traceparent = {},
                        .method = "POST",
                        .path = "/v1/comp\n letions",
                        .client = "127.0.0.1",
                        .status = 200,
                        .ms = 12.5,
                        .choices = 1,
                        .prompt_tokens = 5,
                        .completion_tokens = 16,
                        .finish_reasons = "length"};
};

TEST_F(RequestLogTest, WritesLogfmtAndJson) {
  const std::string text = line({}, record_);
  EXPECT_THAT(text,
              AllOf(testing::StartsWith("time=20"), HasSubstr(" level=info msg=request id=id-1 method=POST "),
                    HasSubstr(R"(path="/v1/comp\n letions" )"), HasSubstr(" status=200 ms=12.5 "),
                    HasSubstr(" completion_tokens=16 "), Not(HasSubstr("traceparent"))));
  const json object = json::parse(line({.json = true}, record_));
  EXPECT_EQ(object["level"], "info");
  EXPECT_EQ(object["path"], record_.path);
  EXPECT_EQ(object["completion_tokens"], 16);
}

TEST_F(RequestLogTest, LevelsLeaveLinesOut) {
  EXPECT_EQ(line({.level = "error"}, record_), "");
  EXPECT_EQ(line({.requests = false}, record_), "");
  record_.status = 503;
  EXPECT_THAT(line({.level = "error"}, record_), HasSubstr("level=error"));
}

/// What the grammar's compiler finds, away from the thread that reads requests, names the field all the same.
TEST_F(OperationsTest, SchemasThatCannotBeAreNamedAndCounted) {
  open();
  const json schema = {{"type", "array"}, {"uniqueItems", true}};
  const auto param = [&](const std::string& path, json body) {
    body["max_tokens"] = 4;
    const httplib::Result result = post(path, body.dump());
    EXPECT_EQ(result->status, 400) << result->body;
    const json error = json::parse(result->body)["error"];
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("uniqueItems"));
    return error["param"].get<std::string>();
  };
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  EXPECT_EQ(param("/v1/completions",
                  {{"prompt", "Once"},
                   {"response_format", {{"type", "json_schema"}, {"json_schema", {{"schema", schema}}}}}}),
            "response_format.json_schema.schema");
  EXPECT_EQ(param("/v1/completions", {{"prompt", "Once"}, {"guided_json", schema}}), "guided_json");
  EXPECT_EQ(param("/completion", {{"prompt", "Once"}, {"json_schema", schema}}), "json_schema");
  EXPECT_EQ(client_.Get("/nowhere")->status, 404);
  const std::string text = metrics();
  EXPECT_THAT(text, HasSubstr(R"(augur:requests_refused_total{model_name="stories",status="400"} 3)"));
  EXPECT_THAT(text, HasSubstr(R"(augur:requests_refused_total{model_name="stories",status="404"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(vllm:cache_config_info{model_name="stories",block_size="64",)"));
}

}  // namespace
}  // namespace augur
