// Jinja's filters: `value | name(arguments)`.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/elementary.h"
#include "base/utf8.h"
#include "text/jinja/builtins.h"
#include "text/jinja/escape.h"
#include "text/jinja/format.h"
#include "text/unicode.h"

namespace augur::jinja {
namespace {

struct Input {
  const Value& value;
  const CallArguments& arguments;
  Arena& arena;
  std::string_view name;

  BoundArguments bind(std::initializer_list<std::string_view> parameters, std::size_t required = 0) const {
    return BoundArguments(name, arguments, parameters, required);
  }
  Text text() const { return to_text(value, arena); }
  std::vector<Value> items() const { return items_of(value, arena); }
  /// Of a filter that takes what is false, whatever it is, for an empty list.
  std::vector<Value> items_if_any() const { return truth(value) ? items() : std::vector<Value>(); }
};

List* list_of(std::vector<Value> items, Arena& arena, List::Kind kind = List::Kind::List) {
  List* list = arena.list(kind);
  arena.spend_memory(items.size() * sizeof(Value));
  list->items = std::move(items);
  return list;
}

// A dotted path of names and positions: map(attribute="function.name").
Value follow(Value value, const Value& path, Arena& arena) {
  const auto* text = std::get_if<Text>(&path);
  if (text == nullptr) return get_item(value, path, arena);
  std::string_view rest = text->bytes();
  while (true) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool number = error == std::errc() && end == part.data() + part.size() && !part.empty();
    value = get_item(value, number ? Value(index) : Value(text->part(part)), arena);
    if (dot == rest.size()) return value;
    rest.remove_prefix(dot + 1);
  }
}

// What sort, unique, min and max compare: an attribute, strings without case unless asked for.
struct SortKey {
  bool case_sensitive = false;
  bool by_attribute = false;
  Value attribute;

  Value operator()(const Value& item, Arena& arena) const {
    const Value key = by_attribute ? follow(item, attribute, arena) : item;
    const auto* text = bytes_of(key);  // only looked at: whose it is does not matter
    return text != nullptr && !case_sensitive ? Value(arena.own(lower(*text))) : key;
  }
};

Value sort_items(std::vector<Value> items, const SortKey& key, bool reverse, Arena& arena) {
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : items) keyed.emplace_back(key(item, arena), item);
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return reverse ? less(b.first, a.first, arena) : less(a.first, b.first, arena);
  });
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = keyed[i].second;
  return list_of(std::move(items), arena);
}

Value filter_sort(const Input& in) {
  const auto bound = in.bind({"reverse", "case_sensitive", "attribute"});
  return sort_items(in.items(), {bound.flag_or(1, false), bound.has(2), bound[2]}, bound.flag_or(0, false),
                    in.arena);
}

Value filter_dictsort(const Input& in) {
  const auto bound = in.bind({"case_sensitive", "by", "reverse"});
  const bool by_value = bound.bytes_or(1, "key") == "value";
  std::vector<Value> pairs = items_of(call_method(in.value, "items", {}, in.arena), in.arena);
  return sort_items(std::move(pairs), {bound.flag_or(0, false), true, std::int64_t{by_value}},
                    bound.flag_or(2, false), in.arena);
}

Value filter_unique(const Input& in) {
  const auto bound = in.bind({"case_sensitive", "attribute"});
  const SortKey key{bound.flag_or(0, false), bound.has(1), bound[1]};
  std::vector<Value> keys;
  std::vector<Value> out;
  for (const Value& item : in.items()) {
    const Value k = key(item, in.arena);
    if (std::any_of(keys.begin(), keys.end(), [&](const Value& seen) { return equal(seen, k, in.arena); }))
      continue;
    keys.push_back(k);
    out.push_back(item);
  }
  return list_of(std::move(out), in.arena, List::Kind::Generator);
}

Value filter_extreme(const Input& in) {
  const auto bound = in.bind({"case_sensitive", "attribute"});
  const SortKey key{bound.flag_or(0, false), bound.has(1), bound[1]};
  const std::vector<Value> items = in.items();
  if (items.empty()) return Undefined{in.name};
  Value best = items[0];
  for (const Value& item : items) {
    const Value a = key(item, in.arena);
    const Value b = key(best, in.arena);
    if (in.name == "min" ? less(a, b, in.arena) : less(b, a, in.arena)) best = item;
  }
  return best;
}

