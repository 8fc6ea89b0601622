// Calls as GLM 4.5, MiniMax M2, Kimi K2 and DeepSeek V3.1 and their successors write them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "server/tools/argument_types.h"
#include "server/tools/tool_parser.h"
#include "taken_apart.h"

namespace augur {
namespace {

using testing_support::taken_apart;

const char* const kSearch = R"({"type": "object", "properties": {
  "query": {"type": "string"}, "limit": {"type": "integer"}, "exact": {"type": "boolean"},
  "tags": {"type": "array"}, "more": {"type": "object"}, "owner": {"type": ["string", "null"]}}})";

AnswerParser parser(ToolFormat format, bool parallel = true) {
  return ToolParser(format,
                    {{"search", ArgumentTypes(std::string(kSearch))},
                     {"now", ArgumentTypes(std::nullopt)},
                     {"list-files.v2", ArgumentTypes(std::nullopt)}},
                    parallel);
}

struct Answer {
  std::string text;
  std::string expected;
};

template <std::size_t n>
void expect_all(ToolFormat format, const Answer (&answers)[n]) {
  static_assert(n >= 12);
  for (const Answer& answer : answers) {
    EXPECT_EQ(taken_apart(parser(format), answer.text), answer.expected) << answer.text;
    const std::size_t at = answer.expected.find("search:");
    if (at == std::string::npos || answer.expected.find('|', at) != std::string::npos) continue;
    EXPECT_TRUE(nlohmann::json::accept(answer.expected.substr(at + 7))) << answer.expected;
  }
}

void expect_content(ToolFormat format, std::initializer_list<const char*> texts) {
  for (const char* text : texts) EXPECT_EQ(taken_apart(parser(format), text), text);
}

std::string glm(std::string_view name, std::string_view arguments = "") {
  return "<tool_call>" + std::string(name) + "\n" + std::string(arguments) + "</tool_call>";
}
std::string glm_argument(std::string_view name, std::string_view value) {
  return "<arg_key>" + std::string(name) + "</arg_key>\n<arg_value>" + std::string(value) + "</arg_value>\n";
}

TEST(GlmCalls, AreReadWhereverTheyAreCut) {
  const Answer answers[] = {
      {glm("search", glm_argument("query", "a b")), R"(search:{"query": "a b"})"},
      {"\n" + glm("now"), "now:{}"},
      {"<tool_call>now</tool_call>", "now:{}"},
      {"I look.\n" + glm("search", glm_argument("limit", "3") + glm_argument("query", "b")) + "\n",
       R"(I look.|search:{"limit": 3, "query": "b"})"},
      {glm("search", glm_argument("query", "\"quoted\" \\ tab\t\nsecond line\n")),
       R"(search:{"query": "\"quoted\" \\ tab\t\nsecond line\n"})"},
      {glm("now") + "\n" + glm("search", glm_argument("query", "12")), R"(now:{}|search:{"query": "12"})"},
      {glm("now") + glm("now") + "Done.", "now:{}|now:{}|Done."},
      {glm("search",
           glm_argument("exact", "True") + glm_argument("owner", "null") + glm_argument("limit", " 4 ")),
       R"(search:{"exact": true, "owner": null, "limit": 4})"},
      {glm("search", glm_argument("tags", R"(["a", {"b": 1}])") + glm_argument("more", "{\n  \"c\": []\n}")),
       "search:{\"tags\": [\"a\", {\"b\": 1}], \"more\": {\n  \"c\": []\n}}"},
      // GLM 4.7 writes them in one line.
      {"<tool_call>search<arg_key>query</arg_key><arg_value>x</arg_value><arg_key>limit</arg_key><arg_value>2"
       "</arg_value></tool_call>",
       R"(search:{"query": "x", "limit": 2})"},
      {glm("list-files.v2", glm_argument("path", "/tmp")), R"(list-files.v2:{"path": "/tmp"})"},
      {glm("search", glm_argument("query", "</arg_value> and <arg_key>k</arg_key>")),
       R"(search:{"query": "</arg_value> and <arg_key>k</arg_key>"})"},
      {glm("search", glm_argument("query", "")), R"(search:{"query": ""})"},
      {glm("search", glm_argument("query", "first") + glm_argument("query", "second")),
       R"(search:{"query": "first"})"},
      {glm("search", glm_argument("query", "Zürich 😀")), R"(search:{"query": "Zürich 😀"})"},
      {R"(<tool_call>{"name": "search", "arguments": {"limit": 1}}</tool_call> So.)",
       R"(search:{"limit": 1}|So.)"},
  };
  expect_all(ToolFormat::Glm, answers);
}

