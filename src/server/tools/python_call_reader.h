#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "server/tools/call_reader.h"

namespace augur {

/// Reads name(argument=value, ...) with Python's literals as it comes in, and hands the arguments on as JSON,
/// each when it has ended. Arguments without a name, or of one name, are no call's.
class PythonCallReader : public CallReader {
 public:
  /// Whether a call may begin so.
  static bool begins_name(char c);
  /// Whether an argument may be called so.
  static bool is_name(std::string_view text);

  /// Takes what it can of `text`, and says how many bytes: all of it unless the call ends in it or breaks.
  std::size_t read_call(std::string_view text);
  /// The name is there and the first argument or the end behind it.
  bool known() const { return known_; }

 private:
  enum class Where { Name, ArgumentOrEnd, Argument, Equals, Value };

  bool step(char c);
  bool step_value(char c);
  bool end_argument(char c);

  Where where_ = Where::Name;
  bool known_ = false;
  std::string argument_;  ///< its name
  std::string value_;
  std::string open_;            ///< brackets in the value that are open
  char quote_ = 0;              ///< of the text in the value that is open
  bool escaped_ = false;        ///< a backslash was the last of it
  bool maybe_closed_ = false;   ///< a quote was the last of it, but for space
  std::set<std::string> seen_;  ///< names of arguments
};

}  // namespace augur
