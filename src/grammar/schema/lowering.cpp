#include "grammar/schema/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/error.h"
#include "grammar/schema/regex.h"
#include "grammar/work_meter.h"

namespace augur {
namespace {

constexpr std::size_t kFewStates = 64;     ///< up to which an automaton is better than counting
constexpr std::size_t kMostPatterns = 6;   ///< of names, in one object: each doubles the classes of names
constexpr std::size_t kMostUnique = 6;     ///< values of which a set is written in every order
constexpr int kMostCounted = 128;          ///< items that are counted one by one
constexpr std::size_t kMostCells = 20000;  ///< of counted members
const CodeSet kSurrogates = {{0xd800, 0xdfff}};

CodeSet meet(const CodeSet& a, const CodeSet& b) {
  CodeSet both = complement(a), other = complement(b);
  both.insert(both.end(), other.begin(), other.end());
  return complement(sorted_set(std::move(both)));
}

bool holds_any(const CodeSet& set, CodePoint c) {
  return std::any_of(set.begin(), set.end(),
                     [&](const CodeRange& range) { return range.first <= c && c <= range.last; });
}

std::string quoted(const std::string& text) {
  return Json(text).dump();
}

}  // namespace

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
        if (one.is_object()) text += quoted(key) + ":";
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

// --- strings ---

PiecePtr Lowering::of_string(const Constraint& constraint) {
  std::vector<std::string> excluded;
  for (const Json& value : constraint.excluded) {
    if (value.is_string()) excluded.push_back(value.get<std::string>());
  }
  if (constraint.string.any() && excluded.empty()) return reference(string_);
  return sequence({literal("\""), string_body(constraint.string, excluded)});
}

PiecePtr Lowering::string_body(const StringRules& rules, const std::vector<std::string>& excluded) {
  const bool only_length = rules.patterns.empty() && rules.not_patterns.empty() && rules.formats.empty();
  if (only_length && excluded.empty()) {
    return sequence({repeat(reference(character_), rules.length.least, rules.length.most), literal("\"")});
  }
  std::optional<Automaton> texts;
  try {
    texts = normaliser_.texts_of(rules);
    for (const std::string& text : excluded) texts = difference(*texts, one_text(text));
  } catch (const AutomatonTooLarge&) {
  }
  if (!texts || texts->states.size() > kFewStates) {
    const PiecePtr piece = excluded.empty() ? counted(rules) : nullptr;
    if (piece != nullptr) return piece;
  }
  if (!texts) refuse("/pattern is too large to be enforced beside what else is said of the string");
  return of_automaton(*texts, true);
}

namespace {

bool has_marker(const EcmaRegex& regex) {
  if (regex.kind == EcmaRegex::Kind::Set) return !regex.set.empty() && regex.set.back().last > kLastCodePoint;
  if (regex.kind == EcmaRegex::Kind::Ahead || regex.kind == EcmaRegex::Kind::NotAhead) return true;
  return std::any_of(regex.parts.begin(), regex.parts.end(),
                     [](const RegexPtr& part) { return has_marker(*part); });
}

bool is_marker(const RegexPtr& regex, CodePoint which) {
  return regex->kind == EcmaRegex::Kind::Set && regex->set == CodeSet{{which, which}};
}

RegexPtr whole(RegexPtr regex) {
  std::vector<RegexPtr> parts = regex->kind == EcmaRegex::Kind::Sequence ? regex->parts : std::vector{regex};
  const RegexPtr all = regex_repeat(regex_set({{0, kLastCodePoint}}), 0, -1);
  if (!parts.empty() && is_marker(parts.front(), kTextBegin)) {
    parts.erase(parts.begin());
  } else {
    parts.insert(parts.begin(), all);
  }
  if (!parts.empty() && is_marker(parts.back(), kTextEnd)) {
    parts.pop_back();
  } else {
    parts.push_back(all);
  }
  return regex_sequence(std::move(parts));
}

/// The expression with a length: only where all of it has one character a part, but for one repetition.
RegexPtr with_length(const RegexPtr& regex, const Counts& length) {
  if (length.any()) return regex;
  int fixed = 0;
  std::optional<std::size_t> varies;
  std::vector<RegexPtr> parts = regex->parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const EcmaRegex& part = *parts[i];
    if (part.kind == EcmaRegex::Kind::Set) {
      ++fixed;
    } else if (part.kind == EcmaRegex::Kind::Repeat && part.parts[0]->kind == EcmaRegex::Kind::Set) {
      if (part.least == part.most) {
        fixed += part.least;
      } else if (varies) {
        return nullptr;
      } else {
        varies = i;
      }
    } else {
      return nullptr;
    }
  }
  if (!varies) return length.have(fixed) ? regex : nullptr;
  Counts count{parts[*varies]->least, parts[*varies]->most};
  if (length.most != kWithoutEnd && length.most < fixed) return nullptr;
  count.meet(
      {std::max(0, length.least - fixed), length.most == kWithoutEnd ? kWithoutEnd : length.most - fixed});
  if (count.contradictory()) return nullptr;
  parts[*varies] = regex_repeat(parts[*varies]->parts[0], count.least, count.most);
  return regex_sequence(std::move(parts));
}

}  // namespace

