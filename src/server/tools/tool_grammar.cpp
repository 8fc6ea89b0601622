#include "server/tools/tool_grammar.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "files/big_integers.h"
#include "server/answers/json_answers.h"
#include "server/fields/bad_request.h"
#include "server/tools/call_tags.h"
#include "server/tools/python_grammar.h"
#include "server/tools/tag_formats.h"
#include "server/tools/xml_grammar.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using namespace tag_formats;

/// A text of the model's template as it is written: by its special token, where it has one.
ordered_json tag_text(const Engine& engine, std::string_view value) {
  const std::vector<TokenId> tokens = engine.tokenize_part(value);
  if (tokens.size() == 1 && engine.token_bytes(tokens[0]) == value && engine.detokenize(tokens).empty()) {
    return {{"type", "token"}, {"token", tokens[0]}};
  }
  return std::string(value);
}

/// The same as a format of its own.
ordered_json tag_format(const Engine& engine, std::string_view value) {
  ordered_json tag = tag_text(engine, value);
  return tag.is_string() ? text(value) : tag;
}

/// What the arguments have to be.
ordered_json arguments(const Tool& tool, bool required) {
  if (!tool.strict.value_or(required)) return {{"type", "object"}};
  const std::string parameters = tool.parameters.value_or(R"({"type":"object","properties":{}})");
  ordered_json schema = parse_exact_json(parameters);
  constexpr std::array kDeciding = {"type", "$ref", "const", "enum", "anyOf", "oneOf", "allOf"};
  const bool decided =
      std::any_of(kDeciding.begin(), kDeciding.end(), [&](const char* key) { return schema.contains(key); });
  if (!decided) schema["type"] = "object";
  if (schema.contains("type") && schema["type"] != "object") {
    throw BadRequest(tool.field, R"(expected the schema of an object: "type": "object")");
  }
  return schema;
}

/// The name behind what begins a call, the arguments and what ends it, of any of the functions that may be
/// called.
ordered_json xml_call(const OfferedTools& offered, const CallTags& tags) {
  ordered_json calls = ordered_json::array();
  for (const Tool& tool : offered.tools) {
    if (!offered.only.empty() && tool.name != offered.only) continue;
    const bool enforced = tool.strict.value_or(offered.required);
    calls.push_back(sequence({text(tool.name + std::string(tags.name_end)), line_break(tags),
                              xml_arguments(tool, tags, enforced)}));
  }
  return any_of(std::move(calls));
}

/// A call with tags around it, its name and its arguments, of any of them.
ordered_json named_call(const Engine& engine, const OfferedTools& offered, const NamedCallTags& tags) {
  ordered_json calls = ordered_json::array();
  for (const Tool& tool : offered.tools) {
    if (!offered.only.empty() && tool.name != offered.only) continue;
    ordered_json parts = ordered_json::array();
    parts.push_back(tag_format(engine, tags.begin));
    parts.push_back(text(std::string(tags.prefix) + tool.name + (tags.numbered ? ":" : "")));
    if (tags.numbered) parts.push_back({{"type", "regex"}, {"pattern", "[0-9]{1,3}"}});
    parts.push_back(tag_format(engine, tags.arguments));
    parts.push_back(json_schema(arguments(tool, offered.required), tool.field));
    parts.push_back(tag_format(engine, tags.end));
    calls.push_back(sequence(std::move(parts)));
  }
  return any_of(std::move(calls));
}

/// name(argument=value, ...) of any of them.
ordered_json python_calls(const OfferedTools& offered) {
  ordered_json calls = ordered_json::array();
  for (const Tool& tool : offered.tools) {
    if (!offered.only.empty() && tool.name != offered.only) continue;
    calls.push_back(python_call(tool, tool.strict.value_or(offered.required)));
  }
  return any_of(std::move(calls));
}

/// {"name": ..., "arguments": {...}} of any of the functions that may be called.
ordered_json call(const OfferedTools& offered, std::string_view key) {
  ordered_json calls = ordered_json::array();
  for (const Tool& tool : offered.tools) {
    if (!offered.only.empty() && tool.name != offered.only) continue;
    const std::string begin = R"({"name": )" + text_of(tool.name) + ", \"" + std::string(key) + "\": ";
    calls.push_back(
        sequence({text(begin), json_schema(arguments(tool, offered.required), tool.field), text("}")}));
  }
  return any_of(std::move(calls));
}

/// Whether all calls of an answer stand behind one tag.
bool is_list(ToolFormat format) {
  return format == ToolFormat::Mistral || format == ToolFormat::Python || format == ToolFormat::MiniMax ||
         format == ToolFormat::Kimi || format == ToolFormat::DeepSeek;
}

/// `one`, and where several calls are allowed more of them.
ordered_json list_of(ordered_json one, std::string_view between, const OfferedTools& offered) {
  if (!offered.parallel) return one;
  ordered_json more = between.empty() ? one : sequence({text(between), one});
  return sequence({std::move(one), some("star", std::move(more))});
}

