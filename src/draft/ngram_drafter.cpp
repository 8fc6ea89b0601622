#include "draft/ngram_drafter.h"

#include <algorithm>

#include "draft/common/accepted_tokens.h"
#include "draft/common/copy_odds.h"
#include "draft/registry.h"

namespace augur {

void NgramDrafter::sync(const AcceptedRows& rows) {
  append_accepted(rows, std::ssize(index_.tokens()), [&](TokenId token) { index_.append(token); });
}

void NgramDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                          const ExpandOptions& options) {
  if (frontier.empty() || frontier.front() != DraftTree::kRoot) return;
  const NgramIndex::Match match = index_.find();
  if (match.length == 0) return;
  const std::span<const TokenId> tokens = index_.tokens();
  const std::size_t period = tokens.size() - static_cast<std::size_t>(match.next);
  std::int32_t node = DraftTree::kRoot;
  const int count = std::min(options.top_k, options.max_nodes);
  for (int i = 0; i < count; ++i) {
    const std::size_t from = static_cast<std::size_t>(match.next) + static_cast<std::size_t>(i) % period;
    node = tree.add(node, tokens[from], copy_log_prob(match.length + i), options.proposer);
  }
}

namespace {

class NgramModel final : public DrafterModel {
 public:
  std::unique_ptr<Drafter> make(const DrafterSettings& settings) const override {
    return std::make_unique<NgramDrafter>(settings.ngram_min, settings.ngram_max, settings.reserved_tokens());
  }
};

}  // namespace

std::unique_ptr<DrafterModel> load_ngram_drafter(const DrafterSource&) {
  return std::make_unique<NgramModel>();
}

}  // namespace augur
