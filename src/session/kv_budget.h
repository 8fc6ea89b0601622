#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "decode/prefix_cache.h"
#include "decode/sequence.h"
#include "draft/common/row_pool.h"
#include "engine/drafters.h"
#include "model/kv_cache.h"
#include "session/kept_text_file.h"

namespace augur {

/// The memory that the texts of an engine may take together: caches of sequences and of kept texts, rows that
/// wait for drafters, and what drafters learn. What is kept and learnt is dropped when running sequences need
/// its memory. For one thread at a time.
class KvBudget {
 public:
  /// `bytes`: the whole budget; `kept_bytes`: the part of it that kept texts and learnt data may take. `form`
  /// describes the caches; its pools, `kept` and `drafters` must outlive the budget.
  KvBudget(std::int64_t bytes, std::int64_t kept_bytes, const KeptTextForm& form, PrefixCache& kept,
           Drafters& drafters);
  /// The smallest useful budget in bytes: a page of tokens and one step.
  static std::int64_t least(const KvCache& target);
  /// Drops kept texts and learnt data beyond their part.
  void settle();

  /// Most tokens of a text of this sequence that fit when nothing else takes memory. Drafters are not
  /// counted, so that a text's length does not depend on what drafts.
  std::int64_t most_tokens(const Sequence& sequence) const;

  /// Bytes by which the caches of `running` and the rows that wait for their drafters may grow in the next
  /// step.
  static std::int64_t growth(std::span<const Sequence* const> running);
  /// Bytes that a sequence without a cache needs to begin, and one more page, so that it is not suspended
  /// again at once.
  static std::int64_t whole(const Sequence& sequence);
  /// Drops kept texts, then learnt data, until `bytes` more fit. Returns false if they do not fit even then.
  bool make_room(std::int64_t bytes);

  /// Drops all kept texts and learnt data. Returns false if there were none.
  bool drop_kept();

  /// Lowers the budget: other processes have taken memory, so the system has only `bytes` beyond what is in
  /// use now.
  void shrink(std::int64_t bytes);
  /// Raises a lowered budget a little towards its first value; called after a step that found its memory.
  void recover();

  std::int64_t in_use() const;
  /// Bytes of the budget that `running` hold; pages and blocks of rows that several of them share count once.
  std::int64_t held_by(std::span<const Sequence* const> running);

 private:
  const std::int64_t bytes_;
  std::int64_t bytes_now_;
  const std::int64_t kept_bytes_;
  PrefixCache& kept_;
  Drafters& drafters_;
  std::vector<const KvPagePool*> page_pools_;
  std::vector<const RowPool*> row_pools_;
  std::vector<std::pair<const std::byte*, std::int64_t>> held_;  ///< scratch: blocks and their bytes
};

}  // namespace augur
