#include "text/tokenizer/regex_syntax.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <optional>
#include <stdexcept>
#include <vector>

namespace augur {
namespace {

// PCRE2's \s also takes U+180E, which lost the White_Space property in Unicode 6.3, and its \w lacks marks.
// Outside of sets Oniguruma's has six characters of Latin-1 more.
constexpr std::string_view kSpaceMembers = R"(\x{09}-\x{0D}\x{85}\p{Z})";
constexpr std::string_view kWordMembers = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view kMoreWordMembers = R"(\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
constexpr std::string_view kHexMembers = "0-9A-Fa-f";
constexpr std::string_view kAnyCharacter = "(?s:.)";
constexpr int kDeepestSet = 32;
constexpr std::size_t kLongestName = 64;  // of a property or class

constexpr std::array<std::string_view, 16> kScripts = {
    "Arabic",   "Bopomofo", "Cyrillic", "Devanagari", "Greek", "Han",     "Hangul", "Hebrew",
    "Hiragana", "Katakana", "Khmer",    "Lao",        "Latin", "Myanmar", "Tamil",  "Thai"};

/// Members of the set that an escape stands for, or of its complement.
struct Shorthand {
  std::string_view members;
  bool negated = false;
};

std::optional<Shorthand> shorthand(char letter) {
  switch (letter) {
    case 's':
      return Shorthand{kSpaceMembers};
    case 'S':
      return Shorthand{kSpaceMembers, true};
    case 'w':
      return Shorthand{kWordMembers};
    case 'W':
      return Shorthand{kWordMembers, true};
    case 'h':
      return Shorthand{kHexMembers};
    case 'H':
      return Shorthand{kHexMembers, true};
    default:
      return std::nullopt;
  }
}

std::string set_of(std::string_view members, bool negated) {
  return std::string(negated ? "[^" : "[").append(members) + "]";
}

/// What a set holds, as expressions that match one character each.
struct Set {
  std::string members;              ///< as between brackets
  std::vector<std::string> others;  ///< what brackets cannot hold
  bool negated = false;

  bool plain() const { return others.empty(); }
  std::string text() const {
    if (plain())
      return members.empty() ? (negated ? std::string(kAnyCharacter) : "(?!)") : set_of(members, negated);
    std::string either = members.empty() ? "" : set_of(members, false);
    for (const std::string& other : others) either += (either.empty() ? "" : "|") + other;
    either = "(?:" + either + ")";
    return negated ? "(?:(?!" + either + ")" + std::string(kAnyCharacter) + ")" : either;
  }
};

class Translation {
 public:
  explicit Translation(std::string_view pattern) : pattern_(pattern) {}

