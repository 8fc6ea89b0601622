#include "server/request_log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <nlohmann/json.hpp>

#include "server/answers/json_answers.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

constexpr int kClientGone = 499;  // as nginx has it

ordered_json fields_of(const RequestRecord& r) {
  ordered_json fields = {{"msg", "request"}, {"id", r.id}};
  if (!r.traceparent.empty()) fields["traceparent"] = r.traceparent;
  fields.update({{"method", r.method}, {"path", r.path}, {"client", r.client}, {"status", r.status}});
  fields["ms"] = std::round(r.ms * 1e3) / 1e3;
  if (!r.ignored_fields.empty()) fields["ignored"] = r.ignored_fields;
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

}  // namespace

RequestLog::RequestLog(const LogOptions& options)
    : RequestLog(options, std::make_shared<spdlog::sinks::stderr_sink_mt>()) {}

RequestLog::RequestLog(const LogOptions& options, std::shared_ptr<spdlog::sinks::sink> sink)
    : logger_(std::make_unique<spdlog::logger>("requests", std::move(sink))),
      json_(options.json),
      requests_(options.requests) {
  logger_->set_level(spdlog::level::from_str(options.level));
  logger_->set_pattern(json_ ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})"
                             : "time=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");
  logger_->flush_on(spdlog::level::info);
}

RequestLog::~RequestLog() = default;

void RequestLog::write(const RequestRecord& record) {
  if (!requests_) return;
  const auto level = record.status >= 500 ? spdlog::level::err : spdlog::level::info;
  if (!logger_->should_log(level)) return;
  const ordered_json fields = fields_of(record);
  const std::string whole = json_ ? text_of(fields) : std::string();
  logger_->log(level, json_ ? whole.substr(1, whole.size() - 2) : logfmt(fields));
}

LoggedExchange::LoggedExchange(std::shared_ptr<Exchange> exchange, std::shared_ptr<RequestRecord> record,
                               RequestLog& log, ServerMetrics& metrics)
    : exchange_(std::move(exchange)), record_(std::move(record)), log_(log), metrics_(metrics) {}

LoggedExchange::~LoggedExchange() {
  note(kClientGone);
  log_.write(*record_);
}

void LoggedExchange::header(std::string name, std::string value) {
  exchange_->header(std::move(name), std::move(value));
}

void LoggedExchange::answer(int status, std::string body, HttpHeaders headers) {
  note(status);
  exchange_->answer(status, std::move(body), std::move(headers));
}

void LoggedExchange::event(std::string data, std::string_view name) {
  exchange_->event(std::move(data), name);
}

void LoggedExchange::end() {
  note(200);
  exchange_->end();
}

void LoggedExchange::when_closed(std::function<void()> closed) {
  exchange_->when_closed(std::move(closed));
}

void LoggedExchange::note(int status) {
  if (record_->status != 0) return;
  record_->status = status;
  if (status >= 400 && status != kClientGone) metrics_.refused(status);
  record_->ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun_).count();
}

}  // namespace augur
