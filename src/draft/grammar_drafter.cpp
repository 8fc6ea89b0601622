#include "draft/grammar_drafter.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "draft/common/mask_tree.h"
#include "draft/registry.h"
#include "sampling/token_mask.h"

namespace augur {
namespace {

/// Where bytes are known, no more tokens than those that begin like them are legal.
constexpr std::size_t kMostLegal = 64;
/// Of a token that its bytes are cut into: a guess, as the model may cut them otherwise.
constexpr float kUsualCut = -0.05f;

}  // namespace

void GrammarDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                            const ExpandOptions& options) {
  if (options.masks == nullptr || frontier.empty() || frontier.front() != DraftTree::kRoot) return;
  MaskTree& masks = *options.masks;
  std::int32_t node = DraftTree::kRoot;
  std::int32_t state = MaskTree::kRoot;
  std::string known;  // bytes behind the state
  for (int left = std::min(options.top_k, options.max_nodes); left > 0 && !masks.ended(state); --left) {
    if (!list_few(masks.allowed(state), kMostLegal, legal_) || legal_.empty()) return;
    TokenId token = legal_.front();
    const bool certain = legal_.size() == 1;
    std::size_t length = 0;
    if (certain) {
      length = tokenizer_.token_bytes(token).size();
    } else {
      if (known.empty()) known = masks.forced(state);
      for (const TokenId candidate : legal_) {
        const std::string bytes =
            candidate < tokenizer_.vocab_size() ? tokenizer_.token_bytes(candidate) : "";
        if (bytes.size() <= length || !known.starts_with(bytes)) continue;
        token = candidate;
        length = bytes.size();
      }
      if (length == 0) return;
    }
    known.erase(0, std::min(length, known.size()));
    state = masks.after(state, token);
    if (state == MaskTree::kIllegal || masks.ended(state)) return;  // an end needs no row of its own
    node = tree.add(node, token, certain ? 0.0f : kUsualCut, options.proposer);
  }
}

namespace {

class GrammarDrafterModel final : public DrafterModel {
 public:
  explicit GrammarDrafterModel(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  std::unique_ptr<Drafter> make(const DrafterSettings&) const override {
    return std::make_unique<GrammarDrafter>(tokenizer_);
  }

 private:
  const Tokenizer& tokenizer_;
};

}  // namespace

std::unique_ptr<DrafterModel> load_grammar_drafter(const DrafterSource& source) {
  return std::make_unique<GrammarDrafterModel>(source.tokenizer);
}

}  // namespace augur
