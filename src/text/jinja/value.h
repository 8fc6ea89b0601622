#pragma once
#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/text.h"

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
/// An integer that 64 bits do not hold: a minus sign perhaps, and digits. It can be written and compared.
struct BigInteger {
  std::string_view digits;
};

/// A value of the template language. Strings, lists and dictionaries live in the Arena of one rendering, so
/// that values are small, copying is cheap and cycles cannot leak. Numbers do not know who wrote them: what
/// comes of them are digits, never the text of a token.
using Value = std::variant<Undefined, None, bool, std::int64_t, BigInteger, double, Text, List*, Dict*,
                           const Callable*>;

struct List {
  /// A generator is always true and has no length. A group is groupby's: a tuple of `grouper` and `list`.
  enum class Kind { List, Tuple, Group, Generator };
  std::vector<Value> items;
  Kind kind = Kind::List;
  bool client = false;  ///< sent by a client: so are its brackets, when it is written
};

/// In order of insertion. Templates' dictionaries are small: lookup is linear. Keys are strings, numbers,
/// booleans or none.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  bool is_namespace = false;       ///< made by namespace(): its attributes can be set
  bool client = false;             ///< as List::client
  const Callable* call = nullptr;  ///< what calling it does: `loop` of a recursive loop
  const Value* find(const Value& key, Arena& arena) const;
  void set(const Value& key, const Value& value, Arena& arena);
};

struct Scope;
struct Statement;

/// Something that can be called: a built-in function, a method of `self`, a macro, or a recursive loop.
struct Callable {
  std::string_view name;
  Value self = None{};
  bool is_method = false;
  const Statement* macro = nullptr;  ///< of a macro or loop; null: built in
  Scope* scope = nullptr;            ///< where that was defined
  std::int64_t depth = 0;            ///< of a loop: how often it has called itself by then
};

/// Limits of one rendering, so that no template hangs or exhausts memory.
struct Limits {
  std::size_t memory = 0;  ///< bytes of strings, list items and output
  std::int64_t steps = 0;  ///< expressions evaluated, items visited, 16 names or 64 bytes searched
  int depth = 200;         ///< of lists within lists
};

/// Owns what the values of one rendering point to, and counts what they cost. Error beyond a limit.
class Arena {
 public:
  explicit Arena(const Limits& limits) : limits_(limits) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Text text(TextBuilder built);
  Text own(std::string bytes);
  /// `client`: whose all of them are.
  Text text(std::string bytes, bool client);
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

/// All of it is a client's, or none.
Value from_json(const nlohmann::ordered_json& json, bool client, Arena& arena);

/// Whether it is an integer, which then is in `out`. Booleans are numbers, as in Python.
bool as_integer(const Value& value, std::int64_t& out);
bool truth(const Value& value);
bool equal(const Value& a, const Value& b, Arena& arena);
/// Python's `<` of numbers and strings; Error for anything else.
bool less(const Value& a, const Value& b, Arena& arena);
/// Whether `value` holds `item` (Python's `in`).
bool contains(const Value& value, const Value& item, Arena& arena);
/// Python's type name, for messages.
std::string_view type_name(const Value& value);
bool is_string(const Value& value);
/// The string's bytes; null: it is none.
const std::string_view* bytes_of(const Value& value);
/// Python's str() and repr(). A string itself is not copied.
Text to_text(const Value& value, Arena& arena);
Text to_repr(const Value& value, Arena& arena);

/// The items a loop goes over: of a list, a dictionary's keys, a string's characters. Error for others.
std::vector<Value> items_of(const Value& value, Arena& arena);
/// Error for values without a length.
std::int64_t length_of(const Value& value);

struct JsonStyle {
  int indent = -1;  ///< negative: on one line
  bool sort_keys = false;
  bool ascii = false;   ///< escape what is not ASCII
  Text item_separator;  ///< empty: Python's default
  Text key_separator;
};
/// Python's json.dumps. Error for values JSON does not have.
Text to_json(const Value& value, const JsonStyle& style, Arena& arena);

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
