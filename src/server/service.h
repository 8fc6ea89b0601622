#pragma once
#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>

#include "augur/session.h"
#include "server/admission.h"
#include "server/endpoint.h"
#include "server/http/http_application.h"
#include "server/routes.h"
#include "server/served_exchange.h"
#include "server/tenants.h"
#include "server/workers.h"

namespace augur {

/// Answers HTTP requests with an engine: finds the endpoint, and lets in whom it may (docs/serving.md).
/// Before open() everything but /health/live is answered 503; after drain() what only looks is still
/// answered. Thread-safe.
class Service final : public HttpApplication {
 public:
  /// Error for keys that cannot be (KeyRing).
  explicit Service(ServiceOptions options);
  ~Service() override;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Begins to serve. `engine` outlives it, and is its session's (Session).
  void open(Engine& engine, const SessionOptions& options);
  /// Reads the file of keys again, and says in the log what has come of it: where it cannot be, the keys stay
  /// as they are. What has begun goes on. One thread at a time.
  void reload_keys();
  /// Tells those that ask whether it is ready that it is about to end, and still serves.
  void leave();
  /// Refuses what comes, but what only looks; returns when what has begun is done; what is not within
  /// `seconds` is cancelled. Returns how many requests that were.
  std::size_t drain(double seconds = std::numeric_limits<double>::infinity());
  /// Returns when the metrics have been read once more, at the latest after `seconds`. Whether they were.
  bool wait_for_reader(double seconds) { return metrics_.wait_for_reader(seconds); }
  /// Another file has the name of the log's (RequestLog::reopen()).
  void reopen_log();
  const Admission& admission() const { return admission_; }
  /// What all requests are decoded in. After open().
  Session& session() { return *session_; }

  void admit(const HttpRequest& head) override;
  void answer_request(HttpRequest request, std::shared_ptr<HttpExchange> http) override;
  void refuse(const HttpRequest& head, const Problem& problem, std::shared_ptr<HttpExchange> http) override;
  std::string counted_as(const std::string& client) const override { return tenants_.counted_as(client); }
  void report(std::string_view trouble) override;

 private:
  /// What answers a request, with the headers that all its answers have.
  std::shared_ptr<ServedExchange> exchange_of(const HttpRequest& head, std::shared_ptr<HttpExchange> http,
                                              const Route& route,
                                              const std::shared_ptr<RequestRecord>& record);
  /// Null: it is not traced.
  std::shared_ptr<RequestTrace> trace_of(const HttpRequest& head, const Route& route) const;
  /// Hands the request to its endpoint, here or on a worker.
  void run(const Endpoint& endpoint, HttpRequest request, const Served& served,
           const std::shared_ptr<ServedExchange>& exchange);

  const ServiceOptions options_;
  KeyRing keys_;
  const Admission admission_;
  const Tenants tenants_;
  RequestLog log_;
  ServerMetrics metrics_;
  std::unique_ptr<SpanExporter> exporter_;  ///< null: there are no traces
  Slots slots_;
  CacheUse cache_use_;
  Engine* engine_ = nullptr;
  std::unique_ptr<Session> session_;
  SessionOptions session_options_;
  std::atomic<Phase> phase_ = Phase::Loading;
  Workers workers_;  // first to end: its jobs use the others
};

}  // namespace augur
