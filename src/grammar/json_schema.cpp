#include "grammar/json_schema.h"

#include "base/error.h"
#include "grammar/schema/lowering.h"

namespace augur {

SchemaGrammar grammar_of_schema(std::string_view text, const SchemaOptions& options) {
  Document document(text);
  Normaliser normaliser(document);
  Lowering lowering(normaliser, options);
  SchemaGrammar grammar{lowering.grammar_of({{document.root(), true}}), document.warnings()};
  if (grammar.ebnf.empty()) throw Error("JSON schema: nothing fits #");
  return grammar;
}

}  // namespace augur
