#include "server/fields/field_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/fields/body_parser.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;

struct Target {
  double heat = 1;
  std::int64_t count = 0;
  std::string inner;
};

const FieldTable<std::string>& inner_fields() {
  static const FieldTable<std::string> table = {
      {{"word", FieldType::text()}, [](const FieldValue& v, std::string& to) { to = v.text(); }}};
  return table;
}

const FieldTable<Target>& fields() {
  static const FieldTable<Target> table = {{{"temperature", FieldType::number(0, 2)},
                                            [](const FieldValue& v, Target& to) { to.heat = v.number(); }},
                                           {{"count", FieldType::integer(1, 3), "how many", true},
                                            [](const FieldValue& v, Target& to) { to.count = v.integer(); }},
                                           {{"inner", FieldType::schema(R"({"type": "object"})")},
                                            [](const FieldValue& v, Target& to) {
                                              read_object(inner_fields(), v.path, v.json, v.notes, to.inner);
                                            }},
                                           fixed_field<Target>("modalities", R"([["text"]])"),
                                           fixed_field<Target>("n", "[1]"),
                                           absent_field<Target>("audio"),
                                           ignored_field<Target>("user", FieldType::text())};
  return table;
}

/// What is ignored in the body, or "FIELD: message" of its refusal.
std::vector<std::string> ignored(const std::string& body, Target& to, bool strict = false) {
  FieldNotes notes{.strict = strict, .ignored = {}};
  try {
    read_object(fields(), "", parse_body(body, {}), notes, to);
  } catch (const BadRequest& error) {
    return {error.field() + ": " + error.what()};
  }
  return notes.ignored;
}

std::string refused(const std::string& body, bool strict = false) {
  Target to;
  const std::vector<std::string> all = ignored(body, to, strict);
  return all.empty() ? "" : all.front();
}

TEST(FieldTable, ReadsWhatFitsAndTakesNullAsTheDefault) {
  Target to;
  EXPECT_THAT(ignored(R"({"count": 2, "temperature": null, "inner": {"word": "a"}, "user": "x",
                          "modalities": ["text"], "n": 1.0, "audio": null})",
                      to),
              ElementsAre());
  EXPECT_EQ(to.count, 2);
  EXPECT_EQ(to.heat, 1);
  EXPECT_EQ(to.inner, "a");
}

TEST(FieldTable, NamesWhatDoesNotFit) {
  EXPECT_EQ(refused(R"({"count": 4})"), "count: 'count': expected an integer from 1 to 3");
  EXPECT_EQ(refused(R"({"temperature": 1})"), "count: 'count': is missing");
  EXPECT_EQ(refused(R"({"count": null})"), "count: 'count': is missing");
  EXPECT_EQ(refused(R"({"count": 1, "inner": 3})"), "inner: 'inner': expected an object");
  EXPECT_EQ(refused(R"({"count": 1, "inner": {"word": 3}})"), "inner.word: 'inner.word': expected a string");
  EXPECT_EQ(refused(R"({"count": 1, "user": 3})"), "user: 'user': expected a string");
  EXPECT_EQ(refused(R"({"count": 1, "audio": {}})"), "audio: 'audio': this server does not support it");
  EXPECT_EQ(refused(R"({"count": 1, "modalities": ["audio"]})"),
            "modalities: 'modalities': expected [\"text\"]: this server does not support anything else");
}

TEST(FieldTable, UnknownFieldsAreNotedUnlessTheyAreNearKnownOnesOrAllAreRefused) {
  Target to;
  EXPECT_THAT(ignored(R"({"count": 2, "colour": 1, "inner": {"hue": 2}, "k": 3, "id": 4})", to),
              ElementsAre("colour", "inner.hue", "k", "id"))
      << "a word of one letter is near nothing";
  for (const char* near : {"temprature", "tempratur", "tmeperature", "temperatures"}) {
    EXPECT_EQ(refused(R"({"count": 1, ")" + std::string(near) + R"(": 1})"),
              std::string(near) + ": '" + near + "': is not known: did you mean 'temperature'?");
  }
  EXPECT_EQ(refused(R"({"count": 1, "inner": {"wrod": 1}})"),
            "inner.wrod: 'inner.wrod': is not known: did you mean 'word'?");
  EXPECT_EQ(refused(R"({"count": 1, "tempera": 1})"), "tempera") << "four edits";
  EXPECT_EQ(refused(R"({"count": 1, "colour": 1})", true),
            "colour: 'colour': is not known: this server does not support it");
  EXPECT_EQ(refused(R"({"count": 1, "inner": {"hue": 1}})", true),
            "inner.hue: 'inner.hue': is not known: this server does not support it");
}

