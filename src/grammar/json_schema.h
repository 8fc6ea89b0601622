#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace augur {

struct SchemaOptions {
  int most_whitespace = 10;  ///< characters between tokens of JSON
  /// An object whose schema names properties and does not speak of others has no others, as OpenAI's strict
  /// schemas and tools want it; the specification allows them.
  bool named_members_only = false;
};

/// A JSON schema as a grammar.
struct SchemaGrammar {
  std::string ebnf;  ///< xgrammar's notation, the rule "root"
  std::vector<std::string>
      warnings;  ///< what is passed over: unknown keywords and formats, with their places
};

/// The texts that fit a schema of the drafts 4 to 2020-12 (its $schema says which; the last one without).
/// Every assertion is enforced as the specification has it, or is an Error that names its place. Values are
/// reachable in one order of their members at least: that of the schema.
SchemaGrammar grammar_of_schema(std::string_view text, const SchemaOptions& options = {});
/// The same of one that has been read.
SchemaGrammar grammar_of_json(nlohmann::ordered_json schema, const SchemaOptions& options);

}  // namespace augur
