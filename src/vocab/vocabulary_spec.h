#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace augur {

// clang-format off
/// What a drafter's last projection computes, as a plan says it:
///   full                          every token
///   auto[:FOLDER]                 what pays of the parts in FOLDER (automatic_shortlist.h), or all
///   frspec[:FILE][:SIZE]          the SIZE most frequent tokens (FR-Spec)
///   pafr[:FILE][:SIZE]            the same for the first two steps of a draft, then SIZE / (t + 1) of them
///   hot[:FILE][:SIZE]             SIZE tokens that begin as frspec's and follow the text (hot_shortlist.h)
///   dynaspec[:FOLDER][:K|:K0,K1[:floor]]
///                                 the clusters that a router chooses for each context (DynaSpec); K: so many
///                                 at every step, K0,K1 or K0;K1: a budget that falls with the step, with
///                                 `floor` rounded down (ClusterBudget); otherwise the folder's own
/// Without FILE or FOLDER it is the part in the drafter's folder (files/part_location.h); of auto, that folder.
// clang-format on
struct VocabularySpec {
  enum class Kind { Full, Auto, Frequent, PositionAware, Hot, Clusters };
  Kind kind = Kind::Full;
  std::string path;         ///< empty: not said, or Full
  std::int64_t size = 0;    ///< tokens; 0: all that a published file lists, or a quarter of the vocabulary
  std::int64_t first = 0;   ///< clusters at step 0; 0: as the folder says
  std::int64_t second = 0;  ///< clusters at step 1
  bool position_aware = false;  ///< of the two above
  bool floored = false;         ///< ClusterBudget::floored; position_aware then

  /// "" is "auto". Error showing the text for anything else.
  static VocabularySpec parse(const std::string& text);
  /// With the path of the part among those of a drafter where none is named. Error where there is none;
  /// "auto" without a folder is "full" then.
  VocabularySpec located(const std::filesystem::path& parts) const;

  friend bool operator==(const VocabularySpec&, const VocabularySpec&) = default;
};

/// The text that parse() makes an equal one of.
std::string to_string(const VocabularySpec& spec);

}  // namespace augur
