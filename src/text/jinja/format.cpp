#include "text/jinja/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/utf8.h"
#include "text/jinja/escape.h"

namespace augur::jinja {
namespace {

constexpr std::int64_t kMostDigits = 400;  // behind a point

/// What is between a conversion's beginning and its type: [[fill]align][sign][#][0][width][,][.precision]
struct Spec {
  Text fill = Text::own(" ");
  char align = 0;
  char sign = '-';
  bool alternate = false;
  bool zeros = false;
  char grouping = 0;
  std::int64_t width = 0;
  std::int64_t precision = -1;
  char type = 0;
};

std::int64_t read_count(std::string_view& rest) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
  if (error == std::errc::result_out_of_range) throw Error("a format's number is too large");
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return count;
}

bool skip(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

void add_padded(const Text& body, const Spec& spec, char align, TextBuilder& out, Arena& arena) {
  const std::int64_t missing = spec.width - count_characters(body.bytes());
  const std::int64_t padding = std::max<std::int64_t>(missing, 0);
  const std::int64_t left = align == '<' ? 0 : align == '^' ? padding / 2 : padding;
  arena.spend_memory(static_cast<std::size_t>(padding) * spec.fill.size() + body.size());
  for (std::int64_t i = 0; i < left; ++i) out.add(spec.fill);
  out.add(body);
  for (std::int64_t i = left; i < padding; ++i) out.add(spec.fill);
}

std::string grouped(std::string digits, char separator, std::size_t every) {
  const std::size_t end = std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  for (std::size_t at = end; at > every;) digits.insert(at -= every, 1, separator);
  return digits;
}

std::string in_base(std::uint64_t value, int base) {
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, base).ptr;
  return {buffer.data(), end};
}

/// Digits without a sign.
std::string real_digits(double value, const Spec& spec, char type) {
  const auto precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  if (precision > kMostDigits) throw Error("a format asks for more than {} digits", kMostDigits);
  std::string out;
  switch (type) {
    case 'e':
    case 'E':
      out = fmt::format("{:.{}e}", value, precision);
      break;
    case 'f':
    case 'F':
      out = fmt::format("{:.{}f}", value, precision);
      break;
    case '%':
      return fmt::format("{:.{}f}%", value * 100, precision);
    default:
      out = spec.alternate ? fmt::format("{:#.{}g}", value, precision)
                           : fmt::format("{:.{}g}", value, precision);
  }
  if (type == 'E' || type == 'F' || type == 'G') out = upper(out);
  return out;
}

void add_number(bool negative, const std::string& prefix, std::string digits, const Spec& spec,
                TextBuilder& out, Arena& arena) {
  if (spec.grouping != 0) digits = grouped(std::move(digits), spec.grouping, prefix.empty() ? 3 : 4);
  std::string sign = negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
  sign += prefix;
  if (spec.zeros || spec.align == '=') {
    Spec inner = spec;
    inner.width = std::max<std::int64_t>(spec.width - static_cast<std::int64_t>(sign.size()), 0);
    if (spec.zeros) inner.fill = Text::own("0");
    out.add_own(sign);
    return add_padded(Text::own(digits), inner, '>', out, arena);
  }
  sign += digits;
  add_padded(Text::own(sign), spec, spec.align != 0 ? spec.align : '>', out, arena);
}

void add_real(double value, const Spec& spec, TextBuilder& out, Arena& arena) {
  const bool negative = std::signbit(value) && !std::isnan(value);
  const double size = std::abs(value);
  char type = spec.type;
  std::string digits;
  if (!std::isfinite(size)) {
    digits = std::isnan(size) ? "nan" : "inf";
  } else if (type == 0 && spec.precision < 0) {
    digits = to_text(size, arena).bytes();
  } else {
    digits = real_digits(size, spec, type == 0 || type == 'n' ? 'g' : type);
  }
  add_number(negative, "", std::move(digits), spec, out, arena);
}

void add_integer(std::int64_t value, const Spec& spec, TextBuilder& out, Arena& arena) {
  const auto size = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const auto prefix = [&](const char* text) { return std::string(spec.alternate ? text : ""); };
  switch (spec.type) {
    case 0:
    case 'd':
    case 'i':
    case 'u':
    case 'n':
      return add_number(value < 0, "", in_base(size, 10), spec, out, arena);
    case 'b':
      return add_number(value < 0, prefix("0b"), in_base(size, 2), spec, out, arena);
    case 'o':
      return add_number(value < 0, prefix("0o"), in_base(size, 8), spec, out, arena);
    case 'x':
      return add_number(value < 0, prefix("0x"), in_base(size, 16), spec, out, arena);
    case 'X':
      return add_number(value < 0, prefix("0X"), upper(in_base(size, 16)), spec, out, arena);
    case 'c': {
      if (value < 0 || value > kLastCodePoint) throw Error("{} is no character", value);
      std::string character;
      append_utf8(character, static_cast<char32_t>(value));
      return add_padded(Text::client(character), spec, spec.align != 0 ? spec.align : '<', out, arena);
    }
    default:
      return add_real(static_cast<double>(value), spec, out, arena);
  }
}

bool is_integer_type(char type) {
  return type == 0 || std::string_view("diunboxXc").find(type) != std::string_view::npos;
}

void add_value(const Value& value, const Spec& spec, TextBuilder& out, Arena& arena) {
  if (const auto* text = std::get_if<Text>(&value)) {
    if (spec.type != 0 && spec.type != 's') throw Error("the format \"{}\" needs a number", spec.type);
    const std::string_view kept =
        spec.precision < 0 ? text->bytes() : characters(text->bytes(), 0, spec.precision);
    return add_padded(text->part(kept), spec, spec.align != 0 ? spec.align : '<', out, arena);
  }
  if (const auto* big = std::get_if<BigInteger>(&value)) {
    if (spec.type != 0 && spec.type != 'd') throw Error("the integer {} is too large", big->digits);
    std::string digits(big->digits);
    const bool negative = digits.front() == '-';
    return add_number(negative, "", digits.substr(negative ? 1 : 0), spec, out, arena);
  }
  if (const auto* flag = std::get_if<bool>(&value)) return add_integer(*flag, spec, out, arena);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return add_integer(*integer, spec, out, arena);
  if (const auto* real = std::get_if<double>(&value)) {
    if (spec.type != 0 && is_integer_type(spec.type))
      throw Error("the format \"{}\" needs an integer", spec.type);
    return add_real(*real, spec, out, arena);
  }
  throw Error("{} has no such format", type_name(value));
}

/// The text of a value where a string is asked for: escaped beside markup.
Text string_for(const Value& value, bool markup, Arena& arena) {
  const Text text = to_text(value, arena);
  if (!markup || text.is_markup()) return text;
  TextBuilder escaped;
  add_escaped(text, escaped);
  return arena.text(std::move(escaped));
}

/// Characters that are not ASCII are escaped.
Text ascii_repr(const Value& value, Arena& arena) {
  const Text repr = to_repr(value, arena);
  std::string out;
  for (std::size_t at = 0; at < repr.size();) {
    const DecodedCharacter c = decode_utf8(repr.bytes(), at);
    const auto code = static_cast<std::uint32_t>(c.code);
    if (code < 0x80)
      out += static_cast<char>(code);
    else
      out += code < 0x100     ? fmt::format("\\x{:02x}", code)
             : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                              : fmt::format("\\U{:08x}", code);
    at += c.length;
  }
  return arena.text(std::move(out), repr.any_client());
}

Text converted(const Value& value, char conversion, bool markup, Arena& arena) {
  if (conversion == 's') return string_for(value, markup, arena);
  return string_for(conversion == 'r' ? to_repr(value, arena) : ascii_repr(value, arena), markup, arena);
}

class PercentFormatter {
 public:
  PercentFormatter(const Text& text, const Value& value, Arena& arena)
      : text_(text), value_(value), arena_(arena), rest_(text.bytes()) {
    const auto* list = std::get_if<List*>(&value);
    if (list != nullptr && ((*list)->kind == List::Kind::Tuple || (*list)->kind == List::Kind::Group))
      items_ = (*list)->items;
    else
      items_ = {value};
  }

