#pragma once
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "augur/error.h"
#include "grammar/schema/automaton.h"
#include "grammar/schema/constraint.h"
#include "grammar/schema/document.h"

namespace augur {

/// Rewrites schemas into the core: a conjunction of schemas, in whatever words, becomes the list of
/// constraints of which a value has to meet one. References, allOf, anyOf, oneOf, not, if, dependencies and
/// the drafts' differences end here. Children stay conjunctions, so recursion is the caller's.
class Normaliser {
 public:
  explicit Normaliser(Document& document) : document_(document) {}

  /// Empty: nothing fits. Error naming the place of an assertion that cannot be enforced, or of a schema
  /// whose alternatives are too many. The result lives as long as this.
  const std::vector<Constraint>& expand(const Conjunction& all);

  /// What a value of this constraint's arrays and objects keeps at a place.
  static Conjunction of_item(const ArrayRules& rules, std::size_t at);
  static Conjunction of_further_items(const ArrayRules& rules);
  static std::size_t prefix_length(const ArrayRules& rules);
  Conjunction of_member(const ObjectRules& rules, const std::string& name);

  /// The same without schemas that say nothing, and with what schemas that only refer to another refer to.
  Conjunction resolved(const Conjunction& all);

  bool fits(const Conjunction& all, const Json& value);
  /// Whether it is surely empty; false also where that is hard to say.
  bool hopeless(const Conjunction& all, int depth = 3);

  /// The strings that have a match of it.
  const Automaton& texts_of_pattern(const std::string& pattern);
  Automaton texts_of(const StringRules& rules);
  Document& document() { return document_; }

 private:
  struct Branch {
    Constraint own;
    Conjunction also;
  };
  struct Choice {
    std::vector<Branch> branches;
    const Json* one_of = nullptr;  ///< the schema whose oneOf it is: branches are to exclude each other
  };
  struct State {
    Constraint own;
    std::vector<Choice> choices;
    Conjunction seen;
    bool failed = false;
  };

  void solve(State state, std::vector<Constraint>& results);
  void choose(const State& state, const Choice& choice, std::vector<Constraint>& results);
  void read(const Literal& literal, State& state);
  void read_schema(const Json& schema, State& state);
  void read_keyword(const Json& schema, const std::string& key, const Json& value, State& state);
  bool read_in_place(const Json& schema, const std::string& key, const Json& value, State& state);
  void read_object(const Json& schema, State& state);
  void read_array(const Json& schema, State& state);
  void read_unevaluated(const Json& schema, State& state);
  bool gather(const Json& schema, ObjectRules::Layer& members, ArrayRules::Layer& items, bool& all_members,
              bool& all_items, int depth);
  Choice negated(const Json& schema);
  void negate_keyword(const Json& schema, const std::string& key, const Json& value, Choice& choice);
  void negate_items(const Json& schema, Choice& choice);
  void negate_members(const Json& schema, Choice& choice);
  static Branch absent(const std::string& name);
  Choice exactly_one(const State& state, const Choice& choice);
  bool apart(const Literal& a, const Literal& b, const Constraint& context);
  bool surely_apart(const Conjunction& pair, const Constraint& context);
  bool hopeless(Constraint constraint, int depth);
  bool meets(const Constraint& constraint, const Json& value);
  const Json* target(const Json& schema, const std::string& key);
  unsigned types_of(const Json& schema, const Json& value);
  Bound bound(const Json& schema, const std::string& key, const Json& value, bool& applies) const;
  Counts counts(const Json& schema, const std::string& key, const Json& value) const;
  const Json& made(Json schema);
  [[noreturn]] void refuse(const Json& schema, std::string_view key, std::string_view why,
                           ErrorKind kind = ErrorKind::Malformed) const;

  Document& document_;
  std::map<Conjunction, std::vector<Constraint>> known_;
  std::map<std::string, Automaton> patterns_;
  MeteredBytes held_;                   ///< of patterns_
  std::vector<const Json*> reading_;    ///< schemas that are being read in place, to find those that loop
  std::vector<Conjunction> comparing_;  ///< alternatives of oneOf that are being compared
  std::size_t steps_ = 0;
};

extern const Json kAnySchema;  ///< true
extern const Json kNoSchema;   ///< false

}  // namespace augur