TEST(FieldTable, ItsSchemaSaysWhatItTakes) {
  const ordered_json schema = object_schema(specs_of(fields()));
  EXPECT_EQ(schema["required"], ordered_json({"count"}));
  EXPECT_EQ(
      schema["properties"]["count"],
      ordered_json::parse(R"({"type": "integer", "minimum": 1, "maximum": 3, "description": "how many"})"));
  EXPECT_EQ(schema["properties"]["temperature"],
            ordered_json::parse(
                R"({"anyOf": [{"type": "number", "minimum": 0.0, "maximum": 2.0}, {"type": "null"}]})"));
  EXPECT_EQ(schema["properties"].size(), fields().size());
}

std::string parse_error(const std::string& body) {
  try {
    parse_body(body, {});
  } catch (const BadRequest& error) {
    return error.what();
  }
  return "none";
}

TEST(BodyParser, KeepsTheOrderOfKeys) {
  const std::string text = R"({"b":[1,-2,1.5,true,null,"x"],"a":{"d":{},"c":[[]]},"e":18446744073709551615})";
  EXPECT_EQ(parse_body(text, {}).dump(), text);
}

TEST(BodyParser, SaysWhereItIsNoJsonWithoutTheLibrarysWords) {
  EXPECT_EQ(parse_error("{\n  \"a\": x}"), "the body is no JSON at line 2, column 8: 'x'");
  EXPECT_EQ(parse_error("{\"a\": 1"), "the body is no JSON at its end");
  EXPECT_EQ(parse_error(""), "the body is no JSON at its end");
  EXPECT_EQ(parse_error("[1]"), "the body is not a JSON object");
  for (const char* bad :
       {"{\"a\": 1e999}", "{\"a\": \"\xff\"}", "{} {}", "{\"a\": 1,}", "nul", "{\"\\ud800\": 1}"}) {
    EXPECT_THAT(parse_error(bad), testing::StartsWith("the body is no JSON")) << bad;
    EXPECT_THAT(parse_error(bad), testing::Not(testing::HasSubstr("json.exception"))) << bad;
  }
  EXPECT_THAT(parse_error("{\"a\": " + std::string(100, '[')), testing::HasSubstr("nested deeper than 64"));
}

TEST(BodyParser, AKeyThatIsThereTwiceIsRefused) {
  EXPECT_EQ(parse_error(R"({"a": 1, "b": {"a": 1}, "a": 2})"), "'a': the key is there twice");
  EXPECT_EQ(parse_error(R"({"m": [{"x": 1}, {"y": {"k": 1, "k": 1}}]})"),
            "'m[1].y.k': the key is there twice");
  EXPECT_EQ(parse_error(R"({"a": {"k": 1}, "b": {"k": 1}})"), "none");
}

TEST(FieldTable, TheServersLimitIsTheHighestValue) {
  const FieldType choices = FieldType::integer(1, &Limits::choices);
  check_type("n", choices, 16, {});
  EXPECT_THROW(check_type("n", choices, 17, {}), BadRequest);
  check_type("n", choices, 17, {.choices = 20});
  EXPECT_THROW(check_type("n", choices, 3, {.choices = 2}), BadRequest);
}

TEST(FieldTable, TheServersLimitIsTheMostBytesOfAText) {
  const FieldType salt = FieldType::text(&Limits::salt_bytes);
  EXPECT_NO_THROW(check_type("salt", salt, "abcd", {.salt_bytes = 4}));
  for (const char* text : {"", "abcde", "abcü"}) {
    EXPECT_THROW(check_type("salt", salt, text, {.salt_bytes = 4}), BadRequest) << text;
  }
  EXPECT_NO_THROW(check_type("user", FieldType::text(), "", {.salt_bytes = 4}));
  FieldSpec spec{"salt", FieldType::text(&Limits::salt_bytes, "^x"), {}, true};
  const std::vector<const FieldSpec*> specs = {&spec};
  EXPECT_EQ(object_schema(specs)["properties"]["salt"],
            ordered_json::parse(R"({"type": "string", "minLength": 1, "maxLength": 512, "pattern": "^x"})"));
}

TEST(BodyParser, NestsAsDeepAsTheLimitsSay) {
  const std::string deep = R"({"a": [[1]]})";
  EXPECT_NO_THROW(parse_body(deep, {.json_levels = 3}));
  EXPECT_THROW(parse_body(deep, {.json_levels = 2}), BadRequest);
}

}  // namespace
}  // namespace augur
