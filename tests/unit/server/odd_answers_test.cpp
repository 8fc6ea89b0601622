// Answers of tags, calls and text in any order: however they are cut, they are told the same.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <string_view>

#include "server/turns/answer_parser.h"

namespace augur {
namespace {

constexpr std::array<std::string_view, 59> kParts = {"<think>",
                                                     "</think>",
                                                     "<tool_call>",
                                                     "</tool_call>",
                                                     "<tool_call>\n{\"name\": \"add\", \"arguments\": ",
                                                     "{\"name\": \"add\", \"arguments\": {\"a\": 1}}",
                                                     "{\"name\": \"add\", \"parameters\": {}}",
                                                     "{\"name\": \"no\", \"arguments\": {}}",
                                                     "<function=add>",
                                                     "<function=",
                                                     "<parameter=a>",
                                                     "</parameter>",
                                                     "</function>",
                                                     "<|tool_call_start|>",
                                                     "<|tool_call_end|>",
                                                     "[add(a=1)]",
                                                     "add(a='x', b=[1, {\"c\": None}])",
                                                     "add(a=",
                                                     "[TOOL_CALLS]",
                                                     "<|python_tag|>",
                                                     "<|start|>",
                                                     "assistant",
                                                     "<|channel|>",
                                                     "analysis",
                                                     "final",
                                                     "commentary",
                                                     " to=functions.add ",
                                                     "<|constrain|>",
                                                     "json",
                                                     "<|message|>",
                                                     "<|end|>",
                                                     "<|call|>",
                                                     "<|return|>",
                                                     "{\"a\": ",
                                                     "{}",
                                                     "{",
                                                     "}",
                                                     "[",
                                                     "]",
                                                     "(",
                                                     ")",
                                                     ",",
                                                     ";",
                                                     ":",
                                                     "\"",
                                                     "'",
                                                     "\\",
                                                     "\\u00",
                                                     "<",
                                                     "|>",
                                                     " ",
                                                     "\n",
                                                     "\t",
                                                     "1",
                                                     "True",
                                                     "text",
                                                     "\xC3\xA9",
                                                     "\xFF",
                                                     std::string_view("\0", 1)};

/// Pieces that belong together as one: "kind number name: text".
class Told {
 public:
  void take(const std::vector<AnswerPiece>& pieces) {
    for (const AnswerPiece& piece : pieces) {
      const int kind = piece.thought ? -2 : piece.call;
      if (kind != last_) all_ += "\n#" + std::to_string(kind) + " " + piece.name + ": ";
      all_ += piece.text;
      last_ = kind;
    }
  }
  const std::string& all() const { return all_; }

 private:
  std::string all_;
  int last_ = -3;
};

std::vector<AnswerParser> all_parsers(bool parallel, bool begun) {
  const FunctionTypes functions = {{"add", ArgumentTypes(R"({"properties": {"a": {"type": "string"}}})")}};
  std::vector<AnswerParser> parsers;
  for (const ToolFormat format :
       {ToolFormat::Hermes, ToolFormat::Llama3, ToolFormat::Mistral, ToolFormat::Xml, ToolFormat::Python}) {
    const ToolParser tools(format, functions, parallel);
    parsers.emplace_back(tools);
    parsers.emplace_back(ThoughtReader({"<think>", "</think>"}, begun), tools, format == ToolFormat::Xml);
  }
  parsers.emplace_back(ChannelReader(functions, {.parallel = parallel, .begun = begun}), std::nullopt);
  parsers.emplace_back(ChannelReader({}, {.thoughts_are_content = begun}),
                       ToolParser(ToolFormat::Hermes, functions, parallel));
  return parsers;
}

TEST(OddAnswers, AreToldTheSameHoweverTheyAreCut) {
  std::mt19937 random(2026);
  int calls = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string text;
    for (std::size_t parts = 1 + random() % 14; parts > 0; --parts) text += kParts[random() % kParts.size()];
    for (const AnswerParser& parser : all_parsers(round % 3 != 0, round % 2 == 0)) {
      AnswerParser whole = parser;
      Told expected;
      expected.take(whole.read_text(text));
      expected.take(whole.read_end());
      for (const bool bytes : {true, false}) {
        AnswerParser cut = parser;
        Told told;
        for (std::size_t at = 0; at < text.size();) {
          const std::size_t size = bytes ? 1 : 1 + random() % 9;
          told.take(cut.read_text(std::string_view(text).substr(at, size)));
          at += size;
        }
        told.take(cut.read_end());
        ASSERT_EQ(told.all(), expected.all()) << text;
        ASSERT_EQ(cut.calls(), whole.calls()) << text;
      }
      calls += whole.calls();
    }
  }
  EXPECT_GT(calls, 100);
}

}  // namespace
}  // namespace augur
