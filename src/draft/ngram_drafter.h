#pragma once
#include <memory>

#include "draft/drafter.h"
#include "draft/lookup/ngram_index.h"

namespace augur {

/// Prompt look-up (Saxena, 2023; llama.cpp's ngram-simple): finds the longest suffix of the text that
/// occurred before, and proposes the tokens that followed its last occurrence. The copied branch may continue
/// beyond the end of the text into itself, so a repetition is continued to any length. One branch;
/// probabilities are the odds of copying (copy_odds.h).
class NgramDrafter final : public Drafter {
 public:
  /// Texts of up to `reserved` tokens are indexed without an allocation.
  NgramDrafter(int min, int max, std::int64_t reserved = 0) : index_(min, max, reserved) {}

  std::string_view name() const override { return "ngram"; }
  DrafterTraits traits() const override {
    return {.one_shot = true, .has_probabilities = false, .learns = true};
  }
  void reset() override { index_.clear(); }
  void sync(const AcceptedRows& rows) override;
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;

 private:
  NgramIndex index_;
};

}  // namespace augur
