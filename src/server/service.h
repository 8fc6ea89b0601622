#pragma once
#include <atomic>
#include <memory>

#include "augur/session.h"
#include "server/endpoint.h"
#include "server/http/exchange.h"
#include "server/tenants.h"

namespace augur {

/// Answers HTTP requests with an engine: finds the endpoint, and lets in whom it may (docs/serving.md).
/// Before open() and after drain() everything is answered 503. handle() is thread-safe.
class Service {
 public:
  explicit Service(ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Begins to serve. `engine` outlives it, and nobody else uses it.
  void open(Engine& engine, const SessionOptions& options);
  /// Refuses what comes, returns when what has begun is done.
  void drain();

  void handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);

 private:
  bool authorized(const HttpRequest& request) const;
  bool allow_origin(const HttpRequest& request, Exchange& exchange) const;
  void answer(const HttpRequest& request, const std::shared_ptr<RequestRecord>& record,
              const std::shared_ptr<Exchange>& exchange);

  const ServiceOptions options_;
  const Tenants tenants_;
  RequestLog log_;
  ServerMetrics metrics_;
  Slots slots_;
  CacheUse cache_use_;
  Engine* engine_ = nullptr;
  std::unique_ptr<Session> session_;
  SessionOptions limits_;
  std::atomic<bool> serving_ = false;
  std::atomic<bool> draining_ = false;
};

}  // namespace augur
