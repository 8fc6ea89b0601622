#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "grammar/schema/automaton.h"

namespace augur {

/// A number as decimal digits: integers have no leading zeros, fractions no trailing ones.
struct Decimal {
  bool negative = false;
  std::string integer = "0", fraction;
};
Decimal decimal_of(const nlohmann::ordered_json& number);
/// < 0, 0 or > 0.
int compare(const Decimal& a, const Decimal& b);

struct Bound {
  Decimal value;
  bool open = false;  ///< the value itself is not in
};

/// What is asked of a number beside its being one.
struct NumberRules {
  std::optional<Bound> least, most;
  std::vector<Decimal> multiples_of, not_multiples_of;

  bool any() const { return !least && !most && multiples_of.empty() && not_multiples_of.empty(); }
  void raise(const Bound& bound);
  void lower(const Bound& bound);
  void meet(const NumberRules& other);
  bool contradictory() const;
};

/// Their texts in JSON, without exponents: integers, numbers with a fraction that is not zero, or both.
/// Error for multiples of what is too large; AutomatonTooLarge.
Automaton number_texts(const NumberRules& rules, bool integers, bool fractions);
/// All texts without exponents that mean it.
Automaton texts_of_number(const Decimal& value);
std::string text_of(const Decimal& value);

}  // namespace augur