// select, reject: by a test of the item. selectattr, rejectattr: of one of its attributes.
Value filter_select(const Input& in) {
  const bool by_attribute = in.name.ends_with("attr");
  const bool wanted = in.name.starts_with("select");
  const auto& given = in.arguments.positional;
  if (!in.arguments.named.empty())
    throw Error(ErrorKind::Unsupported, "filter \"{}\": named arguments are not supported", in.name);
  if (by_attribute && given.empty()) throw Error("filter \"{}\": the attribute is missing", in.name);
  const std::size_t first = by_attribute ? 1 : 0;
  std::string_view test;
  CallArguments rest;
  if (given.size() > first) {
    const auto* name = bytes_of(given[first]);
    if (name == nullptr)
      throw Error("filter \"{}\": expected a test's name, found {}", in.name, type_name(given[first]));
    if (!is_test(*name)) throw Error(ErrorKind::Unsupported, "unsupported test \"{}\"", *name);
    test = *name;
    rest.positional.assign(given.begin() + static_cast<std::ptrdiff_t>(first) + 1, given.end());
  }
  std::vector<Value> out;
  for (const Value& item : in.items_if_any()) {
    const Value tested = by_attribute ? follow(item, given[0], in.arena) : item;
    const bool holds = test.empty() ? truth(tested) : apply_test(test, tested, rest, in.arena);
    if (holds == wanted) out.push_back(item);
  }
  return list_of(std::move(out), in.arena, List::Kind::Generator);
}

Value filter_map(const Input& in) {
  std::vector<Value> out;
  if (in.arguments.positional.empty()) {
    const auto bound = in.bind({"attribute", "default"}, 1);
    for (const Value& item : in.items_if_any()) {
      Value found = follow(item, bound[0], in.arena);
      if (bound.has(1) && std::holds_alternative<Undefined>(found)) found = bound[1];
      out.push_back(found);
    }
  } else {
    const auto* name = bytes_of(in.arguments.positional[0]);
    if (name == nullptr || !is_filter(*name))
      throw Error(ErrorKind::Unsupported, "filter \"map\": unsupported filter \"{}\"",
                  to_text(in.arguments.positional[0], in.arena).bytes());
    if (*name == "map") throw Error(ErrorKind::Unsupported, "filter \"map\": nested map is not supported");
    CallArguments rest = in.arguments;
    rest.positional.erase(rest.positional.begin());
    for (const Value& item : in.items_if_any()) out.push_back(apply_filter(*name, item, rest, in.arena));
  }
  return list_of(std::move(out), in.arena, List::Kind::Generator);
}

Value filter_tojson(const Input& in) {
  const auto bound = in.bind({"indent", "ensure_ascii", "separators", "sort_keys"});
  JsonStyle style;
  if (bound.has(0) && !std::holds_alternative<None>(bound[0]))
    style.indent = static_cast<int>(std::clamp<std::int64_t>(bound.integer_or(0, 0), 0, 64));
  style.ascii = bound.flag_or(1, false);
  if (bound.has(2) && !std::holds_alternative<None>(bound[2])) {
    const std::vector<Value> separators = items_of(bound[2], in.arena);
    if (separators.size() != 2 || !is_string(separators[0]) || !is_string(separators[1]))
      throw Error("filter \"tojson\": separators: expected two strings");
    style.item_separator = std::get<Text>(separators[0]);
    style.key_separator = std::get<Text>(separators[1]);
  }
  style.sort_keys = bound.flag_or(3, false);
  return to_json(in.value, style, in.arena);
}

Value filter_join(const Input& in) {
  const auto bound = in.bind({"d", "attribute"});
  const Text separator = bound.has(0) ? to_text(bound[0], in.arena) : Text();
  TextBuilder out;
  bool first = true;
  for (const Value& item : in.items()) {
    const Text text = to_text(bound.has(1) ? follow(item, bound[1], in.arena) : item, in.arena);
    in.arena.spend_memory(text.size() + separator.size());
    if (!first) out.add(separator);
    out.add(text);
    first = false;
  }
  return in.arena.text(std::move(out));
}

