// Calls as Qwen writes them since Qwen3-Coder: texts without quotes, other values as JSON.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "server/tools/argument_types.h"
#include "server/tools/tool_parser.h"
#include "taken_apart.h"

namespace augur {
namespace {

using testing_support::taken_apart;

const char* const kWrite = R"({"type": "object", "properties": {
  "path": {"type": "string"}, "text": {"type": "string"}, "lines": {"type": "integer"},
  "append": {"type": "boolean"}, "tags": {"type": "array"}, "more": {"type": "object"},
  "owner": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "mode": {"$ref": "#/$defs/mode"},
  "level": {"enum": [1, 2, "all"]}, "free": {}},
  "$defs": {"mode": {"type": "string", "enum": ["1", "2"]}}})";

ToolParser parser(bool parallel = true) {
  return {ToolFormat::Xml,
          {{"write", ArgumentTypes(std::string(kWrite))}, {"now", ArgumentTypes(std::nullopt)}},
          parallel};
}

std::string call(std::string_view arguments, std::string_view name = "write") {
  return "<tool_call>\n<function=" + std::string(name) + ">\n" + std::string(arguments) +
         "</function>\n</tool_call>";
}
std::string argument(std::string_view name, std::string_view value) {
  return "<parameter=" + std::string(name) + ">\n" + std::string(value) + "\n</parameter>\n";
}

struct Answer {
  std::string text;
  std::string expected;
};

TEST(XmlCalls, AreReadWhereverTheyAreCut) {
  const Answer answers[] = {
      {call(argument("path", "a.txt")), R"(write:{"path": "a.txt"})"},
      {call("", "now"), "now:{}"},
      {"I look.\n\n" + call(argument("lines", "3") + argument("path", "b")) + "\n",
       R"(I look.|write:{"lines": 3, "path": "b"})"},
      {call(argument("text", "\"quoted\" \\ tab\t\nsecond line\n")),
       R"(write:{"text": "\"quoted\" \\ tab\t\nsecond line\n"})"},
      {call(argument("text", "")), R"(write:{"text": ""})"},
      {call(argument("text", "12")) + "\n" + call("", "now"), R"(write:{"text": "12"}|now:{})"},
      {call(argument("append", "True") + argument("owner", "None") + argument("lines", " 4 ")),
       R"(write:{"append": true, "owner": null, "lines": 4})"},
      {call(argument("tags", R"(["a", {"b": 1}])") + argument("more", "{\n  \"c\": [null]\n}")),
       "write:{\"tags\": [\"a\", {\"b\": 1}], \"more\": {\n  \"c\": [null]\n}}"},
      {call(argument("owner", "null and void") + argument("mode", "1") + argument("level", "all")),
       R"(write:{"owner": "null and void", "mode": "1", "level": "all"})"},
      {call(argument("level", "2") + argument("free", "[1, 2]") + argument("unknown", "plain words")),
       R"(write:{"level": 2, "free": [1, 2], "unknown": "plain words"})"},
      {call(argument("lines", "123456789012345678901234567890")),
       R"(write:{"lines": 123456789012345678901234567890})"},
      {call(argument("lines", "many")), R"(write:{"lines": "many"})"},
      // The tag that begins calls is forgotten, within thoughts and behind other text.
      {"<function=now>\n</function>\n</tool_call>", "now:{}"},
      {"<think>\nThe time?\n" + call("", "now") + "\n", "<think>\nThe time?|now:{}"},
      {"Two: <function=now></function><function=write>" + argument("path", "x") +
           "</function></tool_call> Done.",
       R"(Two:|now:{}|write:{"path": "x"}|Done.)"},
      {"<tool_call><function=write><parameter=path>x y</parameter></function></tool_call>",
       R"(write:{"path": "x y"})"},
      // What ends a value is part of it where nothing follows that would.
      {call(argument("text", "<parameter=a>\n1\n</parameter>\nand </function>")),
       R"(write:{"text": "<parameter=a>\n1\n</parameter>\nand </function>"})"},
      {call(argument("text", "</parameter>        \n  x")), R"(write:{"text": "</parameter>        \n  x"})"},
      // The function's end is forgotten; an argument comes twice.
      {"<tool_call>\n<function=write>\n" + argument("path", "p") + "</tool_call>", R"(write:{"path": "p"})"},
      {call(argument("path", "first") + argument("path", "second") + argument("lines", "1")),
       R"(write:{"path": "first", "lines": 1})"},
      {call(argument("text", "Zürich 😀")), R"(write:{"text": "Zürich 😀"})"},
  };
  for (const Answer& answer : answers) {
    EXPECT_EQ(taken_apart(parser(), answer.text), answer.expected) << answer.text;
    const std::size_t at = answer.expected.find("write:");
    if (at == std::string::npos || answer.expected.find('|', at) != std::string::npos) continue;
    EXPECT_TRUE(nlohmann::json::accept(answer.expected.substr(at + 6))) << answer.expected;
  }
}

