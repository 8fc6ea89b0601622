#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/kv_page_pool.h"

namespace augur {

/// The pages of some layers of a cache, by slot; those that lie before all that is still seen are given back.
/// A copy shares all pages; whoever is to write to a shared one writes to a copy of it. Without a pool (a
/// cache none of whose layers are of this kind) it stays empty. One thread at a time.
///
///   slots    0 .. 63    64 .. 127   128 .. 191   192 .. 255
///          +----------+-----------+------------+------------+
///   table  |   null   |     *     |     *      |     *      |   of a sequence
///          +----------+-----|-----+-----|------+-----|------+
///           given back      v           v            v
///                         page A      page B       page C     from the pool
///                           ^           ^
///          +----------+-----|-----+-----|------+------------+
///   table  |   null   |     *     |     *      |     *      |   of a copy, which has written to
///          +----------+-----------+------------+-----|------+   its last page
///                                                    v
///                                                  page D
class KvPages {
 public:
  KvPages() = default;
  /// `most`: pages that there may be at once.
  KvPages(std::shared_ptr<KvPagePool> pool, std::int64_t most);

  /// Null: none.
  const std::shared_ptr<KvPagePool>& pool() const { return pool_; }
  std::int64_t count() const { return std::ssize(pages_); }  ///< given back ones included
  /// The first so many were given back.
  std::int64_t given_back() const { return given_back_; }
  /// Addresses of the pages, as the kernels want them; null where one was given back.
  std::span<std::byte* const> table() const { return table_; }

  /// Pages [first, end) are there, and nobody else's. Those between the last and `first` are not, and count
  /// as given back.
  void make_writable(std::int64_t first, std::int64_t end);
  /// Another page in place of the first, or as the first.
  void replace_first(KvPage page);
  bool first_is_shared() const { return pages_.front().shared(); }
  /// Drops the pages from `count` on.
  void drop_from(std::int64_t count);
  /// Gives back the first `count` pages.
  void give_back_before(std::int64_t count);
  /// Takes over the first `count` pages of `other`, of the same pool, in place of what is here.
  void share(const KvPages& other, std::int64_t count);

 private:
  std::shared_ptr<KvPagePool> pool_;
  std::vector<KvPage> pages_;
  std::vector<std::byte*> table_;
  std::int64_t given_back_ = 0;
};

}  // namespace augur
