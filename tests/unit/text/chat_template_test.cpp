#include "text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

/// Renders to text.
struct Template : ChatTemplate {
  using ChatTemplate::ChatTemplate;
  std::string render(const std::vector<Message>& messages, bool add_generation_prompt,
                     const nlohmann::ordered_json& variables) const {
    return ChatTemplate::render(messages, add_generation_prompt, variables, nullptr).text;
  }
};

const std::vector<Message> kQuestion = {{"user", "Hi"}};

std::string parse_error(const std::string& source) {
  return error_of([&] { ChatTemplate{source}; });
}

std::string render_error(const std::string& source) {
  const Template chat(source);
  return error_of([&] { chat.render(kQuestion, true, nlohmann::json::object()); });
}

TEST(ChatTemplate, RendersMessagesAndExtraVariables) {
  const Template chat(
      "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
      "{% if add_generation_prompt %}>{{ style }}{% endif %}");
  EXPECT_EQ(chat.render({{"system", "s"}, {"user", "u"}}, true, {{"bos_token", "<s>"}, {"style", "x"}}),
            "<s>system: s\nuser: u\n>x");
  EXPECT_EQ(chat.render(kQuestion, false, nlohmann::json::object()), "user: Hi\n");
}

TEST(ChatTemplate, ThoughtsHaveTheNameThatTheTemplateReads) {
  const std::vector<Message> thought = {{.role = "assistant", .content = "4", .reasoning = "Sum."}};
  const std::string all = "{% for m in messages %}{{ m | tojson }}{% endfor %}";
  EXPECT_EQ(Template(all).render(thought, false, nullptr),
            R"({"role": "assistant", "content": "4", "reasoning_content": "Sum."})");
  for (const char* reads : {"m.thinking", "m[\"thinking\"]", "m['thinking']"}) {
    const Template chat(std::string("{% for m in messages %}{% if ") + reads + " %}({{ " + reads +
                        " }}){% endif %}{{ m.content }}{% endfor %}");
    EXPECT_EQ(chat.render(thought, false, nullptr), "(Sum.)4") << reads;
    EXPECT_EQ(chat.render({{.role = "assistant", .content = "4"}}, false, nullptr), "4");
  }
}

TEST(ChatTemplate, ChannelsTakeThoughtsOrContentBesideCalls) {
  const Template chat(
      "{% for m in messages %}{% if m.tool_calls and m.content and m.thinking %}{{ raise_exception('both') }}"
      "{% endif %}{{ m.thinking }}/{{ m.content }}{% endfor %}<|channel|>final<|message|>");
  const ToolCall call{.id = "1", .name = "f", .arguments = "{}"};
  EXPECT_EQ(chat.render({{.role = "assistant", .content = "c", .tool_calls = {call}, .reasoning = "t"}},
                        false, nullptr),
            "t/<|channel|>final<|message|>");
  EXPECT_EQ(chat.render({{.role = "assistant", .content = "c", .tool_calls = {call}}}, false, nullptr),
            "/c<|channel|>final<|message|>");
  EXPECT_EQ(chat.content_header(), "<|channel|>final<|message|>");
  EXPECT_EQ(Template("{{ messages }}").content_header(), "");
}

TEST(ChatTemplate, UnsupportedConstructsAreNamedWithTheirLine) {
  EXPECT_THAT(parse_error("a\n{% include 'x' %}"), HasSubstr("line 2: unsupported statement \"include\""));
  EXPECT_THAT(render_error("{{ x\n | urlize }}"), HasSubstr("line 2: unsupported filter \"urlize\""));
  EXPECT_THAT(render_error("\n\n{{ x is frobnicated }}"),
              HasSubstr("line 3: unsupported test \"frobnicated\""));
  EXPECT_THAT(parse_error("{{ f(*args) }}"), HasSubstr("unsupported construct: * in a call"));
  EXPECT_THAT(render_error("\n{{ lipsum() }}"), AllOf(HasSubstr("line 2"), HasSubstr("lipsum")));
  EXPECT_THAT(render_error("{{ 'x'.zfill(3) }}"), HasSubstr("zfill"));
}

TEST(ChatTemplate, MalformedTemplatesNameTheLine) {
  EXPECT_THAT(parse_error("\n{% if x %}"), HasSubstr("line 2: \"endif\" is missing"));
  EXPECT_THAT(parse_error("\n\n{{ 'abc }}"), HasSubstr("line 3: the string is not closed"));
  EXPECT_THAT(parse_error("{{ 1 $ 2 }}"), HasSubstr("unexpected character \"$\""));
  EXPECT_THAT(parse_error("{{ (1 ] }}"), HasSubstr("unexpected \"]\""));
  EXPECT_THAT(parse_error("{# x"), HasSubstr("comment is not closed"));
  EXPECT_THAT(parse_error("{% raw %}x"), HasSubstr("raw block is not closed"));
  EXPECT_THAT(parse_error("{{ 99999999999999999999 }}"), HasSubstr("too large"));
  EXPECT_THAT(parse_error("\xFF"), HasSubstr("UTF-8"));
  EXPECT_THAT(render_error("a\n\n{{ messages[3].content }}"), HasSubstr("line 3: \"3\" is undefined"));
}

