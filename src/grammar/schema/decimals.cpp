#include "grammar/schema/decimals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "grammar/schema/regex.h"

namespace augur {
namespace {

RegexPtr digits(char first, char last) {
  return regex_set({{static_cast<CodePoint>(first), static_cast<CodePoint>(last)}});
}
RegexPtr digit() {
  return digits('0', '9');
}
RegexPtr optional(RegexPtr part) {
  return regex_repeat(std::move(part), 0, 1);
}
RegexPtr any_fraction() {
  return optional(regex_sequence({regex_text("."), regex_repeat(digit(), 1, -1)}));
}
RegexPtr zeros() {
  return optional(regex_sequence({regex_text("."), regex_repeat(digits('0', '0'), 1, -1)}));
}
RegexPtr more_than_zeros() {
  return regex_sequence({regex_repeat(digit(), 0, -1), digits('1', '9'), regex_repeat(digit(), 0, -1)});
}

/// Magnitudes above (or at) a value. The sign of the value plays no part.
RegexPtr above(const Decimal& value, bool open) {
  const std::string& whole = value.integer;
  const std::string& part = value.fraction;
  const int count = static_cast<int>(whole.size());
  std::vector<RegexPtr> ways = {
      regex_sequence({digits('1', '9'), regex_repeat(digit(), count, -1), any_fraction()})};
  for (int i = 0; i < count; ++i) {
    if (whole[i] == '9') continue;
    ways.push_back(
        regex_sequence({regex_text(whole.substr(0, i)), digits(static_cast<char>(whole[i] + 1), '9'),
                        regex_repeat(digit(), count - 1 - i, count - 1 - i), any_fraction()}));
  }
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '9') continue;
    ways.push_back(
        regex_sequence({regex_text(whole + "." + part.substr(0, i)),
                        digits(static_cast<char>(part[i] + 1), '9'), regex_repeat(digit(), 0, -1)}));
  }
  if (part.empty()) {
    ways.push_back(open ? regex_sequence({regex_text(whole + "."), more_than_zeros()})
                        : regex_sequence({regex_text(whole), any_fraction()}));
  } else {
    ways.push_back(regex_sequence(
        {regex_text(whole + "." + part), open ? more_than_zeros() : regex_repeat(digit(), 0, -1)}));
  }
  return regex_choice(std::move(ways));
}

RegexPtr equal_to(const Decimal& value) {
  if (value.fraction.empty()) return regex_sequence({regex_text(value.integer), zeros()});
  return regex_sequence(
      {regex_text(value.integer + "." + value.fraction), regex_repeat(digits('0', '0'), 0, -1)});
}

RegexPtr syntax() {
  return regex_sequence(
      {optional(regex_text("-")),
       regex_choice({regex_text("0"), regex_sequence({digits('1', '9'), regex_repeat(digit(), 0, -1)})}),
       any_fraction()});
}

/// Numbers at or above a bound, among `all`.
Automaton from(const Bound& bound, const Automaton& all) {
  if (!bound.value.negative) {
    Automaton result = automaton_of(above(bound.value, bound.open));
    const bool zero = bound.value.integer == "0" && bound.value.fraction.empty();
    if (zero && !bound.open)
      result = united(result, automaton_of(regex_sequence({regex_text("-0"), zeros()})));
    return result;
  }
  const Automaton below = automaton_of(regex_sequence({regex_text("-"), above(bound.value, !bound.open)}));
  return difference(all, below);
}

Automaton negated(const Automaton& numbers, const Automaton& all) {
  return difference(all, numbers);
}

Automaton multiples(const Decimal& of) {
  const std::string text = of.integer + of.fraction;
  const int places = static_cast<int>(of.fraction.size());
  const long long m = text.size() > 9 ? 0 : std::atoll(text.c_str());
  if (m <= 0 || m * (places + 2) > static_cast<long long>(kMostStates)) {
    throw Error("is of a number with too many digits");
  }
  Automaton result;
  const auto state = [&](long long rest, int place) {
    return static_cast<int>(rest * (places + 2) + place + 1);
  };
  result.states.resize(m * (places + 2));
  for (long long rest = 0; rest < m; ++rest) {
    for (int place = -1; place <= places; ++place) {
      Automaton::State& at = result.states[state(rest, place)];
      long long scaled = rest;
      for (int i = std::max(place, 0); i < places; ++i) scaled = scaled * 10 % m;
      at.accepts = scaled % m == 0;
      if (place < 0) {
        at.edges.push_back({'-', '-', state(rest, -1)});
        at.edges.push_back({'.', '.', state(rest, 0)});
      }
      if (place == places) {
        at.edges.push_back({'0', '0', state(rest, place)});
        continue;
      }
      for (int c = 0; c < 10; ++c) {
        at.edges.push_back({static_cast<CodePoint>('0' + c), static_cast<CodePoint>('0' + c),
                            state((rest * 10 + c) % m, place < 0 ? -1 : place + 1)});
      }
    }
  }
  return minimal(result);
}

}  // namespace

