#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "server/tools/call_reader.h"
#include "server/tools/call_tags.h"
#include "server/tools/json_call_reader.h"

namespace augur {

/// Reads a call that names its function between tags, and then has its arguments as one JSON object, as it
/// comes in. The arguments are handed on as they are written.
class NamedCallReader : public CallReader {
 public:
  /// `tags` stays.
  explicit NamedCallReader(const NamedCallTags& tags) : tags_(&tags) {}

  /// Takes what it can of `text`, and says how many bytes: all of it unless the call ends in it or breaks.
  std::size_t read_call(std::string_view text);
  /// The name is there and the beginning of the arguments behind it.
  bool known() const { return object_.known(); }

 private:
  enum class Where { Begin, Name, Arguments, End };

  bool step(char c);
  void end_name();

  const NamedCallTags* tags_;
  Where where_ = Where::Begin;
  std::string held_;  ///< bytes of a tag
  JsonCallReader object_;
};

}  // namespace augur
