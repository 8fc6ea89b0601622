#include "server/tools/python_call_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/tools/argument_types.h"
#include "server/tools/python_literal.h"

namespace augur {
namespace {

bool in_name(char c) {
  return PythonCallReader::begins_name(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

}  // namespace

bool PythonCallReader::begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool PythonCallReader::is_name(std::string_view text) {
  return !text.empty() && begins_name(text[0]) && std::all_of(text.begin(), text.end(), in_name);
}

std::size_t PythonCallReader::read_call(std::string_view text) {
  return read(text, [&](char ch) { return step(ch); });
}

bool PythonCallReader::step(char c) {
  switch (where_) {
    case Where::Name:
      if (c == '(' && !name_.empty()) {
        where_ = Where::ArgumentOrEnd;
        return true;
      }
      name_ += c;
      return in_name(c);
    case Where::ArgumentOrEnd:
      if (is_call_space(c)) return true;
      if (c == ')') {
        known_ = true;
        arguments_ += seen_.empty() ? "{}" : "}";
        state_ = CallState::Done;
        return true;
      }
      argument_ = c;
      where_ = Where::Argument;
      return begins_name(c);
    case Where::Argument:
      if (in_name(c)) {
        argument_ += c;
        return true;
      }
      where_ = Where::Equals;
      [[fallthrough]];
    case Where::Equals:
      if (is_call_space(c)) return true;
      where_ = Where::Value;
      value_.clear();
      return c == '=' && seen_.insert(argument_).second;
    case Where::Value:
      return step_value(c);
  }
  return false;
}

bool PythonCallReader::step_value(char c) {
  if (maybe_closed_ && !is_call_space(c)) {
    maybe_closed_ = false;
    if (may_follow_text(c)) quote_ = 0;
  }
  if (quote_ != 0) {
    value_ += c;
    if (maybe_closed_) return true;
    maybe_closed_ = c == quote_ && !escaped_;
    escaped_ = c == '\\' && !escaped_;
    return true;
  }
  if (open_.empty() && (c == ',' || c == ')')) return end_argument(c);
  value_ += c;
  if (c == '"' || c == '\'') {
    quote_ = c;
  } else if (c == '[' || c == '(' || c == '{') {
    open_ += c;
  } else if (c == ']' || c == ')' || c == '}') {
    if (open_.empty() || open_.back() != (c == ']' ? '[' : c == ')' ? '(' : '{')) return false;
    open_.pop_back();
  }
  return true;
}

bool PythonCallReader::end_argument(char c) {
  const std::optional<std::string> json = json_of_python(value_);
  if (!json) return false;
  known_ = true;
  arguments_ += seen_.size() == 1 ? "{\"" : ", \"";
  append_json_text(arguments_, argument_);
  arguments_ += "\": " + *json;
  where_ = Where::ArgumentOrEnd;
  return c == ',' || step(c);
}

}  // namespace augur