  Text run() {
    while (!rest_.empty()) {
      arena_.spend_steps(1);
      const std::string_view plain = rest_.substr(0, rest_.find('%'));
      out_.add(text_.part(plain));
      rest_.remove_prefix(plain.size());
      if (skip(rest_, '%')) convert();
    }
    if (next_ < items_.size() && !std::holds_alternative<Dict*>(value_))
      throw Error("not all arguments of \"%\" are used");
    return arena_.text(std::move(out_)).as_markup(text_.is_markup());
  }

 private:
  Value next() {
    if (next_ >= items_.size()) throw Error("\"%\": there are too few arguments");
    return items_[next_++];
  }

  std::int64_t count() {
    if (!skip(rest_, '*')) return read_count(rest_);
    const Value value = next();
    if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
    throw Error("\"%\": \"*\" needs an integer");
  }

  std::optional<Value> named() {
    if (!skip(rest_, '(')) return std::nullopt;
    const std::string_view name = rest_.substr(0, rest_.find(')'));
    if (name.size() == rest_.size()) throw Error("\"%\": a name is not closed");
    rest_.remove_prefix(name.size() + 1);
    const auto* dict = std::get_if<Dict*>(&value_);
    const Value* found = dict != nullptr ? (*dict)->find(Text::own(name), arena_) : nullptr;
    if (found == nullptr) throw Error("\"%\": there is no \"{}\"", name);
    return *found;
  }

