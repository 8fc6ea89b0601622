#include "server/traces/otlp_json.h"

#include <nlohmann/json.hpp>

#include "augur/engine.h"
#include "base/utf8.h"
#include "server/answers/json_answers.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

/// 64-bit integers are strings in protobuf's JSON.
ordered_json value_of(std::int64_t value) {
  return {{"intValue", std::to_string(value)}};
}
ordered_json value_of(double value) {
  return {{"doubleValue", value}};
}
ordered_json value_of(const std::string& value) {
  return {{"stringValue", to_valid_utf8(value)}};
}

ordered_json list_of(const SpanAttributes& attributes) {
  ordered_json list = ordered_json::array();
  for (const auto& [name, value] : attributes) {
    list.push_back(
        {{"key", name}, {"value", std::visit([](const auto& held) { return value_of(held); }, value)}});
  }
  return list;
}

ordered_json event_json(const SpanEvent& event) {
  return {{"timeUnixNano", std::to_string(event.at)},
          {"name", event.name},
          {"attributes", list_of(event.attributes)}};
}

ordered_json span_json(const Span& span) {
  constexpr int kError = 2;
  ordered_json json = {{"traceId", span.trace}, {"spanId", span.id}};
  if (!span.parent.empty()) json["parentSpanId"] = span.parent;
  if (!span.state.empty()) json["traceState"] = to_valid_utf8(span.state);
  json.update({{"name", to_valid_utf8(span.name)},
               {"kind", static_cast<int>(span.kind)},
               {"startTimeUnixNano", std::to_string(span.begin)},
               {"endTimeUnixNano", std::to_string(span.end)},
               {"attributes", list_of(span.attributes)}});
  if (!span.events.empty()) {
    ordered_json& events = json["events"] = ordered_json::array();
    for (const SpanEvent& event : span.events) events.push_back(event_json(event));
  }
  if (span.dropped_events > 0) json["droppedEventsCount"] = span.dropped_events;
  if (span.failed) json["status"] = {{"code", kError}, {"message", to_valid_utf8(span.error)}};
  return json;
}

}  // namespace

std::string otlp_json(std::span<const Span> spans, const SpanAttributes& resource) {
  ordered_json list = ordered_json::array();
  for (const Span& span : spans) list.push_back(span_json(span));
  ordered_json scope = {{"scope", {{"name", "augur"}, {"version", version()}}}, {"spans", std::move(list)}};
  ordered_json of_resource = {{"resource", {{"attributes", list_of(resource)}}},
                              {"scopeSpans", ordered_json::array({std::move(scope)})}};
  return text_of({{"resourceSpans", ordered_json::array({std::move(of_resource)})}});
}

}  // namespace augur