Value filter_replace(const Input& in) {
  const auto bound = in.bind({"old", "new", "count"}, 2);
  const std::int64_t count =
      bound.has(2) && !std::holds_alternative<None>(bound[2]) ? bound.integer_or(2, -1) : -1;
  return replace_text(in.text(), to_text(bound[0], in.arena), to_text(bound[1], in.arena), count, in.arena);
}

Value filter_default(const Input& in) {
  const auto bound = in.bind({"default_value", "boolean"});
  const bool missing =
      std::holds_alternative<Undefined>(in.value) || (bound.flag_or(1, false) && !truth(in.value));
  if (!missing) return in.value;
  return bound.has(0) ? bound[0] : Value(Text());
}

Value filter_trim(const Input& in) {
  const auto bound = in.bind({"chars"});
  const Text text = in.text();
  const bool set = bound.has(0) && !std::holds_alternative<None>(bound[0]);
  return text.part(set ? strip(text.bytes(), bound.bytes(0), true, true, in.arena)
                       : strip(text.bytes(), true, true));
}

Value filter_upper(const Input& in) {
  in.bind({});
  const Text text = in.text();
  TextBuilder out;
  add_upper(text, out);
  return in.arena.text(std::move(out)).as_markup(text.is_markup());
}

Value filter_lower(const Input& in) {
  in.bind({});
  const Text text = in.text();
  TextBuilder out;
  add_lower(text, out);
  return in.arena.text(std::move(out)).as_markup(text.is_markup());
}

Value filter_capitalize(const Input& in) {
  in.bind({});
  const Text text = in.text();
  const std::size_t first = text.empty() ? 0 : decode_utf8(text.bytes(), 0).length;
  TextBuilder small;
  add_lower(text, small);
  TextBuilder out;
  if (first > 0) {
    const std::size_t rest = lower(text.bytes().substr(0, first)).size();
    out.add(title_letter(text.bytes()), text.part(0, first).any_client());
    out.add(small.view().part(rest));
  }
  return in.arena.text(std::move(out)).as_markup(text.is_markup());
}

// Large behind white space, hyphens and opening brackets.
Value filter_title(const Input& in) {
  in.bind({});
  const Text text = in.text();
  TextBuilder out;
  bool begins = true;
  for (std::size_t at = 0; at < text.size();) {
    const Text part = text.part(at, decode_utf8(text.bytes(), at).length);
    const std::string_view c = part.bytes();
    out.add(begins ? upper(c) : lower(c), part.any_client());
    begins = c.size() == 1 ? std::string_view("-({[<").find(c[0]) != std::string_view::npos ||
                                 strip(c, true, false).empty()
                           : strip(c, true, false).empty();
    at += c.size();
  }
  return in.arena.text(std::move(out)).as_markup(text.is_markup());
}

Value filter_first_or_last(const Input& in) {
  in.bind({});
  const std::vector<Value> items = in.items();
  if (items.empty()) return Undefined{in.name};
  return in.name == "first" ? items.front() : items.back();
}

Value filter_reverse(const Input& in) {
  in.bind({});
  std::vector<Value> items = in.items();
  std::reverse(items.begin(), items.end());
  if (!is_string(in.value)) return list_of(std::move(items), in.arena, List::Kind::Generator);
  TextBuilder out;
  for (const Value& c : items) out.add(std::get<Text>(c));
  return in.arena.text(std::move(out)).as_markup(std::get<Text>(in.value).is_markup());
}

Value filter_items(const Input& in) {
  in.bind({});
  if (std::holds_alternative<Undefined>(in.value)) return in.arena.list(List::Kind::Generator);
  const auto* dict = std::get_if<Dict*>(&in.value);
  if (dict == nullptr || (*dict)->is_namespace)
    throw Error("filter \"items\": expected a dictionary, found {}", type_name(in.value));
  return call_method(in.value, "items", {}, in.arena);
}

