#include "server/tools/python_literal.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "files/big_integers.h"
#include "server/tools/argument_types.h"
#include "server/tools/call_state.h"

namespace augur {
namespace {

constexpr int kDeepestLiteral = 64;

class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  std::optional<std::string> read() {
    if (!value(0)) return std::nullopt;
    skip_space();
    if (at_ != text_.size()) return std::nullopt;
    return std::move(json_);
  }

 private:
  bool ended() const { return at_ == text_.size(); }
  void skip_space() {
    while (!ended() && is_call_space(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (ended() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool value(int depth) {
    skip_space();
    if (ended() || depth > kDeepestLiteral) return false;
    switch (text_[at_]) {
      case '\'':
      case '"':
        return string();
      case '[':
        return list(']', depth);
      case '(':
        return list(')', depth);
      case '{':
        return dictionary(depth);
      default:
        return word();
    }
  }

  bool list(char end, int depth) {
    ++at_;
    json_ += '[';
    for (bool first = true; !take(end); first = false) {
      if (!first) json_ += ", ";
      if (!value(depth + 1)) return false;
      if (take(',')) continue;
      if (!take(end)) return false;
      break;
    }
    json_ += ']';
    return true;
  }

  bool dictionary(int depth) {
    ++at_;
    json_ += '{';
    for (bool first = true; !take('}'); first = false) {
      if (!first) json_ += ", ";
      skip_space();
      if (ended() || (text_[at_] != '"' && text_[at_] != '\'') || !string() || !take(':')) return false;
      json_ += ": ";
      if (!value(depth + 1)) return false;
      if (take(',')) continue;
      if (!take('}')) return false;
      break;
    }
    json_ += '}';
    return true;
  }

  /// A name or a number.
  bool word() {
    const std::size_t begin = at_;
    while (!ended() && !is_call_space(text_[at_]) &&
           std::string_view(",:()[]{}'\"").find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "True" || word == "true")
      json_ += "true";
    else if (word == "False" || word == "false")
      json_ += "false";
    else if (word == "None" || word == "null")
      json_ += "null";
    else
      return number(word);
    return true;
  }

  bool number(std::string_view word) {
    std::string digits(word);
    std::erase(digits, '_');
    if (digits.starts_with('+')) digits.erase(0, 1);
    const bool negative = digits.starts_with('-');
    if (negative) digits.erase(0, 1);
    if (digits.empty() || digits[0] == '-') return false;
    if (digits.size() > 2 && digits[0] == '0' &&
        std::string_view("xXoObB").find(digits[1]) != std::string_view::npos) {
      const char kind = static_cast<char>(digits[1] | 0x20);
      std::uint64_t value = 0;
      const char* const end = digits.data() + digits.size();
      const auto read = std::from_chars(digits.data() + 2, end, value,
                                        kind == 'x'   ? 16
                                        : kind == 'o' ? 8
                                                      : 2);
      if (read.ec != std::errc() || read.ptr != end) return false;
      digits = std::to_string(value);
    }
    if (digits.starts_with('.')) digits.insert(0, 1, '0');
    if (const std::size_t point = digits.find('.');
        point != std::string::npos && (point + 1 == digits.size() || (digits[point + 1] | 0x20) == 'e'))
      digits.insert(point + 1, 1, '0');
    const auto parsed = parse_exact_json(digits);
    if (!parsed.is_number() && !parsed.is_binary()) return false;
    json_ += (negative ? "-" : "") + digits;
    return true;
  }

  bool string() {
    const char quote = text_[at_++];
    std::string bytes;
    while (!ended()) {
      const char c = text_[at_++];
      if (c == '\\') {
        if (!escape(bytes)) return false;
      } else if (c == quote && ends_text()) {
        json_ += '"';
        append_json_text(json_, to_valid_utf8(bytes));
        json_ += '"';
        return true;
      } else {
        bytes += c;
      }
    }
    return false;
  }

  bool ends_text() const {
    std::size_t next = at_;
    while (next < text_.size() && is_call_space(text_[next])) ++next;
    return next == text_.size() || may_follow_text(text_[next]);
  }

  /// What is behind a backslash.
  bool escape(std::string& to) {
    if (ended()) return false;
    const char c = text_[at_++];
    constexpr std::string_view kLetters = "abfnrtv\\'\"/";
    constexpr std::string_view kBytes = "\a\b\f\n\r\t\v\\'\"/";
    if (c == '\n') return true;
    if (const std::size_t letter = kLetters.find(c); letter != std::string_view::npos) {
      to += kBytes[letter];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      return code_point(c == 'x' ? 2 : c == 'u' ? 4 : 8, to);
    } else if (c >= '0' && c <= '7') {
      std::uint32_t value = static_cast<std::uint32_t>(c - '0');
      for (int i = 0; i < 2 && !ended() && text_[at_] >= '0' && text_[at_] <= '7'; ++i)
        value = value * 8 + static_cast<std::uint32_t>(text_[at_++] - '0');
      append_utf8(to, value);
    } else {
      to += '\\';
      to += c;
    }
    return true;
  }

  std::optional<std::uint32_t> hexadecimal(std::size_t digits) {
    std::uint32_t value = 0;
    const std::string_view part = text_.substr(at_, digits);
    const auto read = std::from_chars(part.data(), part.data() + part.size(), value, 16);
    if (part.size() != digits || read.ec != std::errc() || read.ptr != part.data() + digits)
      return std::nullopt;
    at_ += digits;
    return value;
  }

  bool code_point(std::size_t digits, std::string& to) {
    std::optional<std::uint32_t> value = hexadecimal(digits);
    if (!value || *value > 0x10FFFF) return false;
    if (*value >= 0xD800 && *value < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
      // JSON's way beyond 16 bits.
      const std::size_t before = at_;
      at_ += 2;
      const std::optional<std::uint32_t> low = hexadecimal(4);
      if (low && *low >= 0xDC00 && *low < 0xE000)
        value = 0x10000 + ((*value - 0xD800) << 10) + (*low - 0xDC00);
      else
        at_ = before;
    }
    const bool alone = *value >= 0xD800 && *value < 0xE000;
    append_utf8(to, alone ? kReplacementCharacter : char32_t{*value});
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string json_;
};

}  // namespace

std::optional<std::string> json_of_python(std::string_view literal) {
  return LiteralReader(literal).read();
}

bool may_follow_text(char next) {
  return next == ',' || next == ')' || next == ']' || next == '}' || next == ':';
}

}  // namespace augur