TEST(GlmCalls, OtherTextStaysAsItIs) {
  expect_content(ToolFormat::Glm,
                 {"<tool_call>", "<tool_call>search", "<tool_call>search\n<arg_key>query",
                  "<tool_call>unknown\n</tool_call>", "<tool_call>The search is on.</tool_call>",
                  "<tool_call>now\nwords</tool_call>", "<tool_call>search\n<arg_key>a\nb</arg_key>",
                  "<tool_call>search\n<arg_key></arg_key><arg_value></arg_value></tool_call>",
                  "<tool_call>search\n<arg_key>query</arg_key>3</tool_call>",
                  "<tool_call>search<arg_key>query</arg_key>\n<arg_val", "<tool_call><tool_call>",
                  "</tool_call>", "<tool_call>now</tool_cal", "<tool_call>search<arg_key>a<b</arg_key>",
                  "<arg_key>a</arg_key>", "<tool_call></tool_call>", "1 < 2 <tool_"});
  EXPECT_EQ(
      taken_apart(parser(ToolFormat::Glm), "<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>ab"),
      R"(search:{"query": "ab)");
  EXPECT_EQ(taken_apart(parser(ToolFormat::Glm, false), glm("now") + "\n" + glm("now") + " text"), "now:{}");
}

std::string minimax(std::string_view calls) {
  return "<minimax:tool_call>\n" + std::string(calls) + "</minimax:tool_call>";
}
std::string invoke(std::string_view name, std::string_view arguments = "") {
  return "<invoke name=\"" + std::string(name) + "\">\n" + std::string(arguments) + "</invoke>\n";
}
std::string minimax_argument(std::string_view name, std::string_view value) {
  return "<parameter name=\"" + std::string(name) + "\">" + std::string(value) + "</parameter>\n";
}

TEST(MiniMaxCalls, AreReadWhereverTheyAreCut) {
  const Answer answers[] = {
      {minimax(invoke("search", minimax_argument("query", "a b"))), R"(search:{"query": "a b"})"},
      {minimax(invoke("now")), "now:{}"},
      {"I look.\n" + minimax(invoke("search", minimax_argument("limit", "3"))) + "\nDone.",
       R"(I look.|search:{"limit": 3}|Done.)"},
      {minimax(invoke("now") + invoke("search", minimax_argument("query", "x")) + invoke("now")),
       R"(now:{}|search:{"query": "x"}|now:{})"},
      {minimax(invoke("now")) + "\n" + minimax(invoke("now")), "now:{}|now:{}"},
      {minimax(invoke("search", minimax_argument("query", "\nline\n\ttab \"q\"\n"))),
       R"(search:{"query": "\nline\n\ttab \"q\"\n"})"},
      {minimax(invoke("search", minimax_argument("exact", "false") + minimax_argument("owner", "None"))),
       R"(search:{"exact": false, "owner": null})"},
      {minimax(invoke("search", minimax_argument("tags", "[1, \"</b>\"]") + minimax_argument("more", "{}"))),
       R"(search:{"tags": [1, "</b>"], "more": {}})"},
      {minimax(invoke("search", minimax_argument("query", "</parameter> and <parameter name=\"limit\">"))),
       R"(search:{"query": "</parameter> and <parameter name=\"limit\">"})"},
      {"<minimax:tool_call><invoke name=\"search\"><parameter name=\"query\">x</parameter></invoke>"
       "</minimax:tool_call>",
       R"(search:{"query": "x"})"},
      {"<minimax:tool_call>\n<invoke name=\"search\">\n<parameter name=\"limit\">2</parameter>\n"
       "</minimax:tool_call>",
       R"(search:{"limit": 2})"},
      {minimax(invoke("list-files.v2", minimax_argument("a b", "Zürich"))),
       R"(list-files.v2:{"a b": "Zürich"})"},
      {minimax(invoke("search", minimax_argument("query", ""))), R"(search:{"query": ""})"},
      {minimax(invoke("search", minimax_argument("limit", "many"))), R"(search:{"limit": "many"})"},
  };
  expect_all(ToolFormat::MiniMax, answers);
}

