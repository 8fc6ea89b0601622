#include "grammar/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "byte_grammar.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::error_of;

struct Case {
  std::string schema;
  std::vector<std::string> fitting, others;
};

class SchemaTest : public GrammarTest {
 protected:
  void check(const std::vector<Case>& cases) {
    for (const auto& [schema, fitting, others] : cases) {
      for (const std::string& text : fitting)
        EXPECT_TRUE(fits_schema(schema, text)) << schema << "\n" << text;
      for (const std::string& text : others)
        EXPECT_FALSE(fits_schema(schema, text)) << schema << "\n" << text;
    }
  }
};

TEST_F(SchemaTest, AnEscapeIsOneCharacter) {
  check({
      {R"({"type":"string","maxLength":3})",
       {R"("\"\\\n")", R"("\u00e9\u00E9b")", R"("\ud83d\ude00\ud83d\ude00\ud83d\ude00")", R"("")"},
       {R"("\"\\\n\t")", R"("\ud83d\ude00abc")", R"("\ud83d")", R"("\ude00")"}},
      {R"({"type":"string","minLength":2})", {R"("\n\n")", R"("a\"")"}, {R"("\n")", R"("\ud83d\ude00")"}},
      {R"({"type":"object","properties":{"code":{"type":"string","maxLength":200}},"required":["code"]})",
       {R"({"code": "if (a) {\n\treturn \"x\";\n}"})"},
       {}},
      {R"({"type":"string","pattern":"^.*$"})", {R"("a\"b\\c")", R"("\t")"}, {R"("\n")"}},
      {R"({"type":"string","pattern":"^[^a]{2}$"})", {R"("\"\n")", R"("\u0001b")"}, {R"("ab")", R"("\"")"}},
      {R"({"type":"string","pattern":"^[A-Z]:\\\\"})", {R"("C:\\temp\\\u0041")"}, {R"("C:/")"}},
  });
}

TEST_F(SchemaTest, AReferenceThatDependsOnTheWayToItIsRefused) {
  // The outer anchor of two of a name is meant where a schema is entered through it, and the inner one
  // elsewhere.
  const std::string list = R"("$defs":{"list":{"$id":"list","type":"array","items":{"$dynamicRef":"#item"},)"
                           R"("$defs":{"any":{"$dynamicAnchor":"item"}}})";
  check({{R"({"$ref":"list",)" + list + "}}", {"[1]", R"(["a"])"}, {"1"}}});
  EXPECT_THAT(error_of([&] {
                fits_schema(R"({"$id":"strings","$ref":"list",)" + list +
                                R"(,"string":{"$dynamicAnchor":"item","type":"string"}}})",
                            R"(["a"])");
              }),
              HasSubstr("$dynamicRef '#item' leads to another schema by each way to it"));
  const std::string tree =
      R"("type":"object","additionalProperties":{"$recursiveRef":"#"},"$recursiveAnchor":true})";
  const std::string draft = R"({"$schema":"https://json-schema.org/draft/2019-09/schema",)";
  check({{draft + tree, {"{}", R"({"a":{}})"}, {R"({"a":1})"}}});
  EXPECT_THAT(error_of([&] {
                fits_schema(draft +
                                R"("$id":"strict","$recursiveAnchor":true,"maxProperties":1,"$ref":"tree",)"
                                R"("$defs":{"tree":{"$id":"tree",)" +
                                tree + "}}",
                            "{}");
              }),
              HasSubstr("$recursiveRef '#' leads to another schema"));
}

TEST_F(SchemaTest, APatternIsSearchedFor) {
  check({
      {R"({"type":"string","pattern":"foo"})", {R"("foo")", R"("a foo\n b")"}, {R"("fo")"}},
      {R"({"type":"string","pattern":"^(ab|c)$|x"})",
       {R"("ab")", R"("c")", R"("_x_")"},
       {R"("abc")", R"("b")"}},
      {R"({"type":"string","pattern":"^(?!a|bc$)[a-z]*$"})",
       {R"("bcd")", R"("x")", R"("")"},
       {R"("abc")", R"("bc")"}},
      {R"({"type":"string","pattern":"^(?=.*[0-9])[a-z0-9]{3}$"})", {R"("a1b")"}, {R"("abc")", R"("1")"}},
      {R"({"type":"string","pattern":"^[a-z]+$","minLength":2,"maxLength":3})",
       {R"("ab")"},
       {R"("a")", R"("abcd")"}},
      {R"({"type":"string","pattern":"^a(bc)*$","maxLength":5})", {R"("a")", R"("abcbc")"}, {R"("abcbcbc")"}},
      {R"({"type":"string","pattern":"^[a-z]{1,300}$","maxLength":200})",
       {"\"" + std::string(200, 'a') + "\""},
       {"\"" + std::string(201, 'a') + "\""}},
      {R"({"allOf":[{"pattern":"^a"},{"pattern":"z$"}],"type":"string"})", {R"("az")"}, {R"("a")", R"("z")"}},
  });
}

TEST_F(SchemaTest, NamesPatternsAndTheRestKeepTheirOwn) {
  const std::string both =
      R"({"type":"object","properties":{"ax":{"type":"integer"}},"patternProperties":{"^a":{"minimum":3},"x$":{"maximum":9}},
          "additionalProperties":{"type":"null"}})";
  check({
      {both,
       {R"({"ax": 5})", R"({"ab": 3, "bx": 2})", R"({"axx": 4})", R"({"b": null})", R"({"ab": "s"})"},
       {R"({"ax": 2})", R"({"ax": 10})", R"({"ax": "s"})", R"({"ab": 2})", R"({"axx": 10})", R"({"b": 1})"}},
      {R"({"type":"object","patternProperties":{"^x":{"type":"null"}},"additionalProperties":false})",
       {R"({"xa": null})", "{}"},
       {R"({"xa": 1})", R"({"a": null})"}},
      {R"({"type":"object","properties":{"alpha":{},"b":{}},"propertyNames":{"maxLength":2}})",
       {R"({"b": 1, "cc": 2})"},
       {R"({"alpha": 1})", R"({"ccc": 2})"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"}}})",
       {R"({"a": 1, "b": [2]})"},
       {R"({"b": 1, "a": "x"})"}},
      {R"({"type":"object","properties":{"a":false,"b":{}}})", {R"({"b": 1})", "{}"}, {R"({"a": 1})"}},
      {R"({"type":"object","additionalProperties":true,"properties":{"ab":{}}})",
       {R"({"\"": 1, "a\n": 1})"},
       {}},
  });
}

TEST_F(SchemaTest, KeywordsBesideEachOtherAllHold) {
  check({
      {R"({"type":"object","properties":{"k":{"enum":["a","b"]},"x":{"type":"integer"}},"required":["k"],
           "oneOf":[{"properties":{"k":{"const":"a"}},"required":["x"]},{"properties":{"k":{"const":"b"}}}]})",
       {R"({"k": "a", "x": 1})", R"({"k": "b"})"},
       {R"({"k": "a"})", R"({"x": 1})", R"({"k": "a", "x": "s"})"}},
      {R"({"$ref":"#/$defs/p","maximum":5,"$defs":{"p":{"type":"integer","minimum":1}}})",
       {"1", "5"},
       {"0", "6"}},
      {R"({"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/p","maximum":5,
           "definitions":{"p":{"type":"integer"}}})",
       {"6"},
       {"1.5"}},
      {R"({"anyOf":[{"type":"string"},{"type":"null"}],"maxLength":2})",
       {R"("ab")", "null"},
       {R"("abc")", "1"}},
      {R"({"enum":["a","bb",7],"type":"string","maxLength":1})", {R"("a")"}, {R"("bb")", "7"}},
      {R"({"allOf":[{"enum":[1,2,3]},{"enum":[2,3,4]}],"not":{"const":3}})", {"2"}, {"1", "3", "4"}},
      {R"({"allOf":[{"properties":{"a":{"minimum":2}}},{"properties":{"a":{"maximum":4}}}],"type":"object","required":["a"]})",
       {R"({"a": 3})", R"({"a": "s"})"},
       {R"({"a": 1})", R"({"a": 5})", "{}"}},
      {R"({"type":["string","array"],"minLength":2,"minItems":1})", {R"("ab")", "[0]"}, {R"("a")", "[]"}},
      {R"({"type":"string","format":"ipv4","pattern":"^1"})", {R"("10.0.0.1")"}, {R"("20.0.0.1")", R"("1")"}},
  });
}

