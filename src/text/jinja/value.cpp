#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "files/big_integers.h"
#include "text/unicode.h"

namespace augur::jinja {
namespace {

template <class T>
const T* get(const Value& value) {
  return std::get_if<T>(&value);
}

bool as_comparable_number(const Value& value, double& out) {
  std::int64_t i = 0;
  if (as_integer(value, i)) return out = static_cast<double>(i), true;
  if (const auto* d = get<double>(value)) return out = *d, true;
  if (const auto* big = get<BigInteger>(value)) return out = std::strtod(big->digits.data(), nullptr), true;
  return false;
}

// Numbers and texts, and any two values of different kinds; nothing for what has to be looked into.
std::optional<bool> equal_scalars(const Value& a, const Value& b) {
  std::int64_t ia = 0;
  std::int64_t ib = 0;
  if (as_integer(a, ia) && as_integer(b, ib)) return ia == ib;
  double da = 0;
  double db = 0;
  if (as_comparable_number(a, da) && as_comparable_number(b, db)) return da == db;
  if (a.index() != b.index()) return false;
  if (const auto* big = get<BigInteger>(a)) return big->digits == std::get<BigInteger>(b).digits;
  if (const auto* text = bytes_of(a)) return *text == *bytes_of(b);
  return std::nullopt;
}

bool equal_at(const Value& a, const Value& b, Arena& arena, int depth);

bool equal_lists(const List& a, const List& b, Arena& arena, int depth) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!equal_at(a.items[i], b.items[i], arena, depth + 1)) return false;
  return true;
}

bool equal_dicts(const Dict& a, const Dict& b, Arena& arena, int depth) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const Value* other = b.find(key, arena);
    if (other == nullptr || !equal_at(value, *other, arena, depth + 1)) return false;
  }
  return true;
}

bool equal_at(const Value& a, const Value& b, Arena& arena, int depth) {
  spend_for(a, arena);
  if (depth > arena.limits().depth) throw Error("values are nested too deeply");
  if (const auto equal = equal_scalars(a, b)) return *equal;
  if (const auto* list = get<List*>(a))
    return *list == std::get<List*>(b) || equal_lists(**list, *std::get<List*>(b), arena, depth);
  if (const auto* dict = get<Dict*>(a)) {
    const Dict* other = std::get<Dict*>(b);
    return *dict == other ||
           (!(*dict)->is_namespace && !other->is_namespace && equal_dicts(**dict, *other, arena, depth));
  }
  if (const auto* callable = get<const Callable*>(a)) return *callable == std::get<const Callable*>(b);
  return true;  // undefined and undefined, none and none
}

// A dictionary's keys: no nested values.
bool same_key(const Value& a, const Value& b) {
  if (const auto equal = equal_scalars(a, b)) return *equal;
  return get<None>(a) != nullptr;
}

std::string_view name_of(const Value& key) {
  const auto* text = bytes_of(key);
  return text != nullptr ? *text : std::string_view();
}

}  // namespace

const Value* Dict::find(const Value& key, Arena& arena) const {
  spend_for_lookup(name_of(key), items.size(), arena);
  for (const auto& [k, v] : items)
    if (same_key(k, key)) return &v;
  return nullptr;
}

void Dict::set(const Value& key, const Value& value, Arena& arena) {
  spend_for_lookup(name_of(key), items.size(), arena);
  for (auto& [k, v] : items) {
    if (same_key(k, key)) {
      v = value;
      return;
    }
  }
  items.emplace_back(key, value);
}

Text Arena::text(TextBuilder built) {
  spend_memory(built.bytes_.size() + built.marks_.size() + sizeof(std::string));
  const bool mixed = built.mixed();
  const std::string_view bytes = texts_.emplace_back(std::move(built.bytes_));
  if (!mixed) return built.client_ ? Text::client(bytes) : Text::own(bytes);
  return Text::mixed(bytes, texts_.emplace_back(std::move(built.marks_)).data());
}

Text Arena::own(std::string bytes) {
  return text(std::move(bytes), false);
}

Text Arena::text(std::string bytes, bool client) {
  spend_memory(bytes.size() + sizeof(std::string));
  const std::string_view kept = texts_.emplace_back(std::move(bytes));
  return client ? Text::client(kept) : Text::own(kept);
}

List* Arena::list(List::Kind kind) {
  spend_memory(sizeof(List));
  List& list = lists_.emplace_back();
  list.kind = kind;
  return &list;
}

Dict* Arena::dict() {
  spend_memory(sizeof(Dict));
  return &dicts_.emplace_back();
}

void Arena::push(List& list, const Value& value) {
  spend_memory(sizeof(Value));
  list.items.push_back(value);
}

const Callable* Arena::callable(Callable value) {
  spend_memory(sizeof(Callable));
  return &callables_.emplace_back(value);
}