/// One pattern, with counts as counts rather than as states. Null: not to be had.
PiecePtr Lowering::counted(const StringRules& rules) {
  if (rules.patterns.size() != 1 || !rules.not_patterns.empty() || !rules.formats.empty()) return nullptr;
  RegexPtr regex = parse_regex(rules.patterns[0]);
  if (regex->kind != EcmaRegex::Kind::Sequence) return nullptr;
  regex = whole(regex);
  if (has_marker(*regex)) return nullptr;
  regex = with_length(regex, rules.length);
  return regex == nullptr ? nullptr : sequence({of_regex(*regex), literal("\"")});
}

PiecePtr Lowering::of_regex(const EcmaRegex& regex) {
  if (regex.kind == EcmaRegex::Kind::Set) return spelt(regex.set);
  std::vector<PiecePtr> parts;
  for (const RegexPtr& part : regex.parts) parts.push_back(of_regex(*part));
  if (regex.kind == EcmaRegex::Kind::Repeat) return repeat(parts[0], regex.least, regex.most);
  return regex.kind == EcmaRegex::Kind::Choice ? choice(std::move(parts)) : sequence(std::move(parts));
}

/// Characters of a string: as they are, or by the one escape that JSON wants; all of them in every way.
PiecePtr Lowering::spelt(const CodeSet& set) {
  if (set == CodeSet{{0, kLastCodePoint}}) return reference(character_);
  const CodeSet kPlain = {{0x20, 0x21}, {0x23, 0x5b}, {0x5d, 0xd7ff}, {0xe000, kLastCodePoint}};
  std::vector<PiecePtr> ways;
  if (const CodeSet plain = meet(set, kPlain); !plain.empty()) ways.push_back(character(plain));
  CodeSet letters;
  constexpr std::pair<CodePoint, char> kLetters[] = {{'"', '"'}, {'\\', '\\'}, {8, 'b'}, {12, 'f'},
                                                     {10, 'n'},  {13, 'r'},    {9, 't'}};
  for (const auto& [c, letter] : kLetters) {
    if (holds_any(set, c))
      letters.push_back({static_cast<CodePoint>(letter), static_cast<CodePoint>(letter)});
  }
  if (!letters.empty()) ways.push_back(sequence({literal("\\"), character(sorted_set(letters))}));
  for (const CodePoint high : {0u, 1u}) {
    CodeSet digits;
    for (CodePoint low = 0; low < 16; ++low) {
      const CodePoint c = high * 16 + low;
      const bool lettered = c == 8 || c == 9 || c == 10 || c == 12 || c == 13;
      if (lettered || !holds_any(set, c)) continue;
      const CodePoint digit = low < 10 ? '0' + low : 'a' + low - 10;
      digits.push_back({digit, digit});
    }
    if (!digits.empty())
      ways.push_back(sequence({literal(high == 0 ? "\\u000" : "\\u001"), character(sorted_set(digits))}));
  }
  return choice(std::move(ways));
}

