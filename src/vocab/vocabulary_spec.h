#pragma once
#include <cstdint>
#include <string>

namespace augur {

/// What a drafter's last projection computes, as `--spec-vocab` says it:
///   full                      every token
///   frspec:FILE[:SIZE]        the SIZE most frequent tokens (FR-Spec)
///   pafr:FILE[:SIZE]          the same for the first two steps of a draft, then SIZE / (t + 1) of them
///   hot:FILE[:SIZE]           SIZE tokens that begin as frspec's and follow the text (hot_shortlist.h)
///   dynaspec:FOLDER[:K|:K0,K1]  the clusters that a router chooses for each context (DynaSpec); K: so many
///                             at every step, K0,K1: a budget that falls with the step; otherwise the
///                             folder's own
struct VocabularySpec {
  enum class Kind { Full, Frequent, PositionAware, Hot, Clusters };
  Kind kind = Kind::Full;
  std::string path;
  std::int64_t size = 0;    ///< tokens; 0: all that a published file lists, or a quarter of the vocabulary
  std::int64_t first = 0;   ///< clusters at step 0; 0: as the folder says
  std::int64_t second = 0;  ///< clusters at step 1
  bool position_aware = false;  ///< of the two above

  /// Error showing the text for anything else.
  static VocabularySpec parse(const std::string& text);
};

}  // namespace augur
