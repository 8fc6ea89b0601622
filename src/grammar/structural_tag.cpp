#include "grammar/structural_tag.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "files/json_reader.h"
#include "grammar/json_schema.h"

namespace augur {
namespace {

using Json = nlohmann::ordered_json;

/// What a member of a format is to be.
enum class Member {
  Text,
  Flag,
  Whitespace,
  Token,
  Tokens,
  Texts,
  Schema,
  Format,
  Formats,
  Tags,
  TextOrToken
};

struct Rule {
  std::string_view type;
  std::string_view key;
  Member member;
  bool required = true;
};
constexpr std::array kRules = {
    Rule{"const_string", "value", Member::Text},
    Rule{"json_schema", "json_schema", Member::Schema},
    Rule{"json_schema", "max_whitespace_cnt", Member::Whitespace, false},
    Rule{"json_schema", "field", Member::Text, false},
    Rule{"regex", "pattern", Member::Text},
    Rule{"grammar", "grammar", Member::Text},
    Rule{"token", "token", Member::Token},
    Rule{"sequence", "elements", Member::Formats},
    Rule{"or", "elements", Member::Formats},
    Rule{"optional", "content", Member::Format},
    Rule{"plus", "content", Member::Format},
    Rule{"star", "content", Member::Format},
    Rule{"tag", "begin", Member::TextOrToken},
    Rule{"tag", "content", Member::Format},
    Rule{"tag", "end", Member::TextOrToken},
    Rule{"triggered_tags", "triggers", Member::Texts},
    Rule{"triggered_tags", "tags", Member::Tags},
    Rule{"triggered_tags", "at_least_one", Member::Flag, false},
    Rule{"triggered_tags", "stop_after_first", Member::Flag, false},
    Rule{"token_triggered_tags", "trigger_tokens", Member::Tokens},
    Rule{"token_triggered_tags", "tags", Member::Tags},
    Rule{"token_triggered_tags", "at_least_one", Member::Flag, false},
    Rule{"token_triggered_tags", "stop_after_first", Member::Flag, false},
    Rule{"tags_with_separator", "tags", Member::Tags},
    Rule{"tags_with_separator", "separator", Member::Text},
    Rule{"tags_with_separator", "at_least_one", Member::Flag, false},
    Rule{"tags_with_separator", "stop_after_first", Member::Flag, false},
};

[[noreturn]] void refuse(const std::string& at, std::string_view expected) {
  throw Error("structural tag: {} is to be {}", at, expected);
}

class Checker {
 public:
  explicit Checker(int most_whitespace) : most_whitespace_(most_whitespace) {}
  std::vector<std::string> warnings() && { return std::move(warnings_); }

  void check(Json& format, const std::string& at) {
    if (!format.is_object() || !format.contains("type") || !format["type"].is_string()) {
      refuse(at, "an object with a type");
    }
    const auto type = format["type"].get<std::string>();
    const auto of_type = [&](const Rule& rule) { return rule.type == type; };
    if (type != "any_text" && std::none_of(kRules.begin(), kRules.end(), of_type)) {
      throw Error(ErrorKind::Unsupported, "structural tag: {}/type '{}' is none that this program knows", at,
                  type);
    }
    for (const auto& [key, value] : format.items()) {
      const auto known = [&, &word = key](const Rule& rule) { return of_type(rule) && rule.key == word; };
      if (key != "type" && std::none_of(kRules.begin(), kRules.end(), known)) {
        throw Error(ErrorKind::Unsupported, "structural tag: {}/{} is nothing that {} has", at, key, type);
      }
    }
    for (const Rule& rule : kRules) {
      if (!of_type(rule)) continue;
      const std::string key(rule.key);
      const std::string here = at + "/" + key;
      if (format.contains(key)) {
        check_member(rule.member, format[key], here);
      } else if (rule.required) {
        throw Error("structural tag: {} is missing", here);
      }
    }
    if (type == "json_schema") become_grammar(format, at + "/json_schema");
  }

 private:
  /// The library gets a schema as a grammar, as everywhere.
  void become_grammar(Json& format, const std::string& at) {
    const SchemaOptions options{.most_whitespace = format.value("max_whitespace_cnt", most_whitespace_),
                                .named_members_only = true};
    try {
      SchemaGrammar grammar = grammar_of_json(std::move(format["json_schema"]), options);
      for (std::string& warning : grammar.warnings) warnings_.push_back(std::move(warning));
      format = {{"type", "grammar"}, {"grammar", std::move(grammar.ebnf)}};
    } catch (const Error& error) {
      if (format.contains("field"))
        throw Error({error.kind(), format["field"].get<std::string>()}, std::string(error.what()));
      throw Error(error.cause(), "{} (at {})", error.what(), at);
    }
  }

  void check_member(Member member, Json& value, const std::string& at) {
    switch (member) {
      case Member::Text:
        if (!value.is_string()) refuse(at, "a text");
        return;
      case Member::Flag:
        if (!value.is_boolean()) refuse(at, "true or false");
        return;
      case Member::Whitespace:
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t(most_whitespace_)) {
          refuse(at, fmt::format("an integer from 0 to {}", most_whitespace_));
        }
        return;
      case Member::Token:
        if (!value.is_number_unsigned()) refuse(at, "a token's id");
        return;
      case Member::Tokens:
      case Member::Texts:
      case Member::Formats:
      case Member::Tags:
        return check_list(member, value, at);
      case Member::Schema:
        return;  // read when its whitespace is known
      case Member::Format:
        return check(value, at);
      case Member::TextOrToken:
        if (value.is_object() && value.value("type", "") == "token") return check(value, at);
        if (!value.is_string()) refuse(at, "a text, or {\"type\": \"token\", ...}");
        return;
    }
  }

  void check_list(Member member, Json& list, const std::string& at) {
    if (!list.is_array() || list.empty()) refuse(at, "a list that is not empty");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string here = fmt::format("{}/{}", at, i);
      if (member == Member::Tags && (!list[i].is_object() || list[i].value("type", "") != "tag")) {
        refuse(here, R"({"type": "tag", ...})");
      }
      check_member(member == Member::Tokens  ? Member::Token
                   : member == Member::Texts ? Member::Text
                                             : Member::Format,
                   list[i], here);
    }
  }

  const int most_whitespace_;
  std::vector<std::string> warnings_;
};

}  // namespace

EnforceableTag enforceable_structural_tag(std::string_view text, int most_whitespace) {
  parse_json(text, "structural tag");  // says what is wrong, and how deep it may be
  Json tag = Json::parse(text);
  if (!tag.is_object() || tag.size() != 2 || tag.value("type", Json()) != "structural_tag" ||
      !tag.contains("format")) {
    throw Error(R"(structural tag: expected {{"type": "structural_tag", "format": {{...}}}})");
  }
  Checker checker(most_whitespace);
  checker.check(tag["format"], "#/format");
  return {tag.dump(), std::move(checker).warnings()};
}

}  // namespace augur