Decimal decimal_of(const nlohmann::ordered_json& number) {
  std::string text = number.is_number_float() ? fmt::format("{}", number.get<double>()) : number.dump();
  Decimal result;
  result.negative = text.starts_with("-");
  if (result.negative) text.erase(0, 1);
  int exponent = 0;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string::npos) {
    exponent = std::atoi(text.c_str() + e + 1);
    text.resize(e);
  }
  std::string fraction;
  if (const std::size_t dot = text.find('.'); dot != std::string::npos) {
    fraction = text.substr(dot + 1);
    text.resize(dot);
  }
  for (; exponent > 0; --exponent) {
    text += fraction.empty() ? '0' : fraction[0];
    if (!fraction.empty()) fraction.erase(0, 1);
  }
  for (; exponent < 0; ++exponent) {
    fraction.insert(fraction.begin(), text.empty() ? '0' : text.back());
    if (!text.empty()) text.pop_back();
  }
  text.erase(0, std::min(text.find_first_not_of('0'), text.size()));
  while (fraction.ends_with('0')) fraction.pop_back();
  result.integer = text.empty() ? "0" : text;
  result.fraction = fraction;
  if (result.integer == "0" && fraction.empty()) result.negative = false;
  return result;
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  int order = a.integer.size() != b.integer.size() ? (a.integer.size() < b.integer.size() ? -1 : 1)
                                                   : a.integer.compare(b.integer);
  if (order == 0) order = a.fraction.compare(b.fraction);
  return a.negative ? -order : order;
}

void NumberRules::raise(const Bound& bound) {
  const int order = least ? compare(bound.value, least->value) : 1;
  if (order > 0) least = bound;
  if (order == 0) least->open = least->open || bound.open;
}

void NumberRules::lower(const Bound& bound) {
  const int order = most ? compare(bound.value, most->value) : -1;
  if (order < 0) most = bound;
  if (order == 0) most->open = most->open || bound.open;
}

void NumberRules::meet(const NumberRules& other) {
  if (other.least) raise(*other.least);
  if (other.most) lower(*other.most);
  multiples_of.insert(multiples_of.end(), other.multiples_of.begin(), other.multiples_of.end());
  not_multiples_of.insert(not_multiples_of.end(), other.not_multiples_of.begin(),
                          other.not_multiples_of.end());
}

bool NumberRules::contradictory() const {
  if (!least || !most) return false;
  const int order = compare(least->value, most->value);
  return order > 0 || (order == 0 && (least->open || most->open));
}

Automaton number_texts(const NumberRules& rules, bool integers, bool fractions) {
  const Automaton all = automaton_of(syntax());
  Automaton result = all;
  if (!fractions) {
    result = automaton_of(regex_choice(
        {regex_text("0"),
         regex_sequence({optional(regex_text("-")), digits('1', '9'), regex_repeat(digit(), 0, -1)})}));
  } else if (!integers) {
    result = intersection(
        all, automaton_of(regex_sequence({regex_repeat(regex_set({{'-', '-'}, {'0', '9'}}), 1, -1),
                                          regex_text("."), more_than_zeros()})));
  }
  if (rules.least) result = intersection(result, from(*rules.least, all));
  if (rules.most) {
    const Bound above{rules.most->value, !rules.most->open};
    result = intersection(result, negated(from(above, all), all));
  }
  for (const Decimal& of : rules.multiples_of) result = intersection(result, multiples(of));
  for (const Decimal& of : rules.not_multiples_of) result = difference(result, multiples(of));
  return result;
}

Automaton texts_of_number(const Decimal& value) {
  const bool zero = value.integer == "0" && value.fraction.empty();
  if (zero) return automaton_of(regex_sequence({optional(regex_text("-")), equal_to(value)}));
  return automaton_of(value.negative ? regex_sequence({regex_text("-"), equal_to(value)}) : equal_to(value));
}

std::string text_of(const Decimal& value) {
  return (value.negative ? "-" : "") + value.integer + (value.fraction.empty() ? "" : "." + value.fraction);
}

}  // namespace augur
