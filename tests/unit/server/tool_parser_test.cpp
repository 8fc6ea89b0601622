#include "server/tools/tool_parser.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "taken_apart.h"

namespace augur {
namespace {

std::string parsed(ToolFormat format, std::string_view text, bool parallel = true) {
  return testing_support::taken_apart(
      ToolParser(format, {{"add", ArgumentTypes()}, {"get_weather", ArgumentTypes()}}, parallel), text);
}

TEST(ToolParser, ReadsWhatModelsOfEachKindWrite) {
  EXPECT_EQ(parsed(ToolFormat::Hermes, R"(Let me see.
<tool_call>
{"name": "add", "arguments": {"a": 1, "b": [2, {"c": "}\"{"}]}}
</tool_call>
<tool_call>{"arguments": {}, "name": "get_weather"}</tool_call>
Done. )"),
            R"(Let me see.|add:{"a": 1, "b": [2, {"c": "}\"{"}]}|get_weather:{}|Done.)");
  EXPECT_EQ(parsed(ToolFormat::Llama3, R"({"name": "add", "parameters": {"a": 1}})"), R"(add:{"a": 1})");
  EXPECT_EQ(parsed(ToolFormat::Llama3,
                   R"(<|python_tag|>{"type": "function", "name": "add", "parameters": {}}; {"name": "add", )"
                   R"("parameters": {"b": 2}})"),
            R"(add:{}|add:{"b": 2})");
  EXPECT_EQ(parsed(ToolFormat::Mistral, R"([TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}}, {"name": )"
                                        R"("get_weather", "arguments": {"city": "Zürich"}, "id": "abc"}])"),
            R"(add:{"a": 1}|get_weather:{"city": "Zürich"})");
}

TEST(ToolParser, LeavesOtherTextAsItIs) {
  for (const char* text : {"plain text, 1 < 2 \n", "", "  \n", "<tool_call", "<tool_call> is a tag",
                           "<tool_call>{\"name\": \"unknown\", \"arguments\": {}}</tool_call>",
                           "<tool_call>{\"name\": 3, \"arguments\": {}}</tool_call> \n",
                           "<tool_call>{\"name\": \"add\", \"arguments\": \"text\"}</tool_call>",
                           "<tool_call>{\"name\": \"add\", ]}</tool_call>", "<tool_call>{\"name\": \"ad",
                           "x <tool_call>\n\n", "<tool_call></tool_call>", "{\"name\": \"add\"}"}) {
    EXPECT_EQ(parsed(ToolFormat::Hermes, text), text);
  }
  for (const char* text : {R"({"name": "Ann", "age": 3})", R"({"answer": 42})", "{not JSON", " {} ",
                           R"(I call {"name": "add", "parameters": {}})"}) {
    EXPECT_EQ(parsed(ToolFormat::Llama3, text), text);
  }
  EXPECT_EQ(parsed(ToolFormat::Mistral, "[TOOL_CALLS][1, 2]"), "[TOOL_CALLS][1, 2]");
}

TEST(ToolParser, KeepsWhatIsThereOfACallThatBreaksOff) {
  EXPECT_EQ(parsed(ToolFormat::Hermes, R"(<tool_call>{"name": "add", "arguments": {"a": 1)"),
            R"(add:{"a": 1)");
  EXPECT_EQ(parsed(ToolFormat::Hermes, R"(<tool_call>{"name": "add", "arguments": {}}</tool_ca)"), "add:{}");
}

TEST(ToolParser, OneCallWhereMoreAreNotWanted) {
  EXPECT_EQ(
      parsed(ToolFormat::Mistral,
             R"([TOOL_CALLS][{"name": "add", "arguments": {}}, {"name": "add", "arguments": {}}])", false),
      "add:{}");
}

TEST(ToolParser, FormatsAreKnownByTheirTemplates) {
  const auto format_of = [](const std::string& name) {
    std::ifstream file(std::string(AUGUR_SOURCE_DIR) + "/tests/golden/chat_templates/" + name + ".jinja");
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_FALSE(text.str().empty()) << name;
    return tool_format(text.str());
  };
  EXPECT_EQ(format_of("Qwen-Qwen2.5-7B-Instruct"), ToolFormat::Hermes);
  EXPECT_EQ(format_of("meta-llama-Llama-3.1-8B-Instruct"), ToolFormat::Llama3);
  EXPECT_EQ(format_of("meta-llama-Llama-3.3-70B-Instruct"), ToolFormat::Llama3);
  EXPECT_EQ(format_of("mistralai-Mistral-Nemo-Instruct-2407"), ToolFormat::Mistral);
  EXPECT_EQ(tool_format("{{ tools }}<tool_call>\n<function=example>\n<parameter=one>\n"), ToolFormat::Xml);
  // LFM2's templates do not say how calls are written, but how tools are.
  EXPECT_EQ(tool_format("{% if tools %}List of tools: <|tool_list_start|>[{{ tools | tojson }}]"),
            ToolFormat::Python);
  EXPECT_EQ(tool_format("{% if tools %}{% set s = \"List of tools: [\" %}"), ToolFormat::Python);
  EXPECT_EQ(format_of("HuggingFaceTB-SmolLM2-135M-Instruct"), std::nullopt);
  EXPECT_EQ(format_of("microsoft-Phi-3.5-mini-instruct"), std::nullopt);
}

}  // namespace
}  // namespace augur
