#include "server/tools/described_tools.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "files/big_integers.h"
#include "server/answers/json_answers.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

std::string deepseek_description(const ordered_json& tools) {
  std::string text = "## Tools\nYou have access to the following tools:\n";
  for (const ordered_json& tool : tools) {
    const ordered_json& function = tool["function"];
    text += "\n### " + function["name"].get<std::string>() + "\n";
    if (const auto told = function.find("description"); told != function.end())
      text += "Description: " + told->get<std::string>() + "\n\n";
    const auto parameters = function.find("parameters");
    text += "Parameters: " + (parameters == function.end() ? "{}" : text_of(*parameters)) + "\n";
  }
  text += "\nTo use them, write exactly this, calls one behind another, and wait for the results:\n";
  for (const std::string_view part :
       {tool_tag(ToolFormat::DeepSeek), kDeepSeekCalls.begin, std::string_view("NAME"),
        kDeepSeekCalls.arguments, std::string_view("ARGUMENTS"), kDeepSeekCalls.end,
        tool_end(ToolFormat::DeepSeek)})
    text += part;
  return text + "\nNAME is one of theirs, ARGUMENTS are JSON that fits its Parameters.";
}

std::string description(const ordered_json& tools) {
  std::string text = "You may call these functions, one JSON object a line:\n<tools>\n";
  for (const ordered_json& tool : tools) text += text_of(tool["function"]) + '\n';
  return text +
         "</tools>\nTo call one, write its name and its arguments as JSON between these tags, and wait for "
         "the result:\n<tool_call>\n{\"name\": \"NAME\", \"arguments\": {}}\n</tool_call>";
}

void append(std::string& to, std::string_view text, std::string_view between) {
  if (!to.empty() && !text.empty()) to += between;
  to += text;
}

std::string call_text(const ToolCall& call) {
  const ordered_json written = {{"name", call.name}, {"arguments", parse_exact_json(call.arguments)}};
  return "<tool_call>\n" + text_of(written) + "\n</tool_call>";
}

/// The same without what only tools have.
Message plain(const Message& message) {
  Message to{.role = message.role, .content = message.content};
  for (const ToolCall& call : message.tool_calls) append(to.content, call_text(call), "\n");
  if (message.role == "tool") {
    to.role = "user";
    to.content = "<tool_response>\n" + message.content + "\n</tool_response>";
  }
  return to;
}

}  // namespace

ToolFormat described_format(std::string_view chat_template) {
  return writes_deepseek_calls(chat_template) ? ToolFormat::DeepSeek : ToolFormat::Hermes;
}

void describe_tools(const ordered_json& tools, ToolFormat format, std::vector<Message>& messages) {
  if (format == ToolFormat::DeepSeek) {
    if (messages.front().role != "system")
      messages.insert(messages.begin(), {.role = "system", .content = {}});
    return append(messages.front().content, deepseek_description(tools), "\n\n");
  }
  std::vector<Message> told;
  bool after_result = false;
  for (const Message& message : messages) {
    Message next = plain(message);
    const bool result = message.role == "tool";
    if ((result || after_result) && !told.empty() && told.back().role == next.role) {
      append(told.back().content, next.content, "\n");
    } else {
      told.push_back(std::move(next));
    }
    after_result = result;
  }
  if (told.front().role == "system") {
    append(told.front().content, description(tools), "\n\n");
  } else if (told.front().role == "assistant") {
    told.insert(told.begin(), {.role = "user", .content = description(tools)});
  } else {
    Message& first = told.front();
    first.content = description(tools) + (first.content.empty() ? "" : "\n\n") + first.content;
  }
  messages = std::move(told);
}

}  // namespace augur