TEST(ChatTemplate, TheTemplatesOwnRefusalIsItsMessage) {
  EXPECT_EQ(render_error("{{ raise_exception('roles must alternate') }}"),
            "the chat template does not accept this conversation: roles must alternate");
}

TEST(ChatTemplate, UnsupportedRolesAreErrors) {
  const Template chat("{% for m in messages %}{% if m.role == 'user' %}x{% endif %}{% endfor %}");
  const auto error = error_of([&] { chat.render({{"user", "a"}, {"narrator", "b"}}, true, nullptr); });
  EXPECT_EQ(error,
            "chat message 2: unsupported role \"narrator\" (supported: system, user, assistant, tool)");
}

TEST(ChatTemplate, BytesThatAreNotTextAreReplaced) {
  const Template chat("{{ messages[0].content | length }}{{ messages[0].content }}");
  EXPECT_EQ(chat.render({{"user", "a\xFF\xE2\x82"}}, true, nullptr), "3a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(ChatTemplate, TimeIsFormatted) {
  const std::string year = Template("{{ strftime_now('%Y') }}").render(kQuestion, true, nullptr);
  EXPECT_EQ(year.size(), 4u);
  EXPECT_GE(std::stoi(year), 2024);
  EXPECT_EQ(Template("{{ strftime_now('') }}|").render(kQuestion, true, nullptr), "|");
}

TEST(ChatTemplate, HostileTemplatesEndInAnError) {
  EXPECT_THAT(
      render_error("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}"),
      HasSubstr("steps"));
  EXPECT_THAT(render_error("{{ range(1000000000000) }}"), HasSubstr("needs more than"));
  EXPECT_THAT(render_error("{{ 'x' * 10000000000 }}"), HasSubstr("memory"));
  EXPECT_THAT(render_error("{{ 'x' * 9000000000000000000 * 9000000000000000000 }}"), HasSubstr("memory"));
  EXPECT_THAT(render_error("{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(60) %}{% set ns.s = ns.s "
                           "+ ns.s %}{% endfor %}"),
              HasSubstr("memory"));
  EXPECT_THAT(render_error("{% set ns = namespace(l=[]) %}{% for i in range(64) %}{% set ns.l = [ns.l, ns.l] "
                           "%}{% endfor %}{{ ns.l }}"),
              HasSubstr("needs more than"));
  EXPECT_THAT(render_error("{% set ns = namespace(l=[]) %}{% for i in range(9999) %}{% set ns.l = [ns.l] "
                           "%}{% endfor %}{{ ns.l | tojson }}"),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(render_error("{% set ns = namespace(l=[]) %}{% for i in range(9999) %}{% set ns.l = [ns.l] "
                           "%}{% endfor %}{{ ns.l == [ns.l] }}"),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(render_error("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(render_error("{% for i in range(4000000) %}{{ 'aaaaaaaaaaaaaaaaaaaa' }}{% endfor %}"),
              HasSubstr("needs more than"));
  const auto repeat = [](const std::string& s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += s;
    return out;
  };
  // Work inside one expression: comparing, stripping, looking up.
  EXPECT_THAT(render_error("{{ ('b' * 90000).strip('a' * 90000 ~ 'b') }}"), HasSubstr("steps"));
  EXPECT_THAT(render_error("{{ ('b' * 90000) | trim('a' * 90000 ~ 'b') }}"), HasSubstr("steps"));
  for (const char* filter : {"sort", "min", "max"}) {
    EXPECT_THAT(
        render_error("{{ (['a' * 1000000] * 2000) | " + std::string(filter) + "(case_sensitive=true) }}"),
        HasSubstr("steps"));
  }
  EXPECT_THAT(render_error("{{ ('a' * 1000000 ~ 'c').startswith(['a' * 1000000 ~ 'b'] * 2000) }}"),
              HasSubstr("steps"));
  EXPECT_THAT(render_error("{{ ('a' * 30000000) | list | length }}"), HasSubstr("steps"));
  std::string variables;
  std::string attributes = "{% set n = namespace() %}";
  std::string parameters;
  std::string arguments;
  for (int i = 0; i < 20000; ++i) {
    variables += fmt::format("{{%set a{}=1%}}", i);
    attributes += fmt::format("{{%set n.a{}=1%}}", i);
    parameters += fmt::format("{}a{}", i == 0 ? "" : ",", i);
    arguments += fmt::format("{}a{}=1", i == 0 ? "" : ",", i);
  }
  EXPECT_THAT(render_error(variables), HasSubstr("steps"));
  EXPECT_THAT(render_error(attributes), HasSubstr("steps"));
  EXPECT_THAT(render_error("{% macro f(" + parameters + ") %}{% endmacro %}{{ f(" + arguments + ") }}"),
              HasSubstr("steps"));
  EXPECT_THAT(parse_error("{{ " + repeat("(", 100000) + repeat(")", 100000) + "}}"),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(parse_error("{{ " + repeat("-", 100000) + "1 }}"), HasSubstr("nested too deeply"));
  EXPECT_THAT(parse_error("{{ " + repeat("not ", 100000) + "1 }}"), HasSubstr("nested too deeply"));
  EXPECT_THAT(parse_error("{{ 1" + repeat("+1", 100000) + " }}"), HasSubstr("nested too deeply"));
  EXPECT_THAT(parse_error("{{ a" + repeat(".a", 100000) + " }}"), HasSubstr("nested too deeply"));
  EXPECT_THAT(parse_error("{{ a" + repeat("|trim", 100000) + " }}"), HasSubstr("nested too deeply"));
  EXPECT_THAT(parse_error("{{ a" + repeat("[0]", 100000) + " }}"), HasSubstr("nested too deeply"));
  EXPECT_THAT(parse_error(repeat("{% if x %}", 100000)), HasSubstr("nested too deeply"));
  EXPECT_THAT(parse_error("{{ " + repeat("1 if ", 100000) + " }}"), HasSubstr("nested too deeply"));
}

// What a request brings decides how often a loop turns and how long a text gets: settings bound both.
TEST(ChatTemplate, ARenderingHasABudgetOfStepsAndBytes) {
  const nlohmann::ordered_json client = {{"n", 1000000}, {"s", std::string(5000, 'x')}, {"l", {{{"v", 1}}}}};
  const auto error = [&](const std::string& source, const TemplateLimits& limits) {
    return error_of([&] { ChatTemplate(source, limits).render(client, nullptr); });
  };
  const TemplateLimits few_steps = {.steps = 2000};
  for (const char* source :
       {"{% for c in s %}{{ c }}{% endfor %}", "{% for i in range(n) %}{% endfor %}",
        "{{ s | list | length }}", "{{ (s * 100) | upper | lower | replace('x', 'y') }}",
        "{% for x in l recursive %}{{ loop(l) }}{{ loop(l) }}{% endfor %}",
        "{% set ns = namespace(l=[]) %}{% for c in s %}{% set _ = ns.l.append(c) %}{% endfor %}"}) {
    EXPECT_THAT(error(source, few_steps), AnyOf(HasSubstr("line 1: the template needs more than 2000 steps"),
                                                HasSubstr("nested too deeply")))
        << source;
  }
  const TemplateLimits few_bytes = {.steps = 1000000, .bytes = 200000};
  for (const char* source :
       {"{{ s * n }}", "{{ '%*d' % (n, 1) }}", "{{ '{:>{n}}'.format(1, n=n) }}", "{{ [s] * n }}",
        "{% for i in range(n) %}{{ s }}{% endfor %}", "{{ s | replace('', s) }}",
        "{{ [s, s] | join(s * 20) }}",
        "{{ s | indent(n, true) }}{{ ('\n' * 1000) | indent(1000, true, true) }}", "{{ s | e * 50 }}",
        "{% set ns = namespace(l=[]) %}{% for i in range(n) %}{% set _ = ns.l.append(s) %}{% endfor %}"}) {
    EXPECT_THAT(error(source, few_bytes), HasSubstr("bytes of memory")) << source;
  }
  EXPECT_THAT(error("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", {}), HasSubstr("nested too deeply"));
  EXPECT_THAT(error("{% for x in l recursive %}{{ loop(l) }}{% endfor %}", {}),
              HasSubstr("nested too deeply"));
}

TEST(ChatTemplate, NamespacesMayHoldThemselves) {
  EXPECT_EQ(Template("{% set ns = namespace() %}{% set ns.a = ns %}{{ ns.a.a is defined }}")
                .render(kQuestion, true, nullptr),
            "True");
}

TEST(ChatTemplate, MacrosOutliveTheLoopThatDefinedThem) {
  EXPECT_EQ(Template("{% set ns = namespace() %}{% for i in [1, 2, 3] %}{% if i == 2 %}{% macro f() %}{{ "
                     "i }}{% endmacro %}"
                     "{% set ns.f = f %}{% endif %}{% endfor %}{{ ns.f() }}")
                .render(kQuestion, true, nullptr),
            "2");
}

TEST(ChatTemplate, CanBeMovedAndUsedAgain) {
  Template a("{{ messages | length }}");
  Template b(std::move(a));
  EXPECT_EQ(b.render(kQuestion, true, nullptr), "1");
  a = std::move(b);
  EXPECT_EQ(a.render(kQuestion, true, nullptr), "1");
}

}  // namespace
}  // namespace augur