TEST(MiniMaxCalls, OtherTextStaysAsItIs) {
  expect_content(
      ToolFormat::MiniMax,
      {"<minimax:tool_call>", "<minimax:tool_call>\n<invoke", "<minimax:tool_call>\n<invoke name=\"now",
       "<minimax:tool_call>\n<invoke name=\"unknown\">\n</invoke>\n</minimax:tool_call>",
       "<minimax:tool_call>\n<invoke name=\"\">\n</invoke>", "<minimax:tool_call>\n<invoke name=now>",
       "<minimax:tool_call>\n<invoke name=\"no\"w\">", "<minimax:tool_call>now</minimax:tool_call>",
       "<minimax:tool_call>\n<invoke name=\"now\">\nwords", "<minimax:tool_call></minimax:tool_call>",
       "<invoke name=\"now\">\n</invoke>", "<minimax:tool_call>\n<invoke name=\"now\">\n</invok",
       "<minimax:tool_call>\n<invoke name=\"search\">\n<parameter name=\"query>x</parameter>",
       "</minimax:tool_call>"});
  EXPECT_EQ(taken_apart(parser(ToolFormat::MiniMax, false), minimax(invoke("now") + invoke("now"))),
            "now:{}");
}

std::string kimi(std::string_view calls) {
  return "<|tool_calls_section_begin|>" + std::string(calls) + "<|tool_calls_section_end|>";
}
std::string kimi_call(std::string_view name, std::string_view arguments) {
  return "<|tool_call_begin|>" + std::string(name) + "<|tool_call_argument_begin|>" + std::string(arguments) +
         "<|tool_call_end|>";
}

TEST(KimiCalls, AreReadWhereverTheyAreCut) {
  const Answer answers[] = {
      {kimi(kimi_call("functions.search:0", R"({"query": "a"})")), R"(search:{"query": "a"})"},
      {kimi(kimi_call("functions.now:0", "{}")), "now:{}"},
      {kimi(kimi_call("functions.now:0", "{}") + kimi_call("functions.search:1", R"({"limit":2})")),
       R"(now:{}|search:{"limit":2})"},
      {"I look. " + kimi(kimi_call("functions.search:12", R"({"query": "x"})")) + " Done.",
       R"(I look.|search:{"query": "x"}|Done.)"},
      {kimi(kimi_call("search:0", R"({"query": "a"})")), R"(search:{"query": "a"})"},
      {kimi(kimi_call("functions.search", R"({"query": "a"})")), R"(search:{"query": "a"})"},
      {kimi(kimi_call("search", R"({"query": "a"})")), R"(search:{"query": "a"})"},
      {kimi("\n" + kimi_call("functions.search:0", "\n{\"query\": \"<|tool_call_end|>\"}\n") + "\n"),
       R"(search:{"query": "<|tool_call_end|>"})"},
      {kimi(kimi_call("functions.search:0", R"({"more": {"a": [1, "}"]}, "tags": []})")),
       R"(search:{"more": {"a": [1, "}"]}, "tags": []})"},
      {kimi(kimi_call("functions.now:0", "{}")) + "\n" + kimi(kimi_call("functions.now:1", "{}")),
       "now:{}|now:{}"},
      {kimi(kimi_call("functions.list-files.v2:3", R"({"path": "Zürich"})")),
       R"(list-files.v2:{"path": "Zürich"})"},
      {kimi(kimi_call("functions.search:0", R"({"query": "a\"b\\"})")), R"(search:{"query": "a\"b\\"})"},
      {"<|tool_calls_section_begin|>" + kimi_call("functions.now:0", "{}"), "now:{}"},
      {"<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}",
       "now:{}"},
  };
  expect_all(ToolFormat::Kimi, answers);
}