bool parse_double(std::string_view text, double& out) {
  text = strip(text, true, true);
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Value filter_float(const Input& in) {
  const auto bound = in.bind({"default"});
  double number = 0;
  if (const auto* d = std::get_if<double>(&in.value)) return *d;
  if (const auto* i = std::get_if<std::int64_t>(&in.value)) return static_cast<double>(*i);
  if (const auto* b = std::get_if<bool>(&in.value)) return *b ? 1.0 : 0.0;
  const auto* big = std::get_if<BigInteger>(&in.value);
  const std::string_view* text = big != nullptr ? &big->digits : bytes_of(in.value);
  if (text != nullptr && parse_double(*text, number)) return number;
  return bound.has(0) ? bound[0] : Value(0.0);
}

/// Python's int(text, base), which knows 0x, 0o and 0b, and single underscores between digits.
std::optional<Value> parse_integer(std::string_view text, std::int64_t base, Arena& arena) {
  std::string digits(strip(text, true, true));
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.erase(0, 1);
  const auto takes_prefix = [&](std::string_view letters, std::int64_t its) {
    const bool there = digits.size() > 2 && digits[0] == '0' && letters.find(digits[1]) != letters.npos;
    if (!there || (base != its && base != 0)) return false;
    digits.erase(0, digits.size() > 3 && digits[2] == '_' ? 3 : 2);
    base = its;
    return true;
  };
  const bool prefixed = takes_prefix("xX", 16) || takes_prefix("oO", 8) || takes_prefix("bB", 2);
  if (base == 0) {
    if (!prefixed && digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of("0_") != digits.npos)
      return std::nullopt;
    base = 10;
  }
  if (digits.starts_with('_') || digits.ends_with('_') || digits.find("__") != std::string::npos)
    return std::nullopt;
  std::erase(digits, '_');
  if (digits.empty() || digits[0] == '-' || digits[0] == '+') return std::nullopt;
  if (negative) digits.insert(0, 1, '-');
  std::int64_t out = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, out, static_cast<int>(base));
  if (end != last || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc()) return out;
  if (base != 10) throw Error("filter \"int\": {} is out of range", digits);
  const std::size_t first = digits.find_first_not_of('0', negative ? 1 : 0);  // too large: there is one
  return BigInteger{arena.own((negative ? "-" : "") + digits.substr(first)).bytes()};
}

Value filter_int(const Input& in) {
  const auto bound = in.bind({"default", "base"});
  const std::int64_t base = bound.integer_or(1, 10);
  const Value fallback = bound.has(0) ? bound[0] : Value(std::int64_t{0});
  double number = 0;
  if (std::holds_alternative<std::int64_t>(in.value) || std::holds_alternative<BigInteger>(in.value))
    return in.value;
  if (const auto* b = std::get_if<bool>(&in.value)) return std::int64_t{*b};
  if (const auto* text = bytes_of(in.value)) {
    // Jinja takes a base that Python does not know for a text that is no number.
    if (base == 0 || (base >= 2 && base <= 36))
      if (const auto integer = parse_integer(*text, base, in.arena)) return *integer;
    if (!parse_double(*text, number)) return fallback;
  } else if (const auto* d = std::get_if<double>(&in.value)) {
    number = *d;
  } else {
    return fallback;
  }
  if (!std::isfinite(number)) return fallback;
  if (!(std::abs(number) < 9.2e18)) throw Error("filter \"int\": {} is out of range", number);
  return static_cast<std::int64_t>(number);
}

Value filter_round(const Input& in) {
  const auto bound = in.bind({"precision", "method"});
  const std::string_view method = bound.bytes_or(1, "common");
  const std::int64_t digits = std::clamp<std::int64_t>(bound.integer_or(0, 0), -300, 300);
  const Value number = filter_float({in.value, {}, in.arena, "float"});
  const double scale = elementary::pow(10.0, static_cast<double>(digits));
  const double scaled = std::get<double>(number) * scale;
  if (method == "ceil") return std::ceil(scaled) / scale;
  if (method == "floor") return std::floor(scaled) / scale;
  if (const auto* integer = std::get_if<std::int64_t>(&in.value); integer != nullptr && digits >= 0)
    return *integer;
  if (method != "common")
    throw Error(ErrorKind::Unsupported, "filter \"round\": unsupported method \"{}\"", method);
  return std::nearbyint(scaled) / scale;
}

Value filter_abs(const Input& in) {
  in.bind({});
  if (const auto* i = std::get_if<std::int64_t>(&in.value)) {
    if (*i == INT64_MIN) throw Error("filter \"abs\": out of range");
    return *i < 0 ? -*i : *i;
  }
  if (const auto* d = std::get_if<double>(&in.value)) return std::abs(*d);
  throw Error("filter \"abs\": expected a number, found {}", type_name(in.value));
}

