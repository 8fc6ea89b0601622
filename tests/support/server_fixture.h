#pragma once
#include <gtest/gtest.h>
#include <httplib.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/http/http_server.h"
#include "server/service.h"
#include "support/stories_engine.h"

namespace augur::testing_support {

/// A server of the stories model, and clients of it.
class ServiceTest : public StoriesEngineTest {
 protected:
  ~ServiceTest() override { service_.drain(); }

  using json = nlohmann::json;

  httplib::Result post(const std::string& path, const std::string& body) {
    httplib::Client client("127.0.0.1", server_.port());
    return client.Post(path, body, "application/json");
  }
  json answer(const std::string& path, const json& body) {
    const httplib::Result result = post(path, body.dump());
    EXPECT_TRUE(result);
    EXPECT_EQ(result->status, 200) << result->body;
    return json::parse(result->body);
  }
  /// "STATUS message".
  std::string refusal(const std::string& path, const std::string& body) {
    const httplib::Result result = post(path, body);
    if (!result) return "no answer";
    const json error = json::parse(result->body)["error"];
    EXPECT_EQ(error["code"], result->status);
    return std::to_string(result->status) + " " + error["message"].get<std::string>();
  }
  static std::vector<std::string> events(const std::string& body) {
    std::vector<std::string> events;
    for (std::size_t at = 0; at < body.size();) {
      const std::size_t end = body.find("\n\n", at);
      EXPECT_EQ(body.substr(at, 6), "data: ");
      events.push_back(body.substr(at + 6, end - at - 6));
      at = end + 2;
    }
    return events;
  }
  static Result alone(std::int64_t tokens, SamplingOptions sampling = {}) {
    Request request;
    request.prompt = "Once upon a time";
    request.max_tokens = tokens;
    request.sampling = sampling;
    return engine_->generate(request);
  }
  void open() { service_.open(*engine_, {.parallel = 4}); }

  Service service_{{.model = "stories", .api_keys = {}, .speculation = {}}};
  HttpServer server_{{.port = 0}, service_};
};

}  // namespace augur::testing_support
