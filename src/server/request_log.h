#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

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
  std::string key;             ///< the name of its API key; empty: none was needed, or it is unknown
  int status = 0;              ///< 499: the client went away before its answer was there
  double ms = 0;               ///< until the answer was given
  std::string ignored_fields;  ///< with commas between them
  std::string warnings;        ///< of the grammar's schemas, with semicolons between them
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
  /// A line of its own, at level "error".
  void write_trouble(std::string_view message);
  /// What concerns the keys, at level "warning": msg=audit and these fields.
  void write_audit(const nlohmann::ordered_json& fields);
  /// A request is refused (Refusal).
  void write_refusal(const RequestRecord& record, std::string_view reason, int status);

 private:
  void write_line(int level, const nlohmann::ordered_json& fields);

  std::unique_ptr<spdlog::logger> logger_;
  const bool json_;
  const bool requests_;
};

}  // namespace augur