TEST_F(SchemaTest, AssertionsHoldWithoutAType) {
  check({
      {R"({"minimum":3})", {"3", R"("a")", "null", "[2]"}, {"2"}},
      {R"({"minLength":2})", {R"("ab")", "1", "{}"}, {R"("a")"}},
      {R"({"required":["a"]})", {R"({"a": 1})", "7"}, {"{}"}},
      {R"({"items":{"type":"null"}})", {"[null]", "3"}, {"[3]"}},
      {R"({"properties":{"a":{"type":"null"}}})", {R"({"a": null})", "3"}, {R"({"a": 3})"}},
  });
}

TEST_F(SchemaTest, ConditionsAndDependencies) {
  check({
      {R"({"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}},"additionalProperties":false,
           "dependentRequired":{"a":["b"]}})",
       {R"({"a": null, "b": null})", R"({"b": null})", "{}"},
       {R"({"a": null})"}},
      {R"({"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"null"}},
           "dependencies":{"a":{"required":["c"]}}})",
       {R"({"a": null, "c": 1})", "{}"},
       {R"({"a": null})"}},
      {R"({"type":"object","properties":{"t":{"enum":["u","v"]},"u":{},"v":{}},"required":["t"],
           "if":{"properties":{"t":{"const":"u"}}},"then":{"required":["u"]},"else":{"required":["v"]}})",
       {R"({"t": "u", "u": 1})", R"({"t": "v", "v": 1})"},
       {R"({"t": "u", "v": 1})", R"({"t": "v"})"}},
      {R"({"type":"object","not":{"required":["a"]}})", {R"({"b": 1})", "{}"}, {R"({"a": 1})"}},
      {R"({"type":"object","not":{"properties":{"a":{"type":"null"}},"additionalProperties":false}})",
       {R"({"a": 1})", R"({"b": 1})", R"({"a": null, "b": 1})"},
       {"{}", R"({"a": null})"}},
      {R"({"type":"string","not":{"enum":["ab"]}})", {R"("a")", R"("abc")", R"("")"}, {R"("ab")"}},
      {R"({"type":"integer","not":{"minimum":3,"maximum":6}})", {"2", "7"}, {"3", "6"}},
      {R"({"type":"array","contains":{"type":"null"},"maxItems":3})",
       {"[1, null]", "[null]"},
       {"[]", "[1]", "[null, 1, 1, 1]"}},
      {R"({"type":"array","items":{"enum":["a","b"]},"uniqueItems":true})",
       {R"(["b", "a"])", "[]"},
       {R"(["a", "a"])"}},
  });
}

