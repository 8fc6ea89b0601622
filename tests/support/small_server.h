#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/http_server.h"

namespace augur::testing_support {

/// An application of one function. Lets everything in; a problem is answered with its message.
class SmallApplication final : public HttpApplication {
 public:
  using Answer = std::function<void(const HttpRequest&, const std::shared_ptr<HttpExchange>&)>;
  explicit SmallApplication(Answer answer) : answer_(std::move(answer)) {}

  void admit(const HttpRequest&) override {}
  void answer_request(HttpRequest request, std::shared_ptr<HttpExchange> exchange) override {
    answer_(request, exchange);
  }
  void refuse(const HttpRequest&, const Problem& problem, std::shared_ptr<HttpExchange> exchange) override {
    exchange->respond(problem.status(), problem.what(), problem.headers());
  }

  void report(std::string_view trouble) override {
    const std::lock_guard lock(mutex_);
    troubles_.emplace_back(trouble);
  }
  std::vector<std::string> troubles() const {
    const std::lock_guard lock(mutex_);
    return troubles_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> troubles_;
  Answer answer_;
};

/// A server of it.
class SmallServer {
 public:
  SmallServer(const HttpOptions& options, SmallApplication::Answer answer)
      : application_(std::move(answer)), server_(options, application_) {}
  std::uint16_t port() const { return server_.port(); }
  HttpServer& http() { return server_; }
  std::vector<std::string> troubles() const { return application_.troubles(); }

 private:
  SmallApplication application_;
  HttpServer server_;
};

}  // namespace augur::testing_support
