#pragma once
#include <memory>
#include <string>
#include <vector>

#include "grammar/schema/automaton.h"

namespace augur {

/// A piece of a grammar: what may stand in a place.
struct Piece;
using PiecePtr = std::shared_ptr<const Piece>;

PiecePtr literal(std::string text);                     ///< these bytes
PiecePtr character(const CodeSet& set);                 ///< one of these characters
PiecePtr sequence(const std::vector<PiecePtr>& parts);  ///< one after the other
PiecePtr choice(std::vector<PiecePtr> parts);           ///< one of them; none: nothing can stand there
PiecePtr repeat(PiecePtr part, int least, int most);    ///< most -1: without end
PiecePtr reference(int rule);

/// Rules in the making, printed as xgrammar's EBNF. What can't be completed (a choice of nothing, a rule that
/// needs itself) is left out, and with it whatever needs it.
class GrammarText {
 public:
  int add_rule(const std::string& name = "");
  /// `ahead`: what follows it wherever it is used, which spares work.
  void define(int rule, PiecePtr body, std::string ahead = "");
  /// Empty: nothing fits the rule.
  std::string print(int root) const;

 private:
  struct Rule {
    std::string name;
    PiecePtr body;
    std::string ahead;
  };
  std::vector<int> representatives(const std::vector<bool>& done) const;
  std::vector<Rule> rules_;
};

}  // namespace augur
