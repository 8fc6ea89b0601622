#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "io/chat_template.h"

namespace augur {
namespace {

// Against Python's jinja2 (tests/golden/make_chat_template_golden.py).

using Json = nlohmann::ordered_json;

std::string read(const std::string& name) {
  std::ifstream file(std::string(AUGUR_SOURCE_DIR) + "/tests/golden/chat_templates/" + name,
                     std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  if (!file) throw std::runtime_error("cannot read " + name);
  return out.str();
}

Message message_of(const Json& json) {
  Message message;
  message.role = json["role"];
  if (json["content"].is_string()) message.content = json["content"];
  message.tool_call_id = json.value("tool_call_id", "");
  if (json.contains("tool_calls")) {
    for (const Json& call : json["tool_calls"]) {
      const Json& function = call["function"];
      message.tool_calls.push_back(
          {.id = call["id"], .name = function["name"], .arguments = function["arguments"].dump()});
    }
  }
  return message;
}

TEST(ChatTemplateGolden, PublishedTemplates) {
  const Json golden = Json::parse(read("published.json"));
  ASSERT_GT(golden["cases"].size(), 200u);
  for (const Json& one : golden["cases"]) {
    SCOPED_TRACE(one["template"].get<std::string>() + ", " + one["conversation"].get<std::string>());
    const ChatTemplate chat(read(one["template"]));
    Json variables = golden["conversations"][one["conversation"].get<std::string>()];
    variables["bos_token"] = "<s>";
    variables["eos_token"] = "</s>";
    variables["add_generation_prompt"] = one["prompt"];
    if (one.contains("expected")) {
      EXPECT_EQ(chat.render(variables), one["expected"].get<std::string>());
    } else {
      EXPECT_THROW(chat.render(variables), Error) << one["error"];
    }
  }
}

TEST(ChatTemplateGolden, MessagesGoThroughTheSamePath) {
  const Json golden = Json::parse(read("published.json"));
  int compared = 0;
  for (const Json& one : golden["cases"]) {
    const std::string name = one["conversation"];
    if (!one.contains("expected") || (name != "turns" && name != "tools" && name != "tool call")) continue;
    SCOPED_TRACE(one["template"].get<std::string>() + ", " + name);
    const Json& conversation = golden["conversations"][name];
    std::vector<Message> messages;
    for (const Json& message : conversation["messages"]) messages.push_back(message_of(message));
    Json extra = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    if (conversation.contains("tools")) extra["tools"] = conversation["tools"];
    const ChatTemplate chat(read(one["template"]));
    EXPECT_EQ(chat.render(messages, one["prompt"], extra), one["expected"].get<std::string>());
    ++compared;
  }
  EXPECT_GE(compared, 30);
}

TEST(ChatTemplateGolden, Features) {
  const Json golden = Json::parse(read("features.json"));
  ASSERT_GT(golden["cases"].size(), 150u);
  for (const Json& one : golden["cases"]) {
    const std::string source = one["source"];
    SCOPED_TRACE("template: " + source);
    std::string found;
    std::string error;
    try {
      found = ChatTemplate(source).render(golden["variables"]);
    } catch (const Error& e) {
      error = e.what();
    }
    if (one.contains("expected")) {
      EXPECT_EQ(error, "");
      EXPECT_EQ(found, one["expected"].get<std::string>());
    } else {
      EXPECT_NE(error, "") << "rendered: " << found << "\njinja2: " << one["error"];
    }
  }
}

}  // namespace
}  // namespace augur
