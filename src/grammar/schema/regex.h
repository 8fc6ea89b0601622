#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "grammar/schema/automaton.h"

namespace augur {

struct EcmaRegex;
using RegexPtr = std::shared_ptr<const EcmaRegex>;

/// A regular expression, parsed. Anchors are sets of one marker.
struct EcmaRegex {
  enum class Kind { Set, Sequence, Choice, Repeat, Ahead, NotAhead };
  Kind kind = Kind::Sequence;
  CodeSet set;                  ///< of Set
  std::vector<RegexPtr> parts;  ///< of all others
  int least = 0, most = -1;     ///< of Repeat; -1: without end
};

RegexPtr regex_set(CodeSet set);
RegexPtr regex_text(std::string_view text);
RegexPtr regex_sequence(std::vector<RegexPtr> parts);
RegexPtr regex_choice(std::vector<RegexPtr> parts);
RegexPtr regex_repeat(RegexPtr part, int least, int most);

/// ECMA-262's notation, as JSON schemas have it. Error naming what is not supported: references back,
/// looking behind, word boundaries, Unicode properties.
RegexPtr parse_regex(std::string_view text);

/// What it matches as a whole, and nothing of anchors. AutomatonTooLarge.
Automaton automaton_of(const RegexPtr& regex);
/// The texts in which it matches anywhere. AutomatonTooLarge.
Automaton texts_with_match(const RegexPtr& regex);

}  // namespace augur