void Arena::spend_memory(std::size_t bytes) {
  if (bytes > limits_.memory - memory_)
    throw Error("the template needs more than {} bytes of memory", limits_.memory);
  memory_ += bytes;
}

void Arena::spend_steps(std::size_t steps) {
  steps_ += steps;
  if (steps_ > static_cast<std::uint64_t>(limits_.steps))
    throw Error("the template needs more than {} steps", limits_.steps);
}

namespace {

Value from_json_at(const nlohmann::ordered_json& json, bool client, Arena& arena, int depth) {
  if (depth > arena.limits().depth) throw Error("values are nested too deeply");
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::boolean:
      return json.get<bool>();
    case Type::number_integer:
      return json.get<std::int64_t>();
    case Type::number_unsigned: {
      const auto number = json.get<std::uint64_t>();
      if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return static_cast<std::int64_t>(number);
      return BigInteger{arena.own(std::to_string(number)).bytes()};
    }
    case Type::number_float:
      return json.get<double>();
    case Type::binary:
      return BigInteger{arena.own(std::string(big_integer(json))).bytes()};
    case Type::string:
      return arena.text(json.get<std::string>(), client);
    case Type::array: {
      List* list = arena.list();
      list->client = client;
      for (const auto& item : json) arena.push(*list, from_json_at(item, client, arena, depth + 1));
      return list;
    }
    case Type::object: {
      Dict* dict = arena.dict();
      dict->client = client;
      for (const auto& [key, item] : json.items()) {
        arena.spend_memory(2 * sizeof(Value));
        dict->items.emplace_back(arena.text(key, client), from_json_at(item, client, arena, depth + 1));
      }
      return dict;
    }
    default:
      return None{};
  }
}

// How two integers of any size compare: by sign, length and digits.
bool less_digits(std::string_view a, std::string_view b) {
  const bool negative = a.starts_with('-');
  if (negative != b.starts_with('-')) return negative;
  if (negative) return less_digits(b.substr(1), a.substr(1));
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace

Value from_json(const nlohmann::ordered_json& json, bool client, Arena& arena) {
  return from_json_at(json, client, arena, 0);
}

bool as_integer(const Value& value, std::int64_t& out) {
  if (const auto* b = get<bool>(value)) return out = *b, true;
  if (const auto* i = get<std::int64_t>(value)) return out = *i, true;
  return false;
}

bool truth(const Value& value) {
  if (const auto* b = get<bool>(value)) return *b;
  if (const auto* i = get<std::int64_t>(value)) return *i != 0;
  if (const auto* d = get<double>(value)) return *d != 0;
  if (get<BigInteger>(value) != nullptr) return true;
  if (const auto* text = bytes_of(value)) return !text->empty();
  if (const auto* list = get<List*>(value))
    return (*list)->kind == List::Kind::Generator || !(*list)->items.empty();
  if (const auto* dict = get<Dict*>(value)) return (*dict)->is_namespace || !(*dict)->items.empty();
  return get<const Callable*>(value) != nullptr;
}

bool equal(const Value& a, const Value& b, Arena& arena) {
  return equal_at(a, b, arena, 0);
}

bool less(const Value& a, const Value& b, Arena& arena) {
  std::int64_t ia = 0;
  std::int64_t ib = 0;
  if (as_integer(a, ia) && as_integer(b, ib)) return ia < ib;
  const auto digits = [](const Value& value, std::int64_t integer) {
    const auto* big = get<BigInteger>(value);
    return big != nullptr ? std::string(big->digits) : std::to_string(integer);
  };
  const bool big = get<BigInteger>(a) != nullptr || get<BigInteger>(b) != nullptr;
  if (big && (get<BigInteger>(a) != nullptr || as_integer(a, ia)) &&
      (get<BigInteger>(b) != nullptr || as_integer(b, ib)))
    return less_digits(digits(a, ia), digits(b, ib));
  double da = 0;
  double db = 0;
  if (as_comparable_number(a, da) && as_comparable_number(b, db)) return da < db;
  const auto* ta = bytes_of(a);
  const auto* tb = bytes_of(b);
  if (ta != nullptr && tb != nullptr) {
    arena.spend_steps(std::min(ta->size(), tb->size()) / 64);
    return *ta < *tb;  // UTF-8 sorts as its code points do
  }
  throw Error("cannot compare {} with {}", type_name(a), type_name(b));
}

bool contains(const Value& value, const Value& item, Arena& arena) {
  if (const auto* text = bytes_of(value)) {
    const auto* part = bytes_of(item);
    if (part == nullptr) throw Error("\"in\" a string needs a string on its left, not {}", type_name(item));
    spend_for(value, arena);
    return find_text(*text, *part) != std::string_view::npos;
  }
  if (const auto* dict = get<Dict*>(value)) return (*dict)->find(item, arena) != nullptr;
  if (const auto* list = get<List*>(value))
    return std::any_of((*list)->items.begin(), (*list)->items.end(),
                       [&](const Value& v) { return equal(v, item, arena); });
  if (get<Undefined>(value) != nullptr) return false;
  throw Error("\"in\" needs something iterable on its right, not {}", type_name(value));
}

std::string_view type_name(const Value& value) {
  static constexpr std::string_view kNames[] = {"undefined",    "none",      "a boolean", "an integer",
                                                "an integer",   "a float",   "a string",  "a list",
                                                "a dictionary", "a function"};
  if (const auto* list = get<List*>(value)) {
    if ((*list)->kind == List::Kind::Tuple || (*list)->kind == List::Kind::Group) return "a tuple";
    if ((*list)->kind == List::Kind::Generator) return "a generator";
  }
  if (const auto* dict = get<Dict*>(value); dict != nullptr && (*dict)->is_namespace) return "a namespace";
  return kNames[value.index()];
}

bool is_string(const Value& value) {
  return get<Text>(value) != nullptr;
}

const std::string_view* bytes_of(const Value& value) {
  const auto* text = get<Text>(value);
  return text != nullptr ? &text->bytes() : nullptr;
}

std::vector<Value> items_of(const Value& value, Arena& arena) {
  std::vector<Value> out;
  if (const auto* list = get<List*>(value)) {
    arena.spend_steps((*list)->items.size());
    out = (*list)->items;
  } else if (const auto* dict = get<Dict*>(value); dict != nullptr && !(*dict)->is_namespace) {
    arena.spend_steps((*dict)->items.size());
    for (const auto& [key, item] : (*dict)->items) out.push_back(key);
  } else if (const auto* text = get<Text>(value)) {
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t length = decode_utf8(text->bytes(), at).length;
      arena.spend_steps(1);
      out.emplace_back(text->part(at, length));
      at += length;
    }
  } else if (get<Undefined>(value) == nullptr) {
    throw Error("{} is not iterable", type_name(value));
  }
  return out;
}

