#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "files/big_integers.h"
#include "text/chat_template.h"

namespace augur {
namespace {

// Against Python's jinja2 (tests/golden/make_chat_template_golden.py).

using Json = nlohmann::ordered_json;

const std::string kOurs = std::string(AUGUR_SOURCE_DIR) + "/tests/golden/chat_templates/";

std::string read(const std::string& name, const std::string& folder = kOurs) {
  std::ifstream file(folder + name, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  if (!file) throw std::runtime_error("cannot read " + name);
  return out.str();
}

std::string render(const ChatTemplate& chat, const Json& variables) {
  return chat.render(variables, nullptr).text;
}

Message message_of(const Json& json) {
  Message message;
  message.role = json["role"];
  if (!json.contains("content"))
    message.absence = Message::Absence::Missing;
  else if (json["content"].is_null())
    message.absence = Message::Absence::Null;
  else
    message.content = json["content"];
  message.tool_call_id = json.value("tool_call_id", "");
  if (json.contains("tool_calls")) {
    for (const Json& call : json["tool_calls"]) {
      const Json& function = call["function"];
      message.tool_calls.push_back(
          {.id = call["id"], .name = function["name"], .arguments = write_exact_json(function["arguments"])});
    }
  }
  return message;
}

/// All of a file's renderings; returns how many there were.
std::size_t compare_all(const std::string& file, const std::string& folder = kOurs) {
  const Json golden = parse_exact_json(read(file, folder));
  for (const Json& one : golden["cases"]) {
    SCOPED_TRACE(one["template"].get<std::string>() + ", " + one["conversation"].get<std::string>());
    const ChatTemplate chat(read(one["template"], folder));
    Json variables = golden["conversations"][one["conversation"].get<std::string>()];
    variables["bos_token"] = "<s>";
    variables["eos_token"] = "</s>";
    variables["add_generation_prompt"] = one["prompt"];
    if (one.contains("expected")) {
      EXPECT_EQ(render(chat, variables), one["expected"].get<std::string>());
    } else {
      EXPECT_THROW(render(chat, variables), Error) << one["error"];
    }
  }
  return golden["cases"].size();
}

/// Conversations that Message can hold, as requests bring them.
int compare_messages(const std::string& file, const std::vector<std::string>& names) {
  const Json golden = parse_exact_json(read(file));
  int compared = 0;
  for (const Json& one : golden["cases"]) {
    const std::string name = one["conversation"];
    if (!one.contains("expected") || std::find(names.begin(), names.end(), name) == names.end()) continue;
    SCOPED_TRACE(one["template"].get<std::string>() + ", " + name);
    const Json& conversation = golden["conversations"][name];
    std::vector<Message> messages;
    for (const Json& message : conversation["messages"]) messages.push_back(message_of(message));
    Json client = Json::object();
    if (conversation.contains("tools")) client["tools"] = conversation["tools"];
    const ChatTemplate chat(read(one["template"]));
    const MarkedText found =
        chat.render(messages, one["prompt"], client, {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    EXPECT_EQ(found.text, one["expected"].get<std::string>());
    ++compared;
  }
  return compared;
}

TEST(ChatTemplateGolden, PublishedTemplates) {
  EXPECT_GT(compare_all("published.json"), 200u);
}

TEST(ChatTemplateGolden, TemplatesInTheMannerOfFamilies) {
  EXPECT_GT(compare_all("families.json"), 900u);
}

/// Templates that packages carry, and renderings.json: tests/clients names the folder.
TEST(ChatTemplateGolden, TemplatesOfPackages) {
  const char* const folder = std::getenv("AUGUR_TEMPLATES");
  if (folder == nullptr) GTEST_SKIP() << "AUGUR_TEMPLATES names none";
  EXPECT_GT(compare_all("renderings.json", std::string(folder) + "/"), 2000u);
}

TEST(ChatTemplateGolden, MessagesGoThroughTheSamePath) {
  EXPECT_GE(compare_messages("published.json", {"turns", "tools", "tool call"}), 30);
  EXPECT_GE(compare_messages("families.json", {"turns", "tools", "tool call", "large integers"}), 100);
}

TEST(ChatTemplateGolden, ContentBesideToolCallsIsWhatTransformersGives) {
  EXPECT_GE(compare_messages("families.json", {"tool turn, empty content", "tool turn, content none",
                                               "tool turn, no content", "tool turn, text"}),
            80);
}

// Where jinja2 has no rendering for content that is none, the turn reads as one with an empty text.
TEST(ChatTemplateGolden, ContentThatIsNoneIsNeverRefused) {
  const Json golden = parse_exact_json(read("families.json"));
  int refused = 0;
  for (const Json& one : golden["cases"]) {
    if (one["conversation"] != "tool turn, content none" || one.contains("expected")) continue;
    SCOPED_TRACE(one["template"].get<std::string>());
    std::vector<Message> messages;
    for (const Json& message : golden["conversations"]["tool turn, content none"]["messages"])
      messages.push_back(message_of(message));
    std::vector<Message> empty = messages;
    for (Message& message : empty) message.absence = Message::Absence::Empty;
    const ChatTemplate chat(read(one["template"]));
    const Json own = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    std::string expected;
    try {
      expected = chat.render(empty, one["prompt"], nullptr, own).text;
    } catch (const Error&) {
      continue;  // it takes no such conversation at all
    }
    EXPECT_EQ(chat.render(messages, one["prompt"], nullptr, own).text, expected);
    ++refused;
  }
  EXPECT_GE(refused, 4);
}

TEST(ChatTemplateGolden, Features) {
  const Json golden = parse_exact_json(read("features.json"));
  ASSERT_GT(golden["cases"].size(), 150u);
  for (const Json& one : golden["cases"]) {
    const std::string source = one["source"];
    SCOPED_TRACE("template: " + source);
    std::string found;
    std::string error;
    try {
      found = render(ChatTemplate(source), golden["variables"]);
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
