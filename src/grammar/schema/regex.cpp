#include "grammar/schema/regex.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"

namespace augur {
namespace {

const CodeSet kDigits = {{'0', '9'}};
const CodeSet kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const CodeSet kSpace = {{9, 13},          {32, 32},         {0xa0, 0xa0},     {0x1680, 0x1680},
                        {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
                        {0x3000, 0x3000}, {0xfeff, 0xfeff}};
const CodeSet kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
constexpr int kMostRepeats = 10000;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), points_(code_points(text)) {}

  RegexPtr parse() {
    RegexPtr result = choice();
    if (at_ < points_.size()) refuse("an unmatched )");
    return result;
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(ErrorKind::Unsupported, "the expression '{}' has {}, which is not supported", text_, what);
  }
  bool more() const { return at_ < points_.size(); }
  bool next_is(CodePoint c) const { return more() && points_[at_] == c; }
  bool take(std::string_view what) {
    if (points_.size() - at_ < what.size()) return false;
    for (std::size_t i = 0; i < what.size(); ++i) {
      if (points_[at_ + i] != static_cast<unsigned char>(what[i])) return false;
    }
    at_ += what.size();
    return true;
  }

  RegexPtr choice() {
    if (++depth_ > 200) refuse("groups nested that deeply");
    std::vector<RegexPtr> parts = {sequence()};
    while (take("|")) parts.push_back(sequence());
    --depth_;
    return parts.size() == 1 ? parts[0] : regex_choice(std::move(parts));
  }

  RegexPtr sequence() {
    std::vector<RegexPtr> parts;
    while (more() && !next_is('|') && !next_is(')')) {
      RegexPtr part = atom();
      parts.push_back(quantified(std::move(part)));
    }
    return regex_sequence(std::move(parts));
  }

  RegexPtr quantified(RegexPtr part) {
    int least = 1, most = 1;
    if (take("*")) {
      least = 0, most = -1;
    } else if (take("+")) {
      most = -1;
    } else if (take("?")) {
      least = 0;
    } else if (next_is('{') && counted(least, most)) {
    } else {
      return part;
    }
    take("?");  // lazy: the same texts
    if (next_is('+') || next_is('*') || next_is('?')) refuse("a quantifier behind a quantifier");
    if (part->kind == EcmaRegex::Kind::Ahead || part->kind == EcmaRegex::Kind::NotAhead)
      refuse("a repeated assertion");
    return regex_repeat(std::move(part), least, most);
  }

  bool counted(int& least, int& most) {
    const std::size_t begin = at_++;
    const auto number = [&](int& value) {
      const std::size_t from = at_;
      std::int64_t sum = 0;
      for (; more() && points_[at_] >= '0' && points_[at_] <= '9'; ++at_) {
        sum = std::min<std::int64_t>(sum * 10 + (points_[at_] - '0'), kMostRepeats + 1);
      }
      if (sum > kMostRepeats) refuse(fmt::format("a count above {}", kMostRepeats));
      value = static_cast<int>(sum);
      return at_ > from;
    };
    if (number(least)) {
      most = least;
      if (take(",") && !number(most)) most = -1;
      if (take("}")) {
        if (most >= 0 && most < least) refuse("counts out of order");
        return true;
      }
    }
    at_ = begin;  // a brace that counts nothing stands for itself
    least = most = 1;
    return false;
  }

  RegexPtr atom() {
    const CodePoint c = points_[at_++];
    switch (c) {
      case '^':
        return regex_set({{kTextBegin, kTextBegin}});
      case '$':
        return regex_set({{kTextEnd, kTextEnd}});
      case '.':
        return regex_set(complement(kLineEnds));
      case '(':
        return group();
      case '[':
        return regex_set(char_class());
      case '\\':
        return regex_set(escape(false));
      case '*':
      case '+':
      case '?':
        refuse("a quantifier of nothing");
      default:
        return regex_set({{c, c}});
    }
  }

  RegexPtr group() {
    auto kind = EcmaRegex::Kind::Sequence;
    if (take("?=")) {
      kind = EcmaRegex::Kind::Ahead;
    } else if (take("?!")) {
      kind = EcmaRegex::Kind::NotAhead;
    } else if (take("?<=") || take("?<!")) {
      refuse("an assertion about what lies before");
    } else if (take("?<") || take("?P<")) {
      while (more() && !next_is('>')) ++at_;
      if (!take(">")) refuse("a group's name without end");
    } else if (take("?:")) {
    } else if (next_is('?')) {
      refuse("a flag");
    }
    RegexPtr inner = choice();
    if (!take(")")) refuse("a group without end");
    if (kind == EcmaRegex::Kind::Sequence) return inner;
    auto assertion = std::make_shared<EcmaRegex>();
    assertion->kind = kind;
    assertion->parts = {std::move(inner)};
    return assertion;
  }

