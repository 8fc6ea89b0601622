#pragma once
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "server/exchange.h"
#include "server/request_log.h"
#include "server/server_metrics.h"
#include "server/traces/request_trace.h"

namespace augur {

/// The only place where errors are written, in the form of the endpoint. Records the result of its request,
/// counts it if it was refused, and logs it on destruction: then everything that belongs to the request has
/// ended.
class ServedExchange final : public Exchange {
 public:
  /// The references must outlive it. `trace` ends with it; null: none. `model` is the model's name.
  ServedExchange(std::shared_ptr<HttpExchange> http, const ErrorForm& form,
                 std::shared_ptr<RequestRecord> record, RequestLog& log, ServerMetrics& metrics,
                 std::shared_ptr<RequestTrace> trace, std::string_view model);
  /// Answers a request without an answer with a 500.
  ~ServedExchange() override;

  void add_header(std::string name, std::string value) override;
  void respond(int status, std::string body, HttpHeaders headers = {}) override;
  void begin_stream(HttpHeaders headers = {}) override;
  void send_event(std::string data, std::string_view name = {}) override;
  void end_stream() override;
  void fail(const Problem& problem) override;
  void fail(const Problem& problem, std::string data, std::string_view name) override;
  void when_closed(std::function<void()> closed) override;
  bool client_gone() const override;
  const std::shared_ptr<RequestTrace>& trace() const { return trace_; }

 private:
  enum class State { Unanswered, Streaming, Ended };

  // All with the mutex held.
  void note(const Problem& problem);
  void write_head(HttpHeaders headers);
  void send_response(int status, std::string body, HttpHeaders headers);
  void break_off(int status, std::string data, std::string_view name);
  void end_with(int status);

  const std::shared_ptr<HttpExchange> http_;
  const ErrorForm& form_;
  const std::shared_ptr<RequestRecord> record_;
  RequestLog& log_;
  ServerMetrics& metrics_;
  const std::shared_ptr<RequestTrace> trace_;
  const std::string_view model_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();

  std::mutex mutex_;
  State state_ = State::Unanswered;
  HttpHeaders headers_;
};

}  // namespace augur
