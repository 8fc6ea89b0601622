#include "serve/kv_budget.h"

#include <algorithm>

namespace augur {
namespace {

/// Slots that a step may take beside the text: trees are smaller nearly always.
constexpr std::int64_t kStepSlots = 128;
/// Rows of a text that one step reads at most.
constexpr std::int64_t kStepRows = 256;

/// Of a page from each of the pools that a sequence takes pages from.
std::int64_t page_bytes(const Sequence& sequence) {
  std::int64_t bytes = 0;
  sequence.for_page_pools([&](const KvPagePool& pool) { bytes += pool.page_bytes(); });
  return bytes;
}

/// `tokens` of a sequence, in whole pages, and one that may have to be copied before it is written to.
std::int64_t bytes_of(const Sequence& sequence, std::int64_t tokens) {
  return ((tokens + kStepSlots + kKvPageSlots - 1) / kKvPageSlots + 1) * page_bytes(sequence);
}

}  // namespace

void KvBudget::count(const Sequence& sequence) {
  sequence.for_page_pools([&](const KvPagePool& pool) {
    if (std::find(pools_.begin(), pools_.end(), &pool) == pools_.end()) pools_.push_back(&pool);
  });
}

std::int64_t KvBudget::most_tokens(const Sequence& sequence) const {
  return (bytes_ / page_bytes(sequence) - 1) * kKvPageSlots - kStepSlots;
}

std::int64_t KvBudget::growth(std::span<const Sequence* const> running) {
  std::int64_t bytes = 0;
  for (const Sequence* s : running) bytes += bytes_of(*s, std::min(s->tokens_to_run(), kStepRows));
  return bytes;
}

std::int64_t KvBudget::whole(const Sequence& sequence) {
  return bytes_of(sequence, sequence.tokens_to_run() + kKvPageSlots);
}

bool KvBudget::make_room(std::int64_t bytes) {
  while (in_use() + bytes > bytes_ && kept_.texts() > 0) kept_.drop_oldest();
  return in_use() + bytes <= bytes_;
}

std::int64_t KvBudget::in_use() const {
  std::int64_t bytes = kept_.row_bytes();
  for (const KvPagePool* pool : pools_) bytes += pool->pages_in_use() * pool->page_bytes();
  return bytes;
}

}  // namespace augur
