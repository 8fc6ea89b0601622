#pragma once
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "server/tools/argument_types.h"
#include "server/tools/call_reader.h"
#include "server/tools/call_tags.h"

namespace augur {

/// Reads a call whose arguments have tags each, as it comes in, and hands the arguments on as JSON: those
/// that can only be texts as they are written, others when they have ended. Of arguments of one name the
/// first counts. A value may hold what ends one, unless more of the call follows it.
class XmlCallReader : public CallReader {
 public:
  /// `tags` stays.
  XmlCallReader(const CallTags& tags, std::shared_ptr<const FunctionTypes> functions)
      : tags_(&tags),
        functions_(std::move(functions)),
        where_(tags.begin.empty() ? Where::Name : Where::Begin) {}

  /// Takes what it can of `text`, and says how many bytes: all of it unless the call ends in it or breaks.
  std::size_t read_call(std::string_view text);
  /// The name is there and an argument's name or the end behind it.
  bool known() const { return known_; }

 private:
  enum class Where { Begin, Name, Between, ArgumentName, BeforeValue, Value };
  enum class Fit { None, Part, Whole };

  bool step(char c);
  bool step_name(char c);
  bool step_between(char c);
  bool step_value(char c);
  Fit ends_value(std::string_view rest);
  void begin_argument();
  void value_text(std::string_view part);
  void end_value();
  void end_call();

  const CallTags* tags_;
  std::shared_ptr<const FunctionTypes> functions_;
  Where where_;
  bool known_ = false;
  std::string held_;            ///< bytes that may become a tag
  std::string argument_;        ///< its name
  std::set<std::string> seen_;  ///< names of arguments
  bool dropped_ = false;        ///< the argument was there before
  bool value_begun_ = false;    ///< the line break before it is behind
  bool in_space_ = false;       ///< held_ ends in the space behind what may end a value
  unsigned kinds_ = kJsonAny;   ///< of the argument
  std::string value_;           ///< unless it is a text for certain
};

}  // namespace augur
