#include "grammar/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/error_of.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

TEST(JsonSchema, WhatIsNotEnforcedIsNamedWithItsPlace) {
  const std::pair<const char*, const char*> kRefused[] = {
      {R"({"not":{"type":"string"}})", "#/not"},
      {R"({"if":{},"then":{}})", "#/if"},
      {R"({"type":"object","dependentRequired":{"a":["b"]}})", "#/dependentRequired"},
      {R"({"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}})",
       "#/properties/a/uniqueItems"},
      {R"({"type":"array","contains":{"type":"null"}})", "#/contains"},
      {R"({"type":"array","items":{"type":"string","contentEncoding":"base64"}})", "#/items/contentEncoding"},
      {R"({"minimum":3})", "#/minimum"},
      {R"({"type":"integer","minLength":3})", "#/minLength"},
      {R"({"type":"string","format":"phone"})", "#/format"},
      {R"({"$ref":"#/$defs/a","$defs":{"a":{}},"minLength":2})", "#/minLength"},
      {R"({"$ref":"https://example.org/schema"})", "#/$ref"},
      {R"({"anyOf":[{"type":"string"}],"type":"string"})", "#/type"},
      {R"({"anyOf":[{"type":"string"},{"type":"object","properties":{"b":{"unknown":1}}}]})",
       "#/anyOf/1/properties/b/unknown"},
      {R"({"enum":["a",3],"type":"string"})", "#/enum/1"},
      {R"({"type":"integer","multipleOf":2,"const":3.5})", "#/multipleOf"},
      {R"({"$defs":{"a":{"not":{}}},"type":"string"})", "#/$defs/a/not"},
      {R"({"type":"colour"})", "#/type"},
      {R"({"type":"string","maxLength":1000000})", "#/maxLength"},
      {R"({"type":"string","minLength":-1})", "#/minLength"},
      {R"({"type":"object","nullable":true})", "#/nullable"},
      {R"({"$dynamicRef":"#a"})", "#/$dynamicRef"},
      {R"({"$anchor":"a","type":"string"})", "#/$anchor"},
      {R"({"$ref":"#/default","default":{"not":{}}})", "#/$ref"},
      {R"({"$ref":"#/properties"})", "#/$ref"},
      {R"({"type":"string","format":"date","pattern":"1"})", "#/pattern"},
      {R"({"type":"object","required":"a"})", "#/required"},
      {R"({"type":"object","required":[1]})", "#/required"},
      {R"({"type":"object","required":["a"],"additionalProperties":false})", "#/required"},
      {R"({"type":"object","required":["a"],"patternProperties":{"a":{}}})", "#/required"},
      {R"({"type":"object","properties":{"a":{}},"patternProperties":{"a":{"type":"null"}}})",
       "#/patternProperties"},
      {R"({"type":"object","patternProperties":{"a":{},"b":{"type":"null"}}})", "#/patternProperties"},
      {R"({"type":"object","properties":{"a":{}},"propertyNames":{"type":"string"}})", "#/propertyNames"},
      {R"({"type":"object","propertyNames":{}})", "#/propertyNames"},
      {R"({"type":"object","propertyNames":{"enum":["a",1]}})", "#/propertyNames"},
      {R"({"type":"object","required":["a"],"minProperties":3})", "#/minProperties"},
      {R"({"type":"string","minLength":1.5})", "#/minLength"},
      {R"(false)", "#"},
      {R"([1])", "#"},
  };
  for (const auto& [schema, place] : kRefused) {
    EXPECT_THAT(error_of([&, text = schema] { enforceable_schema(text); }), HasSubstr(place)) << schema;
  }
  EXPECT_THAT(error_of([] { enforceable_schema("{"); }), HasSubstr("JSON schema"));
  std::string deep = "{}";
  for (int i = 0; i < 100; ++i) deep = R"({"items":)" + deep + "}";
  EXPECT_THAT(error_of([&] { enforceable_schema(deep); }), HasSubstr("JSON schema"));
}

TEST(JsonSchema, TakesWhatIsOnlyWrittenOtherwise) {
  for (
      const char* schema :
      {R"({"type":"array","uniqueItems":false,"minItems":2.0})", R"({"$ref":"#/$defs/a","$defs":{"a":{}}})",
       R"({"type":"object","properties":{"a":{"items":{"type":"null"}},"b":{"$ref":"#/properties/a/items"}}})",
       R"({"type":"object","patternProperties":{"^a":{},"^b":{}}})",
       R"({"type":"object","propertyNames":{"enum":["a"]},"minProperties":1})",
       R"({"type":"object","properties":{"a":{},"b":{}},"minProperties":2})"}) {
    EXPECT_NO_THROW(enforceable_schema(schema)) << schema;
  }
}

TEST(JsonSchema, KeepsTheOrderOfProperties) {
  const std::string schema = R"({"type":"object","properties":{"z":{},"a":{},"m":{}},"title":"T"})";
  EXPECT_EQ(enforceable_schema(schema), schema);
}

TEST(JsonSchema, OpensWhatNothingIsSaidOf) {
  const auto opened = nlohmann::json::parse(enforceable_schema(
      R"({"anyOf":[{"type":"object"},{"type":"array"},{"type":["object","array","null"]}]})"));
  EXPECT_EQ(opened["anyOf"][0]["additionalProperties"], true);
  EXPECT_EQ(opened["anyOf"][1]["items"], true);
  EXPECT_EQ(opened["anyOf"][2]["items"], true);
}

}  // namespace
}  // namespace augur
