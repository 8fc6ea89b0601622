#include "grammar/schema/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.h"
#include "grammar/work_meter.h"

namespace augur {

Lowering::Lowering(Normaliser& normaliser, const SchemaOptions& options)
    : normaliser_(normaliser), options_(options) {
  add_basics(options.most_whitespace);
}

void Lowering::refuse(const std::string& what) const {
  throw Error("JSON schema: {}{}", place_ == nullptr ? "#" : normaliser_.document().place(place_), what);
}

void Lowering::add_basics(int most_whitespace) {
  const CodeSet kSpace = {{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}};
  const PiecePtr space = repeat(character(kSpace), 0, most_whitespace);
  const int space_rule = text_.add_rule("space");
  text_.define(space_rule, space);
  space_ = reference(space_rule);
  comma_ = sequence({space_, literal(","), space_});
  colon_ = sequence({space_, literal(":"), space_});
  const auto set = [](CodeSet ranges) { return character(sorted_set(std::move(ranges))); };
  const PiecePtr hex = set({{'0', '9'}, {'A', 'F'}, {'a', 'f'}});
  const PiecePtr plain = set({{0x20, 0x21}, {0x23, 0x5b}, {0x5d, kLastCodePoint}});
  const PiecePtr letter =
      set({{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}});

  const int escape = text_.add_rule("escape");
  text_.define(escape, choice({letter, sequence({literal("u"), hex, hex, hex, hex})}));
  string_rest_ = text_.add_rule("string_rest");
  text_.define(string_rest_,
               choice({literal("\""), sequence({plain, reference(string_rest_)}),
                       sequence({literal("\\"), reference(escape), reference(string_rest_)})}),
               fmt::format("[ \\n\\r\\t]{{0,{}}} [,}}\\]:]", most_whitespace));
  string_ = text_.add_rule("string");
  text_.define(string_, sequence({literal("\""), reference(string_rest_)}));

  // One character: halves of surrogate pairs don't come alone, and a pair is one.
  character_ = text_.add_rule("character");
  const PiecePtr high =
      sequence({set({{'D', 'D'}, {'d', 'd'}}), set({{'8', '9'}, {'A', 'B'}, {'a', 'b'}}), hex, hex});
  const PiecePtr low = sequence({set({{'D', 'D'}, {'d', 'd'}}), set({{'C', 'F'}, {'c', 'f'}}), hex, hex});
  const PiecePtr whole =
      choice({sequence({set({{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}}), hex, hex, hex}),
              sequence({set({{'D', 'D'}, {'d', 'd'}}), set({{'0', '7'}}), hex, hex})});
  text_.define(character_,
               choice({plain, sequence({literal("\\"),
                                        choice({letter, sequence({literal("u"), whole}),
                                                sequence({literal("u"), high, literal("\\u"), low})})})}));

  const PiecePtr digit = set({{'0', '9'}});
  const PiecePtr positive = sequence({set({{'1', '9'}}), repeat(digit, 0, -1)});
  const PiecePtr minus = repeat(literal("-"), 0, 1);
  integer_ = text_.add_rule("integer");
  text_.define(integer_, choice({literal("0"), sequence({minus, positive})}));
  number_ = text_.add_rule("number");
  text_.define(number_,
               sequence({minus, choice({literal("0"), positive}),
                         repeat(sequence({literal("."), repeat(digit, 1, -1)}), 0, 1),
                         repeat(sequence({set({{'E', 'E'}, {'e', 'e'}}),
                                          repeat(set({{'+', '+'}, {'-', '-'}}), 0, 1), repeat(digit, 1, -1)}),
                                0, 1)}));
  any_ = text_.add_rule("any");
  array_ = text_.add_rule("array");
  object_ = text_.add_rule("object");
  const PiecePtr any = reference(any_);
  text_.define(any_, choice({reference(number_), reference(string_), literal("true"), literal("false"),
                             literal("null"), reference(array_), reference(object_)}));
  text_.define(array_, choice({braced("[", sequence({any, repeat(sequence({comma_, any}), 0, -1)}), "]"),
                               braced("[", nullptr, "]")}));
  const PiecePtr member = sequence({reference(string_), colon_, any});
  text_.define(object_,
               choice({braced("{", sequence({member, repeat(sequence({comma_, member}), 0, -1)}), "}"),
                       braced("{", nullptr, "}")}));
}

PiecePtr Lowering::braced(const char* open, PiecePtr inner, const char* close) const {
  if (inner == nullptr) return sequence({literal(open), space_, literal(close)});
  return sequence({literal(open), space_, std::move(inner), space_, literal(close)});
}

PiecePtr Lowering::rule_of(PiecePtr body) {
  const int rule = text_.add_rule();
  text_.define(rule, std::move(body));
  return reference(rule);
}

std::string Lowering::grammar_of(const Conjunction& all) {
  const int root = text_.add_rule();
  text_.define(root, of(all));
  return text_.print(root);
}

PiecePtr Lowering::of(const Conjunction& literals) {
  spend_steps(512);
  const Conjunction all = normaliser_.resolved(literals);
  if (const auto found = known_.find(all); found != known_.end()) return reference(found->second);
  const int rule = text_.add_rule();
  known_.emplace(all, rule);
  const Json* const outer = place_;
  if (!all.empty()) place_ = all[0].schema;
  std::vector<PiecePtr> alternatives;
  for (const Constraint& one : normaliser_.expand(all)) alternatives.push_back(of_constraint(one));
  text_.define(rule, choice(std::move(alternatives)));
  place_ = outer;
  return reference(rule);
}

PiecePtr Lowering::of_value(const Json& value) {
  std::string text;
  const std::function<void(const Json&)> write = [&](const Json& one) {
    if (one.is_number()) {
      const Decimal decimal = decimal_of(one);
      const std::string digits = text_of(decimal);
      text += digits.size() > 25 ? one.dump() : digits;
    } else if (one.is_array() || one.is_object()) {
      text += one.is_array() ? '[' : '{';
      bool first = true;
      for (const auto& [key, inner] : one.items()) {
        if (!std::exchange(first, false)) text += ',';
        if (one.is_object()) text += Json(key).dump() + ":";
        write(inner);
      }
      text += one.is_array() ? ']' : '}';
    } else {
      text += one.dump();
    }
  };
  write(value);
  return literal(text);
}

PiecePtr Lowering::of_constraint(const Constraint& constraint) {
  std::vector<PiecePtr> ways;
  if (constraint.values) {
    for (const Json& value : *constraint.values) ways.push_back(of_value(value));
    return choice(std::move(ways));
  }
  const auto excluded = [&](const Json& value) {
    return std::any_of(constraint.excluded.begin(), constraint.excluded.end(),
                       [&](const Json& one) { return same_value(one, value); });
  };
  const bool free = constraint.excluded.empty() && constraint.number.any() && constraint.string.any() &&
                    constraint.array.any() && constraint.object.any();
  if (free && constraint.types == kEveryType) return reference(any_);
  if ((constraint.types & kNumber) != 0) ways.push_back(of_number(constraint));
  if ((constraint.types & kString) != 0) ways.push_back(of_string(constraint));
  if ((constraint.types & kTrue) != 0 && !excluded(true)) ways.push_back(literal("true"));
  if ((constraint.types & kFalse) != 0 && !excluded(false)) ways.push_back(literal("false"));
  if ((constraint.types & kNull) != 0 && !excluded(nullptr)) ways.push_back(literal("null"));
  if ((constraint.types & kArray) != 0) ways.push_back(of_array(constraint));
  if ((constraint.types & kObject) != 0) ways.push_back(of_object(constraint));
  return choice(std::move(ways));
}

PiecePtr Lowering::of_number(const Constraint& constraint) {
  std::vector<Decimal> excluded;
  for (const Json& value : constraint.excluded) {
    if ((type_of(value) & constraint.types & kNumber) != 0) excluded.push_back(decimal_of(value));
  }
  const bool integers = (constraint.types & kInteger) != 0, fractions = (constraint.types & kFraction) != 0;
  if (constraint.number.any() && excluded.empty() && integers)
    return reference(fractions ? number_ : integer_);
  try {
    Automaton texts = number_texts(constraint.number, integers, fractions);
    for (const Decimal& value : excluded) texts = difference(texts, texts_of_number(value));
    return of_automaton(texts, false);
  } catch (const AutomatonTooLarge&) {
    refuse(" asks for numbers in a way that is too large to be enforced");
  } catch (const Error& error) {
    refuse(fmt::format("/multipleOf {}", error.what()));
  }
}

}  // namespace augur