PiecePtr Lowering::of_automaton(const Automaton& automaton, bool in_string) {
  if (automaton.empty()) return choice({});
  const std::size_t count = automaton.states.size();
  std::vector<int> entries(count, 0);
  entries[0] = 2;
  std::vector<std::vector<std::pair<int, CodeSet>>> ways(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (const auto& edge : automaton.states[i].edges) {
      const auto found =
          std::find_if(ways[i].begin(), ways[i].end(), [&](const auto& way) { return way.first == edge.to; });
      if (found == ways[i].end()) {
        ways[i].push_back({edge.to, {{edge.first, edge.last}}});
        ++entries[edge.to];
      } else {
        found->second.push_back({edge.first, edge.last});
      }
    }
  }
  std::vector<int> rules(count, -1);
  const auto ends = [&](std::size_t state) { return automaton.states[state].accepts; };
  // A state is a rule, unless one other leads to it and it goes one way.
  const auto is_rule = [&](std::size_t state) {
    return entries[state] > 1 || ways[state].size() + (ends(state) ? 1 : 0) > 1;
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (in_string && automaton.universal(static_cast<int>(i))) {
      rules[i] = string_rest_;
    } else if (is_rule(i)) {
      rules[i] = text_.add_rule();
    }
  }
  const PiecePtr end = literal(in_string ? "\"" : "");
  for (std::size_t i = 0; i < count; ++i) {
    if (rules[i] < 0 || rules[i] == string_rest_) continue;
    std::vector<PiecePtr> choices;
    if (ends(i)) choices.push_back(end);
    for (const auto& way : ways[i]) {
      std::vector<PiecePtr> parts;
      const std::pair<int, CodeSet>* at = &way;
      for (;;) {
        const auto& [to, set] = *at;
        parts.push_back(in_string ? spelt(set)
                        : set.size() == 1 && set[0].first == set[0].last
                            ? literal(std::string(1, static_cast<char>(set[0].first)))
                            : character(set));
        if (rules[to] >= 0) {
          parts.push_back(reference(rules[to]));
          break;
        }
        if (ways[to].empty()) {
          parts.push_back(end);
          break;
        }
        at = &ways[to][0];
      }
      choices.push_back(sequence(std::move(parts)));
    }
    text_.define(rules[i], choice(std::move(choices)));
  }
  return reference(rules[0]);
}

// --- arrays ---

PiecePtr Lowering::of_array(const Constraint& constraint) {
  ArrayRules rules = constraint.array;
  for (const Json& value : constraint.excluded) {
    if (!value.is_array()) continue;
    if (!value.empty()) refuse(" excludes an array, which is not enforced");
    rules.length.meet({1, kWithoutEnd});
  }
  if (rules.length.contradictory()) return choice({});
  if (rules.any()) return reference(array_);
  if (rules.unique != nullptr && (rules.length.most == kWithoutEnd || rules.length.most > 1)) {
    const Json* const outer = std::exchange(place_, rules.unique);
    const std::vector<Constraint>& items = normaliser_.expand(Normaliser::of_further_items(rules));
    std::vector<Json> values;
    bool finite = Normaliser::prefix_length(rules) == 0 && rules.contains.empty();
    for (const Constraint& one : items) {
      if (one.values) {
        values.insert(values.end(), one.values->begin(), one.values->end());
      } else if ((one.types & ~unsigned{kNull | kBoolean}) == 0 && one.excluded.empty()) {
        if ((one.types & kNull) != 0) values.push_back(nullptr);
        if ((one.types & kTrue) != 0) values.push_back(true);
        if ((one.types & kFalse) != 0) values.push_back(false);
      } else {
        finite = false;
      }
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (std::size_t j = values.size() - 1; j > i; --j) {
        if (same_value(values[i], values[j])) values.erase(values.begin() + static_cast<std::ptrdiff_t>(j));
      }
    }
    if (!finite || values.size() > kMostUnique) {
      refuse(fmt::format("/uniqueItems is enforced for items of at most {} values", kMostUnique));
    }
    Constraint one;
    one.array = rules;
    const PiecePtr piece = unique_items(one, std::move(values));
    place_ = outer;
    return piece;
  }
  const std::size_t prefix = Normaliser::prefix_length(rules);
  if (!rules.contains.empty()) return items_with(rules);
  const PiecePtr further = of(Normaliser::of_further_items(rules));
  const int least = rules.length.least, most = rules.length.most;
  const int already = static_cast<int>(prefix);
  if (already == 0) {
    std::vector<PiecePtr> ways;
    if (most != 0) {
      ways.push_back(braced("[",
                            sequence({further, repeat(sequence({comma_, further}), std::max(0, least - 1),
                                                      most == kWithoutEnd ? kWithoutEnd : most - 1)}),
                            "]"));
    }
    if (least == 0) ways.push_back(braced("[", nullptr, "]"));
    return choice(std::move(ways));
  }
  // From the last to the first: what may stand behind so many items.
  PiecePtr rest = most != kWithoutEnd && most <= already
                      ? literal("")
                      : repeat(sequence({comma_, further}), std::max(0, least - already),
                               most == kWithoutEnd ? kWithoutEnd : most - already);
  for (int i = already; i-- > 0;) {
    const PiecePtr item = of(Normaliser::of_item(rules, i));
    PiecePtr with = sequence({i > 0 ? comma_ : literal(""), item, rest});
    if (most != kWithoutEnd && i >= most) {
      rest = literal("");
    } else {
      rest = rule_of(i >= least ? choice({literal(""), with}) : with);
    }
  }
  return braced("[", rest, "]");
}

