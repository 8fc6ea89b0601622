// How values are written: Python's str(), repr() and json.dumps().
#include <utf8proc.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/utf8.h"
#include "text/jinja/value.h"

namespace augur::jinja {
namespace {

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);  // the shortest that reads back, as Python's repr
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool printable(char32_t code) {
  if (code == ' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

std::string quoted(std::string_view text) {
  const char quote =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter c = decode_utf8(text, at);
    at += c.length;
    const auto code = static_cast<std::uint32_t>(c.code);
    if (c.code == '\n') {
      out += "\\n";
    } else if (c.code == '\r') {
      out += "\\r";
    } else if (c.code == '\t') {
      out += "\\t";
    } else if (c.code == '\\' || c.code == static_cast<char32_t>(quote)) {
      out += '\\';
      out += static_cast<char>(c.code);
    } else if (printable(c.code)) {
      append_utf8(out, c.code);
    } else {
      out += code < 0x100     ? fmt::format("\\x{:02x}", code)
             : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                              : fmt::format("\\U{:08x}", code);
    }
  }
  return out + quote;
}

/// Writes nested values, counting what it visits and writes: shared parts may appear exponentially often.
class Writer {
 public:
  explicit Writer(Arena& arena) : arena_(arena) {}
  /// `client`: whose it is.
  void put(std::string_view text, bool client) {
    arena_.spend_memory(text.size());
    out.add(text, client);
  }
  void put(const Text& text) {
    arena_.spend_memory(text.size());
    out.add(text);
  }
  void enter(int depth) {
    arena_.spend_steps(1);
    if (depth > arena_.limits().depth) throw Error("values are nested too deeply");
  }
  Arena& arena() { return arena_; }
  TextBuilder out;

 private:
  Arena& arena_;
};

/// `client`: whose the value that this one is in is; a string knows itself.
bool write_scalar(const Value& value, Writer& writer, bool client) {
  if (const auto* b = std::get_if<bool>(&value))
    writer.put(*b ? "True" : "False", client);
  else if (const auto* i = std::get_if<std::int64_t>(&value))
    writer.put(std::to_string(*i), client);
  else if (const auto* big = std::get_if<BigInteger>(&value))
    writer.put(big->digits, client);
  else if (const auto* d = std::get_if<double>(&value))
    writer.put(float_text(*d), client);
  else if (std::holds_alternative<None>(value))
    writer.put("None", client);
  else
    return false;
  return true;
}

void write_repr(const Value& value, Writer& writer, bool client, int depth) {
  writer.enter(depth);
  if (write_scalar(value, writer, client)) return;
  if (const auto* text = std::get_if<Text>(&value)) {
    if (!text->is_markup()) return writer.put(quoted(text->bytes()), text->any_client());
    writer.put("Markup(", client);
    writer.put(quoted(text->bytes()), text->any_client());
    return writer.put(")", client);
  }
  if (std::holds_alternative<Undefined>(value)) return writer.put("Undefined", client);
  if (const auto* list = std::get_if<List*>(&value);
      list != nullptr && (*list)->kind != List::Kind::Generator) {
    const bool tuple = (*list)->kind != List::Kind::List;
    const bool inner = (*list)->client;
    const auto& items = (*list)->items;
    writer.put(tuple ? "(" : "[", inner);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) writer.put(", ", inner);
      write_repr(items[i], writer, inner, depth + 1);
    }
    return writer.put(tuple ? (items.size() == 1 ? ",)" : ")") : "]", inner);
  }
  if (const auto* dict = std::get_if<Dict*>(&value); dict != nullptr && !(*dict)->is_namespace) {
    const bool inner = (*dict)->client;
    const auto& items = (*dict)->items;
    writer.put("{", inner);
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) writer.put(", ", inner);
      write_repr(items[i].first, writer, inner, depth + 1);
      writer.put(": ", inner);
      write_repr(items[i].second, writer, inner, depth + 1);
    }
    return writer.put("}", inner);
  }
  throw Error("{} cannot be written as text", type_name(value));
}

