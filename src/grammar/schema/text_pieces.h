#pragma once
#include "grammar/schema/automaton.h"
#include "grammar/schema/constraint.h"
#include "grammar/schema/grammar_text.h"
#include "grammar/schema/json_rules.h"
#include "grammar/schema/regex.h"

namespace augur {

/// Writes sets of texts as pieces of a grammar. What is referred to outlives it.
class TextPieces {
 public:
  TextPieces(GrammarText& text, const JsonRules& json) : text_(text), json_(json) {}

  /// The texts that it accepts: in a JSON string with the closing quote, otherwise as they are.
  PiecePtr of_automaton(const Automaton& automaton, bool in_string);
  /// The JSON strings that keep the rules, with the closing quote, where these are one pattern, or one and a
  /// length, whose counts can stay counts rather than become states. Null: not to be had.
  PiecePtr counted(const StringRules& rules);

 private:
  PiecePtr of_regex(const EcmaRegex& regex);
  PiecePtr spelt(const CodeSet& set);

  GrammarText& text_;
  const JsonRules& json_;
};

}  // namespace augur
