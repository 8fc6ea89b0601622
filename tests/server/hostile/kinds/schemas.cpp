#include "server/hostile/catalogue.h"

namespace augur::hostile {
namespace {

std::string schema(std::string_view text) {
  return chat(
      R"("max_tokens": 3, "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": )" +
      std::string(text) + "}}");
}
constexpr std::string_view kField = "response_format.json_schema.schema";

/// {"p0": {}, "p1": {}, ...}
std::string properties(int count, std::string_view each = "{}") {
  std::string text = "{";
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + "\":" + std::string(each);
  }
  return text + "}";
}
std::string names(int count) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + "\"";
  return text + "]";
}

}  // namespace

/// Schemas that refer to themselves, that nothing fits, that are dear, or that are none.
std::vector<Case> schemas() {
  const std::vector<int> either = {200, 400};
  const std::string field(kField);
  return {
      {"itself", schema(R"({"$ref": "#"})"), {400}, field},
      {"itself, by a detour",
       schema(R"({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"})"),
       {400},
       field},
      {"all of itself", schema(R"({"allOf": [{"$ref": "#"}, {"type": "string"}]})"), {400}, field},
      {"not itself", schema(R"({"not": {"$ref": "#"}})"), {400}, field},
      {"a tree of itself",
       schema(R"({"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}})"),
       {200}},
      {"a value that needs itself",
       schema(R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})"),
       {400},
       field},
      {"a reference to nowhere", schema(R"({"$ref": "#/$defs/none"})"), {400}, field},
      {"a reference to the network", schema(R"({"$ref": "http://127.0.0.1:1/schema.json"})"), {400}, field},
      {"a reference to a file", schema(R"({"$ref": "file:///etc/passwd"})"), {400}, field},
      {"a reference with half an escape", schema(R"({"$ref": "#/a~2b%"})"), {400}, field},
      {"a reference that is a number", schema(R"({"$ref": 1})"), {400}, field},
      {"a reference into a text", schema(R"({"title": "a", "$ref": "#/title/0"})"), {400}, field},
      {"nothing fits", schema(R"({"not": {}})"), {400}, field},
      {"false", schema("false"), {400}, field},
      {"a number between two ends",
       schema(R"({"type": "integer", "minimum": 2, "maximum": 1})"),
       {400},
       field},
      {"a number between two doubles",
       schema(R"({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 5e-324})"), either},
      {"a number beyond all doubles", schema(R"({"type": "number", "minimum": 1e400})"), {400}},
      {"integers of 300 digits", schema(R"({"type": "integer", "minimum": )" + std::string(300, '9') + "}"),
       either},
      {"a multiple of nothing", schema(R"({"type": "number", "multipleOf": 0})"), {400}, field},
      {"a multiple of almost nothing", schema(R"({"type": "number", "multipleOf": 1e-300})"), either},
      {"a multiple of a prime", schema(R"({"type": "integer", "multipleOf": 1000003})"), either},
      {"a text of no length", schema(R"({"type": "string", "minLength": -1})"), {400}, field},
      {"a text of ten billion letters",
       schema(R"({"type": "string", "minLength": 10000000000})"),
       {400},
       field},
      {"a text of 2^64 letters", schema(R"({"type": "string", "maxLength": 18446744073709551616})"), either},
      {"a list of a billion",
       schema(R"({"type": "array", "items": {}, "minItems": 1000000000})"),
       {400},
       field},
      {"lists of lists of lists",
       schema(
           R"({"type": "array", "minItems": 9999, "items": {"type": "array", "minItems": 9999, "items": {"type": "array", "minItems": 9999}}})"),
       either},
      {"a pattern that is none", schema(R"({"type": "string", "pattern": "("})"), {400}, field},
      {"a pattern of repetitions", schema(R"({"type": "string", "pattern": "((a{9999}){9999}){9999}"})"),
       either},
      {"a pattern that needs all subsets", schema(R"({"type": "string", "pattern": "(a|b)*a(a|b){25}$"})"),
       either},
      {"a pattern and a length",
       schema(R"({"type": "string", "pattern": "^(a|b)*a(a|b){20}", "minLength": 500, "maxLength": 9000})"),
       either},
      {"patterns that exclude each other",
       schema(R"({"allOf": [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}]})"),
       {400},
       field},
      {"a thousand optional properties",
       schema(R"({"type": "object", "properties": )" + properties(1'000) + "}"), either},
      {"a thousand required ones",
       schema(R"({"type": "object", "properties": )" + properties(1'000) + R"(, "required": )" +
              names(1'000) + "}"),
       either},
      {"required ones that are not there",
       schema(R"({"type": "object", "additionalProperties": false, "properties": {}, "required": ["a"]})"),
       {400},
       field},
      {"properties of long names",
       schema(R"({"type": "object", "properties": {")" + std::string(30'000, 'n') + R"(": {}}})"), either},
      {"properties without a name",
       schema(
           R"({"type": "object", "properties": {"": {"const": ""}, "\u0000": {}}, "required": ["", "\u0000"]})"),
       either},
      {"a hundred patterns of names",
       schema(R"({"type": "object", "patternProperties": )" + properties(100) + "}"),
       {400},
       field},
      {"choices of choices",
       schema(
           R"({"allOf": [)" +
           repeated(R"({"anyOf": [{"minimum": 1}, {"maximum": 2}, {"type": "string"}, {"minLength": 2}]},)",
                    12) +
           "{}]}"),
       {400},
       field},
      {"one of the same", schema(R"({"oneOf": [{"type": "integer"}, {"type": "integer"}]})"), {400}, field},
      {"one of none", schema(R"({"oneOf": []})"), {400}, field},
      {"nothing listed", schema(R"({"enum": []})"), {400}, field},
      {"thousands listed", schema(R"({"enum": )" + names(5'000) + "}"), either},
      {"a type of no sort", schema(R"({"type": "magic"})"), {400}, field},
      {"types that are numbers", schema(R"({"type": [1, 2]})"), {400}, field},
      {"no types", schema(R"({"type": []})"), {400}, field},
      {"if upon if", schema(repeated(R"({"if": {"minimum": 1}, "then": )", 20) + "{}" + repeated("}", 20)),
       either},
      {"items that must differ",
       schema(R"({"type": "array", "items": {"enum": [1,2,3,4,5,6]}, "uniqueItems": true, "minItems": 7})"),
       {400},
       field},
      {"dependencies in a circle",
       schema(
           R"({"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"], "b": ["a"]}})"),
       either},
      {"a schema of another planet",
       schema(R"({"$schema": "https://planet.example/schema", "type": "string"})"), either},
      {"identifiers that collide",
       schema(R"({"$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}, "$ref": "x"})"), either},
      {"a schema beyond 64 KiB",
       schema(R"({"description": ")" + std::string(100'000, 'd') + "\"}"),
       {400},
       field},
      {"a word almost right", schema(R"({"type": "string", "maxLenght": 3})"), {200}},
      {"a text that is no schema", completions(R"("guided_json": "{")"), {400}, "guided_json"},
      {"a list for a schema", llamacpp(R"("json_schema": [])"), {400}, "json_schema"},
      {"a format that nobody knows in the Responses' form",
       responses(
           R"("max_output_tokens": 2, "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "string", "format": "magic"}}})"),
       {200}},
  };
}

}  // namespace augur::hostile
