#include "io/chat_template.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

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

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, bool add_generation_prompt,
                                 const nlohmann::json& extra) const {
  nlohmann::ordered_json variables =
      extra.is_null() ? nlohmann::ordered_json::object() : nlohmann::ordered_json(extra);
  if (!variables.is_object())
    throw Error("chat template: variables: expected an object, found {}", extra.type_name());
  auto& list = variables["messages"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    if (std::find(kRoles.begin(), kRoles.end(), message.role) == kRoles.end())
      throw Error("chat message {}: unsupported role \"{}\" (supported: system, user, assistant, tool)",
                  i + 1, message.role);
    list.push_back({{"role", message.role}, {"content", to_valid_utf8(message.content)}});
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