/// Sets of so few values are written in every order.
PiecePtr Lowering::unique_items(const Constraint& constraint, std::vector<Json> values) {
  const Counts& length = constraint.array.length;
  std::vector<int> rules(std::size_t{1} << values.size(), -1);
  const std::function<PiecePtr(unsigned)> behind = [&](unsigned taken) {
    if (rules[taken] >= 0) return reference(rules[taken]);
    const int rule = rules[taken] = text_.add_rule();
    const int count = __builtin_popcount(taken);
    std::vector<PiecePtr> ways;
    if (count >= length.least) ways.push_back(literal(""));
    for (std::size_t i = 0; i < values.size() && (length.most == kWithoutEnd || count < length.most); ++i) {
      if ((taken >> i & 1) != 0) continue;
      ways.push_back(
          sequence({count > 0 ? comma_ : literal(""), of_value(values[i]), behind(taken | 1u << i)}));
    }
    text_.define(rule, choice(std::move(ways)));
    return reference(rule);
  };
  return braced("[", behind(0), "]");
}

/// Items among which some match: counted by position and by matches so far.
PiecePtr Lowering::items_with(const ArrayRules& rules) {
  if (rules.contains.size() > 1) refuse("/contains is not enforced beside another one");
  const ArrayRules::Contains& contains = rules.contains[0];
  const int prefix = static_cast<int>(Normaliser::prefix_length(rules));
  const bool open = rules.length.most == kWithoutEnd;
  const int last = std::max({prefix, rules.length.least, open ? 0 : rules.length.most});
  const bool most_matches = contains.matches.most != kWithoutEnd;
  const int enough = std::max(contains.matches.least, most_matches ? contains.matches.most : 0);
  if (last > kMostCounted || enough > kMostCounted) {
    refuse(fmt::format("/contains is enforced up to {} items", kMostCounted));
  }
  std::map<std::pair<int, int>, int> cells;
  std::vector<std::pair<int, int>> queue;
  const auto cell = [&](int items, int matches) {
    const std::pair at{std::min(items, last + 1), matches};
    const auto [found, fresh] = cells.try_emplace(at, 0);
    if (fresh) {
      found->second = text_.add_rule();
      queue.push_back(at);
    }
    return reference(found->second);
  };
  const PiecePtr root = cell(0, 0);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const auto [items, matches] = queue[i];
    std::vector<PiecePtr> ways;
    if (items >= rules.length.least && matches >= contains.matches.least) ways.push_back(literal(""));
    if (open || items < rules.length.most) {
      const PiecePtr separator = items > 0 ? comma_ : literal("");
      Conjunction plain = Normaliser::of_item(rules, items), matching = plain;
      add(matching, contains.what);
      if (most_matches) add(plain, {contains.what.schema, !contains.what.holds});
      ways.push_back(sequence({separator, of(plain), cell(items + 1, matches)}));
      if (matches < enough) {
        ways.push_back(sequence({separator, of(matching), cell(items + 1, matches + 1)}));
      }
    }
    text_.define(cells[{items, matches}], choice(std::move(ways)));
  }
  return braced("[", root, "]");
}

