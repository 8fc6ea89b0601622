#include "server/anthropic/anthropic_request.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "server/anthropic/anthropic_messages.h"
#include "server/fields/cache_fields.h"
#include "server/fields/json_fields.h"
#include "server/fields/sampling_fields.h"
#include "server/fields/speculative_field.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

Tool tool(const std::string& field, const ordered_json& value) {
  if (!value.is_object()) unexpected(field, "an object with name, description and input_schema");
  Tool to{.name = {}, .description = {}, .parameters = {}, .strict = {}, .field = field + ".input_schema"};
  for (const auto& [key, item] : value.items()) {
    const std::string at = field + "." + key;
    if (key == "name") {
      to.name = read_tool_name(at, item);
    } else if (key == "description") {
      to.description = read_string(at, item);
    } else if (key == "input_schema") {
      to.parameters = read_schema(at, item);
    } else if (key == "strict") {
      to.strict = read_boolean(at, item);
    } else if (key == "type" ? item != "custom" : key != "cache_control") {
      unsupported(at);
    }
  }
  if (to.name.empty()) throw BadRequest(field + ".name", "is missing");
  if (!to.parameters) throw BadRequest(field + ".input_schema", "is missing");
  return to;
}

void read_tool_choice(const ordered_json& value, OfferedTools& to) {
  const ordered_json type = value.is_object() ? value.value("type", ordered_json()) : ordered_json();
  if (type != "auto" && type != "none" && type != "any" && type != "tool") {
    unexpected("tool_choice", R"({"type": "auto", "none", "any" or "tool"})");
  }
  for (const auto& [key, item] : value.items()) {
    if (key == "disable_parallel_tool_use") {
      to.parallel = !read_boolean("tool_choice." + key, item);
    } else if (key != "type" && (key != "name" || type != "tool")) {
      unsupported("tool_choice." + key);
    }
  }
  if (type == "tool") {
    if (!value.contains("name")) throw BadRequest("tool_choice.name", "is missing");
    return require_tool("tool_choice.name", value["name"], to);
  }
  read_tool_choice_word("tool_choice", type == "any" ? ordered_json("required") : type, to);
}

/// What says nothing of the answer: who asks, and how Anthropic is to bill. True where it is such a field.
bool read_remark(const std::string& key, const ordered_json& value) {
  if (key == "thinking") {
    if (!value.is_object() || value.value("type", ordered_json()) != "disabled") unsupported(key);
    return true;
  }
  return key == "metadata" || key == "service_tier";
}

}  // namespace

AnthropicRequest parse_anthropic_request(AnthropicEndpoint endpoint, std::string_view text,
                                         const RequestRules& rules) {
  const ordered_json body = parse_ordered_body(text);
  const bool count = endpoint == AnthropicEndpoint::CountTokens;
  AnthropicRequest to;
  Request& request = to.request;
  request.sampling.temperature = 1;
  std::string system;
  bool seeded = false;
  bool limited = false;
  for (const auto& [key, value] : body.items()) {
    if (value.is_null()) continue;
    if (key == "model") {
      to.model = read_string(key, value);
    } else if (key == "messages") {
      request.messages = read_anthropic_messages(value);
    } else if (key == "system") {
      system = read_anthropic_text(key, value);
    } else if (key == "max_tokens" && !count) {
      request.max_tokens = read_integer(key, value, 0, std::int64_t{1} << 31);
      limited = true;
    } else if (key == "stop_sequences" && !count) {
      if (!value.is_array()) unexpected(key, "a list of strings");
      read_stops(key, value, rules.limits, request.stop);
    } else if (key == "stream" && !count) {
      to.stream = read_boolean(key, value);
    } else if (key == "tools") {
      if (!value.is_array()) unexpected(key, "a list");
      for (std::size_t i = 0; i < value.size(); ++i) {
        to.tools.tools.push_back(tool(fmt::format("tools[{}]", i), value[i]));
      }
    } else if (key == "tool_choice" || read_remark(key, value)) {
      continue;  // the choice is read when the tools are there
    } else if (key == "speculative" && !count) {
      request.speculation = read_speculative(value, rules.speculation);
    } else if (!count && read_cache_field(key, value, request)) {
      continue;
    } else if (!count && key != "stop" && read_sampling_field(key, value, rules.limits, request)) {
      seeded |= key == "seed";
    } else {
      unsupported(key);
    }
  }
  if (request.messages.empty()) throw BadRequest("messages", "is missing");
  if (!count && !limited) throw BadRequest("max_tokens", "is missing");
  if (!system.empty()) {
    request.messages.insert(request.messages.begin(), {.role = "system", .content = std::move(system)});
  }
  if (const auto choice = body.find("tool_choice"); choice != body.end() && !choice->is_null()) {
    read_tool_choice(*choice, to.tools);
  }
  if (!seeded) request.sampling.seed = any_seed();
  return to;
}

}  // namespace augur
