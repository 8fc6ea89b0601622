#pragma once
#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace augur::jinja {

class Arena;
struct List;
struct Dict;
struct Callable;

/// What an expression without a value gives, remembering what was asked for.
struct Undefined {
  std::string_view name;
};
struct None {};

/// A value of the template language. Strings, lists and dictionaries live in the Arena of one rendering, so
/// that values are small, copying is cheap and cycles cannot leak.
using Value = std::variant<Undefined, None, bool, std::int64_t, double, std::string_view, List*, Dict*,
                           const Callable*>;

struct List {
  enum class Kind { List, Tuple, Generator };
  std::vector<Value> items;
  Kind kind = Kind::List;  ///< a generator is always true and has no length
};

/// In order of insertion. Templates' dictionaries are small: lookup is linear. Keys are strings, numbers,
/// booleans or none.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  bool is_namespace = false;  ///< made by namespace(): its attributes can be set
  const Value* find(const Value& key, Arena& arena) const;
  void set(const Value& key, const Value& value, Arena& arena);
};

struct Scope;
struct Statement;

/// Something that can be called: a built-in function, a method of `self`, or a macro.
struct Callable {
  std::string_view name;
  Value self = None{};
  bool is_method = false;
  const Statement* macro = nullptr;  ///< null: built in
  Scope* scope = nullptr;            ///< where the macro was defined
};

/// Limits of one rendering, so that no template hangs or exhausts memory.
struct Limits {
  std::size_t memory = 64u << 20;  ///< bytes of strings, list items and output
  std::int64_t steps = 5'000'000;  ///< expressions evaluated, items visited, 16 names or 64 bytes searched
  int depth = 200;                 ///< of lists within lists
};

/// Owns what the values of one rendering point to, and counts what they cost. Error beyond a limit.
class Arena {
 public:
  explicit Arena(const Limits& limits) : limits_(limits) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::string_view text(std::string value);
  List* list(List::Kind kind = List::Kind::List);
  Dict* dict();
  void push(List& list, const Value& value);
  const Callable* callable(Callable value);

  void spend_memory(std::size_t bytes);
  void spend_steps(std::size_t steps);
  const Limits& limits() const { return limits_; }

 private:
  Limits limits_;
  std::size_t memory_ = 0;
  std::uint64_t steps_ = 0;
  std::deque<std::string> texts_;
  std::deque<List> lists_;
  std::deque<Dict> dicts_;
  std::deque<Callable> callables_;
};

Value from_json(const nlohmann::ordered_json& json, Arena& arena);

bool truth(const Value& value);
bool equal(const Value& a, const Value& b, Arena& arena);
/// Python's `<` of numbers and strings; Error for anything else.
bool less(const Value& a, const Value& b, Arena& arena);
/// Whether `value` holds `item` (Python's `in`).
bool contains(const Value& value, const Value& item, Arena& arena);
/// Python's type name, for messages.
std::string_view type_name(const Value& value);
bool is_string(const Value& value);
/// Python's str() and repr().
std::string to_text(const Value& value, Arena& arena);
std::string to_repr(const Value& value, Arena& arena);

/// The items a loop goes over: of a list, a dictionary's keys, a string's characters. Error for others.
std::vector<Value> items_of(const Value& value, Arena& arena);
/// Error for values without a length.
std::int64_t length_of(const Value& value);

struct JsonStyle {
  int indent = -1;  ///< negative: on one line
  bool sort_keys = false;
  bool ascii = false;               ///< escape what is not ASCII
  std::string_view item_separator;  ///< empty: Python's default
  std::string_view key_separator;
};
/// Python's json.dumps. Error for values JSON does not have.
std::string to_json(const Value& value, const JsonStyle& style, Arena& arena);

/// Position of `part` in `text` from `from` on, or npos; linear whatever the texts.
std::size_t find_text(std::string_view text, std::string_view part, std::size_t from = 0);
/// Counts the work of looking through a value once.
void spend_for(const Value& value, Arena& arena);
/// Counts the work of comparing a name with so many others.
void spend_for_lookup(std::string_view name, std::size_t others, Arena& arena);

// Strings are sequences of code points.
std::int64_t count_characters(std::string_view text);
/// The characters [begin, end) as bytes of `text`; 0 <= begin <= end <= count.
std::string_view characters(std::string_view text, std::int64_t begin, std::int64_t end);
/// Python's str.strip() without (all Unicode white space) and with a set of characters.
std::string_view strip(std::string_view text, bool left, bool right);
std::string_view strip(std::string_view text, std::string_view set, bool left, bool right, Arena& arena);

}  // namespace augur::jinja