  CodeSet escape(bool in_class) {
    if (!more()) refuse("a \\ at its end");
    const CodePoint c = points_[at_++];
    switch (c) {
      case 'd':
        return kDigits;
      case 'D':
        return complement(kDigits);
      case 'w':
        return kWord;
      case 'W':
        return complement(kWord);
      case 's':
        return kSpace;
      case 'S':
        return complement(kSpace);
      case 't':
        return {{9, 9}};
      case 'n':
        return {{10, 10}};
      case 'v':
        return {{11, 11}};
      case 'f':
        return {{12, 12}};
      case 'r':
        return {{13, 13}};
      case 'x':
        return one(hexadecimal(2));
      case 'u':
        if (take("{")) {
          CodePoint point = 0;
          while (more() && !next_is('}') && point <= kLastCodePoint) point = point * 16 + digit();
          if (!take("}") || point > kLastCodePoint) refuse("\\u{");
          return one(point);
        }
        return one(surrogate_pair(hexadecimal(4)));
      case 'b':
        if (in_class) return {{8, 8}};
        refuse("\\b");
      case '0':
        if (more() && points_[at_] >= '0' && points_[at_] <= '9') refuse("an octal number");
        return {{0, 0}};
      default:
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
          refuse(fmt::format("\\{}", static_cast<char>(c)));
        }
        return one(c);
    }
  }

  static CodeSet one(CodePoint c) { return {{c, c}}; }
  CodePoint digit() {
    const CodePoint c = more() ? points_[at_++] : 0;
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    refuse("a hexadecimal number that is none");
  }
  CodePoint hexadecimal(int digits) {
    CodePoint value = 0;
    for (; digits > 0; --digits) value = value * 16 + digit();
    return value;
  }
  CodePoint surrogate_pair(CodePoint high) {
    if (high < 0xd800 || high > 0xdbff || !take("\\u")) return high;
    const CodePoint low = hexadecimal(4);
    if (low < 0xdc00 || low > 0xdfff) refuse("half a surrogate pair");
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
  }

  CodeSet char_class() {
    const bool negated = take("^");
    CodeSet set;
    for (;;) {
      if (!more()) refuse("a class without end");
      if (take("]")) break;
      const CodeSet first = class_atom();
      if (next_is('-') && at_ + 1 < points_.size() && points_[at_ + 1] != ']') {
        ++at_;
        const CodeSet last = class_atom();
        const bool single = first.size() == 1 && first[0].first == first[0].last && last.size() == 1 &&
                            last[0].first == last[0].last;
        if (single) {
          if (last[0].first < first[0].first) refuse("a range out of order");
          set.push_back({first[0].first, last[0].first});
          continue;
        }
        set.push_back({'-', '-'});
        set.insert(set.end(), last.begin(), last.end());
      }
      set.insert(set.end(), first.begin(), first.end());
    }
    set = sorted_set(std::move(set));
    return negated ? complement(set) : set;
  }
  CodeSet class_atom() {
    const CodePoint c = points_[at_++];
    return c == '\\' ? escape(true) : one(c);
  }