TEST(KimiCalls, OtherTextStaysAsItIs) {
  expect_content(
      ToolFormat::Kimi,
      {"<|tool_calls_section_begin|>", "<|tool_calls_section_begin|><|tool_call_begin|>",
       "<|tool_calls_section_begin|><|tool_calls_section_end|>",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>[]",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_call_end|>",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.unknown:0<|tool_call_argument_begin|>{}"
       "<|tool_call_end|><|tool_calls_section_end|>",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.:0<|tool_call_argument_begin|>{}",
       "<|tool_calls_section_begin|><|tool_call_begin|><|tool_call_argument_begin|>{}",
       "<|tool_calls_section_begin|><|tool_call_begin|>now\n:0<|tool_call_argument_begin|>{}",
       "<|tool_calls_section_begin|>now{}", "<|tool_call_begin|>functions.now:0",
       "<|tool_calls_section_end|>",
       "<|tool_calls_section_begin|><|tool_call_begin|>a<b<|tool_call_argument_begin|>{}"});
  EXPECT_EQ(taken_apart(parser(ToolFormat::Kimi),
                        kimi("<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{\"a\": 1")),
            R"(now:{"a": 1<|tool_calls_section_end|>)")
      << "it breaks off within its arguments";
  EXPECT_EQ(taken_apart(parser(ToolFormat::Kimi, false),
                        kimi(kimi_call("functions.now:0", "{}") + kimi_call("functions.now:1", "{}"))),
            "now:{}");
}

std::string deepseek(std::string_view calls) {
  return "<｜tool▁calls▁begin｜>" + std::string(calls) + "<｜tool▁calls▁end｜>";
}
std::string deepseek_call(std::string_view name, std::string_view arguments) {
  return "<｜tool▁call▁begin｜>" + std::string(name) + "<｜tool▁sep｜>" + std::string(arguments) +
         "<｜tool▁call▁end｜>";
}

TEST(DeepSeekCalls, AreReadWhereverTheyAreCut) {
  const Answer answers[] = {
      {deepseek(deepseek_call("search", R"({"query": "a"})")), R"(search:{"query": "a"})"},
      {deepseek(deepseek_call("now", "{}")), "now:{}"},
      {deepseek(deepseek_call("now", "{}") + deepseek_call("search", R"({"limit": 2})")),
       R"(now:{}|search:{"limit": 2})"},
      {"I look.\n\n" + deepseek(deepseek_call("search", R"({"query": "x"})")) + "\nDone.",
       R"(I look.|search:{"query": "x"}|Done.)"},
      {deepseek("\n" + deepseek_call("now", "{}") + "\n" + deepseek_call("now", "{ }") + "\n"),
       "now:{}|now:{ }"},
      {deepseek(deepseek_call("search", "{\n  \"query\": \"a\"\n}\n")), "search:{\n  \"query\": \"a\"\n}"},
      {deepseek(deepseek_call("search", R"({"query": "<｜tool▁call▁end｜>"})")),
       R"(search:{"query": "<｜tool▁call▁end｜>"})"},
      {deepseek(deepseek_call("search", R"({"more": {"a": [1, "}"]}})")),
       R"(search:{"more": {"a": [1, "}"]}})"},
      {deepseek(deepseek_call("list-files.v2", R"({"path": "Zürich 😀"})")),
       R"(list-files.v2:{"path": "Zürich 😀"})"},
      {deepseek(deepseek_call("now", "{}")) + deepseek(deepseek_call("now", "{}")), "now:{}|now:{}"},
      {"<｜tool▁calls▁begin｜>" + deepseek_call("now", "{}"), "now:{}"},
      {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}", "now:{}"},
      {deepseek(deepseek_call("search", R"({"limit": 123456789012345678901234567890})")),
       R"(search:{"limit": 123456789012345678901234567890})"},
  };
  expect_all(ToolFormat::DeepSeek, answers);
}