Value filter_sum(const Input& in) {
  const auto bound = in.bind({"attribute", "start"});
  std::int64_t total = bound.integer_or(1, 0);
  double real = 0;
  bool is_real = false;
  for (const Value& item : in.items()) {
    const Value value =
        bound.has(0) && !std::holds_alternative<None>(bound[0]) ? follow(item, bound[0], in.arena) : item;
    if (const auto* i = std::get_if<std::int64_t>(&value)) {
      if (__builtin_add_overflow(total, *i, &total)) throw Error("filter \"sum\": out of range");
    } else if (const auto* d = std::get_if<double>(&value)) {
      is_real = true;
      real += *d;
    } else {
      throw Error("filter \"sum\": expected numbers, found {}", type_name(value));
    }
  }
  return is_real ? Value(real + static_cast<double>(total)) : Value(total);
}

Value filter_indent(const Input& in) {
  const auto bound = in.bind({"width", "first", "blank"});
  Text indent;
  if (bound.has(0) && is_string(bound[0]))
    indent = bound.text(0);
  else
    indent = in.arena.own(std::string(
        static_cast<std::size_t>(std::clamp<std::int64_t>(bound.integer_or(0, 4), 0, 1000)), ' '));
  const bool first = bound.flag_or(1, false);
  const bool blank = bound.flag_or(2, false);
  const Text text = in.text();
  TextBuilder out;
  std::size_t at = 0;
  for (bool is_first = true;; is_first = false) {
    const std::size_t end = std::min(text.bytes().find('\n', at), text.size());
    const bool indented = is_first ? first : blank || end > at;
    in.arena.spend_memory(indent.size());
    if (indented) out.add(indent);
    out.add(text.part(at, std::min(end + 1, text.size()) - at));
    if (end >= text.size()) break;
    at = end + 1;
  }
  return in.arena.text(std::move(out)).as_markup(text.is_markup());
}

Value filter_escape(const Input& in) {
  in.bind({});
  const Text text = in.text();
  if (text.is_markup() && in.name != "forceescape") return text;
  TextBuilder out;
  add_escaped(text, out);
  return in.arena.text(std::move(out)).as_markup();
}

Value filter_format(const Input& in) {
  if (in.arguments.named.empty()) {
    List* list = in.arena.list(List::Kind::Tuple);
    for (const Value& value : in.arguments.positional) in.arena.push(*list, value);
    return format_percent(in.text(), list, in.arena);
  }
  if (!in.arguments.positional.empty())
    throw Error("filter \"format\": positional and named arguments at once");
  return format_percent(in.text(), call_function("dict", in.arguments, in.arena), in.arena);
}

// Neighbours in the order of an attribute that are equal in it, as (grouper, list).
Value filter_groupby(const Input& in) {
  const auto bound = in.bind({"attribute", "default", "case_sensitive"}, 1);
  const auto value_of = [&](const Value& item) {
    const Value found = follow(item, bound[0], in.arena);
    return bound.has(1) && std::holds_alternative<Undefined>(found) ? bound[1] : found;
  };
  const auto key_of = [&](const Value& item) {
    const Value value = value_of(item);
    const auto* text = bytes_of(value);
    return text != nullptr && !bound.flag_or(2, false) ? Value(in.arena.own(lower(*text))) : value;
  };
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : in.items()) keyed.emplace_back(key_of(item), item);
  std::stable_sort(keyed.begin(), keyed.end(),
                   [&](const auto& a, const auto& b) { return less(a.first, b.first, in.arena); });
  List* groups = in.arena.list();
  List* members = nullptr;
  for (std::size_t i = 0; i < keyed.size(); ++i) {
    if (i == 0 || !equal(keyed[i - 1].first, keyed[i].first, in.arena)) {
      List* group = in.arena.list(List::Kind::Group);
      members = in.arena.list();
      in.arena.push(*group, value_of(keyed[i].second));
      in.arena.push(*group, members);
      in.arena.push(*groups, group);
    }
    in.arena.push(*members, keyed[i].second);
  }
  return groups;
}

