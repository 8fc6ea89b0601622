#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "grammar/json_schema.h"
#include "grammar/schema/grammar_text.h"
#include "grammar/schema/json_rules.h"
#include "grammar/schema/normaliser.h"
#include "grammar/schema/text_pieces.h"

namespace augur {

/// Writes the core as a grammar of JSON texts. Members come in the order in which schemas name them, others
/// behind them; between tokens there is at most so much whitespace. A value's strings and numbers are written
/// in at least one way each; strings that nothing is asked of in every way.
class Lowering {
 public:
  Lowering(Normaliser& normaliser, const SchemaOptions& options);

  /// EBNF; empty: nothing fits. Error naming the place of an assertion that cannot be enforced.
  std::string grammar_of(const Conjunction& all);

 private:
  struct Member {
    PiecePtr text;  ///< name, colon, value
    bool required = false;
  };
  /// Names beyond those that are known, and what their members keep.
  struct NameClass {
    Automaton names;
    Conjunction value;
  };

  PiecePtr of(const Conjunction& literals);
  PiecePtr of_constraint(const Constraint& constraint);
  PiecePtr of_string(const Constraint& constraint);
  PiecePtr of_number(const Constraint& constraint);
  PiecePtr of_array(const Constraint& constraint);
  PiecePtr of_object(const Constraint& constraint);
  PiecePtr members(const ObjectRules& rules, const Conjunction* one_more);
  PiecePtr of_rules(ObjectRules rules);

  PiecePtr string_body(const StringRules& rules, const std::vector<std::string>& excluded);
  PiecePtr of_value(const Json& value);
  Automaton texts_of_names(const Conjunction& names);
  std::vector<NameClass> further_names(const ObjectRules& rules, const std::vector<std::string>& known);
  std::vector<std::string> known_names(const ObjectRules& rules);

  PiecePtr unique_items(const Constraint& constraint, std::vector<Json> values);
  PiecePtr items_with(const ArrayRules& rules);
  PiecePtr any_of_members(const std::vector<Member>& all, std::size_t from, std::size_t to);
  PiecePtr rest_of_members(const std::vector<Member>& all, std::size_t from, std::size_t to);
  PiecePtr counted_members(const std::vector<Member>& all, const PiecePtr& further, const Counts& count);
  PiecePtr rule_of(PiecePtr body);
  [[noreturn]] void refuse(const std::string& what) const;

  Normaliser& normaliser_;
  const SchemaOptions options_;
  GrammarText text_;
  const JsonRules json_;  ///< of text_
  TextPieces texts_;      ///< of text_
  std::map<Conjunction, int> known_;
  const Json* place_ = nullptr;  ///< the schema that is being written, for errors
};

}  // namespace augur