// --- objects ---

PiecePtr Lowering::of_object(const Constraint& constraint) {
  ObjectRules rules = constraint.object;
  for (const Json& value : constraint.excluded) {
    if (!value.is_object()) continue;
    if (!value.empty()) refuse(" excludes an object, which is not enforced");
    rules.count.meet({1, kWithoutEnd});
  }
  return of_rules(std::move(rules));
}

PiecePtr Lowering::of_rules(ObjectRules rules) {
  if (rules.count.contradictory()) return choice({});
  if (rules.any()) return reference(object_);
  if (rules.others.empty()) return members(rules, nullptr);
  if (rules.others.size() > 1) refuse("/additionalProperties is not enforced under not beside another one");
  const ObjectRules::Other other = rules.others[0];
  rules.others.clear();
  std::vector<PiecePtr> ways;
  for (const std::string& name : known_names(rules)) {
    if (std::find(other.than.begin(), other.than.end(), name) != other.than.end()) continue;
    ObjectRules with = rules;
    if (std::find(with.required.begin(), with.required.end(), name) == with.required.end())
      with.required.push_back(name);
    with.layers.push_back({{{name, other.holds}}, {}, std::nullopt});
    ways.push_back(members(with, nullptr));
  }
  // The names that it speaks of have to be known, or they could be the other one.
  ObjectRules::Layer named;
  for (const std::string& name : other.than) named.named.push_back({name, {&kAnySchema, true}});
  rules.layers.push_back(std::move(named));
  const Conjunction more = {other.holds};
  ways.push_back(members(rules, &more));
  return choice(std::move(ways));
}

std::vector<std::string> Lowering::known_names(const ObjectRules& rules) {
  std::vector<std::string> names;
  const auto add_name = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const ObjectRules::Layer& layer : rules.layers) {
    for (const auto& [name, literal] : layer.named) add_name(name);
  }
  for (const std::string& name : rules.required) add_name(name);
  return names;
}

PiecePtr Lowering::members(const ObjectRules& rules, const Conjunction* one_more) {
  const std::vector<std::string> names = known_names(rules);
  std::vector<Member> known;
  for (const std::string& name : names) {
    const bool required =
        std::find(rules.required.begin(), rules.required.end(), name) != rules.required.end();
    const Conjunction value = normaliser_.of_member(rules, name);
    const bool forbidden =
        std::find(value.begin(), value.end(), Literal{&kNoSchema, true}) != value.end() ||
        std::any_of(value.begin(), value.end(),
                    [](const Literal& one) {
                      return one.schema->is_boolean() && one.schema->get<bool>() != one.holds;
                    }) ||
        !normaliser_.fits(rules.names, name);
    if (forbidden && required) return choice({});
    if (forbidden) continue;
    known.push_back({sequence({literal(quoted(name)), colon_, of(value)}), required});
  }
  std::vector<PiecePtr> others, more;
  for (const NameClass& one : further_names(rules, names)) {
    const PiecePtr name = one.names.universal(0) ? reference(string_)
                                                 : sequence({literal("\""), of_automaton(one.names, true)});
    const PiecePtr key = one.names.universal(0) ? name : rule_of(name);
    others.push_back(sequence({key, colon_, of(one.value)}));
    if (one_more == nullptr) continue;
    Conjunction value = one.value;
    for (const Literal& literal : *one_more) add(value, literal);
    more.push_back(sequence({key, colon_, of(value)}));
  }
  const PiecePtr further = others.empty() ? nullptr : rule_of(choice(std::move(others)));
  if (known.size() > 2) {
    for (Member& one : known) one.text = rule_of(std::move(one.text));
  }
  const std::size_t required =
      std::count_if(known.begin(), known.end(), [](const Member& one) { return one.required; });
  if (one_more != nullptr) {
    if (more.empty()) return choice({});
    if (rules.count.most != kWithoutEnd || rules.count.least > static_cast<int>(required) + 1) {
      refuse("/additionalProperties is not enforced under not beside counts of properties");
    }
    const PiecePtr another = choice(std::move(more));
    std::vector<PiecePtr> parts;
    for (const Member& one : known) {
      const PiecePtr part = sequence({one.text, comma_});
      parts.push_back(one.required ? part : repeat(part, 0, 1));
    }
    parts.push_back(repeat(sequence({further, comma_}), 0, -1));
    parts.push_back(another);
    parts.push_back(repeat(sequence({comma_, further}), 0, -1));
    return braced("{", sequence(std::move(parts)), "}");
  }
  const bool counted = rules.count.least > static_cast<int>(required) ||
                       (rules.count.most != kWithoutEnd &&
                        (further != nullptr || rules.count.most < static_cast<int>(known.size())));
  if (counted) return counted_members(known, further, rules.count);
  const PiecePtr tail = further == nullptr ? literal("") : repeat(sequence({comma_, further}), 0, -1);
  if (required > 0) {
    std::vector<PiecePtr> parts;
    bool first = true;  // none is certain to come before
    for (const Member& one : known) {
      if (first) {
        parts.push_back(one.required ? one.text : repeat(sequence({one.text, comma_}), 0, 1));
        first = !one.required;
      } else {
        const PiecePtr part = sequence({comma_, one.text});
        parts.push_back(one.required ? part : repeat(part, 0, 1));
      }
    }
    parts.push_back(tail);
    return braced("{", sequence(std::move(parts)), "}");
  }
  std::vector<PiecePtr> ways;
  if (!known.empty()) ways.push_back(sequence({any_of_members(known, 0, known.size()), tail}));
  if (further != nullptr) ways.push_back(sequence({further, tail}));
  std::vector<PiecePtr> objects;
  if (!ways.empty()) objects.push_back(braced("{", choice(std::move(ways)), "}"));
  objects.push_back(braced("{", nullptr, "}"));
  return choice(std::move(objects));
}