// Lists of so many items; the last is filled where a filler is given.
Value filter_batch(const Input& in) {
  const auto bound = in.bind({"linecount", "fill_with"}, 1);
  const std::int64_t count = bound.integer_or(0, 0);
  if (count < 1) throw Error("filter \"batch\": expected a positive number of items, found {}", count);
  List* out = in.arena.list();
  List* line = nullptr;
  for (const Value& item : in.items()) {
    if (line == nullptr || std::ssize(line->items) == count) in.arena.push(*out, line = in.arena.list());
    in.arena.push(*line, item);
  }
  const bool filled = bound.has(1) && !std::holds_alternative<None>(bound[1]);
  while (filled && line != nullptr && std::ssize(line->items) < count) in.arena.push(*line, bound[1]);
  return out;
}

Value filter_wordcount(const Input& in) {
  in.bind({});
  std::int64_t count = 0;
  bool inside = false;
  const Text text = in.text();
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter c = decode_utf8(text.bytes(), at);
    const bool word = is_word_character(c.code);
    count += word && !inside;
    inside = word;
    at += c.length;
  }
  return count;
}

Value filter_length(const Input& in) {
  in.bind({});
  return length_of(in.value);
}

Value filter_text(const Input& in) {
  in.bind({});
  return in.text();
}

struct NamedFilter {
  std::string_view name;
  Value (*filter)(const Input&);
};

constexpr std::array kFilters = {
    NamedFilter{"abs", filter_abs},
    NamedFilter{
        "attr",
        [](const Input& in) { return get_attribute(in.value, in.bind({"name"}, 1).bytes(0), in.arena); }},
    NamedFilter{"batch", filter_batch},
    NamedFilter{"capitalize", filter_capitalize},
    NamedFilter{"count", filter_length},
    NamedFilter{"d", filter_default},
    NamedFilter{"default", filter_default},
    NamedFilter{"dictsort", filter_dictsort},
    NamedFilter{"e", filter_escape},
    NamedFilter{"escape", filter_escape},
    NamedFilter{"first", filter_first_or_last},
    NamedFilter{"float", filter_float},
    NamedFilter{"forceescape", filter_escape},
    NamedFilter{"format", filter_format},
    NamedFilter{"groupby", filter_groupby},
    NamedFilter{"indent", filter_indent},
    NamedFilter{"int", filter_int},
    NamedFilter{"items", filter_items},
    NamedFilter{"join", filter_join},
    NamedFilter{"last", filter_first_or_last},
    NamedFilter{"length", filter_length},
    NamedFilter{"list", [](const Input& in) -> Value { return in.bind({}), list_of(in.items(), in.arena); }},
    NamedFilter{"lower", filter_lower},
    NamedFilter{"map", filter_map},
    NamedFilter{"max", filter_extreme},
    NamedFilter{"min", filter_extreme},
    NamedFilter{"reject", filter_select},
    NamedFilter{"rejectattr", filter_select},
    NamedFilter{"replace", filter_replace},
    NamedFilter{"reverse", filter_reverse},
    NamedFilter{"round", filter_round},
    NamedFilter{"safe", [](const Input& in) -> Value { return in.bind({}), in.text().as_markup(); }},
    NamedFilter{"select", filter_select},
    NamedFilter{"selectattr", filter_select},
    NamedFilter{"sort", filter_sort},
    NamedFilter{"string", filter_text},
    NamedFilter{"sum", filter_sum},
    NamedFilter{"title", filter_title},
    NamedFilter{"tojson", filter_tojson},
    NamedFilter{"trim", filter_trim},
    NamedFilter{"unique", filter_unique},
    NamedFilter{"upper", filter_upper},
    NamedFilter{"wordcount", filter_wordcount},
};

const NamedFilter* find_filter(std::string_view name) {
  const auto* found =
      std::find_if(kFilters.begin(), kFilters.end(), [&](const NamedFilter& f) { return f.name == name; });
  return found == kFilters.end() ? nullptr : found;
}

}  // namespace

bool is_filter(std::string_view name) {
  return find_filter(name) != nullptr;
}

Value apply_filter(std::string_view name, const Value& value, const CallArguments& arguments, Arena& arena) {
  const NamedFilter* filter = find_filter(name);
  if (filter == nullptr) throw Error(ErrorKind::Unsupported, "unsupported filter \"{}\"", name);
  spend_for(value, arena);
  return filter->filter({value, arguments, arena, name});
}

}  // namespace augur::jinja
