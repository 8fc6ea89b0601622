#include "draft/lookup/ngram_index.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "draft/common/copy_odds.h"

namespace augur {
namespace {

constexpr std::size_t kFirstSlots = 1024;

/// Hash of an n-gram read from its end, extended one token to the left at a time. 0 for the empty one.
std::uint64_t extend(std::uint64_t hash, TokenId token) {
  std::uint64_t h =
      hash ^ (static_cast<std::uint64_t>(static_cast<std::uint32_t>(token)) + 0x9e3779b97f4a7c15u);
  h *= 0xbf58476d1ce4e5b9u;
  return h ^ (h >> 29);
}

}  // namespace

NgramIndex::NgramIndex(int min, int max, std::int64_t reserved) : min_(min), max_(max) {
  if (min < 1 || max < min) {
    throw Error(refused("speculative"),
                "ngram drafter: lengths {} to {} are not possible; expected 1 <= min <= max", min, max);
  }
  const auto tokens = static_cast<std::size_t>(reserved);
  tokens_.reserve(tokens);
  const std::size_t ngrams = tokens * static_cast<std::size_t>(max - min + 1);
  slots_.resize(std::max(kFirstSlots, std::bit_ceil(2 * (ngrams + 1))));
}

void NgramIndex::clear() {
  tokens_.clear();
  std::fill(slots_.begin(), slots_.end(), Slot{});
  used_ = 0;
}

void NgramIndex::append(TokenId token) {
  // The n-grams that end where the text ended now have a continuation, and only now can they be found: so the
  // suffix itself never is.
  const auto size = static_cast<int>(tokens_.size());
  std::uint64_t hash = 0;
  for (int n = 1; n <= std::min(max_, size); ++n) {
    hash = extend(hash, tokens_[static_cast<std::size_t>(size - n)]);
    if (n >= min_) insert(hash, size);
  }
  tokens_.push_back(token);
}

NgramIndex::Match NgramIndex::find() const {
  const auto size = static_cast<int>(tokens_.size());
  Match best;
  std::uint64_t hash = 0;
  for (int n = 1; n <= std::min(max_, size); ++n) {
    hash = extend(hash, tokens_[static_cast<std::size_t>(size - n)]);
    if (n < min_) continue;
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (slots_[i].next >= 0 && slots_[i].key != hash) i = (i + 1) & mask;
    const std::int32_t next = slots_[i].next;
    if (next < n) continue;  // empty, or another n-gram of the same hash
    const auto suffix = tokens_.end() - n;
    if (std::equal(suffix, tokens_.end(), tokens_.begin() + (next - n))) best = {next, n};
  }
  while (best.length > 0 && best.length < kLongestMatch && best.length < best.next &&
         tokens_[static_cast<std::size_t>(best.next - best.length - 1)] ==
             tokens_[static_cast<std::size_t>(size - best.length - 1)]) {
    ++best.length;
  }
  return best;
}

void NgramIndex::insert(std::uint64_t key, std::int32_t next) {
  if (2 * (used_ + 1) > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = key & mask;
  while (slots_[i].next >= 0 && slots_[i].key != key) i = (i + 1) & mask;
  if (slots_[i].next < 0) ++used_;
  slots_[i] = {key, next};
}

void NgramIndex::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  used_ = 0;
  for (const Slot& slot : old) {
    if (slot.next >= 0) insert(slot.key, slot.next);
  }
}

}  // namespace augur
