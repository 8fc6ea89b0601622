#include "text/jinja/builtins.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "base/local_time.h"
#include "base/utf8.h"

namespace augur::jinja {

BoundArguments::BoundArguments(std::string_view what, const CallArguments& arguments,
                               std::initializer_list<std::string_view> parameters, std::size_t required)
    : what_(what), values_(parameters.size(), None{}), given_(parameters.size(), false) {
  if (arguments.positional.size() > parameters.size())
    throw Error("{}: at most {} arguments expected, {} given", what, parameters.size(),
                arguments.positional.size());
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    values_[i] = arguments.positional[i];
    given_[i] = true;
  }
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(parameters.begin(), parameters.end(), name);
    if (found == parameters.end())
      throw Error(ErrorKind::Unsupported, "{}: unsupported argument \"{}\"", what, name);
    const auto i = static_cast<std::size_t>(found - parameters.begin());
    if (given_[i]) throw Error("{}: argument \"{}\" is given twice", what, name);
    values_[i] = value;
    given_[i] = true;
  }
  for (std::size_t i = 0; i < required; ++i)
    if (!given_[i]) throw Error("{}: argument \"{}\" is missing", what, parameters.begin()[i]);
}

const Text& BoundArguments::text(std::size_t i) const {
  if (const auto* text = std::get_if<Text>(&values_[i])) return *text;
  throw Error("{}: expected a string, found {}", what_, type_name(values_[i]));
}

std::string_view BoundArguments::bytes_or(std::size_t i, std::string_view fallback) const {
  return given_[i] ? bytes(i) : fallback;
}

std::int64_t BoundArguments::integer_or(std::size_t i, std::int64_t fallback) const {
  if (!given_[i]) return fallback;
  if (const auto* number = std::get_if<std::int64_t>(&values_[i])) return *number;
  if (const auto* flag = std::get_if<bool>(&values_[i])) return *flag;
  throw Error("{}: expected an integer, found {}", what_, type_name(values_[i]));
}

bool BoundArguments::flag_or(std::size_t i, bool fallback) const {
  return given_[i] ? truth(values_[i]) : fallback;
}