  void convert() {
    const std::optional<Value> by_name = named();
    Spec spec;
    for (bool flags = true; flags && !rest_.empty();) {
      if (skip(rest_, '-'))
        spec.align = '<';
      else if (skip(rest_, '+'))
        spec.sign = '+';
      else if (skip(rest_, ' '))
        spec.sign = spec.sign == '+' ? '+' : ' ';
      else if (skip(rest_, '#'))
        spec.alternate = true;
      else if (skip(rest_, '0'))
        spec.zeros = true;
      else
        flags = false;
    }
    spec.width = count();
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = spec.width == INT64_MIN ? 0 : -spec.width;
    }
    if (skip(rest_, '.')) spec.precision = std::max<std::int64_t>(count(), 0);
    while (skip(rest_, 'l') || skip(rest_, 'h') || skip(rest_, 'L')) {
    }
    if (rest_.empty()) throw Error("\"%\": the format is incomplete");
    spec.type = rest_.front();
    const Text type = text_.part(rest_.substr(0, 1));
    rest_.remove_prefix(1);
    if (spec.type == '%') return out_.add(type);
    if (spec.align == '<') spec.zeros = false;
    add_converted(by_name ? *by_name : next(), spec);
  }

  void add_converted(Value value, Spec spec) {
    if (std::holds_alternative<Undefined>(value) && spec.type != 's')
      throw Error("\"{}\" is undefined", std::get<Undefined>(value).name);
    if (spec.type == 's' || spec.type == 'r' || spec.type == 'a') {
      value = converted(value, spec.type, text_.is_markup(), arena_);
      spec.type = 's';
      spec.zeros = false;
      if (spec.align == 0) spec.align = '>';
    } else if (spec.type == 'c' && is_string(value)) {
      if (length_of(value) != 1) throw Error("\"%c\" needs one character");
      spec.type = 's';
    } else if (std::string_view("diuoxXcbeEfFgG").find(spec.type) == std::string_view::npos ||
               spec.type == 'b') {
      throw Error(ErrorKind::Unsupported, "\"%\": unsupported conversion \"{}\"", spec.type);
    } else if (const auto* real = std::get_if<double>(&value);
               real != nullptr && (spec.type == 'd' || spec.type == 'i' || spec.type == 'u')) {
      if (!(std::abs(*real) < 9.2e18)) throw Error("\"%\": {} is out of range", *real);
      value = static_cast<std::int64_t>(*real);
    }
    if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
    add_value(value, spec, out_, arena_);
  }

  const Text& text_;
  const Value& value_;
  Arena& arena_;
  std::string_view rest_;
  std::vector<Value> items_;
  std::size_t next_ = 0;
  TextBuilder out_;
};

class BraceFormatter {
 public:
  BraceFormatter(const CallArguments& arguments, bool markup, Arena& arena)
      : arguments_(arguments), markup_(markup), arena_(arena) {}

  void run(const Text& text, TextBuilder& out, int depth) {
    if (depth > 2) throw Error("format(): the fields are nested too deeply");
    std::string_view rest = text.bytes();
    while (!rest.empty()) {
      arena_.spend_steps(1);
      const std::string_view plain = rest.substr(0, rest.find_first_of("{}"));
      arena_.spend_memory(plain.size());
      out.add(text.part(plain));
      rest.remove_prefix(plain.size());
      if (rest.empty()) break;
      const char brace = rest.front();
      if (rest.size() > 1 && rest[1] == brace) {
        out.add(text.part(rest.substr(0, 1)));
        rest.remove_prefix(2);
      } else if (brace == '}') {
        throw Error("format(): a single \"}}\"");
      } else {
        const std::string_view field = field_of(rest);
        rest.remove_prefix(field.size() + 2);
        add_field(text.part(field), out, depth);
      }
    }
  }