TEST(XmlCalls, OtherTextStaysAsItIs) {
  for (const char* text :
       {"a < b, <functional> and <function>", "<tool_call>", "<tool_call>\n<function=", "<function=now",
        "<function=now>", "<tool_call>\n<function=unknown>\n</function>\n</tool_call>",
        "<function=write>\n<parameter=path", "<function=write>\n<parameter=>\nx\n</parameter>\n</function>",
        "<function=>\n</function>", "<function=now>\nwords\n</function>", "<tool_call>\n<function=no\nw>",
        "<tool_call>\n<fun", "<tool_call>{\"name\": \"unknown\", \"arguments\": {}}</tool_call>",
        "<tool_call>\n<tool_call>\n", "</tool_call></function></parameter>", "<function=now></functio",
        "<function=unknown>\n<parameter=path>\nx\n</parameter>\n</function>"}) {
    EXPECT_EQ(taken_apart(parser(), text), text);
  }
}

TEST(XmlCalls, WhatIsThereOfACallThatBreaksOffIsKept) {
  EXPECT_EQ(taken_apart(parser(), "<function=write>\n<parameter=text>\nabc"), R"(write:{"text": "abc)");
  EXPECT_EQ(taken_apart(parser(), "<function=write>\n<parameter=lines>\n1"), R"(write:{"lines": )");
  EXPECT_EQ(taken_apart(parser(), "<function=write>\n" + argument("lines", "1") + "oh, <well>"),
            R"(write:{"lines": )")
      << "an end without what has to follow it is the value's";
}

TEST(XmlCalls, OneCallWhereMoreAreNotWanted) {
  EXPECT_EQ(taken_apart(parser(false), call("", "now") + "\n" + call("", "now") + " text"), "now:{}");
}

TEST(XmlCalls, JsonIsUnderstoodToo) {
  EXPECT_EQ(taken_apart(parser(), R"(<tool_call>{"name": "now", "arguments": {"a": 1}}</tool_call>)"),
            R"(now:{"a": 1})");
}

TEST(XmlCalls, LongValuesTakeTheirTimeOnce) {
  const std::string space = "</parameter>" + std::string(300000, '\n');
  testing_support::TakenApart parts(parser());
  const std::string text = call(argument("text", space + "x" + space));
  for (const char& c : text) parts.read({&c, 1});
  const std::string out = parts.end();
  EXPECT_TRUE(nlohmann::json::accept(out.substr(out.find(':') + 1)));
}

TEST(ArgumentTypes, AnySchemaIsRead) {
  const auto kinds = [](const std::string& property) {
    return ArgumentTypes(R"({"properties": {"a": )" + property +
                         R"(}, "$defs": {"loop": {"$ref": "#/$defs/loop"},
        "tree": {"anyOf": [{"$ref": "#/$defs/tree"}, {"$ref": "#/$defs/tree"}, {"$ref": "#/$defs/tree"}]}}})")
        .kinds_of("a");
  };
  EXPECT_EQ(kinds(R"({"type": "string"})"), unsigned{kJsonText});
  EXPECT_EQ(kinds(R"({"type": ["string", "null"]})"), unsigned{kJsonText | kJsonNull});
  EXPECT_EQ(kinds(R"({"const": 3})"), unsigned{kJsonNumber});
  EXPECT_EQ(kinds(R"({"oneOf": [{"type": "array"}, {"enum": [true, {}]}]})"),
            unsigned{kJsonArray | kJsonBoolean | kJsonObject});
  EXPECT_EQ(kinds(R"({"allOf": [{"type": ["string", "number"]}, {"type": "string"}]})"), unsigned{kJsonText});
  for (const char* odd :
       {"true", "7", "[]", "{}", R"({"type": "odd"})", R"({"type": 3})", R"({"$ref": "#/$defs/loop"})",
        R"({"$ref": "#/$defs/tree"})", R"({"$ref": "#/nowhere"})", R"({"$ref": "http://elsewhere"})",
        R"({"$ref": 1})", R"({"$ref": "#x~"})", R"({"enum": []})", R"({"anyOf": []})",
        R"({"type": "string", "const": 1})"}) {
    EXPECT_EQ(kinds(odd), unsigned{kJsonAny}) << odd;
  }
  for (const char* odd : {"[]", "3", "null", R"({"properties": []})", R"({"$ref": "#"})", "{}"}) {
    EXPECT_EQ(ArgumentTypes(std::string(odd)).kinds_of("a"), unsigned{kJsonAny}) << odd;
  }
}

}  // namespace
}  // namespace augur
