#pragma once
#include <string_view>
#include <vector>

#include "draft/drafter.h"
#include "text/tokenizer.h"

namespace augur {

/// Jump-ahead (XGrammar, Dong et al., 2024; SGLang, Zheng et al., 2024): proposes the only continuation that
/// the sequence's grammar allows. If only one token may come next, it proposes that token; if the next bytes
/// are known, the longest token that they begin with. One branch from the root. Unlike in these papers the
/// tokens are only proposed: the target draws under the same masks, and may divide the same bytes into other
/// tokens. Proposes nothing without a grammar.
class GrammarDrafter final : public Drafter {
 public:
  /// `tokenizer` must outlive it.
  explicit GrammarDrafter(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  std::string_view name() const override { return "grammar"; }
  DrafterTraits traits() const override { return {.one_shot = true, .has_probabilities = false}; }
  void reset() override {}
  void sync(const AcceptedRows&) override {}
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier, const ExpandOptions& options) override;

 private:
  const Tokenizer& tokenizer_;
  std::vector<TokenId> legal_;  ///< scratch
};

}  // namespace augur
