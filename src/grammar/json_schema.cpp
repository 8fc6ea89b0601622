#include "grammar/json_schema.h"

#include <utility>

#include "base/error.h"
#include "files/json_reader.h"
#include "grammar/schema/lowering.h"

namespace augur {

SchemaGrammar grammar_of_schema(std::string_view text, const SchemaOptions& options) {
  parse_json(text, "JSON schema");  // says what is wrong, and how deep it may be
  return grammar_of_json(Json::parse(text), options);
}

SchemaGrammar grammar_of_json(Json schema, const SchemaOptions& options) {
  Document document(std::move(schema));
  Normaliser normaliser(document);
  Lowering lowering(normaliser, options);
  SchemaGrammar grammar{lowering.grammar_of({{document.root(), true}}), document.warnings()};
  if (grammar.ebnf.empty()) throw Error("JSON schema: nothing fits #");
  return grammar;
}

}  // namespace augur
