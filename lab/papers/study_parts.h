#pragma once
#include <map>
#include <string>
#include <vector>

#include "lab/suite/parts.h"

namespace augur {

/// What the settings of a study's rows may name in braces: parts by what the study calls them, and numbers
/// that follow from them.
class StudyParts {
 public:
  /// Of the parts in `folder`, those made for `drafter`.
  StudyParts(const FoundPart& drafter, const std::vector<FoundPart>& parts, const std::string& folder);

  bool has(const std::string& name) const { return values_.count(name) > 0; }
  /// Replaces every {NAME}.
  std::string filled(std::string text) const;
  /// Names of all parts of a kind made for the drafter; of "KIND of any drafter" whoever they were made for.
  std::vector<std::string> all(const std::string& kind) const;
  /// The first drafter of a type; empty: there is none.
  std::string drafter_of(const std::string& type) const;

 private:
  std::map<std::string, std::string> values_;
  FoundPart drafter_;
  std::vector<FoundPart> parts_;
};

/// `text` with {name} replaced by `value`.
std::string with_value(std::string text, const std::string& name, const std::string& value);

}  // namespace augur
