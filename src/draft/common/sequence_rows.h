#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "draft/common/row_batch.h"
#include "draft/common/row_pool.h"
#include "draft/common/shared_rows.h"
#include "draft/drafter.h"
#include "model/kv_cache.h"
#include "tree/drafter_traits.h"

namespace augur {

/// The text in a drafter's own cache, and the rows of it that wait to be run. A row is a token and, for
/// drafters that read the target's hidden states, width() features. Rows wait from sync() until a forward
/// takes them along: then begin() adds them to its batch and commit() keeps them. One thread at a time.
class SequenceRows {
 public:
  /// Waiting rows beyond so many are best run in a forward of their own: they would make the round's too
  /// long.
  static constexpr std::int64_t kChunk = kSequenceChunk;
  /// Features that may wait of a sequence: of a longer one the first are to be run, whoever drafts.
  static constexpr std::int64_t kMostWaitingBytes = std::int64_t{64} << 20;

  /// `features`: where rows of features wait; null: a row is a token alone.
  explicit SequenceRows(KvCache cache, std::shared_ptr<RowPool> features = nullptr);

  std::int64_t length() const { return cache_.length() + waiting(); }  ///< rows that it knows
  std::int64_t width() const { return static_cast<std::int64_t>(features_.width()); }
  std::int64_t waiting() const { return std::ssize(tokens_); }
  KvCache& cache() { return cache_; }
  const KvCache& cache() const { return cache_; }

  void reset();

  /// One more row, which waits. Returns its features, to be filled [width]; valid until the next
  /// call.
  float* append(TokenId token);
  /// Appends the features of the first `count` rows that wait to `to`. [count, width]
  void copy_features(std::int64_t count, std::vector<float>& to) const { features_.copy_first(count, to); }

  /// Whether a chunk of rows waits that should, and can, be run on its own.
  bool has_chunk() const { return waiting() > kChunk && cache_.room() >= kChunk; }
  /// Whether more features wait than may.
  bool crowded() const {
    return waiting() * width() * static_cast<std::int64_t>(sizeof(float)) > kMostWaitingBytes;
  }
  /// The memory of rows of features; null: there are none.
  const std::shared_ptr<RowPool>& pool() const { return features_.pool(); }
  /// Calls call(address, bytes) for every page of the cache and every block of features.
  template <class Call>
  void for_blocks(const Call& call) const {
    cache_.for_pages(call);
    features_.for_blocks(call);
  }

  /// Adds the first `count` waiting rows to the forward being collected, and `fillers` rows behind them whose
  /// keys and values are not kept. Returns the first row. Error when the cache has no room for them.
  int begin(RowBatch& batch, std::int64_t count, std::int64_t fillers = 0, TokenId filler = 0);
  /// Rows that begin() added to a forward and commit() has not kept yet; 0: none.
  std::int64_t in_flight() const { return in_flight_; }
  /// The rows have run: they are in the cache now and wait no longer.
  void commit();
  /// They have not, and go on waiting. Nothing when no rows are in flight.
  void roll_back();

  /// All that is known of a sequence, for those that begin with the same tokens.
  struct Kept {
    KvCache cache;
    std::vector<TokenId> tokens;  ///< those that waited, and their features
    SharedRows features;

    std::int64_t length() const { return cache.length() + std::ssize(tokens); }
    /// Whether the first `length` rows can be gone on with.
    bool holds(std::int64_t length) const { return length >= cache.length() || cache.holds(length); }
  };
  /// Whether the first `length` rows can be kept (KvCache::holds).
  bool holds(std::int64_t length) const { return length >= cache_.length() || cache_.holds(length); }
  /// The first `length` rows, which it holds(); shares the cache's pages and the features that wait. Not
  /// while rows are in flight.
  Kept keep(std::int64_t length) const;
  /// Begins with the first `length` rows of what was kept, which it holds(), in place of what is here. The
  /// last of them cannot be rewound.
  void resume(const Kept& kept, std::int64_t length);

  /// Lets the newest row in the cache wait again, for drafting a second time from one root. Not while others
  /// wait.
  void rewind();

 private:
  KvCache cache_;
  std::vector<TokenId> tokens_;
  SharedRows features_;  ///< of the waiting rows
  std::optional<KvTxn> txn_;
  std::int64_t in_flight_ = 0;
  TokenId newest_ = -1;  ///< of the rows in the cache
  std::vector<float> newest_features_;
};

}  // namespace augur
