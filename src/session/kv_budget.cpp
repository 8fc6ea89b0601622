#include "session/kv_budget.h"

#include <algorithm>

#include "draft/common/sequence_rows.h"
#include "draft/lookup/earlier_outputs.h"

namespace augur {
namespace {

/// Slots that a step may take beside the text: trees are smaller nearly always.
constexpr std::int64_t kStepSlots = 128;
/// Of them, those of which records are kept: the tree's.
constexpr std::int64_t kStepRecords = 32;
/// Rows of a text that one step reads at most.
constexpr std::int64_t kStepRows = 256;

/// What drafters learn may take this part of what is kept.
constexpr std::int64_t kLearntPart = 8;

/// So many slots in whole pages, and one that may have to be copied before it is written to.
std::int64_t pages_of(std::int64_t slots, std::int64_t page_slots = kKvPageSlots) {
  return (slots + page_slots - 1) / page_slots + 1;
}

/// Slots that layers with a window take at most.
std::int64_t most_slots(std::int64_t window) {
  return window + kStepRows + 2 * kKvPageSlots;
}

/// Whether a text takes the more pages the longer it is.
bool grows(const KvSpan& span) {
  return span.page_slots > 0 && span.window == 0;
}

/// Pages that a text takes that is so long with its step. Of states it has one, and another while a step
/// folds rows into it.
std::int64_t pages_of(const KvSpan& span, std::int64_t slots) {
  if (span.page_slots == 0) return 2;
  if (span.page_slots != kKvPageSlots) return pages_of(std::min(slots, kStepRecords), span.page_slots);
  return pages_of(grows(span) ? slots : std::min(slots, most_slots(span.window)));
}

/// Of a text's rows that wait for a drafter, where it runs none of them: beyond what may wait a step's rows
/// come before the first are run.
std::int64_t waiting_bytes(const RowPool& pool, std::int64_t tokens) {
  const std::int64_t may_wait =
      std::max(SequenceRows::kMostWaitingBytes / pool.row_bytes(), SequenceRows::kChunk);
  const std::int64_t rows = std::min(tokens, may_wait + kStepRows);
  return (rows / RowPool::kBlockRows + 2) * pool.block_bytes();  // neither end need be a block's
}

/// `tokens` of a sequence, and a step; of a text that `begins`, its state besides.
std::int64_t bytes_of(const Sequence& sequence, std::int64_t tokens, bool begins) {
  std::int64_t bytes = 0;
  sequence.for_page_pools([&](const KvPagePool& pool, const KvSpan& span) {
    const bool has_one = !begins && span.page_slots == 0;
    bytes += (pages_of(span, tokens + kStepSlots) - (has_one ? 1 : 0)) * pool.page_bytes();
  });
  sequence.for_row_pools([&](const RowPool& pool) { bytes += waiting_bytes(pool, tokens); });
  return bytes;
}

std::int64_t tokens_in(std::int64_t bytes, std::int64_t page_bytes) {
  return (bytes / page_bytes - 1) * kKvPageSlots - kStepSlots;
}

}  // namespace

std::int64_t KvBudget::least(const KvCache& target) {
  std::int64_t bytes = 0;
  target.for_pools([&](const KvPagePool& pool, const KvSpan& span) {
    bytes += pages_of(span, kKvPageSlots + kStepSlots) * pool.page_bytes();
  });
  return bytes;
}

KvBudget::KvBudget(std::int64_t bytes, std::int64_t kept_bytes, const KeptTextForm& form, PrefixCache& kept,
                   Drafters& drafters)
    : bytes_(bytes), bytes_now_(bytes), kept_bytes_(kept_bytes), kept_(kept), drafters_(drafters) {
  const auto count = [](auto& pools, const auto& pool) {
    if (std::find(pools.begin(), pools.end(), &pool) == pools.end()) pools.push_back(&pool);
  };
  const auto count_pages = [&](const KvPagePool& pool, const KvSpan&) { count(page_pools_, pool); };
  form.target.for_pools(count_pages);
  for (const EngineAccess::RowKeeper& drafter : form.drafters) {
    drafter.cache.for_pools(count_pages);
    if (drafter.features != nullptr) count(row_pools_, *drafter.features);
  }
}

std::int64_t KvBudget::most_tokens(const Sequence& sequence) const {
  constexpr std::int64_t kAny = std::int64_t{1} << 40;
  std::int64_t all = 0;       // a page of every pool whose pages are of as many slots
  std::int64_t whole = 0;     // of those alone that keep everything
  std::int64_t windowed = 0;  // what the others take at most
  std::int64_t states = 0;    // what is taken whatever the length
  sequence.for_target_pools([&](const KvPagePool& pool, const KvSpan& span) {
    if (grows(span)) {
      whole += pool.page_bytes();
    } else {
      const bool paged = span.page_slots == kKvPageSlots;
      (paged ? windowed : states) += pages_of(span, kAny) * pool.page_bytes();
      if (!paged) return;
    }
    all += pool.page_bytes();
  });
  const std::int64_t bytes = bytes_ - states;
  const std::int64_t short_text = all == 0 ? (bytes < 0 ? 0 : kAny) : tokens_in(bytes, all);
  if (windowed == 0 || windowed > bytes) return short_text;
  return std::max(short_text, whole == 0 ? kAny : tokens_in(bytes - windowed, whole));
}

std::int64_t KvBudget::growth(std::span<const Sequence* const> running) {
  std::int64_t bytes = 0;
  for (const Sequence* s : running) bytes += bytes_of(*s, std::min(s->tokens_to_run(), kStepRows), false);
  return bytes;
}

std::int64_t KvBudget::whole(const Sequence& sequence) {
  return bytes_of(sequence, sequence.tokens_to_run() + kKvPageSlots, true);
}

bool KvBudget::make_room(std::int64_t bytes) {
  while (in_use() + bytes > bytes_now_ && kept_.entries() > 0) kept_.drop_oldest();
  while (in_use() + bytes > bytes_now_ && drafters_.drop_learnt()) {
  }
  return in_use() + bytes <= bytes_now_;
}

bool KvBudget::drop_kept() {
  bool dropped = kept_.entries() > 0;
  while (kept_.entries() > 0) kept_.drop_oldest();
  while (drafters_.drop_learnt()) dropped = true;
  return dropped;
}

void KvBudget::shrink(std::int64_t bytes) {
  bytes_now_ = std::min(bytes_now_, in_use() + bytes);
}

void KvBudget::recover() {
  constexpr std::int64_t kSteps = 256;  // to grow from nothing
  bytes_now_ = bytes_ - bytes_now_ <= bytes_ / kSteps ? bytes_ : bytes_now_ + bytes_ / kSteps;
}

void KvBudget::settle() {
  drafters_.limit_learnt(std::min(kept_bytes_ / kLearntPart, EarlierOutputs::kUsualBytes));
  kept_.limit(kept_bytes_ - drafters_.learnt_bytes());
}

std::int64_t KvBudget::in_use() const {
  std::int64_t bytes = kept_.token_bytes() + drafters_.learnt_bytes();
  for (const KvPagePool* pool : page_pools_) bytes += pool->pages_in_use() * pool->page_bytes();
  for (const RowPool* pool : row_pools_) bytes += pool->bytes_in_use();
  return bytes;
}

std::int64_t KvBudget::held_by(std::span<const Sequence* const> running) {
  held_.clear();
  for (const Sequence* s : running) {
    s->for_blocks([&](const std::byte* block, std::int64_t bytes) { held_.emplace_back(block, bytes); });
  }
  std::sort(held_.begin(), held_.end());
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (i == 0 || held_[i].first != held_[i - 1].first) bytes += held_[i].second;
  }
  return bytes;
}

}  // namespace augur
