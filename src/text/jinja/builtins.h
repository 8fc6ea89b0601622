#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/jinja/case_mapping.h"
#include "text/jinja/value.h"

namespace augur::jinja {

/// Evaluated arguments of a call, filter or test.
struct CallArguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> named;
};

/// Arguments put to their parameters.
class BoundArguments {
 public:
  /// `what`: for messages, as `filter "join"`. Error for too many or unknown arguments, and where one of the
  /// first `required` is missing.
  BoundArguments(std::string_view what, const CallArguments& arguments,
                 std::initializer_list<std::string_view> parameters, std::size_t required = 0);

  bool has(std::size_t i) const { return given_[i]; }
  const Value& operator[](std::size_t i) const { return values_[i]; }
  // Error for a value of another type.
  const Text& text(std::size_t i) const;
  std::string_view bytes(std::size_t i) const { return text(i).bytes(); }
  std::string_view bytes_or(std::size_t i, std::string_view fallback) const;
  std::int64_t integer_or(std::size_t i, std::int64_t fallback) const;
  bool flag_or(std::size_t i, bool fallback) const;

 private:
  std::string_view what_;
  std::vector<Value> values_;
  std::vector<bool> given_;
};

bool is_filter(std::string_view name);
bool is_test(std::string_view name);
/// Names that exist without being set: range, namespace, dict, raise_exception, strftime_now.
bool is_function(std::string_view name);
/// Whether values of this type have such a method.
bool has_method(const Value& self, std::string_view name);

Value apply_filter(std::string_view name, const Value& value, const CallArguments& arguments, Arena& arena);
bool apply_test(std::string_view name, const Value& value, const CallArguments& arguments, Arena& arena);
Value call_function(std::string_view name, const CallArguments& arguments, Arena& arena);
Value call_method(const Value& self, std::string_view name, const CallArguments& arguments, Arena& arena);

/// `value.name` and `value[key]`; Undefined where there is none, Error where `value` is undefined.
Value get_attribute(const Value& value, std::string_view name, Arena& arena);
Value get_item(const Value& value, const Value& key, Arena& arena);

/// `from` replaced by `to`, the first `count` times (negative: each time); an empty `from` is between all
/// characters.
Text replace_text(const Text& text, const Text& from, const Text& to, std::int64_t count, Arena& arena);

/// A template's raise_exception(): the conversation is not to the template's liking.
class RaisedByTemplate : public Error {
 public:
  explicit RaisedByTemplate(const std::string& message) : Error(refused("messages"), message) {}
};

}  // namespace augur::jinja