TEST_F(SchemaTest, AlternativesOfOneOfMayOverlap) {
  check({
      {R"({"oneOf":[{"type":"integer"},{"type":"number","minimum":10}]})", {"1", "10.5"}, {"11", "2.5"}},
      {R"({"oneOf":[{"type":"string"},{"type":"string","minLength":3}]})", {R"("ab")"}, {R"("abc")"}},
      {R"({"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false,
           "oneOf":[{"required":["a"]},{"required":["b"]}]})",
       {R"({"a": 1})", R"({"b": 1})"},
       {R"({"a": 1, "b": 1})", "{}"}},
      {R"({"oneOf":[true,{"type":"null"}]})", {"1"}, {"null"}},
  });
}

TEST_F(SchemaTest, NumbersAreExact) {
  check({
      {R"({"type":"integer","minimum":1.5,"maximum":1e3})", {"2", "1000"}, {"1", "1001", "-2"}},
      {R"({"type":"integer","maximum":18446744073709551615})",
       {"18446744073709551615"},
       {"18446744073709551616"}},
      {R"({"type":"number","minimum":-0.5,"exclusiveMaximum":2.25})",
       {"-0.5", "0", "2.2499999999", "2"},
       {"-0.51", "2.25", "2.3", "-1"}},
      {R"({"type":"number","multipleOf":0.1})", {"0.3", "2", "-1.10"}, {"0.25"}},
      {R"({"type":"integer","multipleOf":3,"minimum":10})", {"12", "300"}, {"9", "13"}},
      {R"({"$schema":"http://json-schema.org/draft-04/schema#","type":"integer","minimum":0,"exclusiveMinimum":true})",
       {"1"},
       {"0"}},
      {R"({"enum":[255.0,1e2]})", {"255", "100"}, {"1"}},
      {R"({"type":"number","not":{"type":"integer"}})", {"1.5", "0.25"}, {"1", "1.0"}},
  });
}

TEST_F(SchemaTest, DraftsSayTheSameInOtherWords) {
  check({
      {R"({"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"null"}],"additionalItems":{"type":"integer"},
           "type":"array"})",
       {"[null, 1]", "[]"},
       {"[1]", "[null, null]"}},
      {R"({"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"null"}],"type":"array"})",
       {"[null, 1]"},
       {"[1]"}},
      {R"({"$schema":"http://json-schema.org/draft-04/schema#","id":"http://a/b","definitions":{"c":{"id":"#d","type":"null"}},
           "$ref":"#d"})",
       {"null"},
       {"1"}},
      {R"({"$id":"http://a/b","$defs":{"c":{"$id":"c","$anchor":"e","type":"null"}},"anyOf":[{"$ref":"c"},{"$ref":"http://a/c#e"}]})",
       {"null"},
       {"1"}},
      {R"({"definitions":{"a/b c":{"type":"null"}},"$ref":"#/definitions/a~1b%20c"})", {"null"}, {"1"}},
      {R"({"type":"object","properties":{"child":{"$ref":"#"}},"additionalProperties":false})",
       {R"({"child": {"child": {}}})"},
       {R"({"child": 1})"}},
      {R"({"allOf":[{"properties":{"a":{}}}],"properties":{"b":{}},"unevaluatedProperties":false,"type":"object"})",
       {R"({"a": 1, "b": 1})"},
       {R"({"c": 1})"}},
  });
}

