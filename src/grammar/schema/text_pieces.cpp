#include "grammar/schema/text_pieces.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "grammar/schema/regex.h"

namespace augur {
namespace {

CodeSet meet(const CodeSet& a, const CodeSet& b) {
  CodeSet both = complement(a), other = complement(b);
  both.insert(both.end(), other.begin(), other.end());
  return complement(sorted_set(std::move(both)));
}

bool holds_any(const CodeSet& set, CodePoint c) {
  return std::any_of(set.begin(), set.end(),
                     [&](const CodeRange& range) { return range.first <= c && c <= range.last; });
}

bool has_marker(const EcmaRegex& regex) {
  if (regex.kind == EcmaRegex::Kind::Set) return !regex.set.empty() && regex.set.back().last > kLastCodePoint;
  if (regex.kind == EcmaRegex::Kind::Ahead || regex.kind == EcmaRegex::Kind::NotAhead) return true;
  return std::any_of(regex.parts.begin(), regex.parts.end(),
                     [](const RegexPtr& part) { return has_marker(*part); });
}

bool is_marker(const RegexPtr& regex, CodePoint which) {
  return regex->kind == EcmaRegex::Kind::Set && regex->set == CodeSet{{which, which}};
}

RegexPtr whole(const RegexPtr& regex) {
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

PiecePtr TextPieces::counted(const StringRules& rules) {
  if (rules.patterns.size() != 1 || !rules.not_patterns.empty() || !rules.formats.empty()) return nullptr;
  RegexPtr regex = parse_regex(rules.patterns[0]);
  if (regex->kind != EcmaRegex::Kind::Sequence) return nullptr;
  regex = whole(regex);
  if (has_marker(*regex)) return nullptr;
  regex = with_length(regex, rules.length);
  return regex == nullptr ? nullptr : sequence({of_regex(*regex), literal("\"")});
}

PiecePtr TextPieces::of_regex(const EcmaRegex& regex) {
  if (regex.kind == EcmaRegex::Kind::Set) return spelt(regex.set);
  std::vector<PiecePtr> parts;
  for (const RegexPtr& part : regex.parts) parts.push_back(of_regex(*part));
  if (regex.kind == EcmaRegex::Kind::Repeat) return repeat(parts[0], regex.least, regex.most);
  return regex.kind == EcmaRegex::Kind::Choice ? choice(std::move(parts)) : sequence(parts);
}

/// Characters of a string: as they are, or by the one escape that JSON wants; all of them in every way.
PiecePtr TextPieces::spelt(const CodeSet& set) {
  if (set == CodeSet{{0, kLastCodePoint}}) return reference(json_.character_rule);
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

PiecePtr TextPieces::of_automaton(const Automaton& automaton, bool in_string) {
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
      rules[i] = json_.string_rest_rule;
    } else if (is_rule(i)) {
      rules[i] = text_.add_rule();
    }
  }
  const PiecePtr end = literal(in_string ? "\"" : "");
  for (std::size_t i = 0; i < count; ++i) {
    if (rules[i] < 0 || rules[i] == json_.string_rest_rule) continue;
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
      choices.push_back(sequence(parts));
    }
    text_.define(rules[i], choice(std::move(choices)));
  }
  return reference(rules[0]);
}

}  // namespace augur