/// At least one of these optional members. Halves keep the rules few where members are many.
PiecePtr Lowering::any_of_members(const std::vector<Member>& all, std::size_t from, std::size_t to) {
  if (to - from == 1) return all[from].text;
  const std::size_t middle = from + (to - from) / 2;
  return rule_of(choice({sequence({any_of_members(all, from, middle), rest_of_members(all, middle, to)}),
                         any_of_members(all, middle, to)}));
}

PiecePtr Lowering::rest_of_members(const std::vector<Member>& all, std::size_t from, std::size_t to) {
  std::vector<PiecePtr> parts;
  for (std::size_t i = from; i < to; ++i) parts.push_back(repeat(sequence({comma_, all[i].text}), 0, 1));
  return rule_of(sequence(std::move(parts)));
}

PiecePtr Lowering::counted_members(const std::vector<Member>& all, const PiecePtr& further,
                                   const Counts& count) {
  const int limit = count.most == kWithoutEnd ? count.least : count.most;
  const int kept = std::min<int>(std::max(limit, 1), static_cast<int>(all.size()) + 1);
  if (all.size() * static_cast<std::size_t>(kept) > kMostCells) {
    refuse("/minProperties or maxProperties is too large to be enforced");
  }
  std::map<std::pair<std::size_t, int>, PiecePtr> cells;
  const std::function<PiecePtr(std::size_t, int)> behind = [&](std::size_t at, int so_far) -> PiecePtr {
    if (const auto found = cells.find({at, so_far}); found != cells.end()) return found->second;
    PiecePtr piece;
    if (at == all.size()) {
      const int least = std::max(0, count.least - so_far);
      const int most = count.most == kWithoutEnd ? kWithoutEnd : count.most - so_far;
      if (further == nullptr || most == 0) {
        piece = least == 0 ? literal("") : choice({});
      } else {
        if (least > 1)
          refuse(
              "/minProperties can only be enforced up to one more than are required, or where all are named");
        std::vector<PiecePtr> ways;
        if (least == 0) ways.push_back(literal(""));
        ways.push_back(
            sequence({so_far > 0 ? comma_ : literal(""), further,
                      repeat(sequence({comma_, further}), 0, most == kWithoutEnd ? kWithoutEnd : most - 1)}));
        piece = choice(std::move(ways));
      }
    } else {
      std::vector<PiecePtr> ways;
      if (count.most == kWithoutEnd || so_far < count.most) {
        const int next =
            count.most == kWithoutEnd ? std::min(so_far + 1, std::max(count.least, 1)) : so_far + 1;
        ways.push_back(sequence({so_far > 0 ? comma_ : literal(""), all[at].text, behind(at + 1, next)}));
      }
      if (!all[at].required) ways.push_back(behind(at + 1, so_far));
      piece = choice(std::move(ways));
    }
    return cells[{at, so_far}] = rule_of(std::move(piece));
  };
  std::vector<PiecePtr> ways = {braced("{", behind(0, 0), "}")};
  return choice(std::move(ways));
}

