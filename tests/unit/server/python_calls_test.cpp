// Calls as LFM2 writes them: a list of Python's calls with literals.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "server/tools/python_literal.h"
#include "server/tools/tool_parser.h"
#include "taken_apart.h"

namespace augur {
namespace {

using testing_support::taken_apart;

ToolParser parser(bool parallel = true) {
  return {ToolFormat::Python, {{"add", ArgumentTypes()}, {"get_weather", ArgumentTypes()}}, parallel};
}

std::string block(const std::string& calls) {
  return "<|tool_call_start|>" + calls + "<|tool_call_end|>";
}

struct Answer {
  std::string text;
  std::string expected;
};

TEST(PythonCalls, AreReadWhereverTheyAreCut) {
  const Answer answers[] = {
      {block(R"([add(a=1, b="x")])"), R"(add:{"a": 1, "b": "x"})"},
      {block("[get_weather()]"), "get_weather:{}"},
      {"I look.\n" + block("[get_weather(city='Zürich')]") + "\nDone.",
       R"(I look.|get_weather:{"city": "Zürich"}|Done.)"},
      {block("[add(a=1), get_weather(city='B'), add()]"), R"(add:{"a": 1}|get_weather:{"city": "B"}|add:{})"},
      {block("[add(a=True, b=False, c=None, d=true, e=null)]"),
       R"(add:{"a": true, "b": false, "c": null, "d": true, "e": null})"},
      {block("[add(a=[1, 'b', [], (2, 3)], b={'c': {\"d\": None}, 'e': [{}]})]"),
       R"(add:{"a": [1, "b", [], [2, 3]], "b": {"c": {"d": null}, "e": [{}]}})"},
      {block("[add(a=-1.5e3, b=+2, c=.5, d=5., e=1_000, f=0x1F, g=123456789012345678901234567890)]"),
       R"(add:{"a": -1.5e3, "b": 2, "c": 0.5, "d": 5.0, "e": 1000, "f": 31, "g": 123456789012345678901234567890})"},
      {block(R"([add(a='it\'s "so"', b="tab\t\\ \u00e9\x41 \U0001F600 \ud83d\ude00")])"),
       R"(add:{"a": "it's \"so\"", "b": "tab\t\\ éA 😀 😀"})"},
      {block("[add(a='it's so, \"they\" say', b=')](,')]"),
       R"(add:{"a": "it's so, \"they\" say", "b": ")](,"})"},
      {block("[ add( a = 1 ,\n b = 'line\nline' , ) ]"), R"(add:{"a": 1, "b": "line\nline"})"},
      {"<|tool_call_start|>[add(a=1)]", R"(add:{"a": 1})"},
      {"<|tool_call_start|>[add(a=1)] Sum.", R"(add:{"a": 1}|Sum.)"},
      {"<|tool_call_start|>add(a=1)<|tool_call_end|> Sum.", R"(add:{"a": 1}|Sum.)"},
      {"<think>\nAdd.\n" + block("[add(a='')]") + "\n</think>", "<think>\nAdd.|add:{\"a\": \"\"}|</think>"},
      {block("[add(a=1)]") + "\n" + block("[add(a=2)]"), R"(add:{"a": 1}|add:{"a": 2})"},
      {block(R"([{"name": "add", "arguments": {"a": 1}}])"), R"(add:{"a": 1})"},
  };
  for (const Answer& answer : answers) {
    EXPECT_EQ(taken_apart(parser(), answer.text), answer.expected) << answer.text;
    const std::size_t at = answer.expected.find("add:");
    if (at == std::string::npos || answer.expected.find('|', at) != std::string::npos) continue;
    EXPECT_TRUE(nlohmann::json::accept(answer.expected.substr(at + 4))) << answer.expected;
  }
}

TEST(PythonCalls, OtherTextStaysAsItIs) {
  for (const char* text : {"[add(a=1)]",
                           "<|tool_call_start|>",
                           "<|tool_call_start|>[]<|tool_call_end|>",
                           "<|tool_call_start|>[unknown(a=1)]<|tool_call_end|>",
                           "<|tool_call_start|>[add(1)]<|tool_call_end|>",
                           "<|tool_call_start|>[add(a)]",
                           "<|tool_call_start|>[add(a=b)]",
                           "<|tool_call_start|>[add(a=1",
                           "<|tool_call_start|>[add(a=[1)]",
                           "<|tool_call_start|>[add(a=1 2)]",
                           "<|tool_call_start|>[add(a=--1)]",
                           "<|tool_call_start|>[add(a='x)]",
                           "<|tool_call_start|>[add(**{})]",
                           "<|tool_call_start|>[add(a={1: 2})]",
                           "<|tool_call_start|>[add(a=NaN)]",
                           "<|tool_call_start|>[add(a='\\u12')]",
                           "<|tool_call_start|>[add a]",
                           "<|tool_call_start|>[add(a=])]",
                           "<|tool_call_end|>",
                           "<|tool_call_start|>[3]"}) {
    EXPECT_EQ(taken_apart(parser(), text), text);
  }
}

TEST(PythonCalls, WhatIsThereOfACallThatBreaksOffIsKept) {
  EXPECT_EQ(taken_apart(parser(), "<|tool_call_start|>[add(a=1, b='x"), R"(add:{"a": 1)");
  EXPECT_EQ(taken_apart(parser(), "<|tool_call_start|>[add(a=1, a=2)]"), R"(add:{"a": 1|=2)])");
  EXPECT_EQ(taken_apart(parser(), "<|tool_call_start|>[add(a=1), oops!]<|tool_call_end|>"),
            R"(add:{"a": 1}|, oops!]<|tool_call_end|>)");
}

TEST(PythonCalls, OneCallWhereMoreAreNotWanted) {
  EXPECT_EQ(taken_apart(parser(false), block("[add(a=1), add(a=2)]") + " text"), R"(add:{"a": 1})");
}

TEST(PythonLiteral, DepthAndOddBytes) {
  EXPECT_EQ(json_of_python(std::string(60, '[') + std::string(60, ']')),
            std::string(60, '[') + std::string(60, ']'));
  EXPECT_EQ(json_of_python(std::string(100000, '[')), std::nullopt);
  EXPECT_EQ(json_of_python(std::string(100000, '[') + std::string(100000, ']')), std::nullopt);
  EXPECT_EQ(json_of_python("'\xff\\ud800\\0'"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\\u0000\"");
  for (const char* none : {"",        " ",
                           "'",       "''x",
                           "[1,,2]",  "{'a'}",
                           "{'a': }", "{:1}",
                           "(",       "1.2.3",
                           "0x",      "0xg",
                           "1e",      "0x1ffffffffffffffff",
                           "tRue",    "'\\U00110000'",
                           "'\\x1'",  "-",
                           "1-2",     "_"}) {
    EXPECT_EQ(json_of_python(none), std::nullopt) << none;
  }
  EXPECT_EQ(json_of_python("'\\q\\\n'"), "\"\\\\q\"");
}

}  // namespace
}  // namespace augur