TEST(JsonSchema, WhatIsUnknownIsIgnoredAndNamed) {
  const auto warnings = [](const char* schema) { return grammar_of_schema(schema).warnings; };
  EXPECT_THAT(
      warnings(
          R"({"type":"string","title":"t","description":"d","default":"x","examples":["a"],"deprecated":true,
                           "readOnly":true,"writeOnly":true,"$comment":"c","contentMediaType":"a/b","contentEncoding":"e"})"),
      IsEmpty());
  EXPECT_THAT(
      warnings(R"({"$schema":"http://json-schema.org/draft-04/schema#","id":"http://a","type":"null"})"),
      IsEmpty());
  EXPECT_THAT(warnings(R"({"properties":{"a":{"minimun":3}},"x-order":1})"),
              ElementsAre(HasSubstr("#/x-order is not a keyword"), HasSubstr("#/properties/a/minimun")));
  EXPECT_THAT(warnings(R"({"uniqueitems":true})"), ElementsAre(HasSubstr("did you mean uniqueItems?")));
  EXPECT_THAT(warnings(R"({"javaType":"a"})"), ElementsAre(Not(HasSubstr("did you mean"))));
  EXPECT_THAT(warnings(R"({"type":"string","format":"colour"})"),
              ElementsAre(HasSubstr("#/format 'colour'")));
  EXPECT_THAT(warnings(R"({"properties":{"minimun":{},"format":{"type":"null"}},"default":{"minimun":1}})"),
              IsEmpty());
}

TEST(JsonSchema, KnownAssertionsThatCannotBeEnforcedAreNamedWithTheirPlace) {
  const std::pair<const char*, const char*> kRefused[] = {
      {R"({"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}})",
       "#/properties/a/uniqueItems"},
      {R"({"type":"string","format":"idn-email"})", "#/format"},
      {R"({"type":"string","pattern":"(a)\\1"})", "#/pattern"},
      {R"({"type":"string","pattern":"("})", "#/pattern"},
      {R"({"type":"string","pattern":7})", "#/pattern"},
      {R"({"$ref":"https://example.org/schema"})", "#/$ref"},
      {R"({"$ref":"#/$defs/missing"})", "#/$ref"},
      {R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}})", "#/$defs/a"},
      {R"({"type":"colour"})", "#/type"},
      {R"({"type":"string","maxLength":1000000})", "#/maxLength"},
      {R"({"type":"string","minLength":-1})", "#/minLength"},
      {R"({"type":"string","minLength":1.5})", "#/minLength"},
      {R"({"type":"object","required":"a"})", "#/required"},
      {R"({"type":"object","required":[1]})", "#/required"},
      {R"({"type":"object","required":["a"],"minProperties":3})", "#/minProperties"},
      {R"({"type":"object","required":["a"],"additionalProperties":false})", "nothing fits"},
      {R"({"type":"integer","minimum":3,"maximum":2})", "nothing fits"},
      {R"({"properties":{"a":{"$ref":"#"}},"required":["a"],"type":"object"})", "nothing fits"},
      {R"({"allOf":[]})", "#/allOf"},
      {R"({"anyOf":{}})", "#/anyOf"},
      {"false", "nothing fits"},
      {"[1]", "#"},
      {"{", "JSON schema"},
  };
  for (const auto& [schema, place] : kRefused) {
    EXPECT_THAT(error_of([&, text = schema] { grammar_of_schema(text); }), HasSubstr(place)) << schema;
  }
  std::string deep = "{}";
  for (int i = 0; i < 100; ++i) deep = R"({"items":)" + deep + "}";
  EXPECT_THAT(error_of([&] { grammar_of_schema(deep); }), HasSubstr("JSON schema"));
}

TEST(JsonSchema, AlternativesWithoutEndAreRefused) {
  std::string schema = R"({"type":"object","allOf":[)";
  for (int i = 0; i < 40; ++i) {
    const std::string name = "a" + std::to_string(i);
    schema += std::string(i > 0 ? "," : "") + R"({"anyOf":[{"required":[")" + name +
              R"("]},{"required":["b)" + name + R"("]}]})";
  }
  EXPECT_THAT(error_of([&] { grammar_of_schema(schema + "]}"); }), HasSubstr("too many"));
}

TEST(JsonSchema, ManyOptionalPropertiesAreFewRules) {
  std::string schema = R"({"type":"object","additionalProperties":false,"properties":{)";
  for (int i = 0; i < 1000; ++i)
    schema += std::string(i > 0 ? "," : "") + "\"p" + std::to_string(i) + "\":{}";
  EXPECT_LT(grammar_of_schema(schema + "}}").ebnf.size(), 1u << 20);
}

}  // namespace
}  // namespace augur
