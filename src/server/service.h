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

/// Answers HTTP requests with an engine: checks permission and finds the endpoint (docs/serving.md). Before
/// open() everything except /health/live is answered 503; after drain() only requests that read state are
/// answered. Thread-safe.
class Service final : public HttpApplication {
 public:
  /// Error for invalid keys (KeyRing).
  explicit Service(ServiceOptions options);
  ~Service() override;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Begins to serve. `engine` must outlive it, and is used by its Session only.
  void open(Engine& engine, const SessionOptions& options);
  /// Reads the key file again, and logs the result; if it cannot be read, the keys do not change. Running
  /// requests continue. One thread at a time.
  void reload_keys();
  /// Continues to serve, but answers readiness checks that it is about to end.
  void leave();
  /// Refuses new requests, except those that read state, and returns when running ones have ended. Requests
  /// still running after `seconds` are cancelled; returns their number.
  std::size_t drain(double seconds = std::numeric_limits<double>::infinity());
  /// Waits until the metrics are read once more, at most `seconds`. Returns whether they were.
  bool wait_for_reader(double seconds) { return metrics_.wait_for_reader(seconds); }
  /// Opens the log's file again (RequestLog::reopen()).
  void reopen_log();
  const Admission& admission() const { return admission_; }
  /// The session that decodes all requests. Only after open().
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
  /// Passes the request to its endpoint, on this thread or a worker.
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
