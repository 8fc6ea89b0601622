#include "text/chat_template.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/io_thread.h"
#include "base/utf8.h"
#include "files/big_integers.h"
#include "text/jinja/builtins.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"

namespace augur {
namespace {

constexpr std::array<std::string_view, 4> kRoles = {"system", "user", "assistant", "tool"};

/// What a template may call the assistant's thoughts, beside reasoning_content.
bool reads_thinking(std::string_view source) {
  constexpr std::array<std::string_view, 4> kReads = {".thinking", "[\"thinking\"]", "['thinking']",
                                                      "\"thinking\" in message"};
  return std::any_of(kReads.begin(), kReads.end(),
                     [&](std::string_view read) { return source.find(read) != std::string_view::npos; });
}

constexpr std::string_view kFinalChannel = "<|channel|>final<|message|>";

/// Of a template, how messages have to be put to it.
struct Reading {
  bool thinking = false;  ///< thoughts have this name, too
  bool channels = false;  ///< gpt-oss': beside calls it takes thoughts or content, not both
};

/// `number`: for messages of errors, from 1.
nlohmann::ordered_json as_variables(const Message& message, std::size_t number, const Reading& reading) {
  using nlohmann::ordered_json;
  ordered_json variables = {{"role", message.role}};
  const bool thoughts_alone = reading.channels && !message.reasoning.empty() && !message.tool_calls.empty();
  if (thoughts_alone)
    variables["content"] = "";
  else if (message.absence == Message::Absence::Null && message.content.empty())
    variables["content"] = nullptr;
  else if (message.absence != Message::Absence::Missing || !message.content.empty())
    variables["content"] = to_valid_utf8(message.content);
  if (!message.reasoning.empty()) {
    variables["reasoning_content"] = to_valid_utf8(message.reasoning);
    if (reading.thinking) variables["thinking"] = variables["reasoning_content"];
  }
  if (!message.tool_calls.empty()) {
    ordered_json calls = ordered_json::array();
    for (const ToolCall& call : message.tool_calls) {
      auto arguments = parse_exact_json(call.arguments);
      if (!arguments.is_object())
        throw Error(refused("messages"),
                    "chat message {}: arguments of the call of {}: expected a JSON object", number,
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

/// Words that were compared with a list are ours from then on: templates make tokens of roles ("<|user|>").
void own_word(jinja::Value& value, std::span<const std::string_view> words) {
  const std::string_view* text = jinja::bytes_of(value);
  if (text == nullptr) return;
  const auto found = std::find(words.begin(), words.end(), *text);
  if (found != words.end()) value = jinja::Text::own(*found);
}

void own_roles(const jinja::Value* messages) {
  const auto* list = messages != nullptr ? std::get_if<jinja::List*>(messages) : nullptr;
  if (list == nullptr) return;
  for (const jinja::Value& message : (*list)->items) {
    const auto* dict = std::get_if<jinja::Dict*>(&message);
    if (dict == nullptr) continue;
    for (auto& [key, value] : (*dict)->items)
      if (*jinja::bytes_of(key) == "role") own_word(value, kRoles);
  }
}

/// Content that is null becomes an empty text. False: there is none.
bool fill_content(nlohmann::ordered_json& messages) {
  bool filled = false;
  for (auto& message : messages) {
    const auto content = message.find("content");
    if (content == message.end() || !content->is_null()) continue;
    *content = "";
    filled = true;
  }
  return filled;
}

}  // namespace

struct ChatTemplate::Program {
  jinja::Body body;
  TemplateLimits limits;
  Reading reading;
};

ChatTemplate::ChatTemplate(std::string_view source, const TemplateLimits& limits)
    : program_(std::make_unique<Program>()) {
  program_->limits = limits;
  program_->reading = {.thinking = reads_thinking(source),
                       .channels = source.find(kFinalChannel) != std::string_view::npos};
  if (valid_utf8_prefix(source) != source.size()) throw Error("chat template: not valid UTF-8");
  try {
    program_->body = jinja::parse(source);
  } catch (const Error& error) {
    throw Error(error.cause(), "chat template: {}", error.what());
  }
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

std::string_view ChatTemplate::content_header() const {
  return program_->reading.channels ? kFinalChannel : std::string_view();
}

MarkedText ChatTemplate::render(const std::vector<Message>& messages, bool add_generation_prompt,
                                const nlohmann::ordered_json& client,
                                const nlohmann::ordered_json& own) const {
  nlohmann::ordered_json variables = client.is_null() ? nlohmann::ordered_json::object() : client;
  if (!variables.is_object())
    throw Error(refused("template_kwargs"), "chat template: variables: expected an object, found {}",
                client.type_name());
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    if (std::find(kRoles.begin(), kRoles.end(), message.role) == kRoles.end())
      throw Error(refused("messages"),
                  "chat message {}: unsupported role \"{}\" (supported: system, user, assistant, tool)",
                  i + 1, message.role);
    list.push_back(as_variables(message, i + 1, program_->reading));
  }
  variables["messages"] = std::move(list);
  variables["add_generation_prompt"] = add_generation_prompt;
  try {
    return render(variables, own);
  } catch (const Error&) {
    if (!fill_content(variables["messages"])) throw;
  }
  return render(variables, own);
}

MarkedText ChatTemplate::render(const nlohmann::ordered_json& client,
                                const nlohmann::ordered_json& own) const {
  IoThread::must_not_be_current();
  if (!client.is_object())
    throw Error(refused("template_kwargs"), "chat template: variables: expected an object, found {}",
                client.type_name());
  jinja::Arena arena(
      {.memory = static_cast<std::size_t>(program_->limits.bytes), .steps = program_->limits.steps});
  try {
    const jinja::Value converted = jinja::from_json(client, true, arena);
    jinja::Dict& context = *std::get<jinja::Dict*>(converted);
    own_roles(context.find(jinja::Text::own("messages"), arena));
    const auto set_default = [&](std::string_view name, const jinja::Value& value) {
      const jinja::Value key = jinja::Text::own(name);
      if (context.find(key, arena) == nullptr) context.set(key, value, arena);
    };
    for (const auto& [name, value] : own.items()) set_default(name, jinja::from_json(value, false, arena));
    // Hugging Face's renderer always passes these two.
    for (const std::string_view name : {"tools", "documents"}) set_default(name, jinja::None{});
    return jinja::render(program_->body, context, arena).marked();
  } catch (const jinja::RaisedByTemplate& raised) {
    throw Error(refused("messages"), "the chat template does not accept this conversation: {}",
                raised.what());
  } catch (const Error& error) {
    throw Error(error.cause(), "chat template: {}", error.what());
  }
}

}  // namespace augur
