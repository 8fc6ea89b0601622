#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/utf8.h"
#include "text/jinja/value.h"

namespace augur::jinja {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(unify_newlines(source)) {
    if (source_.ends_with('\n')) source_.pop_back();
  }

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag(at_);
      const std::string_view open = std::string_view(source_).substr(tag, 2);
      if (open.size() < 2) {
        add_text(at_, source_.size());
        at_ = source_.size();
        break;
      }
      const char mode = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
      const std::size_t text_end = trimmed_text_end(tag, open != "{{", mode);
      add_text(at_, text_end);
      advance(tag);
      at_ = tag + 2 + (mode == '-' || mode == '+');
      line_starting_ = false;
      if (open == "{#")
        skip_comment();
      else if (open == "{{")
        read_tag(Token::Kind::OutputBegin, Token::Kind::OutputEnd, "}}");
      else if (!read_raw())
        read_tag(Token::Kind::BlockBegin, Token::Kind::BlockEnd, "%}");
    }
    tokens_.push_back({Token::Kind::End, "the end of the template", line_});
    return std::move(tokens_);
  }

 private:
  static std::string unify_newlines(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\r') {
        out += '\n';
        if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
      } else {
        out += text[i];
      }
    }
    return out;
  }

  std::size_t next_tag(std::size_t from) const {
    for (std::size_t i = source_.find('{', from); i != std::string::npos; i = source_.find('{', i + 1))
      if (i + 1 < source_.size() && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#'))
        return i;
    return source_.size();
  }

  // "{%-" removes all white space before it; lstrip_blocks removes a block's indentation when nothing else is
  // in front of it on its line, unless "{%+".
  std::size_t trimmed_text_end(std::size_t tag, bool block, char mode) const {
    const std::string_view text = std::string_view(source_).substr(at_, tag - at_);
    if (mode == '-') return at_ + strip(text, false, true).size();
    if (!block || mode == '+') return tag;
    const std::size_t newline = text.rfind('\n');
    const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    if (line == 0 && newline == std::string_view::npos && !line_starting_) return tag;
    return strip(text.substr(line), true, false).empty() ? at_ + line : tag;
  }

  void add_text(std::size_t begin, std::size_t end) {
    if (end > begin) tokens_.push_back({Token::Kind::Text, source_.substr(begin, end - begin), line_});
  }

  // Moves on to `to`, counting lines.
  void advance(std::size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }

  // Behind a tag: "-%}" removes all white space, trim_blocks one newline, "+%}" nothing.
  void after_tag(bool block, char mode) {
    const std::size_t begin = at_;
    if (mode == '-') {
      const std::string_view rest = std::string_view(source_).substr(at_);
      advance(at_ + (rest.size() - strip(rest, true, false).size()));
    } else if (block && mode != '+' && at_ < source_.size() && source_[at_] == '\n') {
      advance(at_ + 1);
    }
    line_starting_ = at_ > begin && source_[at_ - 1] == '\n';
  }

  void skip_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) throw Error("line {}: the comment is not closed", line_);
    const char mode = end > at_ ? source_[end - 1] : ' ';
    advance(end + 2);
    after_tag(true, mode);
  }

  // {% raw %} ... {% endraw %}: text as it stands.
  bool read_raw() {
    std::size_t i = skip_spaces(at_);
    if (source_.compare(i, 3, "raw") != 0) return false;
    i = skip_spaces(i + 3);
    char mode = i < source_.size() ? source_[i] : ' ';
    if (mode == '-' || mode == '+') ++i;
    if (source_.compare(i, 2, "%}") != 0) return false;
    const int first_line = line_;
    advance(i + 2);
    after_tag(true, mode);
    for (std::size_t tag = source_.find("{%", at_); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      const char open_mode = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
      std::size_t j = skip_spaces(tag + 2 + (open_mode == '-' || open_mode == '+'));
      if (source_.compare(j, 6, "endraw") != 0) continue;
      j = skip_spaces(j + 6);
      mode = j < source_.size() ? source_[j] : ' ';
      if (mode == '-' || mode == '+') ++j;
      if (source_.compare(j, 2, "%}") != 0) continue;
      add_text(at_, trimmed_text_end(tag, true, open_mode));
      advance(j + 2);
      after_tag(true, mode);
      return true;
    }
    throw Error("line {}: the raw block is not closed", first_line);
  }

  std::size_t skip_spaces(std::size_t i) const {
    while (i < source_.size() && is_space(source_[i])) ++i;
    return i;
  }

  void read_tag(Token::Kind begin, Token::Kind end, std::string_view close) {
    const int first_line = line_;
    tokens_.push_back({begin, begin == Token::Kind::OutputBegin ? "{{" : "{%", line_});
    std::string open_brackets;
    while (true) {
      while (at_ < source_.size() && is_space(source_[at_])) advance(at_ + 1);
      if (at_ >= source_.size()) throw Error("line {}: the tag is not closed", first_line);
      if (open_brackets.empty()) {
        const char mode = source_[at_];
        const std::size_t marked = at_ + (mode == '-' || mode == '+');
        const bool plus_allowed = mode != '+' || end == Token::Kind::BlockEnd;
        if (plus_allowed && source_.compare(marked, 2, close) == 0) {
          tokens_.push_back({end, std::string(close), line_});
          advance(marked + 2);
          return after_tag(end == Token::Kind::BlockEnd, mode);
        }
      }
      read_token(open_brackets);
    }
  }

  void read_token(std::string& open_brackets) {
    const char c = source_[at_];
    if (c == '"' || c == '\'') return read_string(c);
    if (is_digit(c)) return read_number();
    if (is_name_start(c)) {
      std::size_t end = at_;
      while (end < source_.size() && (is_name_start(source_[end]) || is_digit(source_[end]))) ++end;
      tokens_.push_back({Token::Kind::Name, source_.substr(at_, end - at_), line_});
      at_ = end;
      return;
    }
    static constexpr std::array<std::string_view, 6> kLong = {"==", "!=", "<=", ">=", "//", "**"};
    for (const std::string_view op : kLong)
      if (source_.compare(at_, 2, op) == 0) return add_operator(op);
    static constexpr std::string_view kShort = "+-*/%~<>=()[]{}.,:|;";
    if (kShort.find(c) == std::string_view::npos)
      throw Error("line {}: unexpected character \"{}\"", line_,
                  source_.substr(at_, decode_utf8(source_, at_).length));
    if (c == '(' || c == '[' || c == '{') open_brackets += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open_brackets.empty() || open_brackets.back() != c)
        throw Error("line {}: unexpected \"{}\"", line_, c);
      open_brackets.pop_back();
    }
    add_operator(std::string_view(source_).substr(at_, 1));
  }

  void add_operator(std::string_view op) {
    tokens_.push_back({Token::Kind::Operator, std::string(op), line_});
    at_ += op.size();
  }

  void read_number() {
    std::size_t end = at_;
    const auto digits = [&] {
      while (end < source_.size() && (is_digit(source_[end]) || source_[end] == '_')) ++end;
    };
    digits();
    bool is_float = false;
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      is_float = true;
      ++end;
      digits();
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
      if (exponent < source_.size() && is_digit(source_[exponent])) {
        is_float = true;
        end = exponent;
        digits();
      }
    }
    if (end < source_.size() && is_name_start(source_[end])) throw Error("line {}: malformed number", line_);
    std::string text = source_.substr(at_, end - at_);
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    tokens_.push_back({is_float ? Token::Kind::Float : Token::Kind::Integer, std::move(text), line_});
    at_ = end;
  }

  // Python's escapes.
  void read_string(char quote) {
    const int first_line = line_;
    std::string text;
    std::size_t i = at_ + 1;
    while (true) {
      if (i >= source_.size()) throw Error("line {}: the string is not closed", first_line);
      const char c = source_[i];
      if (c == quote) break;
      if (c != '\\') {
        text += c;
        ++i;
        continue;
      }
      if (i + 1 >= source_.size()) throw Error("line {}: the string is not closed", first_line);
      i = read_escape(i + 1, text);
    }
    tokens_.push_back({Token::Kind::String, std::move(text), first_line});
    advance(i + 1);
  }

  // `i`: behind the backslash. Returns where the escape ends.
  std::size_t read_escape(std::size_t i, std::string& text) {
    static constexpr std::string_view kLetters = "abfnrtv\\'\"";
    static constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"";
    const char c = source_[i];
    if (const std::size_t known = kLetters.find(c); known != std::string_view::npos) {
      text += kValues[known];
      return i + 1;
    }
    if (c == '\n') return i + 1;  // a continued line
    if (c >= '0' && c <= '7') {
      char32_t code = 0;
      std::size_t end = i;
      while (end < source_.size() && end < i + 3 && source_[end] >= '0' && source_[end] <= '7')
        code = code * 8 + static_cast<char32_t>(source_[end++] - '0');
      append_utf8(text, code);
      return end;
    }
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {  // not an escape: both characters stand for themselves
      text += '\\';
      return i;
    }
    char32_t code = 0;
    for (int d = 1; d <= digits; ++d) {
      const char h =
          i + static_cast<std::size_t>(d) < source_.size() ? source_[i + static_cast<std::size_t>(d)] : ' ';
      const int value = is_digit(h)            ? h - '0'
                        : h >= 'a' && h <= 'f' ? h - 'a' + 10
                        : h >= 'A' && h <= 'F' ? h - 'A' + 10
                                               : -1;
      if (value < 0 || code > kLastCodePoint)
        throw Error("line {}: malformed \\{} escape in a string", line_, c);
      code = code * 16 + static_cast<char32_t>(value);
    }
    if (code > kLastCodePoint || (code >= 0xD800 && code <= 0xDFFF))
      throw Error("line {}: \\{} escape of no character in a string", line_, c);
    append_utf8(text, code);
    return i + 1 + static_cast<std::size_t>(digits);
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;  ///< at_ begins a line of the source
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace augur::jinja