  std::string text() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        escape();
      } else if (c == '[') {
        ++at_;
        out_ += set(1).text();
      } else if (c == '{') {
        interval();
      } else if (pattern_.substr(at_).starts_with("(?")) {
        group();
      } else {
        out_ += c;
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  char next(std::size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }

  /// Behind the [:name:] that begins here; npos where none does.
  std::size_t posix_class_end() const {
    if (next() != '[' || next(1) != ':') return std::string_view::npos;
    const std::size_t end = pattern_.substr(0, at_ + kLongestName).find(":]", at_);
    return end == std::string_view::npos ? end : end + 2;
  }

  /// The escape that begins here, as PCRE2 writes it; goes behind it.
  std::string copied_escape() {
    const std::string_view escape = pattern_.substr(at_, 2);
    const char kind = next(1);
    at_ += escape.size();
    if (kind == 'u' && at_ + 4 <= pattern_.size()) {
      const std::string_view digits = pattern_.substr(at_, 4);
      if (std::ranges::all_of(digits,
                              [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; })) {
        at_ += 4;
        return "\\x{" + std::string(digits) + "}";
      }
    }
    if ((kind == 'p' || kind == 'P' || kind == 'x') && next() == '{') {
      const std::size_t end = pattern_.substr(0, at_ + kLongestName).find('}', at_);
      if (end == std::string_view::npos) return std::string(escape);
      std::string_view name = pattern_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      const bool complement = name.starts_with('^');
      if (complement) name.remove_prefix(1);
      std::string out = std::string(escape) + (complement ? "{^" : "{");
      if (kind != 'x' && std::ranges::find(kScripts, name) != kScripts.end()) out += "sc:";
      return out.append(name) + "}";
    }
    return std::string(escape);
  }

  void escape() {
    const char letter = next(1);
    const std::string words = std::string(kWordMembers).append(kMoreWordMembers);
    if (const auto known = shorthand(letter)) {
      out_ += set_of(known->members == kWordMembers ? words : known->members, known->negated);
      at_ += 2;
    } else if (letter == 'b' || letter == 'B') {
      const std::string word = set_of(words, false);
      const std::string here = "(?<=" + word + ")";
      const std::string not_here = "(?<!" + word + ")";
      const std::string then = "(?=" + word + ")";
      const std::string not_then = "(?!" + word + ")";
      out_ += letter == 'b' ? "(?:" + here + not_then + "|" + not_here + then + ")"
                            : "(?:" + here + then + "|" + not_here + not_then + ")";
      at_ += 2;
    } else {
      out_ += copied_escape();
    }
  }

  /// {n,m}+ repeats the interval, where PCRE2 would give nothing of it back.
  void interval() {
    std::size_t end = at_ + 1;
    const auto number = [&]() -> std::optional<int> {
      int value = 0;
      const std::size_t begin = end;
      for (; end < pattern_.size() && std::isdigit(static_cast<unsigned char>(pattern_[end])) != 0; ++end)
        value = std::min(10 * value + (pattern_[end] - '0'), 100'000);
      return begin == end ? std::nullopt : std::optional(value);
    };
    const auto least = number();
    const bool comma = end < pattern_.size() && pattern_[end] == ',';
    if (comma) ++end;
    const auto most = comma ? number() : least;
    if (end >= pattern_.size() || pattern_[end] != '}' || (!least && !most)) {
      out_ += pattern_[at_++];
      return;
    }
    if (end + 1 < pattern_.size() && pattern_[end + 1] == '+') {
      const int first = least.value_or(0);
      if (first > 1 && most.value_or(INT_MAX) < 2 * first - 1)
        throw std::invalid_argument("a repeated interval that leaves numbers out is not supported");
      out_ += "{" + std::to_string(first) + ",}";
      at_ = end + 2;
      return;
    }
    out_ += least ? std::string(pattern_.substr(at_, end + 1 - at_)) : "{0," + std::to_string(*most) + "}";
    at_ = end + 1;
  }

  /// (?m) lets the dot match line ends, which PCRE2 calls s.
  void group() {
    out_ += "(?";
    at_ += 2;
    std::size_t end = at_;
    while (end < pattern_.size() &&
           (std::isalpha(static_cast<unsigned char>(pattern_[end])) != 0 || pattern_[end] == '-'))
      ++end;
    if (end >= pattern_.size() || (pattern_[end] != ':' && pattern_[end] != ')')) return;
    for (; at_ < end; ++at_) out_ += pattern_[at_] == 'm' ? 's' : pattern_[at_];
  }

  /// The set whose opening bracket has been read.
  Set set(int depth) {
    if (depth > kDeepestSet) throw std::invalid_argument("sets are nested too deep");
    Set out;
    if (next() == '^') {
      out.negated = true;
      ++at_;
    }
    std::vector<std::string> operands;  // of intersections
    Set now;
    bool first = true;      // a bracket that closes at once is a member
    bool after_set = true;  // a dash there is one, and makes no range
    while (true) {
      if (at_ >= pattern_.size()) throw std::invalid_argument("a set is not closed");
      const char c = pattern_[at_];
      if (c == ']' && !first) {
        ++at_;
        break;
      }
      const bool literal = c == '-' && (after_set || next(1) == ']');
      first = after_set = false;
      if (c == '&' && next(1) == '&') {
        operands.push_back(now.text());
        now = Set{};
        after_set = true;
        at_ += 2;
      } else if (const std::size_t end = posix_class_end(); end != std::string_view::npos) {
        now.members += pattern_.substr(at_, end - at_);
        at_ = end;
      } else if (c == '[') {
        ++at_;
        after_set = true;
        const Set inner = set(depth + 1);
        if (inner.plain() && !inner.negated)
          now.members.insert(0, inner.members);
        else
          now.others.push_back(inner.text());
      } else if (c == '\\') {
        const auto known = shorthand(next(1));
        if (!known)
          now.members += copied_escape();
        else if (known->negated)
          now.others.push_back(set_of(known->members, true));
        else
          now.members += known->members;
        if (known) at_ += 2;
      } else {
        const bool posix = c == '.' || c == '=' || c == ':';  // between brackets these begin something
        if (literal || posix) now.members += '\\';
        now.members += c;
        ++at_;
      }
    }
    if (operands.empty()) {
      now.negated = out.negated;
      return now;
    }
    operands.push_back(now.text());
    std::string all;
    for (std::size_t i = 0; i + 1 < operands.size(); ++i) all += "(?=" + operands[i] + ")";
    out.others.push_back("(?:" + all + operands.back() + ")");
    return out;
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string pcre2_pattern(std::string_view pattern) {
  return Translation(pattern).text();
}

}  // namespace augur