/// What stands between the tag that begins calls and what ends them.
ordered_json calls_between(const Engine& engine, ToolFormat format, const OfferedTools& offered) {
  switch (format) {
    case ToolFormat::Xml:
      return sequence(
          {text("\n" + std::string(kQwenCalls.begin)), xml_call(offered, kQwenCalls), text("</function>\n")});
    case ToolFormat::Glm:
      return xml_call(offered, kGlmCalls);
    case ToolFormat::MiniMax: {
      ordered_json one =
          sequence({text(kMiniMaxCalls.begin), xml_call(offered, kMiniMaxCalls), text("</invoke>\n")});
      return sequence({text("\n"), list_of(std::move(one), "", offered)});
    }
    case ToolFormat::Kimi:
      return list_of(named_call(engine, offered, kKimiCalls), "", offered);
    case ToolFormat::DeepSeek:
      return list_of(named_call(engine, offered, kDeepSeekCalls), "", offered);
    case ToolFormat::Mistral:
      return sequence(
          {some("optional", text(" ")), text("["), list_of(call(offered, "arguments"), ", ", offered)});
    case ToolFormat::Python:
      return sequence({text("["), list_of(python_calls(offered), ", ", offered), text("]")});
    default:
      return sequence({text("\n"), call(offered, "arguments"), text("\n")});
  }
}

/// All that the model writes when it calls functions at once, from the tag that begins it.
ordered_json calls_tag(const Engine& engine, ToolFormat format, const OfferedTools& offered) {
  const std::string_view end = format == ToolFormat::Python ? "<|tool_call_end|>" : tool_end(format);
  return tag(tag_text(engine, tool_tag(format)), calls_between(engine, format, offered),
             tag_text(engine, end));
}

/// An answer in channels: thoughts, and then a call, or where none is required what else may be said. Who is
/// called stands in the header of the channel, or before it.
ordered_json channel_format(const Engine& engine, const OfferedTools& offered) {
  const ordered_json channel = tag_format(engine, "<|channel|>");
  const ordered_json message = tag_format(engine, "<|message|>");
  const auto said = [&](std::string_view where) {
    const ordered_json begin = tag_text(engine, "<|message|>");
    const ordered_json end = tag_text(engine, "<|end|>");
    return sequence({channel, text(where), tag(begin, {{"type", "any_text"}}, end),
                     tag_format(engine, "<|start|>"), text("assistant")});
  };
  const ordered_json json =
      sequence({some("optional", text(" ")), some("optional", tag_format(engine, "<|constrain|>")),
                text("json"), message});
  ordered_json last = ordered_json::array();
  for (const Tool& tool : offered.tools) {
    if (!offered.only.empty() && tool.name != offered.only) continue;
    const std::string to = " to=functions." + tool.name;
    const ordered_json object = json_schema(arguments(tool, offered.required), tool.field);
    last.push_back(sequence({channel, text("commentary" + to), json, object}));
    last.push_back(sequence({text(to), channel, text("commentary"), json, object}));
  }
  ordered_json before = ordered_json::array({said("analysis")});
  if (!offered.required) {
    before.push_back(said("commentary"));
    last.push_back(sequence({channel, text("final"), message, {{"type", "any_text"}}}));
  }
  return sequence({some("star", any_of(std::move(before))), any_of(std::move(last))});
}

/// Nothing but calls.
ordered_json required_format(const Engine& engine, ToolFormat format, const OfferedTools& offered) {
  if (format == ToolFormat::Llama3) return call(offered, "parameters");
  ordered_json one = calls_tag(engine, format, offered);
  if (!offered.parallel || is_list(format)) return one;
  return sequence({one, some("star", sequence({text("\n"), one}))});
}

/// Any text, in which calls are as they have to be.
ordered_json free_format(const Engine& engine, ToolFormat format, const OfferedTools& offered) {
  if (format == ToolFormat::Llama3) {
    // An object is the whole answer, or there is none.
    const ordered_json one = call(offered, "parameters");
    return any_of({one,
                   sequence({tag_format(engine, tool_tag(format)), one}),
                   {{"type", "grammar"}, {"grammar", R"(root ::= ([^{ \n\t\r] [\u0000-\U0010FFFF]*)?)"}}});
  }
  ordered_json one = calls_tag(engine, format, offered);
  const ordered_json begin = one["begin"];
  const bool by_token = begin.is_object();
  // Not in braces alone, which are a copy to some compilers.
  ordered_json triggers = ordered_json::array({by_token ? begin["token"] : begin});
  ordered_json tags = ordered_json::array({std::move(one)});
  if (format == ToolFormat::Xml && !by_token) {
    // The tag before it is sometimes forgotten.
    triggers.push_back(kQwenCalls.begin);
    tags.push_back(tag(kQwenCalls.begin, xml_call(offered, kQwenCalls), "</function>"));
  }
  return {{"type", by_token ? "token_triggered_tags" : "triggered_tags"},
          {by_token ? "trigger_tokens" : "triggers", std::move(triggers)},
          {"tags", std::move(tags)},
          {"stop_after_first", !offered.parallel || is_list(format)}};
}

}  // namespace

bool constrains(const OfferedTools& offered) {
  return offered.required || std::any_of(offered.tools.begin(), offered.tools.end(),
                                         [](const Tool& tool) { return tool.strict.value_or(false); });
}

Grammar tool_grammar(const Engine& engine, ToolFormat format, const OfferedTools& offered) {
  const ordered_json answer = format == ToolFormat::Channels ? channel_format(engine, offered)
                              : offered.required             ? required_format(engine, format, offered)
                                                             : free_format(engine, format, offered);
  return {.kind = GrammarKind::StructuralTag,
          .text = text_of({{"type", "structural_tag"}, {"format", answer}})};
}

}  // namespace augur
