#pragma once
#include "grammar/schema/grammar_text.h"

namespace augur {

/// The rules of JSON itself, on which those of a schema stand: numbers as reference() takes them.
struct JsonRules {
  /// Adds them. Between tokens there are at most so many characters of whitespace.
  JsonRules(GrammarText& text, int most_whitespace);

  PiecePtr space, comma, colon;  ///< the latter two with whitespace around them
  int string_rule = 0;
  int string_rest_rule =
      0;  ///< of a string, what follows the opening quote or any character: all, and the closing one
  int character_rule = 0;  ///< of a string, as it is or escaped; a pair of surrogates is one
  int any_rule = 0, integer_rule = 0, number_rule = 0, array_rule = 0, object_rule = 0;

  /// With whitespace inside; `inner` null: empty.
  PiecePtr braced(const char* open, PiecePtr inner, const char* close) const;
};

}  // namespace augur
