// Answers as gpt-oss writes them: messages in channels.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "server/turns/answer_parser.h"
#include "taken_apart.h"

namespace augur {
namespace {

using testing_support::taken_apart;

AnswerParser channel_parser(const ChannelReader::Options& options = {}) {
  return {ChannelReader({{"add", ArgumentTypes()}, {"get_weather", ArgumentTypes()}}, options), std::nullopt};
}

struct ChannelAnswer {
  std::string text;
  std::string expected;
};

TEST(ChannelReader, ReadsMessagesWhereverTheyAreCut) {
  const std::string thought = "<|channel|>analysis<|message|>Hm, <b>.<|end|><|start|>assistant";
  const std::string call = "<|channel|>commentary to=functions.add <|constrain|>json<|message|>{\"a\": 1}";
  const ChannelAnswer answers[] = {
      {"<|channel|>final<|message|>Hello.", "Hello."},
      {"<|channel|>final<|message|>Hello.<|return|>", "Hello."},
      {thought + "<|channel|>final<|message|>Hello <|.", "(Hm, <b>.)|Hello <|."},
      {thought + call, "(Hm, <b>.)|add:{\"a\": 1}"},
      {thought + call + "<|call|>", "(Hm, <b>.)|add:{\"a\": 1}"},
      {call, "add:{\"a\": 1}"},
      {" to=functions.add<|channel|>commentary json<|message|>{\"a\": {\"b\": [1, \"}\"]}}",
       "add:{\"a\": {\"b\": [1, \"}\"]}}"},
      {" to=functions.get_weather<|channel|>analysis<|message|> {}\n<|call|>", "get_weather:{}"},
      {"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|><|call|>",
       "get_weather:{}"},
      {"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant" + call, "I look.|add:{\"a\": 1}"},
      {"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>final<|message|>There.",
       "I look.\nThere."},
      {thought + thought + "<|channel|>final<|message|>So.", "(Hm, <b>.\nHm, <b>.)|So."},
      {call + "<|end|><|start|>assistant" + call + "<|call|><|start|>assistant<|channel|>final<|message|>Ok",
       "add:{\"a\": 1}|add:{\"a\": 1}|Ok"},
      {"<|channel|>commentary to=add json<|message|>{\"a\": 2}", "add:{\"a\": 2}"},
      {"<|channel|>commentary to=assistant<|message|>Text", "Text"},
      {"<|channel|>final <|constrain|>json<|message|>{\"x\": 1}", "{\"x\": 1}"},
      {"<|channel|>analysis<|message|>It breaks off", "(It breaks off)"},
      {"<|channel|>analysis<|message|>No end<|start|>assistant<|channel|>final<|message|>A", "(No end)|A"},
  };
  for (const ChannelAnswer& answer : answers)
    EXPECT_EQ(taken_apart(channel_parser(), answer.text), answer.expected) << answer.text;
}

TEST(ChannelReader, OtherTextIsContent) {
  const std::string far(300, 'x');
  const ChannelAnswer answers[] = {
      {"Hello.", "Hello."},
      {"", ""},
      {" today", " today"},
      {"<|channel|>", ""},
      {"<|channel|>analysis", ""},
      {"<|channel|>secret<|message|>x", "x"},
      {"<|message|>x", "x"},
      {"<|channel|>final!<|message|>x", "<|channel|>final!<|message|>x"},
      {"<|channel|>final " + far + "<|message|>x", "<|channel|>final " + far + "<|message|>x"},
      {"<|channel|>commentary to=functions.rm <|constrain|>json<|message|>{}",
       "<|channel|>commentary to=functions.rm <|constrain|>json<|message|>{}"},
      {"<|channel|>commentary to=browser.search<|message|>{\"q\": 1}<|call|>",
       "<|channel|>commentary to=browser.search<|message|>{\"q\": 1}"},
      {"<|channel|>commentary to=functions.add json<|message|>a = 1",
       "<|channel|>commentary to=functions.add json<|message|>a = 1"},
      {"<|channel|>commentary to=functions.add json<|message|>[1]",
       "<|channel|>commentary to=functions.add json<|message|>[1]"},
      {"<|channel|>commentary to=functions.add json<|message|>{\"a\": ]}", "add:{\"a\": |]}"},
      {"<|channel|>commentary to=functions.add json<|message|>{} and more<|end|>", "add:{}"},
      {"<|channel|>commentary to=functions.add json<|message|>{\"a\": \"x", "add:{\"a\": \"x"},
      {"<|channel|>final<|message|>A<|end|>B", "A\nB"},
      {"<|channel|>final<|message|>A<|end|><|start|>user<|message|>B", "A\nuser<|message|>B"},
      {"<|end|><|end|>", ""},
      {"<|end|><|start|><|message|>x", "<|message|>x"},
      {"<|end|><|start|>assist<|message|>x", "assist<|message|>x"},
  };
  for (const ChannelAnswer& answer : answers)
    EXPECT_EQ(taken_apart(channel_parser(), answer.text), answer.expected) << answer.text;
}

TEST(ChannelReader, WhatTheRequestAsksFor) {
  const std::string two =
      "<|channel|>commentary to=functions.add json<|message|>{}<|end|><|start|>assistant"
      "<|channel|>commentary to=functions.add json<|message|>{}<|call|>";
  EXPECT_EQ(taken_apart(channel_parser({.parallel = false}), two), "add:{}");
  EXPECT_EQ(
      taken_apart(channel_parser({.thoughts_are_content = true}),
                  "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>A"),
      "Hm.\nA");
  EXPECT_EQ(taken_apart(channel_parser({.begun = true}), "and so on.<|return|>"), "and so on.");
  // A template without tools: they are described in the content's form.
  const AnswerParser described(ChannelReader({}, {}), ToolParser(ToolFormat::Hermes, {{"add", {}}}, true));
  EXPECT_EQ(
      taken_apart(
          described,
          "<|channel|>final<|message|>So: <tool_call>{\"name\": \"add\", \"arguments\": {}}</tool_call>"),
      "So:|add:{}");
}

}  // namespace
}  // namespace augur
