// Methods of strings, lists and dictionaries: Python's, as far as templates call them.
#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "text/jinja/builtins.h"
#include "text/jinja/escape.h"
#include "text/jinja/format.h"

namespace augur::jinja {
namespace {

constexpr std::array<std::string_view, 30> kStringMethods = {
    "split",      "rsplit",   "splitlines", "strip",      "lstrip",       "rstrip",
    "startswith", "endswith", "upper",      "lower",      "title",        "capitalize",
    "replace",    "find",     "rfind",      "index",      "count",        "join",
    "isdigit",    "isalpha",  "isalnum",    "isspace",    "removeprefix", "removesuffix",
    "isupper",    "islower",  "format",     "format_map", "partition",    "rpartition"};
constexpr std::array<std::string_view, 4> kListMethods = {"index", "count", "append", "pop"};
constexpr std::array<std::string_view, 5> kDictMethods = {"items", "keys", "values", "get", "pop"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::size_t next_space(std::string_view text, std::size_t at, bool wanted) {
  while (at < text.size()) {
    const DecodedCharacter c = decode_utf8(text, at);
    if (strip(text.substr(at, c.length), true, false).empty() == wanted) break;
    at += c.length;
  }
  return at;
}

// split() without separator: at runs of white space.
void split_words(const Text& text, std::int64_t limit, List& out, Arena& arena) {
  const std::string_view bytes = text.bytes();
  for (std::size_t at = next_space(bytes, 0, false); at < bytes.size();) {
    if (limit == 0) {
      arena.push(out, text.part(strip(bytes.substr(at), false, true)));
      return;
    }
    const std::size_t end = next_space(bytes, at, true);
    arena.push(out, text.part(at, end - at));
    at = next_space(bytes, end, false);
    --limit;
  }
}

void rsplit_words(const Text& text, std::int64_t limit, List& out, Arena& arena) {
  List* all = arena.list();
  split_words(text, -1, *all, arena);
  const auto count = static_cast<std::int64_t>(all->items.size());
  const std::int64_t single = limit < 0 ? count : std::min(limit, count);
  if (count > single) {
    const std::string_view last = *bytes_of(all->items[static_cast<std::size_t>(count - single - 1)]);
    const std::string_view rest(text.bytes().data(),
                                static_cast<std::size_t>(last.data() + last.size() - text.bytes().data()));
    arena.push(out, text.part(strip(rest, true, false)));
  }
  for (std::int64_t i = count - single; i < count; ++i)
    arena.push(out, all->items[static_cast<std::size_t>(i)]);
}

// The last place of `part`, or npos.
std::size_t find_last(std::string_view text, std::string_view part, Arena& arena) {
  arena.spend_steps(text.size() * std::max<std::size_t>(part.size(), 1) / 64);  // not linear
  return text.rfind(part);
}

Value split(const Text& text, const CallArguments& arguments, bool from_right, Arena& arena) {
  const BoundArguments bound(from_right ? "rsplit()" : "split()", arguments, {"sep", "maxsplit"});
  std::int64_t limit = bound.integer_or(1, -1);
  List* out = arena.list();
  if (!bound.has(0) || std::holds_alternative<None>(bound[0])) {
    from_right ? rsplit_words(text, limit, *out, arena) : split_words(text, limit, *out, arena);
    return out;
  }
  const std::string_view separator = bound.bytes(0);
  std::string_view rest = text.bytes();
  if (separator.empty()) throw Error("split(): the separator is empty");
  if (!from_right) {
    for (std::size_t found; limit != 0 && (found = find_text(rest, separator)) != std::string_view::npos;
         --limit) {
      arena.push(*out, text.part(rest.substr(0, found)));
      rest.remove_prefix(found + separator.size());
    }
    arena.push(*out, text.part(rest));
    return out;
  }
  arena.spend_steps(rest.size() * separator.size() / 64);  // rfind is not linear
  for (std::size_t found; limit != 0 && (found = rest.rfind(separator)) != std::string_view::npos; --limit) {
    arena.push(*out, text.part(rest.substr(found + separator.size())));
    rest = rest.substr(0, found);
  }
  arena.push(*out, text.part(rest));
  std::reverse(out->items.begin(), out->items.end());
  return out;
}

Value split_lines(const Text& text, const CallArguments& arguments, Arena& arena) {
  const bool keep = BoundArguments("splitlines()", arguments, {"keepends"}).flag_or(0, false);
  List* out = arena.list();
  std::string_view rest = text.bytes();
  while (!rest.empty()) {
    std::size_t end = std::min(rest.find_first_of("\n\r\v\f\x1C\x1D\x1E"), rest.size());
    // Behind the first line break nothing matters: the texts searched add up to one pass each.
    for (const std::string_view separator : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"})
      end = std::min(end, rest.substr(0, end + 2).find(separator));
    std::size_t next = end;
    if (end < rest.size()) next += rest.substr(end).starts_with("\r\n") ? 2 : decode_utf8(rest, end).length;
    arena.push(*out, text.part(rest.substr(0, keep ? next : end)));
    arena.spend_steps(1 + next / 16);
    rest.remove_prefix(next);
  }
  return out;
}

// What is before the first or last separator, the separator, and what is behind it.
Value partition(const Text& text, std::string_view name, const CallArguments& arguments, Arena& arena) {
  const Text separator = BoundArguments(name, arguments, {"sep"}, 1).text(0);
  if (separator.empty()) throw Error("{}(): the separator is empty", name);
  const bool last = name == "rpartition";
  const std::size_t found =
      last ? find_last(text.bytes(), separator.bytes(), arena) : find_text(text.bytes(), separator.bytes());
  List* out = arena.list(List::Kind::Tuple);
  if (found == std::string_view::npos) {
    for (const Text& part : {last ? Text() : text, Text(), last ? text : Text()}) arena.push(*out, part);
  } else {
    arena.push(*out, text.part(0, found));
    arena.push(*out, text.part(found, separator.size()));
    arena.push(*out, text.part(found + separator.size()));
  }
  return out;
}

Value strip_method(const Text& text, std::string_view name, const CallArguments& arguments, Arena& arena) {
  const BoundArguments bound(name, arguments, {"chars"});
  const bool left = name != "rstrip";
  const bool right = name != "lstrip";
  if (!bound.has(0) || std::holds_alternative<None>(bound[0]))
    return text.part(strip(text.bytes(), left, right));
  return text.part(strip(text.bytes(), bound.bytes(0), left, right, arena));
}

bool starts_or_ends(std::string_view text, std::string_view name, const CallArguments& arguments,
                    Arena& arena) {
  const BoundArguments bound(name, arguments, {"prefix"}, 1);
  const auto matches = [&](const Value& part) {
    const auto* affix = bytes_of(part);
    if (affix == nullptr) throw Error("{}(): expected a string, found {}", name, type_name(part));
    arena.spend_steps(std::min(text.size(), affix->size()) / 64);
    return name == "startswith" ? text.starts_with(*affix) : text.ends_with(*affix);
  };
  if (is_string(bound[0])) return matches(bound[0]);
  const std::vector<Value> parts = items_of(bound[0], arena);
  return std::any_of(parts.begin(), parts.end(), matches);
}

// Python's str.title(): a letter behind no letter is large.
Text title(const Text& text, Arena& arena) {
  TextBuilder out;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = decode_utf8(text.bytes(), at).length;
    const Text c = text.part(at, length);
    out.add(inside ? lower(c.bytes()) : title_letter(c.bytes()), c.any_client());
    inside = upper(c.bytes()) != lower(c.bytes());
    at += length;
  }
  return arena.text(std::move(out)).as_markup(text.is_markup());
}

std::int64_t occurrences(std::string_view text, std::string_view part, Arena& arena) {
  if (part.empty()) return count_characters(text) + 1;
  std::int64_t count = 0;
  for (std::size_t at = 0; (at = find_text(text, part, at)) != std::string_view::npos; at += part.size())
    ++count;
  arena.spend_steps(static_cast<std::size_t>(count));
  return count;
}

Value find(std::string_view text, std::string_view name, const CallArguments& arguments, Arena& arena) {
  const std::string_view part = BoundArguments(name, arguments, {"sub"}, 1).bytes(0);
  const std::size_t found = name == "rfind" ? find_last(text, part, arena) : find_text(text, part);
  if (found != std::string_view::npos) return count_characters(text.substr(0, found));
  if (name == "index") throw Error("index(): \"{}\" is not in the string", part);
  return std::int64_t{-1};
}

Text beside(const Text& text, bool markup, Arena& arena) {
  if (!markup || text.is_markup()) return text;
  TextBuilder escaped;
  add_escaped(text, escaped);
  return arena.text(std::move(escaped));
}

Value join(const Text& separator, const CallArguments& arguments, Arena& arena) {
  const BoundArguments bound("join()", arguments, {"iterable"}, 1);
  TextBuilder out;
  bool first = true;
  for (const Value& item : items_of(bound[0], arena)) {
    const auto* text = std::get_if<Text>(&item);
    if (text == nullptr) throw Error("join(): expected strings, found {}", type_name(item));
    arena.spend_memory(text->size() + separator.size());
    if (!first) out.add(separator);
    out.add(beside(*text, separator.is_markup(), arena));
    first = false;
  }
  return arena.text(std::move(out)).as_markup(separator.is_markup());
}

Value replace_method(const Text& text, const CallArguments& arguments, Arena& arena) {
  const BoundArguments bound("replace()", arguments, {"old", "new", "count"}, 2);
  const bool markup = text.is_markup();
  return replace_text(text, beside(bound.text(0), markup, arena), beside(bound.text(1), markup, arena),
                      bound.integer_or(2, -1), arena)
      .as_markup(markup);
}

Value format_map(const Text& text, const CallArguments& arguments, Arena& arena) {
  const BoundArguments bound("format_map()", arguments, {"mapping"}, 1);
  const auto* dict = std::get_if<Dict*>(&bound[0]);
  if (dict == nullptr) throw Error("format_map(): expected a dictionary, found {}", type_name(bound[0]));
  CallArguments named;
  for (const auto& [key, value] : (*dict)->items)
    if (const auto* name = bytes_of(key)) named.named.emplace_back(*name, value);
  return format_braces(text, named, arena);
}

// isdigit() and its kin: true when there is a character and all are of the class.
bool all_characters(std::string_view text, bool (*is_member)(char32_t)) {
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter c = decode_utf8(text, at);
    if (!is_member(c.code)) return false;
    at += c.length;
  }
  return !text.empty();
}

bool is_letter(char32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_ND;
}
bool is_letter_or_number(char32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return is_letter(code) || (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

Value string_method(const Text& text, std::string_view name, const CallArguments& arguments, Arena& arena) {
  const std::string_view bytes = text.bytes();
  if (name == "split" || name == "rsplit") return split(text, arguments, name == "rsplit", arena);
  if (name == "splitlines") return split_lines(text, arguments, arena);
  if (name == "partition" || name == "rpartition") return partition(text, name, arguments, arena);
  if (name == "strip" || name == "lstrip" || name == "rstrip")
    return strip_method(text, name, arguments, arena);
  if (name == "startswith" || name == "endswith") return starts_or_ends(bytes, name, arguments, arena);
  if (name == "find" || name == "rfind" || name == "index") return find(bytes, name, arguments, arena);
  if (name == "join") return join(text, arguments, arena);
  if (name == "replace") return replace_method(text, arguments, arena);
  if (name == "format") return format_braces(text, arguments, arena);
  if (name == "format_map") return format_map(text, arguments, arena);
  if (name == "count")
    return occurrences(bytes, BoundArguments("count()", arguments, {"sub"}, 1).bytes(0), arena);
  if (name == "removeprefix") {
    const std::string_view affix = BoundArguments("removeprefix()", arguments, {"prefix"}, 1).bytes(0);
    return bytes.starts_with(affix) ? text.part(affix.size()) : text;
  }
  if (name == "removesuffix") {
    const std::string_view affix = BoundArguments("removesuffix()", arguments, {"suffix"}, 1).bytes(0);
    return bytes.ends_with(affix) ? text.part(0, bytes.size() - affix.size()) : text;
  }
  const BoundArguments none(name, arguments, {});
  if (name == "upper" || name == "lower" || name == "capitalize") return apply_filter(name, text, {}, arena);
  if (name == "title") return title(text, arena);
  if (name == "isdigit") return all_characters(bytes, is_decimal);
  if (name == "isalpha") return all_characters(bytes, is_letter);
  if (name == "isalnum") return all_characters(bytes, is_letter_or_number);
  if (name == "isspace") return !bytes.empty() && strip(bytes, true, false).empty();
  return apply_test(name == "isupper" ? "upper" : "lower", text, {}, arena);
}

// Transformers' sandbox refuses to change lists and dictionaries; other engines do not, and templates are
// written for them, too.
Value pop_item(List& list, const CallArguments& arguments) {
  const BoundArguments bound("pop()", arguments, {"index"});
  const auto count = static_cast<std::int64_t>(list.items.size());
  std::int64_t index = bound.integer_or(0, -1);
  if (index < 0) index += count;
  if (index < 0 || index >= count) throw Error("pop(): there is no such item");
  const Value value = list.items[static_cast<std::size_t>(index)];
  list.items.erase(list.items.begin() + index);
  return value;
}

Value list_method(List& list, std::string_view name, const CallArguments& arguments, Arena& arena) {
  const bool tuple = list.kind != List::Kind::List;
  if (tuple && (name == "append" || name == "pop")) throw Error("a tuple cannot be changed");
  if (name == "pop") return arena.spend_steps(list.items.size() / 16), pop_item(list, arguments);
  const BoundArguments bound(name, arguments, {"value"}, 1);
  if (name == "append") return arena.push(list, bound[0]), None{};
  std::int64_t count = 0;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (!equal(list.items[i], bound[0], arena)) continue;
    if (name == "index") return static_cast<std::int64_t>(i);
    ++count;
  }
  if (name == "index") throw Error("index(): the value is not in the list");
  return count;
}

Value pop_key(Dict& dict, const CallArguments& arguments, Arena& arena) {
  const BoundArguments bound("pop()", arguments, {"key", "default"}, 1);
  const Value* found = dict.find(bound[0], arena);
  if (found == nullptr && !bound.has(1)) throw Error("pop(): there is no such key");
  if (found == nullptr) return bound[1];
  const Value value = *found;
  std::erase_if(dict.items, [&](const auto& item) { return &item.second == found; });
  return value;
}

Value dict_method(Dict& dict, std::string_view name, const CallArguments& arguments, Arena& arena) {
  arena.spend_steps(dict.items.size());
  if (name == "get") {
    const BoundArguments bound("get()", arguments, {"key", "default"}, 1);
    const Value* found = dict.find(bound[0], arena);
    return found != nullptr ? *found : bound[1];
  }
  if (name == "pop") return pop_key(dict, arguments, arena);
  const BoundArguments none(name, arguments, {});
  List* out = arena.list();
  for (const auto& [key, value] : dict.items) {
    if (name == "items") {
      List* pair = arena.list(List::Kind::Tuple);
      arena.push(*pair, key);
      arena.push(*pair, value);
      arena.push(*out, pair);
    } else {
      arena.push(*out, name == "keys" ? key : value);
    }
  }
  return out;
}

}  // namespace

bool has_method(const Value& self, std::string_view name) {
  if (is_string(self)) return among(kStringMethods, name);
  if (std::holds_alternative<List*>(self)) return among(kListMethods, name);
  if (const auto* dict = std::get_if<Dict*>(&self))
    return !(*dict)->is_namespace && among(kDictMethods, name);
  return false;
}

Value call_method(const Value& self, std::string_view name, const CallArguments& arguments, Arena& arena) {
  spend_for(self, arena);
  if (const auto* text = std::get_if<Text>(&self)) return string_method(*text, name, arguments, arena);
  if (const auto* list = std::get_if<List*>(&self)) return list_method(**list, name, arguments, arena);
  return dict_method(*std::get<Dict*>(self), name, arguments, arena);
}

}  // namespace augur::jinja
