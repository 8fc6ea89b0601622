#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "server/log_writer.h"

namespace spdlog {
class logger;
namespace sinks {
class sink;
}
}  // namespace spdlog

namespace augur {

struct LogOptions {
  bool json = false;           ///< otherwise logfmt: key=value
  std::string level = "info";  ///< "debug": probes, too; "info", "error" or "off"
  bool requests = true;
  std::string file = {};  ///< LogTarget; empty: standard error
};

/// Content of a request's log line: never a prompt, an answer or a key.
struct RequestRecord {
  std::string id;
  std::string traceparent;  ///< empty: the client sent none
  std::string method;
  std::string path;
  std::string client;
  std::string key;             ///< the name of its API key; empty: none was needed, or it is unknown
  int status = 0;              ///< 499: the client disconnected before the answer
  std::string error;           ///< the error message for the client; empty: no error
  bool expected = false;       ///< Problem::expected()
  bool polled = false;         ///< Endpoint::is_polled()
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

/// Writes one line for each request, to a file or standard error, by a LogWriter. No request waits for it,
/// and it does not throw if there is no memory for a line. Thread-safe.
class RequestLog {
 public:
  /// Error if the file cannot be opened.
  explicit RequestLog(const LogOptions& options);
  /// Where the lines go themselves, at once.
  RequestLog(const LogOptions& options, std::shared_ptr<spdlog::sinks::sink> sink);
  ~RequestLog();

  /// At level "error" for failures of the server, "debug" for expected answers to probes, otherwise "info".
  void write(const RequestRecord& record) noexcept;
  /// A line of its own, at level "error".
  void write_trouble(std::string_view message) noexcept;
  /// An event about keys, at level "warning": msg=audit and these fields.
  void write_audit(const nlohmann::ordered_json& fields) noexcept;
  /// A request is refused (Refusal).
  void write_refusal(const RequestRecord& record, std::string_view reason, int status) noexcept;
  /// LogWriter::reopen(): another file has the name of the log's.
  void reopen();
  /// Lines that are lost so far.
  std::int64_t dropped() const;

 private:
  void write_line(int level, const nlohmann::ordered_json& fields);
  template <class Write>
  void guarded(const Write& write) noexcept;

  const bool json_;
  const bool requests_;
  std::unique_ptr<spdlog::logger> logger_;
  std::unique_ptr<LogWriter> writer_;  ///< destroyed first, because it reports to this object; null: no log
};

}  // namespace augur