  std::string_view text_;
  const std::vector<CodePoint> points_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

bool looks_ahead(const RegexPtr& regex) {
  return regex->kind == EcmaRegex::Kind::Ahead || regex->kind == EcmaRegex::Kind::NotAhead ||
         std::any_of(regex->parts.begin(), regex->parts.end(), looks_ahead);
}

/// Adds it before `end`; where it begins.
int add(Nfa& nfa, const RegexPtr& regex, int end) {
  switch (regex->kind) {
    case EcmaRegex::Kind::Set: {
      const int begin = nfa.add_state();
      nfa.add_edge(begin, regex->set, end);
      return begin;
    }
    case EcmaRegex::Kind::Sequence: {
      int begin = end;
      for (auto part = regex->parts.rbegin(); part != regex->parts.rend(); ++part)
        begin = add(nfa, *part, begin);
      return begin;
    }
    case EcmaRegex::Kind::Choice: {
      const int begin = nfa.add_state();
      for (const RegexPtr& part : regex->parts) nfa.add_empty_edge(begin, add(nfa, part, end));
      return begin;
    }
    case EcmaRegex::Kind::Repeat: {
      int begin = end;
      if (regex->most < 0) {
        begin = nfa.add_state();
        nfa.add_empty_edge(begin, end);
        nfa.add_empty_edge(begin, add(nfa, regex->parts[0], begin));
      } else {
        for (int i = regex->least; i < regex->most; ++i) {
          const int inner = add(nfa, regex->parts[0], begin);
          begin = nfa.add_state();
          nfa.add_empty_edge(begin, inner);
          nfa.add_empty_edge(begin, end);
        }
      }
      for (int i = 0; i < regex->least; ++i) begin = add(nfa, regex->parts[0], begin);
      return begin;
    }
    case EcmaRegex::Kind::Ahead:
    case EcmaRegex::Kind::NotAhead:
      break;
  }
  throw Error(ErrorKind::Unsupported, "an expression looks ahead where that is not supported");
}

Automaton simple(const RegexPtr& regex) {
  Nfa nfa;
  const int end = nfa.add_state();
  return nfa.determinised(add(nfa, regex, end), end);
}

const CodeSet kAnything = {{0, kTextEnd}};

RegexPtr anything() {
  return regex_repeat(regex_set(kAnything), 0, -1);
}

/// The texts of these parts in a row: an assertion is about all that follows it.
Automaton in_a_row(std::vector<RegexPtr> parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!looks_ahead(parts[i])) continue;
    const std::vector<RegexPtr> before(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<RegexPtr> rest(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, parts.end());
    Automaton behind;
    const RegexPtr part = parts[i];
    if (part->kind == EcmaRegex::Kind::Sequence) {
      rest.insert(rest.begin(), part->parts.begin(), part->parts.end());
      behind = in_a_row(rest);
    } else if (part->kind == EcmaRegex::Kind::Choice) {
      for (const RegexPtr& one : part->parts) {
        std::vector<RegexPtr> with = rest;
        with.insert(with.begin(), one);
        behind = united(behind, in_a_row(with));
      }
    } else if (part->kind == EcmaRegex::Kind::Repeat) {
      throw Error(ErrorKind::Unsupported,
                  "an expression looks ahead in a repetition, which is not supported");
    } else {
      const Automaton asserted = in_a_row({part->parts[0], anything()});
      behind = part->kind == EcmaRegex::Kind::Ahead ? intersection(in_a_row(rest), asserted)
                                                    : difference(in_a_row(rest), asserted);
    }
    Nfa nfa;
    const int end = nfa.add_state();
    const int middle = nfa.embed(behind, end);
    return nfa.determinised(add(nfa, regex_sequence(before), middle), end);
  }
  return simple(regex_sequence(parts));
}

}  // namespace

RegexPtr regex_set(CodeSet set) {
  auto regex = std::make_shared<EcmaRegex>();
  regex->kind = EcmaRegex::Kind::Set;
  regex->set = std::move(set);
  return regex;
}

RegexPtr regex_text(std::string_view text) {
  std::vector<RegexPtr> parts;
  for (const CodePoint c : code_points(text)) parts.push_back(regex_set({{c, c}}));
  return regex_sequence(std::move(parts));
}

RegexPtr regex_sequence(std::vector<RegexPtr> parts) {
  auto regex = std::make_shared<EcmaRegex>();
  regex->kind = EcmaRegex::Kind::Sequence;
  regex->parts = std::move(parts);
  return regex;
}

RegexPtr regex_choice(std::vector<RegexPtr> parts) {
  auto regex = std::make_shared<EcmaRegex>();
  regex->kind = EcmaRegex::Kind::Choice;
  regex->parts = std::move(parts);
  return regex;
}

RegexPtr regex_repeat(RegexPtr part, int least, int most) {
  auto regex = std::make_shared<EcmaRegex>();
  regex->kind = EcmaRegex::Kind::Repeat;
  regex->parts = {std::move(part)};
  regex->least = least;
  regex->most = most;
  return regex;
}

RegexPtr parse_regex(std::string_view text) {
  return Parser(text).parse();
}

Automaton automaton_of(const RegexPtr& regex) {
  return in_a_row({regex});
}

Automaton texts_with_match(const RegexPtr& regex) {
  const Automaton all = in_a_row({anything(), regex, anything()});
  Automaton marked;  // one marker before a text, one behind it, none in it
  marked.states = {{false, {{kTextBegin, kTextBegin, 1}}},
                   {false, {{0, kLastCodePoint, 1}, {kTextEnd, kTextEnd, 2}}},
                   {true, {}}};
  return between_markers(intersection(all, marked));
}

}  // namespace augur