 private:
  /// What stands between the braces that `rest` begins with.
  static std::string_view field_of(std::string_view rest) {
    int depth = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (rest[i] == '{') ++depth;
      if (rest[i] == '}' && --depth == 0) return rest.substr(1, i - 1);
    }
    throw Error("format(): a \"{{\" is not closed");
  }

  void add_field(const Text& field, TextBuilder& out, int depth) {
    const std::string_view all = field.bytes();
    // An index may hold any character but its bracket.
    std::size_t end = 0;
    for (bool bracket = false; end < all.size() && (bracket || (all[end] != '!' && all[end] != ':')); ++end)
      bracket = all[end] == '[' || (bracket && all[end] != ']');
    std::string_view rest = all.substr(end);
    Value value = find(all.substr(0, end));
    char conversion = 0;
    if (skip(rest, '!')) {
      if (rest.empty() || std::string_view("rsa").find(rest.front()) == std::string_view::npos)
        throw Error("format(): expected !r, !s or !a");
      conversion = rest.front();
      rest.remove_prefix(1);
    }
    if (!rest.empty() && !skip(rest, ':')) throw Error("format(): expected \":\" behind a conversion");
    TextBuilder spec;
    if (!rest.empty()) run(field.part(rest), spec, depth + 1);
    if (conversion != 0) value = converted(value, conversion, false, arena_);
    if (spec.empty()) {
      const Text text = string_for(value, markup_, arena_);
      arena_.spend_memory(text.size());
      return out.add(text);
    }
    if (markup_ && is_string(value)) value = string_for(value, markup_, arena_);
    add_value(value, read(arena_.text(std::move(spec))), out, arena_);
  }

  Value find(std::string_view path) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    Value value = argument(path.substr(0, end));
    std::string_view rest = path.substr(end);
    while (!rest.empty()) {
      if (skip(rest, '.')) {
        const std::string_view name = rest.substr(0, rest.find_first_of(".["));
        value = get_attribute(value, name, arena_);
        rest.remove_prefix(name.size());
      } else if (skip(rest, '[')) {
        const std::string_view name = rest.substr(0, rest.find(']'));
        if (name.size() == rest.size()) throw Error("format(): a \"[\" is not closed");
        rest.remove_prefix(name.size() + 1);
        std::int64_t index = 0;
        const auto [last, error] = std::from_chars(name.data(), name.data() + name.size(), index);
        const bool number = error == std::errc() && last == name.data() + name.size();
        value = get_item(value, number ? Value(index) : Value(Text::own(name)), arena_);
      } else {
        throw Error("format(): expected \".\" or \"[\" behind an index");
      }
      if (std::holds_alternative<Undefined>(value)) throw Error("format(): there is no \"{}\"", path);
    }
    return value;
  }

  Value argument(std::string_view name) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool number = !name.empty() && error == std::errc() && end == name.data() + name.size();
    if (name.empty() || number) {
      const bool mixes = name.empty() ? by_number_ : next_ > 0;
      if (mixes) throw Error("format(): numbered and unnumbered fields");
      if (name.empty())
        index = next_++;
      else
        by_number_ = true;
      if (index >= arguments_.positional.size()) throw Error("format(): there is no argument {}", index);
      return arguments_.positional[index];
    }
    for (const auto& [key, value] : arguments_.named)
      if (key == name) return value;
    throw Error("format(): there is no argument \"{}\"", name);
  }

  static Spec read(const Text& text) {
    Spec spec;
    std::string_view rest = text.bytes();
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    const std::size_t first = rest.empty() ? 0 : decode_utf8(rest, 0).length;
    if (first < rest.size() && is_align(rest[first])) {
      spec.fill = text.part(0, first);
      spec.align = rest[first];
      rest.remove_prefix(first + 1);
    } else if (!rest.empty() && is_align(rest.front())) {
      spec.align = rest.front();
      rest.remove_prefix(1);
    }
    for (const char sign : {'+', '-', ' '})
      if (skip(rest, sign)) spec.sign = sign;
    spec.alternate = skip(rest, '#');
    if (skip(rest, '0')) {
      if (spec.align == 0)
        spec.zeros = true;
      else if (first == 0)
        spec.fill = Text::own("0");
    }
    spec.width = read_count(rest);
    for (const char grouping : {',', '_'})
      if (skip(rest, grouping)) spec.grouping = grouping;
    if (skip(rest, '.')) spec.precision = read_count(rest);
    if (!rest.empty()) {
      spec.type = rest.front();
      rest.remove_prefix(1);
    }
    if (!rest.empty() ||
        (spec.type != 0 && std::string_view("bcdeEfFgGnosxX%").find(spec.type) == std::string_view::npos))
      throw Error(ErrorKind::Unsupported, "format(): unsupported format \"{}\"", text.bytes());
    return spec;
  }

  const CallArguments& arguments_;
  bool markup_;
  Arena& arena_;
  std::size_t next_ = 0;
  bool by_number_ = false;
};

}  // namespace

Value format_percent(const Text& text, const Value& value, Arena& arena) {
  return PercentFormatter(text, value, arena).run();
}

Value format_braces(const Text& text, const CallArguments& arguments, Arena& arena) {
  TextBuilder out;
  BraceFormatter(arguments, text.is_markup(), arena).run(text, out, 1);
  return arena.text(std::move(out)).as_markup(text.is_markup());
}

}  // namespace augur::jinja
