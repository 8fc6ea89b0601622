#include "server/request_log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <nlohmann/json.hpp>

#include "server/answers/json_answers.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

ordered_json fields_of(const RequestRecord& r) {
  ordered_json fields = {{"msg", "request"}, {"id", r.id}};
  if (!r.traceparent.empty()) fields["traceparent"] = r.traceparent;
  fields.update({{"method", r.method}, {"path", r.path}, {"client", r.client}});
  if (!r.key.empty()) fields["key"] = r.key;
  fields["status"] = r.status;
  fields["ms"] = std::round(r.ms * 1e3) / 1e3;
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
  if (logger_->should_log(level)) write_line(level, fields_of(record));
}

void RequestLog::write_trouble(std::string_view message) {
  write_line(spdlog::level::err, {{"msg", message}});
}

void RequestLog::write_audit(const ordered_json& fields) {
  if (!logger_->should_log(spdlog::level::warn)) return;
  ordered_json line = {{"msg", "audit"}};
  line.update(fields);
  write_line(spdlog::level::warn, line);
}

void RequestLog::write_refusal(const RequestRecord& record, std::string_view reason, int status) {
  write_audit({{"event", "refused"},
               {"reason", reason},
               {"id", record.id},
               {"method", record.method},
               {"path", record.path},
               {"client", record.client},
               {"key", record.key},
               {"status", status}});
}

void RequestLog::write_line(int level, const ordered_json& fields) {
  const std::string whole = json_ ? text_of(fields) : std::string();
  logger_->log(static_cast<spdlog::level::level_enum>(level),
               json_ ? whole.substr(1, whole.size() - 2) : logfmt(fields));
}

}  // namespace augur