std::int64_t length_of(const Value& value) {
  if (const auto* text = bytes_of(value)) return count_characters(*text);
  if (const auto* list = get<List*>(value); list != nullptr && (*list)->kind != List::Kind::Generator)
    return static_cast<std::int64_t>((*list)->items.size());
  if (const auto* dict = get<Dict*>(value); dict != nullptr && !(*dict)->is_namespace)
    return static_cast<std::int64_t>((*dict)->items.size());
  if (get<Undefined>(value) != nullptr) return 0;
  throw Error("{} has no length", type_name(value));
}

std::size_t find_text(std::string_view text, std::string_view part, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (part.empty()) return from;
  if (part.size() > text.size() - from)
    return std::string_view::npos;  // of an empty text there may be no bytes
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

void spend_for(const Value& value, Arena& arena) {
  std::size_t steps = 1;
  if (const auto* text = bytes_of(value)) steps += text->size() / 64;
  if (const auto* dict = get<Dict*>(value)) steps += (*dict)->items.size() / 16;
  arena.spend_steps(steps);
}

void spend_for_lookup(std::string_view name, std::size_t others, Arena& arena) {
  arena.spend_steps(others / 16 + others * (name.size() / 64));
}

std::int64_t count_characters(std::string_view text) {
  std::int64_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += decode_utf8(text, at).length;
  return count;
}

std::string_view characters(std::string_view text, std::int64_t begin, std::int64_t end) {
  std::size_t at = 0;
  std::int64_t index = 0;
  for (; index < begin && at < text.size(); ++index) at += decode_utf8(text, at).length;
  const std::size_t first = at;
  for (; index < end && at < text.size(); ++index) at += decode_utf8(text, at).length;
  return text.substr(first, at - first);
}

namespace {

// Where the last character of a text that is not empty begins.
std::size_t last_character(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
    --begin;
  return begin;
}

template <class Predicate>
std::string_view strip_if(std::string_view text, bool left, bool right, Predicate strips) {
  while (left && !text.empty()) {
    const std::size_t length = decode_utf8(text, 0).length;
    if (!strips(text.substr(0, length))) break;
    text.remove_prefix(length);
  }
  while (right && !text.empty()) {
    const std::size_t last = last_character(text);
    if (!strips(text.substr(last))) break;
    text = text.substr(0, last);
  }
  return text;
}

}  // namespace

std::string_view strip(std::string_view text, bool left, bool right) {
  return strip_if(text, left, right, [](std::string_view c) {
    const char32_t code = decode_utf8(c, 0).code;
    return is_white_space(code) || (code >= 0x1C && code <= 0x1F);  // Python's str.isspace()
  });
}

std::string_view strip(std::string_view text, std::string_view set, bool left, bool right, Arena& arena) {
  return strip_if(text, left, right, [&](std::string_view c) {
    arena.spend_steps(1 + set.size() / 64);
    return find_text(set, c) != std::string_view::npos;
  });
}

}  // namespace augur::jinja