std::string json_string(std::string_view text, bool ascii) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter c = decode_utf8(text, at);
    at += c.length;
    const auto code = static_cast<std::uint32_t>(c.code);
    switch (c.code) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (code < 0x20 || (ascii && code >= 0x7F && code < 0x10000))
          out += code == 0x7F ? std::string(1, '\x7F') : fmt::format("\\u{:04x}", code);
        else if (ascii && code >= 0x10000)
          out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10),
                             0xDC00 + ((code - 0x10000) & 0x3FF));
        else
          append_utf8(out, c.code);
    }
  }
  return out + '"';
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Writer& writer) : style_(style), writer_(writer) {
    item_separator_ =
        !style.item_separator.empty() ? style.item_separator : Text::own(style.indent < 0 ? ", " : ",");
    key_separator_ = !style.key_separator.empty() ? style.key_separator : Text::own(": ");
  }

  /// `client`: whose the value that this one is in is.
  void write(const Value& value, bool client, int depth) {
    writer_.enter(depth);
    if (const auto* text = std::get_if<Text>(&value)) return write_string(*text);
    if (const auto scalar = scalar_text(value); !scalar.empty()) return writer_.put(scalar, client);
    if (const auto* list = std::get_if<List*>(&value);
        list != nullptr && (*list)->kind != List::Kind::Generator)
      return write_list(**list, depth);
    if (const auto* dict = std::get_if<Dict*>(&value); dict != nullptr && !(*dict)->is_namespace)
      return write_dict(**dict, depth);
    throw Error("{} cannot be written as JSON", type_name(value));
  }

 private:
  static std::string scalar_text(const Value& value) {
    if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
    if (const auto* i = std::get_if<std::int64_t>(&value)) return std::to_string(*i);
    if (const auto* big = std::get_if<BigInteger>(&value)) return std::string(big->digits);
    if (std::holds_alternative<None>(value)) return "null";
    if (const auto* d = std::get_if<double>(&value)) {
      if (std::isnan(*d)) return "NaN";
      if (std::isinf(*d)) return *d < 0 ? "-Infinity" : "Infinity";
      return float_text(*d);
    }
    return {};
  }

  // Escapes are not told apart from what they escape: a string of which a part is a client's is its.
  void write_string(const Text& text) {
    writer_.put(json_string(text.bytes(), style_.ascii), text.any_client());
  }

  void separate(bool client) {
    if (client)
      writer_.put(item_separator_.bytes(), true);
    else
      writer_.put(item_separator_);
  }

  void line_break(int depth, bool client) {
    if (style_.indent < 0) return;
    writer_.put("\n", client);
    writer_.put(std::string(static_cast<std::size_t>(style_.indent) * static_cast<std::size_t>(depth), ' '),
                client);
  }

  void write_list(const List& list, int depth) {
    if (list.items.empty()) return writer_.put("[]", list.client);
    writer_.put("[", list.client);
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) separate(list.client);
      line_break(depth + 1, list.client);
      write(list.items[i], list.client, depth + 1);
    }
    line_break(depth, list.client);
    writer_.put("]", list.client);
  }

  void write_dict(const Dict& dict, int depth) {
    if (dict.items.empty()) return writer_.put("{}", dict.client);
    std::vector<const std::pair<Value, Value>*> order;
    for (const auto& item : dict.items) order.push_back(&item);
    if (style_.sort_keys)
      std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
        return less(a->first, b->first, writer_.arena());
      });
    writer_.put("{", dict.client);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) separate(dict.client);
      line_break(depth + 1, dict.client);
      if (const auto* text = std::get_if<Text>(&order[i]->first))
        write_string(*text);
      else
        writer_.put('"' + scalar_text(order[i]->first) + '"', dict.client);
      if (dict.client)
        writer_.put(key_separator_.bytes(), true);
      else
        writer_.put(key_separator_);
      write(order[i]->second, dict.client, depth + 1);
    }
    line_break(depth, dict.client);
    writer_.put("}", dict.client);
  }

  const JsonStyle& style_;
  Writer& writer_;
  Text item_separator_;
  Text key_separator_;
};

}  // namespace

Text to_text(const Value& value, Arena& arena) {
  if (const auto* text = std::get_if<Text>(&value)) return *text;
  if (std::holds_alternative<Undefined>(value)) return {};
  return to_repr(value, arena);
}

Text to_repr(const Value& value, Arena& arena) {
  Writer writer(arena);
  write_repr(value, writer, false, 0);
  return arena.text(std::move(writer.out));
}

Text to_json(const Value& value, const JsonStyle& style, Arena& arena) {
  Writer writer(arena);
  JsonWriter(style, writer).write(value, false, 0);
  return arena.text(std::move(writer.out));
}

}  // namespace augur::jinja
