#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "server/http/exchange.h"
#include "server/server_metrics.h"

namespace spdlog {
class logger;
namespace sinks {
class sink;
}
}  // namespace spdlog

namespace augur {

struct LogOptions {
  bool json = false;           ///< otherwise logfmt: key=value
  std::string level = "info";  ///< "info", "error" or "off"
  bool requests = true;
};

/// What a request's line says: never a prompt, an answer or a key.
struct RequestRecord {
  std::string id;
  std::string traceparent;  ///< empty: the client sent none
  std::string method;
  std::string path;
  std::string client;
  int status = 0;              ///< 499: the client went away
  double ms = 0;               ///< until the answer was given
  std::string ignored_fields;  ///< with commas between them
  // Of requests that generate.
  int choices = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t rounds = 0;
  double first_token_ms = 0;
  std::string finish_reasons;  ///< by choice
};

/// One line for each request, on standard error. Thread-safe.
class RequestLog {
 public:
  explicit RequestLog(const LogOptions& options);
  RequestLog(const LogOptions& options, std::shared_ptr<spdlog::sinks::sink> sink);
  ~RequestLog();

  /// At level "error" where the server is to blame, otherwise "info".
  void write(const RequestRecord& record);

 private:
  std::unique_ptr<spdlog::logger> logger_;
  const bool json_;
  const bool requests_;
};

/// An exchange that notes what becomes of its request, counts a refusal, and logs the request when no one
/// holds it any more: then all that belongs to it has ended.
class LoggedExchange final : public Exchange {
 public:
  /// `log` and `metrics` outlive it.
  LoggedExchange(std::shared_ptr<Exchange> exchange, std::shared_ptr<RequestRecord> record, RequestLog& log,
                 ServerMetrics& metrics);
  ~LoggedExchange() override;

  void header(std::string name, std::string value) override;
  void answer(int status, std::string body, HttpHeaders headers) override;
  void event(std::string data, std::string_view name) override;
  void end() override;
  void when_closed(std::function<void()> closed) override;

 private:
  void note(int status);

  const std::shared_ptr<Exchange> exchange_;
  const std::shared_ptr<RequestRecord> record_;
  RequestLog& log_;
  ServerMetrics& metrics_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace augur
