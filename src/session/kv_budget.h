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

/// How much memory the texts of an engine may take together: the caches of sequences and of texts that are
/// kept, the rows that wait for their drafters, and what drafters learn. What is kept and learnt gives way to
/// what runs. One thread at a time.
class KvBudget {
 public:
  /// Of the texts of such a form, whose pools outlive it, as `kept` and `drafters` do. Of all bytes so many
  /// may be taken by what is kept and learnt.
  KvBudget(std::int64_t bytes, std::int64_t kept_bytes, const KeptTextForm& form, PrefixCache& kept,
           Drafters& drafters);
  /// Bytes without which no text fits that is worth serving: a page of tokens, and a step.
  static std::int64_t least(const KvCache& target);
  /// Drops what is kept and learnt beyond its share.
  void settle();

  /// Tokens that a text of this sequence may have so that it fits when nothing else is there, drafters
  /// neither: a text's length does not depend on what drafts.
  std::int64_t most_tokens(const Sequence& sequence) const;

  /// What the caches of `running`, and the rows that wait for their drafters, may grow by in the next step.
  static std::int64_t growth(std::span<const Sequence* const> running);
  /// What a sequence takes that has nothing yet, and a page more, or it might be the first to go again.
  static std::int64_t whole(const Sequence& sequence);
  /// Drops kept texts, then what is learnt, until so many more bytes fit. False: they do not fit even so.
  bool make_room(std::int64_t bytes);

  /// Drops all that is kept and learnt. False: there was nothing.
  bool drop_kept();

  /// The system has no more memory than is in use now, and so many bytes: others have taken what the budget
  /// was to have.
  void shrink(std::int64_t bytes);
  /// A step has found its memory: the budget grows again a little, towards what it was.
  void recover();

  std::int64_t in_use() const;
  /// What `running` take of it; pages and blocks of rows that several of them hold count once.
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
