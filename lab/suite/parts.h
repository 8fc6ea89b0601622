#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "model/fingerprint.h"

namespace augur {

/// Something that was made for a target: a folder of a draft model, a head or a policy's part; a draft model
/// in a GGUF file.
struct FoundPart {
  std::string name;  ///< of the folder or file; of a drafter's part that lies in its folder "DRAFTER/PART"
  std::string kind;  ///< drafter type ("eagle3", "draft"), or what config.json calls the part ("c2t")
  bool drafter = false;
  std::string made_for;  ///< a part: "KIND NAME" of its drafter, where it says so

  /// Whether it is found without a path when `owner` drafts: it lies in its folder under its kind's name.
  bool belongs_to(const FoundPart& owner) const { return name == owner.name + "/" + kind; }
};

/// The drafters and parts among the folders and files in `parts`, and in the drafters' folders, that fit the
/// target, by name; others are passed over.
std::vector<FoundPart> find_parts(const std::filesystem::path& parts, const Fingerprint& target);

/// Methods worth comparing, in the syntax of parse_method: plain, look-ups, and for every drafter found a
/// chain, a tree, and the policies that there are parts for; `quick`: the few that tell most; `budgeted`:
/// those that leave their size to a budget (use_budget()).
std::vector<std::string> default_methods(const std::vector<FoundPart>& parts, bool quick,
                                         bool budgeted = false);

}  // namespace augur
