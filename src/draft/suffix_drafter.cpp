#include "draft/suffix_drafter.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "draft/copy_odds.h"
#include "draft/registry.h"

namespace augur {
namespace {

/// Children of a node that are looked at: of a frequent short match there may be thousands.
constexpr int kMostChildren = 64;
/// Nodes of the tries over earlier outputs.
constexpr std::size_t kEarlierNodes = std::size_t{1} << 21;

}  // namespace

SuffixDrafter::SuffixDrafter(SuffixMemory& earlier, const Options& options)
    : options_(options),
      own_(options.depth, options.own_nodes),
      earlier_(earlier),
      own_view_(own_),
      earlier_view_(earlier) {}

SuffixDrafter::~SuffixDrafter() {
  keep_output();
}

void SuffixDrafter::keep_output() {
  if (output_begin_ > 0) earlier_.insert(std::span(text_).subspan(output_begin_));
}

void SuffixDrafter::reset() {
  keep_output();
  text_.clear();
  output_begin_ = 0;
  own_.clear();
  own_view_.clear();
  earlier_view_.clear();
}

void SuffixDrafter::append(TokenId token) {
  text_.push_back(token);
  own_view_.advance(text_, true);
  earlier_view_.advance(text_, false);
}

void SuffixDrafter::sync(const AcceptedRows& rows) {
  // The last call's `next` is this call's first token.
  const auto known = static_cast<std::int64_t>(text_.size()) - rows.first_position;
  assert(known >= 0);
  const auto skip = static_cast<std::size_t>(std::clamp<std::int64_t>(known, 0, std::ssize(rows.tokens)));
  for (const TokenId token : rows.tokens.subspan(skip)) append(token);
  if (known <= std::ssize(rows.tokens)) append(rows.next);
}

void SuffixDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                           const ExpandOptions& options) {
  if (frontier.empty() || frontier.front() != DraftTree::kRoot || text_.empty()) return;
  if (output_begin_ == 0) output_begin_ = text_.size();  // drafting begins after the prompt
  earlier_view_.refresh(text_);
  const int budget = std::min(options.top_k, options.max_nodes);
  best_.score = 0.0f;
  for (const SuffixView* view : {&own_view_, &earlier_view_}) {
    for (const std::size_t which : {0u, 1u}) consider(*view, which, budget, options.branching);
  }
  if (best_.score <= 0.0f) return;
  tree_nodes_.clear();
  for (const Entry& e : best_.entries) {
    const std::int32_t parent =
        e.parent < 0 ? DraftTree::kRoot : tree_nodes_[static_cast<std::size_t>(e.parent)];
    const int match = best_.match + tree.depths()[static_cast<std::size_t>(parent)];
    const float log_prob = std::log(e.probability) + copy_log_prob(match);
    tree_nodes_.push_back(tree.add(parent, best_.trie->token(e.node), log_prob, options.proposer));
  }
}

/// Tries every match in one trie. Matches with the same number of occurrences are followed by the same
/// tokens: the longest says how many to draft, the shortest has the most levels left below it.
void SuffixDrafter::consider(const SuffixView& view, std::size_t which, int budget, bool branching) {
  const SuffixTrie& trie = view.trie(which);
  const SuffixTrie::Suffixes& suffixes = view.suffixes(which);
  // Here the end of the text itself is an occurrence that nothing has followed yet.
  const std::int32_t itself = &view == &own_view_ && which == 0 ? 1 : 0;
  const auto occurrences = [&](std::size_t length) {
    const std::int32_t node = suffixes[length];
    if (node == SuffixTrie::kNone || trie.first_child(node) == SuffixTrie::kNone) return 0;
    return trie.count(node) - itself;
  };
  for (std::size_t length = suffixes.size() - 1; length > 0;) {
    const std::int32_t count = occurrences(length);
    const auto longest = static_cast<int>(length);
    while (length > 1 && occurrences(length - 1) == count) --length;
    if (count > 0) {
      grow(trie, suffixes[length], count, std::min(budget, options_.tokens_per_match * longest), branching);
      proposal_.match = longest;
      if (proposal_.score > best_.score) std::swap(proposal_, best_);
    }
    --length;
  }
}

void SuffixDrafter::grow(const SuffixTrie& trie, std::int32_t node, std::int32_t occurrences, int budget,
                         bool branching) {
  const auto worse = [](const Entry& a, const Entry& b) { return a.path < b.path; };
  proposal_.trie = &trie;
  proposal_.entries.clear();
  proposal_.score = 0.0f;
  offered_.clear();
  offer_children(trie, node, occurrences, -1);
  std::make_heap(offered_.begin(), offered_.end(), worse);
  while (!offered_.empty() && std::ssize(proposal_.entries) < budget) {
    std::pop_heap(offered_.begin(), offered_.end(), worse);
    const Entry best = offered_.back();
    offered_.pop_back();
    if (!branching) offered_.clear();
    const auto index = static_cast<std::int32_t>(proposal_.entries.size());
    proposal_.entries.push_back(best);
    proposal_.score += best.path;
    const std::size_t before = offered_.size();
    offer_children(trie, best.node, trie.count(best.node), index);
    for (std::size_t end = before + 1; end <= offered_.size(); ++end) {
      std::push_heap(offered_.begin(), offered_.begin() + static_cast<std::ptrdiff_t>(end), worse);
    }
  }
}

void SuffixDrafter::offer_children(const SuffixTrie& trie, std::int32_t node, std::int32_t occurrences,
                                   std::int32_t entry) {
  const float path = entry < 0 ? 1.0f : proposal_.entries[static_cast<std::size_t>(entry)].path;
  std::int32_t child = trie.first_child(node);
  for (int i = 0; i < kMostChildren && child != SuffixTrie::kNone; ++i, child = trie.next_sibling(child)) {
    const float p = static_cast<float>(trie.count(child)) / static_cast<float>(std::max(occurrences, 1));
    if (static_cast<double>(p) < options_.least_probability) continue;
    const float probability = std::min(p, 1.0f);
    offered_.push_back({child, entry, probability, path * probability});
  }
}

namespace {

class SuffixModel final : public DrafterModel {
 public:
  std::unique_ptr<Drafter> make(const DrafterSettings&) const override {
    return std::make_unique<SuffixDrafter>(earlier_, SuffixDrafter::Options{});
  }

 private:
  mutable SuffixMemory earlier_{SuffixDrafter::Options{}.depth, kEarlierNodes};
};

}  // namespace

std::unique_ptr<DrafterModel> load_suffix_drafter(const DrafterSource&) {
  return std::make_unique<SuffixModel>();
}

}  // namespace augur