namespace {

Value range(const CallArguments& arguments, Arena& arena) {
  const BoundArguments bound("range()", arguments, {"start", "stop", "step"}, 1);
  const std::int64_t start = bound.has(1) ? bound.integer_or(0, 0) : 0;
  const std::int64_t stop = bound.has(1) ? bound.integer_or(1, 0) : bound.integer_or(0, 0);
  const std::int64_t step = bound.integer_or(2, 1);
  if (step == 0) throw Error("range(): the step is 0");
  List* list = arena.list();
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    arena.spend_steps(1);
    arena.push(*list, i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return list;
}

// namespace(a=1) and dict(a=1), each also with a dictionary to start from.
Value make_dict(std::string_view name, const CallArguments& arguments, Arena& arena) {
  Dict* dict = arena.dict();
  dict->is_namespace = name == "namespace";
  if (arguments.positional.size() > 1) throw Error("{}(): at most 1 positional argument expected", name);
  for (const Value& value : arguments.positional) {
    const auto* source = std::get_if<Dict*>(&value);
    if (source == nullptr) throw Error("{}(): expected a dictionary, found {}", name, type_name(value));
    arena.spend_memory((*source)->items.size() * 2 * sizeof(Value));
    dict->items = (*source)->items;
  }
  for (const auto& [key, value] : arguments.named) {
    arena.spend_memory(2 * sizeof(Value));
    dict->set(Text::own(key), value, arena);
  }
  return dict;
}

Value strftime_now(const CallArguments& arguments, Arena& arena) {
  const Text given = BoundArguments("strftime_now()", arguments, {"format"}, 1).text(0);
  const std::string format(given.bytes());
  if (format.empty()) return Text();
  const std::string now = local_time(std::time(nullptr), format);
  if (now.empty()) throw Error("strftime_now(): the result of \"{}\" is empty or too long", format);
  return arena.text(to_valid_utf8(now), given.any_client());
}

constexpr std::array<std::string_view, 5> kFunctions = {"range", "namespace", "dict", "raise_exception",
                                                        "strftime_now"};

// Python's negative positions count from the end.
bool resolve_index(const Value& key, std::int64_t length, std::int64_t& index) {
  if (const auto* number = std::get_if<std::int64_t>(&key))
    index = *number;
  else if (const auto* flag = std::get_if<bool>(&key))
    index = *flag;
  else
    return false;
  if (index < 0) index += length;
  return index >= 0 && index < length;
}

Value undefined_for(const Value& key, Arena& arena) {
  return Undefined{to_text(key, arena).bytes()};
}

}  // namespace

Text replace_text(const Text& text, const Text& from, const Text& to, std::int64_t count, Arena& arena) {
  const std::string_view bytes = text.bytes();
  TextBuilder out;
  std::size_t at = 0;
  if (from.empty()) {
    for (; count != 0; --count) {
      arena.spend_memory(to.size());
      out.add(to);
      if (at >= bytes.size()) break;
      const std::size_t length = decode_utf8(bytes, at).length;
      out.add(text.part(at, length));
      at += length;
    }
  } else {
    for (std::size_t found;
         count != 0 && (found = find_text(bytes, from.bytes(), at)) != std::string_view::npos; --count) {
      arena.spend_memory(to.size());
      out.add(text.part(at, found - at));
      out.add(to);
      at = found + from.size();
    }
  }
  if (at < bytes.size()) out.add(text.part(at));
  return arena.text(std::move(out));
}

bool is_function(std::string_view name) {
  return std::find(kFunctions.begin(), kFunctions.end(), name) != kFunctions.end();
}

Value call_function(std::string_view name, const CallArguments& arguments, Arena& arena) {
  if (name == "range") return range(arguments, arena);
  if (name == "namespace" || name == "dict") return make_dict(name, arguments, arena);
  if (name == "strftime_now") return strftime_now(arguments, arena);
  const BoundArguments bound("raise_exception()", arguments, {"message"}, 1);
  throw RaisedByTemplate(std::string(to_text(bound[0], arena).bytes()));
}

Value get_attribute(const Value& value, std::string_view name, Arena& arena) {
  if (const auto* undefined = std::get_if<Undefined>(&value))
    throw Error("\"{}\" is undefined", undefined->name);
  if (const auto* dict = std::get_if<Dict*>(&value); dict != nullptr && (*dict)->is_namespace) {
    const Value* found = (*dict)->find(Text::own(name), arena);
    return found != nullptr ? *found : Value(Undefined{name});
  }
  // As Jinja does: the method of that name hides a dictionary's key.
  if (has_method(value, name)) return arena.callable({.name = name, .self = value, .is_method = true});
  if (const auto* dict = std::get_if<Dict*>(&value))
    if (const Value* found = (*dict)->find(Text::own(name), arena)) return *found;
  if (const auto* list = std::get_if<List*>(&value); list != nullptr && (*list)->kind == List::Kind::Group) {
    if (name == "grouper") return (*list)->items[0];
    if (name == "list") return (*list)->items[1];
  }
  return Undefined{name};
}

Value get_item(const Value& value, const Value& key, Arena& arena) {
  if (const auto* undefined = std::get_if<Undefined>(&value))
    throw Error("\"{}\" is undefined", undefined->name);
  spend_for(value, arena);
  std::int64_t index = 0;
  if (const auto* dict = std::get_if<Dict*>(&value)) {
    if (const Value* found = (*dict)->find(key, arena)) return *found;
  } else if (const auto* list = std::get_if<List*>(&value);
             list != nullptr && (*list)->kind != List::Kind::Generator) {
    if (resolve_index(key, length_of(value), index)) return (*list)->items[static_cast<std::size_t>(index)];
  } else if (const auto* text = std::get_if<Text>(&value)) {
    if (resolve_index(key, length_of(value), index))
      return text->part(characters(text->bytes(), index, index + 1));
  }
  if (const auto* name = bytes_of(key)) {
    if (has_method(value, *name)) return arena.callable({.name = *name, .self = value, .is_method = true});
  }
  return undefined_for(key, arena);
}

}  // namespace augur::jinja
