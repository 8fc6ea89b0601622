#pragma once
#include <optional>
#include <vector>

#include "draft/formats/head_loader.h"

namespace augur {

/// The keys of a block drafter's config.json, which tools write at its top level (speculators, DeepSpec) or
/// in a section of their own (`dflash_config`, `dspark_config`).
class DflashKeys {
 public:
  explicit DflashKeys(const JsonFields& config);
  /// The place that has the key; the top level when there is none.
  const JsonFields& with(const char* key) const;
  bool flag(const char* key, bool fallback) const { return with(key).flag(key, fallback); }

 private:
  std::vector<JsonFields> places_;
};

/// What a block is and sees.
struct DflashConfig {
  std::vector<int> taps;  ///< the target's layers whose entering residual streams are the features
  int block = 0;          ///< slots: the anchor and placeholders
  /// The slot that predicts the token after the anchor: 1, or 0 where the anchor's own slot does.
  int first_slot = 1;
  std::vector<BlockMask> masks;  ///< by layer
  std::optional<TokenId> mask_token;

  /// Error naming file and field for anything missing, absurd or unfit for the target. `anchor_predicts`:
  /// the default of `sample_from_anchor`.
  static DflashConfig read(const HeadLoader& loader, const DflashKeys& keys, bool anchor_predicts);

  /// Levels of children that a block has predictions for.
  int depths() const { return block - first_slot; }
};

}  // namespace augur
