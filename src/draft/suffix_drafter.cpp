#include "draft/suffix_drafter.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <utility>

#include "base/elementary.h"
#include "draft/common/accepted_tokens.h"
#include "draft/common/copy_odds.h"
#include "draft/lookup/earlier_outputs.h"
#include "draft/registry.h"

namespace augur {
namespace {

/// Children of a node that are looked at: of a frequent short match there may be thousands.
constexpr int kMostChildren = 64;
/// Nodes of a proposal, and candidates for it, that take no allocation.
constexpr std::size_t kReservedEntries = 256;

}  // namespace

SuffixDrafter::SuffixDrafter(std::shared_ptr<SuffixMemory> earlier, const Datastore* datastore,
                             const Options& options)
    : options_(options),
      own_(options.depth, options.own_nodes),
      earlier_(std::move(earlier)),
      own_view_(own_),
      earlier_view_(*earlier_),
      datastore_(datastore) {
  const auto tokens = static_cast<std::size_t>(options.reserved);
  tokens_.reserve(tokens);
  for (auto* entries : {&proposal_.entries, &best_.entries, &offered_}) entries->reserve(kReservedEntries);
  tree_nodes_.reserve(kReservedEntries);
  own_.newest().reserve(std::min(tokens * static_cast<std::size_t>(options.depth), options.own_nodes));
}

SuffixDrafter::~SuffixDrafter() {
  keep_output();
}

void SuffixDrafter::keep_output() noexcept {
  if (output_begin_ == 0 || !options_.keep_output) return;
  try {
    earlier_->insert(std::span(tokens_).subspan(output_begin_));
  } catch (const std::bad_alloc&) {  // then no more of it is kept
  }
}

void SuffixDrafter::reset() {
  keep_output();
  tokens_.clear();
  output_begin_ = 0;
  own_.clear();
  own_view_.clear();
  earlier_view_.clear();
}

void SuffixDrafter::append(TokenId token) {
  tokens_.push_back(token);
  own_view_.advance(tokens_, true);
  earlier_view_.advance(tokens_, false);
}

void SuffixDrafter::sync(const AcceptedRows& rows) {
  append_accepted(rows, std::ssize(tokens_), [&](TokenId token) { append(token); });
}

void SuffixDrafter::expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                           const ExpandOptions& options) {
  if (frontier.empty() || frontier.front() != DraftTree::kRoot || tokens_.empty()) return;
  if (output_begin_ == 0) output_begin_ = tokens_.size();  // drafting begins after the prompt
  earlier_view_.refresh(tokens_);
  const int budget = std::min(options.top_k, options.max_nodes);
  best_.score = 0.0f;
  for (const SuffixView* view : {&own_view_, &earlier_view_}) {
    for (const std::size_t which : {0u, 1u}) consider(*view, which, budget, options.branching);
  }
  if (datastore_ != nullptr) consider_datastore(budget, options.branching);
  if (best_.score <= 0.0f) return;
  tree_nodes_.clear();
  for (const Entry& e : best_.entries) {
    const std::int32_t parent =
        e.parent < 0 ? DraftTree::kRoot : tree_nodes_[static_cast<std::size_t>(e.parent)];
    const int match = best_.match + tree.depths()[static_cast<std::size_t>(parent)];
    const float log_prob = static_cast<float>(elementary::log(e.probability)) + copy_log_prob(match);
    tree_nodes_.push_back(tree.add(parent, e.token, log_prob, options.proposer));
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
      try_match({.trie = &trie, .node = suffixes[length], .occurrences = count}, longest, budget, branching);
    }
    --length;
  }
}

void SuffixDrafter::consider_datastore(int budget, bool branching) {
  std::int64_t known = 0;
  const auto longest = std::min<std::int64_t>(options_.longest_retrieval, std::ssize(tokens_));
  for (auto length = static_cast<int>(longest); length >= options_.shortest_retrieval; --length) {
    const Datastore::Range range =
        datastore_->find(std::span(tokens_).last(static_cast<std::size_t>(length)));
    if (range.count() == known) continue;  // the same places as of a longer match
    known = range.count();
    try_match({.range = range}, length, budget, branching);
    if (known >= options_.enough_occurrences) return;
  }
}

void SuffixDrafter::try_match(const Place& place, int match, int budget, bool branching) {
  grow(place, std::min(budget, options_.tokens_per_match * match), branching);
  proposal_.match = match;
  if (proposal_.score > best_.score) std::swap(proposal_, best_);
}

void SuffixDrafter::grow(const Place& place, int budget, bool branching) {
  const auto worse = [](const Entry& a, const Entry& b) { return a.path < b.path; };
  proposal_.entries.clear();
  proposal_.score = 0.0f;
  offered_.clear();
  offer_children(place, -1);
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
    offer_children(best.place, index);
    for (std::size_t end = before + 1; end <= offered_.size(); ++end) {
      std::push_heap(offered_.begin(), offered_.begin() + static_cast<std::ptrdiff_t>(end), worse);
    }
  }
}

void SuffixDrafter::offer_children(const Place& place, std::int32_t entry) {
  if (place.trie == nullptr) {
    datastore_->children(place.range, options_.least_probability, children_);
    for (const Datastore::Child& child : children_) {
      const auto share = static_cast<float>(child.range.count()) / static_cast<float>(place.range.count());
      offer(child.token, {.range = child.range}, entry, share);
    }
    return;
  }
  const SuffixTrie& trie = *place.trie;
  std::int32_t child = trie.first_child(place.node);
  for (int i = 0; i < kMostChildren && child != SuffixTrie::kNone; ++i, child = trie.next_sibling(child)) {
    const std::int32_t count = trie.count(child);
    const float share = static_cast<float>(count) / static_cast<float>(std::max(place.occurrences, 1));
    offer(trie.token(child), {.trie = &trie, .node = child, .occurrences = count}, entry, share);
  }
}

void SuffixDrafter::offer(TokenId token, const Place& place, std::int32_t entry, float share) {
  if (static_cast<double>(share) < options_.least_probability) return;
  const float path = entry < 0 ? 1.0f : proposal_.entries[static_cast<std::size_t>(entry)].path;
  const float probability = std::min(share, 1.0f);
  offered_.push_back({token, place, entry, probability, path * probability});
}

namespace {

class SuffixModel final : public DrafterModel {
 public:
  explicit SuffixModel(const DrafterSource& source) {
    if (!source.datastore.empty())
      datastore_.emplace(source.datastore, source.tokenizer, source.target.config().vocab);
  }
  std::unique_ptr<Drafter> make(const DrafterSettings& settings) const override {
    SuffixDrafter::Options options;
    options.reserved = settings.reserved_tokens();
    options.keep_output = settings.keep_output;
    return std::make_unique<SuffixDrafter>(earlier_.of(settings.owner), datastore_ ? &*datastore_ : nullptr,
                                           options);
  }
  void forget_learnt() override { earlier_.clear(); }
  std::int64_t learnt_bytes() const override { return earlier_.bytes(); }
  void limit_learnt(std::int64_t bytes) override { earlier_.limit(bytes); }
  bool drop_learnt() override { return earlier_.drop_oldest(); }

 private:
  mutable EarlierOutputs earlier_{SuffixDrafter::Options{}.depth};
  std::optional<Datastore> datastore_;
};

}  // namespace

std::unique_ptr<DrafterModel> load_suffix_drafter(const DrafterSource& source) {
  return std::make_unique<SuffixModel>(source);
}

}  // namespace augur