Automaton Lowering::texts_of_names(const Conjunction& names) {
  Automaton all;
  for (const Constraint& one : normaliser_.expand(names)) {
    if ((one.types & kString) == 0) continue;
    Automaton texts;
    if (one.values) {
      for (const Json& value : *one.values) {
        if (value.is_string()) texts = united(texts, one_text(value.get<std::string>()));
      }
    } else {
      texts = normaliser_.texts_of(one.string);
      for (const Json& value : one.excluded) {
        if (value.is_string()) texts = difference(texts, one_text(value.get<std::string>()));
      }
    }
    all = united(all, texts);
  }
  return all;
}

std::vector<Lowering::NameClass> Lowering::further_names(const ObjectRules& rules,
                                                         const std::vector<std::string>& known) {
  std::vector<std::string> patterns;
  bool named = false, rest = !rules.names.empty();
  for (const ObjectRules::Layer& layer : rules.layers) {
    named = named || !layer.named.empty();
    rest = rest || layer.rest || !layer.patterns.empty();
    for (const auto& [pattern, literal] : layer.patterns) {
      if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end()) patterns.push_back(pattern);
    }
  }
  if (options_.named_members_only && named && !rest) return {};
  if (patterns.size() > kMostPatterns) {
    refuse(fmt::format("/patternProperties is enforced up to {} patterns", kMostPatterns));
  }
  try {
    Automaton free = rules.names.empty() ? every_text() : texts_of_names(rules.names);
    std::vector<NameClass> classes;
    const auto value_of = [&](unsigned matched) {
      Conjunction value;
      for (const ObjectRules::Layer& layer : rules.layers) {
        bool any = false;
        for (const auto& [pattern, literal] : layer.patterns) {
          const auto at = std::find(patterns.begin(), patterns.end(), pattern) - patterns.begin();
          if ((matched >> at & 1) == 0) continue;
          add(value, literal);
          any = true;
        }
        if (!any && layer.rest) add(value, *layer.rest);
      }
      return value;
    };
    const auto impossible = [](const Conjunction& value) {
      return std::any_of(value.begin(), value.end(), [](const Literal& one) {
        return one.schema->is_boolean() && one.schema->get<bool>() != one.holds;
      });
    };
    std::optional<Automaton> unnamed;
    for (unsigned matched = 0; matched < 1u << patterns.size(); ++matched) {
      Conjunction value = value_of(matched);
      std::erase(value, Literal{&kAnySchema, true});
      std::erase_if(value, [](const Literal& one) {
        return one.schema->is_boolean() && one.schema->get<bool>() == one.holds;
      });
      if (impossible(value)) continue;
      if (!unnamed) {
        unnamed = free;
        Automaton names;
        for (const std::string& name : known) names = united(names, one_text(name));
        unnamed = difference(free, names);
      }
      Automaton texts = *unnamed;
      for (std::size_t i = 0; i < patterns.size() && !texts.empty(); ++i) {
        const Automaton& pattern = normaliser_.texts_of_pattern(patterns[i]);
        texts = (matched >> i & 1) != 0 ? intersection(texts, pattern) : difference(texts, pattern);
      }
      if (texts.empty()) continue;
      const auto same = std::find_if(classes.begin(), classes.end(),
                                     [&](const NameClass& one) { return one.value == value; });
      if (same == classes.end()) {
        classes.push_back({std::move(texts), std::move(value)});
      } else {
        same->names = united(same->names, texts);
      }
    }
    return classes;
  } catch (const AutomatonTooLarge&) {
    refuse(" names properties in a way that is too large to be enforced");
  }
}

}  // namespace augur