TEST(DeepSeekCalls, OtherTextStaysAsItIs) {
  expect_content(
      ToolFormat::DeepSeek,
      {"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
       "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>3",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁call▁end｜>",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>unknown<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜><｜tool▁sep｜>{}", "<｜tool▁calls▁begin｜>now{}",
       "<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}", "<｜tool",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```"});
  EXPECT_EQ(taken_apart(parser(ToolFormat::DeepSeek, false),
                        deepseek(deepseek_call("now", "{}") + deepseek_call("now", "{}"))),
            "now:{}");
}

/// Pieces of calls in any order: what is read does not depend on how they come in.
TEST(FamilyCalls, AnyMixtureIsReadAlike) {
  std::mt19937 random(11);
  int calls = 0;
  for (const ToolFormat format :
       {ToolFormat::Xml, ToolFormat::Glm, ToolFormat::MiniMax, ToolFormat::Kimi, ToolFormat::DeepSeek}) {
    std::vector<std::string> parts = {"search", "now", "query", "limit", "{}",         "{\"a\": 1}",
                                      "\n",     " ",   "<",     "text",  "functions.", ":0",
                                      "\xC3",   "\">", ">",     "{"};
    for (const std::string_view tag : tool_tags(format)) parts.emplace_back(tag);
    parts.emplace_back(tool_end(format));
    for (const CallTags* tags : {&kQwenCalls, &kGlmCalls, &kMiniMaxCalls}) {
      const bool own = tags == (format == ToolFormat::Xml   ? &kQwenCalls
                                : format == ToolFormat::Glm ? &kGlmCalls
                                                            : &kMiniMaxCalls);
      if (!own) continue;
      for (const std::string_view tag : {tags->begin, tags->argument, tags->argument_end, tags->value,
                                         tags->value_end, tags->ends[0], tags->ends[1]})
        if (!tag.empty()) parts.emplace_back(tag);
    }
    for (int round = 0; round < 400; ++round) {
      // Half of them begin well.
      std::string text = round % 2 == 0 ? std::string(tool_tag(format)) : "";
      if (round % 4 == 0) {
        text += format == ToolFormat::Glm        ? "now"
                : format == ToolFormat::Kimi     ? kimi_call("now", "{}")
                : format == ToolFormat::DeepSeek ? deepseek_call("now", "{}")
                : format == ToolFormat::MiniMax  ? "<invoke name=\"search\">"
                                                 : "<function=search>";
      }
      for (unsigned i = random() % 9; i > 0; --i) text += parts[random() % parts.size()];
      calls += taken_apart(parser(format), text).find(':') != std::string::npos ? 1 : 0;
    }
  }
  EXPECT_GT(calls, 100);
}

TEST(FamilyCalls, LongNamesAndValuesTakeTheirTimeOnce) {
  const std::string longest(400000, 'x');
  for (const auto& [format, text] :
       {std::pair{ToolFormat::Glm, "<tool_call>search\n<arg_key>" + longest},
        std::pair{ToolFormat::MiniMax, "<minimax:tool_call><invoke name=\"" + longest},
        std::pair{ToolFormat::Kimi, "<|tool_calls_section_begin|><|tool_call_begin|>" + longest},
        std::pair{ToolFormat::DeepSeek, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>" + longest}}) {
    testing_support::TakenApart parts(parser(format));
    for (const char& c : text) parts.read({&c, 1});
    EXPECT_EQ(parts.end(), text);
  }
}

TEST(FamilyCalls, FormatsAreKnownByTheirTemplates) {
  EXPECT_EQ(tool_format("{{ tools }}<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>"),
            ToolFormat::Glm);
  EXPECT_EQ(tool_format("{{ tools }}{%- set toolcall_begin_token = '<minimax:tool_call>' -%}"),
            ToolFormat::MiniMax);
  EXPECT_EQ(tool_format("{{ tools }}<|tool_calls_section_begin|><|tool_call_begin|>"), ToolFormat::Kimi);
  EXPECT_EQ(tool_format("{{ tools }}<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{{ n }}<｜tool▁sep｜>"),
            ToolFormat::DeepSeek);
  EXPECT_EQ(tool_format("{{ tools }}<｜tool▁call▁begin｜>function<｜tool▁sep｜>{{ n }}\\n```json\\n"),
            std::nullopt);
}

}  // namespace
}  // namespace augur
