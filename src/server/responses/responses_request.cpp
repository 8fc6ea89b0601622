#include "server/responses/responses_request.h"

#include <fmt/format.h>

#include <utility>

#include "server/fields/cache_fields.h"
#include "server/fields/grammar_field.h"
#include "server/fields/json_fields.h"
#include "server/fields/sampling_fields.h"
#include "server/fields/speculative_field.h"
#include "server/responses/responses_input.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

Tool tool(const std::string& field, const ordered_json& value) {
  if (!value.is_object() || value.value("type", ordered_json()) != "function") {
    unexpected(field, R"({"type": "function", "name", "description", "parameters"})");
  }
  Tool to{.field = field + ".parameters"};
  for (const auto& [key, item] : value.items()) {
    const std::string at = field + "." + key;
    if (key == "name") {
      to.name = read_tool_name(at, item);
    } else if (key == "type" || item.is_null()) {
      continue;
    } else if (key == "description") {
      to.description = read_string(at, item);
    } else if (key == "parameters") {
      to.parameters = read_schema(at, item);
    } else if (key == "strict") {
      to.strict = read_boolean(at, item);
    } else {
      unsupported(at);
    }
  }
  if (to.name.empty()) throw BadRequest(field + ".name", "is missing");
  return to;
}

void read_tool_choice(const ordered_json& value, OfferedTools& to) {
  const std::string field = "tool_choice";
  if (read_tool_choice_word(field, value, to)) return;
  if (!value.is_object() || value.size() != 2 || value.value("type", ordered_json()) != "function" ||
      !value.contains("name")) {
    unexpected(field, R"("none", "auto", "required" or {"type": "function", "name"})");
  }
  require_tool(field + ".name", value["name"], to);
}

void read_text(const ordered_json& value, std::string_view body, Request& request) {
  if (!value.is_object()) unexpected("text", "an object");
  for (const auto& [key, item] : value.items()) {
    if (item.is_null()) continue;
    if (key != "format") unsupported("text." + key);
    read_text_format(item, body, request);
  }
}

/// A field that may only have a value which asks for nothing. False: it is none of these.
bool read_idle_field(const std::string& key, const ordered_json& value) {
  if (key == "store" || key == "background") {
    if (read_boolean(key, value)) unexpected(key, "false: this server stores nothing");
  } else if (key == "truncation") {
    if (value != "disabled") unexpected(key, "\"disabled\"");
  } else if (key == "service_tier") {
    if (value != "auto" && value != "default") unexpected(key, "\"auto\" or \"default\"");
  } else if (key == "include") {
    // Of what could be included, answers have only this one, and never anything in it.
    if (!value.is_array()) unexpected(key, "a list");
    for (const ordered_json& item : value) {
      if (item != "reasoning.encrypted_content") unsupported("include");
    }
  } else if (key == "previous_response_id" || key == "conversation" || key == "prompt") {
    throw BadRequest(key, "this server stores nothing: send the whole conversation as \"input\"");
  } else {
    return key == "metadata" || key == "user" || key == "prompt_cache_key" || key == "safety_identifier";
  }
  return true;
}

}  // namespace

ResponsesRequest parse_responses_request(std::string_view text, const RequestRules& rules) {
  const ordered_json body = parse_ordered_body(text);
  ResponsesRequest to;
  Request& request = to.request;
  request.sampling.temperature = 1;
  std::string instructions;
  bool seeded = false;
  for (const auto& [key, value] : body.items()) {
    if (value.is_null()) continue;
    if (key == "model") {
      to.model = read_string(key, value);
    } else if (key == "input") {
      request.messages = read_responses_input(value);
    } else if (key == "instructions") {
      instructions = read_string(key, value);
    } else if (key == "max_output_tokens") {
      request.max_tokens = read_integer(key, value, 1, std::int64_t{1} << 31);
    } else if (key == "stream") {
      to.stream = read_boolean(key, value);
    } else if (key == "tools") {
      if (!value.is_array()) unexpected(key, "a list");
      for (std::size_t i = 0; i < value.size(); ++i) {
        to.tools.tools.push_back(tool(fmt::format("tools[{}]", i), value[i]));
      }
    } else if (key == "parallel_tool_calls") {
      to.tools.parallel = read_boolean(key, value);
    } else if (key == "text") {
      read_text(value, text, request);
    } else if (key == "speculative") {
      request.speculation = read_speculative(value, rules.speculation);
    } else if (read_cache_field(key, value, request)) {
      continue;
    } else if (read_sampling_field(key, value, rules.limits, request)) {
      seeded |= key == "seed";
    } else if (key != "tool_choice" &&
               !read_idle_field(key, value)) {  // the choice: when the tools are there
      unsupported(key);
    }
  }
  if (request.messages.empty()) throw BadRequest("input", "is missing");
  if (!instructions.empty()) {
    request.messages.insert(request.messages.begin(), {.role = "system", .content = instructions});
  }
  if (const auto choice = body.find("tool_choice"); choice != body.end() && !choice->is_null()) {
    read_tool_choice(*choice, to.tools);
  }
  if (!seeded) request.sampling.seed = any_seed();
  const auto repeat = [&](const char* key, ordered_json otherwise) {
    const auto found = body.find(key);
    to.echo[key] = found == body.end() || found->is_null() ? std::move(otherwise) : *found;
  };
  for (const char* key : {"instructions", "max_output_tokens", "user"}) repeat(key, nullptr);
  repeat("metadata", ordered_json::object());
  repeat("parallel_tool_calls", true);
  repeat("temperature", 1.0);
  repeat("top_p", 1.0);
  repeat("tool_choice", "auto");
  repeat("tools", ordered_json::array());
  repeat("text", ordered_json::object());
  if (!to.echo["text"].contains("format") || to.echo["text"]["format"].is_null()) {
    to.echo["text"]["format"] = {{"type", "text"}};
  }
  return to;
}

}  // namespace augur
