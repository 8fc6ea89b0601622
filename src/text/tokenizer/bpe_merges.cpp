#include "text/tokenizer/bpe_merges.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <queue>

namespace augur {
namespace {

// Words up to this length are merged by scanning for the best pair: quadratic, yet faster than a queue.
constexpr std::size_t kShortWord = 48;
constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

std::uint64_t key_of(TokenId left, TokenId right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(right);
}

}  // namespace

BpeMerges::BpeMerges(std::size_t expected_rules) : mask_(0) {
  grow(std::bit_ceil(2 * expected_rules + 2));
}

std::size_t BpeMerges::home(std::uint64_t pair) const {
  return static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15ull) >> 20) & mask_;
}

void BpeMerges::grow(std::size_t slots) {
  std::vector<Slot> old(slots);
  old.swap(slots_);
  mask_ = slots - 1;
  count_ = 0;
  for (const Slot& slot : old)
    if (slot.pair != kEmpty)
      add(static_cast<TokenId>(slot.pair >> 32), static_cast<TokenId>(slot.pair & 0xFFFFFFFFu), slot.rank,
          slot.result);
}

void BpeMerges::add(TokenId left, TokenId right, std::uint32_t rank, TokenId result) {
  if (2 * (count_ + 1) > slots_.size()) grow(2 * slots_.size());
  const std::uint64_t pair = key_of(left, right);
  std::size_t i = home(pair);
  while (slots_[i].pair != kEmpty && slots_[i].pair != pair) i = (i + 1) & mask_;
  count_ += slots_[i].pair == kEmpty;
  slots_[i] = {pair, rank, result};
}

const BpeMerges::Slot* BpeMerges::find(TokenId left, TokenId right) const {
  const std::uint64_t pair = key_of(left, right);
  for (std::size_t i = home(pair); slots_[i].pair != kEmpty; i = (i + 1) & mask_)
    if (slots_[i].pair == pair) return &slots_[i];
  return nullptr;
}

void BpeMerges::apply(std::vector<TokenId>& symbols) const {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShortWord)
    apply_short(symbols);
  else
    apply_long(symbols);
}

void BpeMerges::apply_short(std::vector<TokenId>& symbols) const {
  std::array<const Slot*, kShortWord> rules;  // rules[i]: for the pair (i, i + 1)
  std::size_t count = symbols.size();
  for (std::size_t i = 0; i + 1 < count; ++i) rules[i] = find(symbols[i], symbols[i + 1]);
  while (count > 1) {
    std::size_t best = count;
    std::uint32_t rank = kNoRank;
    for (std::size_t i = 0; i + 1 < count; ++i) {
      if (rules[i] != nullptr && rules[i]->rank < rank) {
        rank = rules[i]->rank;
        best = i;
      }
    }
    if (best == count) break;
    symbols[best] = rules[best]->result;
    for (std::size_t i = best + 1; i + 1 < count; ++i) symbols[i] = symbols[i + 1];
    for (std::size_t i = best + 1; i + 2 < count; ++i) rules[i] = rules[i + 1];
    --count;
    if (best + 1 < count) rules[best] = find(symbols[best], symbols[best + 1]);
    if (best > 0) rules[best - 1] = find(symbols[best - 1], symbols[best]);
  }
  symbols.resize(count);
}

void BpeMerges::apply_long(std::vector<TokenId>& symbols) const {
  struct Candidate {
    std::uint32_t rank;
    std::uint32_t position;  // of the left symbol
    std::uint64_t pair;      // what stood there when this was queued
    TokenId result;
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };
  struct Link {
    std::int64_t previous, next;
  };
  const auto count = static_cast<std::int64_t>(symbols.size());
  std::vector<Link> links(symbols.size());
  for (std::int64_t i = 0; i < count; ++i) links[static_cast<std::size_t>(i)] = {i - 1, i + 1};
  const auto symbol = [&](std::int64_t i) -> TokenId& { return symbols[static_cast<std::size_t>(i)]; };
  const auto link = [&](std::int64_t i) -> Link& { return links[static_cast<std::size_t>(i)]; };

  constexpr TokenId kGone = -1;  // merged into its left neighbour
  std::vector<Candidate> storage;
  storage.reserve(symbols.size());
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue(std::greater<>{},
                                                                               std::move(storage));
  const auto offer = [&](std::int64_t left, std::int64_t right) {
    if (left < 0 || right >= count) return;
    if (const Slot* rule = find(symbol(left), symbol(right)))
      queue.push({rule->rank, static_cast<std::uint32_t>(left), rule->pair, rule->result});
  };
  for (std::int64_t i = 0; i + 1 < count; ++i) offer(i, i + 1);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    const std::int64_t left = top.position;
    if (symbol(left) == kGone) continue;
    const std::int64_t right = link(left).next;
    if (right >= count || key_of(symbol(left), symbol(right)) != top.pair) continue;
    symbol(left) = top.result;
    symbol(right) = kGone;
    link(left).next = link(right).next;
    if (link(right).next < count) link(link(right).next).previous = left;
    offer(link(left).previous, left);
    offer(left, link(left).next);
  }
  symbols.erase(std::remove(symbols.begin(), symbols.end(), kGone), symbols.end());
}

}  // namespace augur
