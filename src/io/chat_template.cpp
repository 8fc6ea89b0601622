#include "io/chat_template.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "io/jinja/builtins.h"
#include "io/jinja/interpreter.h"
#include "io/jinja/parser.h"
#include "io/unicode.h"

namespace augur {
namespace {

constexpr std::array<std::string_view, 4> kRoles = {"system", "user", "assistant", "tool"};

// Templates copy what they are given a few times; beyond that, what they need has a fixed bound.
constexpr std::size_t kCopies = 32;

std::size_t text_size(const nlohmann::ordered_json& value, int depth) {
  if (value.is_string()) return value.get_ref<const std::string&>().size();
  std::size_t size = 0;
  if (value.is_structured() && depth > 0)
    for (const auto& item : value) size += text_size(item, depth - 1);
  return size;
}

/// `number`: for messages of errors, from 1.
nlohmann::ordered_json as_variables(const Message& message, std::size_t number) {
  using nlohmann::ordered_json;
  ordered_json variables = {{"role", message.role}, {"content", to_valid_utf8(message.content)}};
  if (!message.tool_calls.empty()) {
    if (message.content.empty()) variables["content"] = nullptr;
    ordered_json calls = ordered_json::array();
    for (const ToolCall& call : message.tool_calls) {
      auto arguments = ordered_json::parse(call.arguments, nullptr, false);
      if (!arguments.is_object())
        throw Error("chat message {}: arguments of the call of {}: expected a JSON object", number,
                    call.name);
      calls.push_back(
          {{"id", to_valid_utf8(call.id)},
           {"type", "function"},
           {"function", {{"name", to_valid_utf8(call.name)}, {"arguments", std::move(arguments)}}}});
    }
    variables["tool_calls"] = std::move(calls);
  }
  if (!message.tool_call_id.empty()) variables["tool_call_id"] = to_valid_utf8(message.tool_call_id);
  if (!message.name.empty()) variables["name"] = to_valid_utf8(message.name);
  return variables;
}

}  // namespace

struct ChatTemplate::Program {
  jinja::Body body;
};

ChatTemplate::ChatTemplate(std::string_view source) : program_(std::make_unique<Program>()) {
  if (valid_utf8_prefix(source) != source.size()) throw Error("chat template: not valid UTF-8");
  try {
    program_->body = jinja::parse(source);
  } catch (const Error& error) {
    throw Error("chat template: {}", error.what());
  }
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

std::string ChatTemplate::render(const std::vector<Message>& messages, bool add_generation_prompt,
                                 const nlohmann::ordered_json& extra) const {
  nlohmann::ordered_json variables = extra.is_null() ? nlohmann::ordered_json::object() : extra;
  if (!variables.is_object())
    throw Error("chat template: variables: expected an object, found {}", extra.type_name());
  auto& list = variables["messages"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    if (std::find(kRoles.begin(), kRoles.end(), message.role) == kRoles.end())
      throw Error("chat message {}: unsupported role \"{}\" (supported: system, user, assistant, tool)",
                  i + 1, message.role);
    list.push_back(as_variables(message, i + 1));
  }
  variables["add_generation_prompt"] = add_generation_prompt;
  return render(variables);
}

std::string ChatTemplate::render(const nlohmann::ordered_json& variables) const {
  if (!variables.is_object())
    throw Error("chat template: variables: expected an object, found {}", variables.type_name());
  jinja::Limits limits;
  limits.memory += kCopies * text_size(variables, limits.depth);
  jinja::Arena arena(limits);
  try {
    const jinja::Value converted = jinja::from_json(variables, arena);
    jinja::Dict& context = *std::get<jinja::Dict*>(converted);
    // Hugging Face's renderer always passes these two.
    for (const std::string_view name : {"tools", "documents"})
      if (context.find(name, arena) == nullptr) context.set(name, jinja::None{}, arena);
    return jinja::render(program_->body, context, arena);
  } catch (const jinja::RaisedByTemplate& raised) {
    throw Error("the chat template does not accept this conversation: {}", raised.what());
  } catch (const Error& error) {
    throw Error("chat template: {}", error.what());
  }
}

}  // namespace augur
