#include "grammar/gbnf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace augur {
namespace {

constexpr int kMostRepetitions = 10000;
constexpr int kDeepest = 200;  // levels of parentheses

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_';
}

/// A character within a literal or a class of xgrammar's.
std::string escaped(std::uint32_t c) {
  return fmt::format("\\U{:08X}", c);
}

/// Rules have names that mean nothing to xgrammar, but for the first one.
std::string name_of(std::string_view name) {
  return name == "root" ? "root" : fmt::format("n_{}", name);
}

class Reader {
 public:
  Reader(std::string_view text, const TokenOfText& token) : text_(text), token_(token) {}

  std::string read() {
    skip_space(true);
    while (!done()) read_rule();
    for (const auto& [name, at] : used_) {
      if (!rules_.contains(name)) fail_at(at, fmt::format("rule \"{}\" is defined nowhere", name));
    }
    if (!rules_.contains("root")) throw Error("grammar: expected a rule named \"root\"");
    std::string ebnf;
    for (const std::string& name : order_) ebnf += fmt::format("{} ::= {}\n", name_of(name), rules_[name]);
    return ebnf;
  }

 private:
  bool done() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  [[noreturn]] void fail(std::string_view what) const { fail_at(at_, what); }
  [[noreturn]] void fail_at(std::size_t at, std::string_view what) const {
    const std::string_view before = text_.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t begin = before.rfind('\n');
    throw Error("grammar: line {}, column {}: {}", line, begin == before.npos ? at + 1 : at - begin, what);
  }

  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("expected {}", c));
  }

  /// Comments, too; ends of lines only where they end nothing.
  void skip_space(bool lines) {
    while (!done()) {
      const char c = text_[at_];
      if (c == '#') {
        while (!done() && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
      } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string read_name() {
    const std::size_t begin = at_;
    while (is_name(peek())) ++at_;
    if (at_ == begin) fail("expected the name of a rule");
    return std::string(text_.substr(begin, at_ - begin));
  }

  void read_rule() {
    const std::string name = read_name();
    skip_space(false);
    for (const char c : {':', ':', '='}) {
      if (!take(c)) fail("expected ::=");
    }
    skip_space(true);
    std::string body = read_alternatives(0);
    if (!done() && peek() != '\n' && peek() != '\r') fail(fmt::format("unexpected {}", text_[at_]));
    skip_space(true);
    if (!rules_.contains(name)) order_.push_back(name);
    rules_[name] = std::move(body);
  }

  std::string read_alternatives(int depth) {
    if (depth > kDeepest) fail(fmt::format("more than {} levels of parentheses", kDeepest));
    std::string all = read_sequence(depth);
    while (take('|')) {
      skip_space(true);
      all += " | " + read_sequence(depth);
    }
    return all;
  }

  std::string read_sequence(int depth) {
    std::string all;
    for (std::string item; !(item = read_item(depth)).empty();) {
      all += (all.empty() ? "" : " ") + repeated(std::move(item), depth > 0);
    }
    return all.empty() ? kNothing : all;
  }

  /// Empty: there is none.
  std::string read_item(int depth) {
    if (done()) return {};
    const char c = peek();
    std::string item;
    if (take('"')) {
      item = read_literal();
    } else if (take('[')) {
      item = read_class();
    } else if (take('.')) {
      item = "[" + escaped(0) + "-" + escaped(kLastCodePoint) + "]";
    } else if (c == '<' || c == '!') {
      item = read_token();
    } else if (take('(')) {
      skip_space(true);
      item = "(" + read_alternatives(depth + 1) + ")";
      expect(')');
    } else if (is_name(c)) {
      const std::size_t at = at_;
      const std::string name = read_name();
      used_.emplace(name, at);
      item = name_of(name);
    } else {
      return {};
    }
    skip_space(depth > 0);
    return item;
  }

  /// With the repetitions behind it.
  std::string repeated(std::string item, bool lines) {
    for (bool again = false;; again = true) {
      std::string times;
      if (take('*')) {
        times = "*";
      } else if (take('+')) {
        times = "+";
      } else if (take('?')) {
        times = "?";
      } else if (take('{')) {
        times = read_times(lines);
      } else {
        return item;
      }
      skip_space(lines);
      if (item != kNothing) item = (again ? "(" + item + ")" : item) + times;
    }
  }

  /// Behind the {.
  std::string read_times(bool lines) {
    skip_space(lines);
    const int least = read_count();
    skip_space(lines);
    if (take('}')) return fmt::format("{{{}}}", least);
    expect(',');
    skip_space(lines);
    if (take('}')) return fmt::format("{{{},}}", least);
    const int most = read_count();
    if (most < least) fail(fmt::format("a repetition of at least {} and at most {}", least, most));
    skip_space(lines);
    expect('}');
    return fmt::format("{{{},{}}}", least, most);
  }

  int read_count() {
    const std::size_t begin = at_;
    int count = 0;
    for (; is_digit(peek()); ++at_) {
      count = count * 10 + (peek() - '0');
      if (count > kMostRepetitions) {
        fail_at(begin, fmt::format("a repetition of more than {} times", kMostRepetitions));
      }
    }
    if (at_ == begin) fail("expected a number");
    return count;
  }

  std::string read_literal() {
    std::string literal;
    while (!take('"')) literal += escaped(read_character());
    return "\"" + literal + "\"";
  }

  std::string read_class() {
    const std::string begin = take('^') ? "[^" : "[";
    std::string ranges;
    while (!take(']')) {
      const std::size_t at = at_;
      const std::uint32_t first = read_character();
      ranges += escaped(first);
      if (peek() != '-' || peek(1) == ']') continue;
      ++at_;
      const std::uint32_t last = read_character();
      if (last < first) fail_at(at, "a range that ends before it begins");
      ranges += "-" + escaped(last);
    }
    return ranges.empty() ? kNothing : begin + ranges + "]";
  }

  std::uint32_t read_character() {
    if (done()) fail("unexpected end");
    if (!take('\\')) return read_utf8();
    const char c = peek();
    ++at_;
    switch (c) {
      case 'x':
        return read_hex(2);
      case 'u':
        return read_hex(4);
      case 'U':
        return read_hex(8);
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
        return static_cast<std::uint32_t>(c);
      default:
        fail_at(at_ - 2, "an escape that is none of \\x \\u \\U \\t \\r \\n \\\\ \\\" \\[ \\] \\-");
    }
  }

  std::uint32_t read_hex(int digits) {
    std::uint32_t value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char c = peek();
      const int digit = is_digit(c)              ? c - '0'
                        : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                        : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                                 : -1;
      if (digit < 0) fail(fmt::format("expected {} hexadecimal digits", digits));
      value = value << 4 | static_cast<std::uint32_t>(digit);
    }
    return checked(value);
  }

  std::uint32_t read_utf8() {
    const auto first = static_cast<unsigned char>(peek());
    const int more = first < 0x80       ? 0
                     : first >> 5 == 6  ? 1
                     : first >> 4 == 14 ? 2
                     : first >> 3 == 30 ? 3
                                        : -1;
    if (more < 0) fail("a character that is not UTF-8");
    std::uint32_t value = more == 0 ? first : first & (0x3Fu >> more);
    ++at_;
    for (int i = 0; i < more; ++i, ++at_) {
      const auto next = static_cast<unsigned char>(peek());
      if (next >> 6 != 2) fail("a character that is not UTF-8");
      value = value << 6 | (next & 0x3Fu);
    }
    return checked(value);
  }

  std::uint32_t checked(std::uint32_t c) const {
    if (c > kLastCodePoint || (c >= 0xD800 && c <= 0xDFFF)) fail(fmt::format("U+{:04X} is no character", c));
    return c;
  }

  std::string read_token() {
    const std::string what = take('!') ? "ExcludeToken" : "Token";
    const std::size_t begin = at_;
    expect('<');
    if (take('[')) {
      std::int64_t id = 0;
      if (!is_digit(peek())) fail("expected a token's id");
      for (; is_digit(peek()); ++at_) {
        id = id * 10 + (peek() - '0');
        if (id > INT32_MAX) fail("a token's id that no vocabulary has");
      }
      expect(']');
      expect('>');
      return fmt::format("{}({})", what, id);
    }
    const std::size_t end = text_.find('>', at_);
    if (end == text_.npos) fail("expected >");
    at_ = end + 1;
    const std::string_view written = text_.substr(begin, at_ - begin);
    const std::optional<TokenId> id = token_(written);
    if (!id) fail_at(begin, fmt::format("{} is not one token of this model", written));
    return fmt::format("{}({})", what, *id);
  }

  inline static const std::string kNothing = "\"\"";

  const std::string_view text_;
  const TokenOfText& token_;
  std::size_t at_ = 0;
  std::vector<std::string> order_;  // of the rules' names
  std::map<std::string, std::string> rules_;
  std::map<std::string, std::size_t> used_;  // and where
};

}  // namespace

std::string ebnf_of_gbnf(std::string_view gbnf, const TokenOfText& token) {
  return Reader(gbnf, token).read();
}

}  // namespace augur
