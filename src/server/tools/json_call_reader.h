#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "server/tools/call_reader.h"

namespace augur {

/// Reads {"name": ..., "arguments" or "parameters": {...}, ...} as it comes in, and hands the arguments on as
/// they are written.
class JsonCallReader : public CallReader {
 public:
  JsonCallReader() = default;
  /// The name is known, and the object that comes in is the arguments alone.
  static JsonCallReader of_arguments(std::string name) {
    JsonCallReader reader;
    reader.name_ = std::move(name);
    reader.alone_ = true;
    reader.expect_ = Expect::Value;
    reader.key_ = "arguments";
    return reader;
  }

  /// Takes what it can of `text`, and says how many bytes: all of it unless the object ends in it or breaks.
  std::size_t read_call(std::string_view text);
  /// Name and the beginning of the arguments are there, or the object has ended with a name.
  bool known() const { return !name_.empty() && (has_arguments_ || state_ == CallState::Done); }
  /// As CallReader's; of a call without some an empty object, once it has ended.
  std::string take_arguments();

 private:
  enum class Expect { Begin, KeyOrEnd, Key, Colon, Value, CommaOrEnd };

  bool step(char c);
  bool between(char c);
  void begin_value(char c);
  bool inside_value(char c);
  void end_value();

  Expect expect_ = Expect::Begin;
  bool reading_ = false;  ///< a key or a value
  bool in_string_ = false;
  bool escaped_ = false;
  std::string open_;  ///< brackets of the value that are open
  std::string key_;
  std::string raw_;  ///< of the key or value, unless it is the arguments'
  bool is_arguments_ = false;
  bool has_arguments_ = false;
  bool alone_ = false;  ///< the arguments are
};

}  // namespace augur
