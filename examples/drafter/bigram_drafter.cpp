#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/elementary.h"
#include "draft/common/accepted_tokens.h"
#include "draft/registry.h"

namespace augur {
namespace {

/// Proposes after a token what followed it before in the same text, the most frequent first.
class BigramDrafter final : public Drafter {
 public:
  std::string_view name() const override { return "bigram"; }
  DrafterTraits traits() const override { return {.has_probabilities = false}; }

  void reset() override {
    length_ = 0;
    followers_.clear();
  }

  void sync(const AcceptedRows& rows) override {
    append_accepted(rows, length_, [&](TokenId token) {
      if (length_++ > 0) count(followers_[newest_], token);
      newest_ = token;
    });
  }

  void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
              const ExpandOptions& options) override {
    int left = options.max_nodes;
    for (const std::int32_t node : frontier) {
      const auto found = followers_.find(tree.tokens()[static_cast<std::size_t>(node)]);
      if (found == followers_.end()) continue;
      const Followers& f = found->second;
      const auto children = std::min({static_cast<int>(f.counts.size()), options.top_k, left});
      left -= children;
      for (int i = 0; i < children; ++i) {
        const auto& [token, times] = f.counts[static_cast<std::size_t>(i)];
        // As if something else had followed once, too: seen once is not certain.
        const double probability = static_cast<double>(times) / (f.total + 1);
        tree.add(node, token, static_cast<float>(elementary::log(probability)), options.proposer);
      }
    }
  }

 private:
  struct Count {
    TokenId token;
    int times;
  };
  struct Followers {
    std::vector<Count> counts;  ///< the most frequent first
    int total = 0;
  };

  static void count(Followers& f, TokenId token) {
    ++f.total;
    auto at =
        std::find_if(f.counts.begin(), f.counts.end(), [&](const Count& c) { return c.token == token; });
    if (at == f.counts.end()) at = f.counts.insert(at, {token, 0});
    ++at->times;
    for (; at != f.counts.begin() && std::prev(at)->times < at->times; --at)
      std::iter_swap(at, std::prev(at));
  }

  std::int64_t length_ = 0;  ///< tokens of the text that it knows
  TokenId newest_ = -1;      ///< the last of them
  std::unordered_map<TokenId, Followers> followers_;
};

class BigramModel final : public DrafterModel {
 public:
  std::unique_ptr<Drafter> make(const DrafterSettings&) const override {
    return std::make_unique<BigramDrafter>();
  }
};

}  // namespace

std::unique_ptr<DrafterModel> load_bigram_drafter(const DrafterSource&) {
  return std::make_unique<BigramModel>();
}

}  // namespace augur
