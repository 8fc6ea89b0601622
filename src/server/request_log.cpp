#include "server/request_log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "server/answers/json_answers.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// Hands lines to a writer, which outlives all of them.
class WriterSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit WriterSink(LogWriter& writer) : writer_(writer) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    writer_.write({line.data(), line.size()});
  }
  void flush_() override {}

  LogWriter& writer_;
};

/// A reason may name what a client has sent: as much of it as an operator needs.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 300;
  if (text.size() <= kMost) return text;
  return text.substr(0, valid_utf8_prefix(std::string_view(text).substr(0, kMost))) + "...";
}

/// Whether the server is to blame for such an answer. What it does not have (501), and another version of
/// HTTP (505), is the client's mistake.
bool is_fault(const RequestRecord& record) {
  return record.status >= 500 && record.status != 501 && record.status != 505 && !record.expected;
}

ordered_json fields_of(const RequestRecord& r) {
  ordered_json fields = {{"msg", "request"}, {"id", r.id}};
  if (!r.traceparent.empty()) fields["traceparent"] = r.traceparent;
  fields.update({{"method", r.method}, {"path", r.path}, {"client", r.client}});
  if (!r.key.empty()) fields["key"] = r.key;
  fields["status"] = r.status;
  fields["ms"] = std::round(r.ms * 1e3) / 1e3;
  if (!r.error.empty()) fields["error"] = shortened(r.error);
  if (!r.ignored_fields.empty()) fields["ignored"] = r.ignored_fields;
  if (!r.warnings.empty()) fields["warnings"] = r.warnings;
  if (r.choices > 0) {
    fields["choices"] = r.choices;
    fields["prompt_tokens"] = r.prompt_tokens;
    fields["cached_tokens"] = r.cached_tokens;
    fields["completion_tokens"] = r.completion_tokens;
    fields["rounds"] = r.rounds;
    fields["first_token_ms"] = std::round(r.first_token_ms * 1e3) / 1e3;
    fields["finish"] = r.finish_reasons;
  }
  return fields;
}

/// Quoted, with JSON's escapes, where it could be read as something else.
std::string logfmt(const ordered_json& fields) {
  std::string line;
  for (const auto& [key, value] : fields.items()) {
    std::string text = text_of(value);
    const bool plain = value.is_string() && text.size() > 2 &&
                       text.find_first_of(" =\\") == std::string::npos &&
                       text.find('"', 1) == text.size() - 1;
    if (plain) text = value.get<std::string>();
    line += (line.empty() ? "" : " ") + key + "=" + text;
  }
  return line;
}

std::unique_ptr<spdlog::logger> make_logger(const LogOptions& options,
                                            std::shared_ptr<spdlog::sinks::sink> sink) {
  auto logger = std::make_unique<spdlog::logger>("requests", std::move(sink));
  logger->set_level(spdlog::level::from_str(options.level));
  logger->set_pattern(options.json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})"
                                   : "time=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");
  return logger;
}

}  // namespace

RequestLog::RequestLog(const LogOptions& options) : json_(options.json), requests_(options.requests) {
  writer_ = std::make_unique<LogWriter>(options.file,
                                        [this](const std::string& trouble) { write_trouble(trouble); });
  logger_ = make_logger(options, std::make_shared<WriterSink>(*writer_));
  // It would write to standard error itself, and wait there.
  logger_->set_error_handler([this](const std::string&) { writer_->drop(); });
}

RequestLog::RequestLog(const LogOptions& options, std::shared_ptr<spdlog::sinks::sink> sink)
    : json_(options.json), requests_(options.requests), logger_(make_logger(options, std::move(sink))) {}

RequestLog::~RequestLog() = default;

template <class Write>
void RequestLog::guarded(const Write& write) noexcept {
  try {
    write();
  } catch (...) {  // no memory for the line
    if (writer_) writer_->drop();
  }
}

void RequestLog::write(const RequestRecord& record) noexcept {
  if (!requests_) return;
  guarded([&] {
    const bool quiet = record.polled && (record.status < 400 || record.expected);
    const auto level = is_fault(record) ? spdlog::level::err
                       : quiet          ? spdlog::level::debug
                                        : spdlog::level::info;
    if (logger_->should_log(level)) write_line(level, fields_of(record));
  });
}

void RequestLog::write_trouble(std::string_view message) noexcept {
  guarded([&] { write_line(spdlog::level::err, {{"msg", message}}); });
}

void RequestLog::reopen() {
  if (writer_) writer_->reopen();
}

std::int64_t RequestLog::dropped() const {
  return writer_ ? writer_->dropped() : 0;
}

void RequestLog::write_audit(const ordered_json& fields) noexcept {
  guarded([&] {
    if (!logger_->should_log(spdlog::level::warn)) return;
    ordered_json line = {{"msg", "audit"}};
    line.update(fields);
    write_line(spdlog::level::warn, line);
  });
}

void RequestLog::write_refusal(const RequestRecord& record, std::string_view reason, int status) noexcept {
  guarded([&] {
    write_audit({{"event", "refused"},
                 {"reason", reason},
                 {"id", record.id},
                 {"method", record.method},
                 {"path", record.path},
                 {"client", record.client},
                 {"key", record.key},
                 {"status", status}});
  });
}

void RequestLog::write_line(int level, const ordered_json& fields) {
  const std::string whole = json_ ? text_of(fields) : std::string();
  logger_->log(static_cast<spdlog::level::level_enum>(level),
               json_ ? whole.substr(1, whole.size() - 2) : logfmt(fields));
}

}  // namespace augur
