#include "decode/prefix_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace augur {
namespace {

const KvCache::Shape kShape{.layers = 1, .kv_heads = 1, .head_dim = 2, .capacity = 4096};

class PrefixCacheTest : public testing::Test {
 protected:
  static constexpr int kGroups[2] = {};
  static std::vector<TokenId> tokens(int first, int count) {
    std::vector<TokenId> out(static_cast<std::size_t>(count));
    std::iota(out.begin(), out.end(), first);
    return out;
  }
  static std::vector<TokenId> joined(std::vector<TokenId> a, const std::vector<TokenId>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  PrefixCache::Entry entry(std::int64_t length) {
    KvCache target(kShape, pools_);
    target.reserve(length).commit_all();
    return {.target = std::move(target)};
  }
  /// A text that begins with the first `shared` tokens of another.
  PrefixCache::Entry entry_behind(const KvCache& other, std::int64_t shared, std::int64_t length) {
    KvCache target(kShape, pools_);
    target.share(other, shared);
    target.reserve(length - shared).commit_all();
    return {.target = std::move(target)};
  }
  PrefixCache::Entry with_drafter(PrefixCache::Entry entry, const void* group, std::int64_t rows) {
    SequenceRows::Kept kept{.cache = KvCache(kShape, pools_)};
    kept.cache.reserve(rows).commit_all();
    entry.drafters.push_back({.group = group, .rows = std::move(kept)});
    return entry;
  }
  std::int64_t pages() const { return pools_.whole->pages_in_use(); }

  KvCache::Pools pools_ = KvCache::make_pools(kShape);
  PrefixCache cache_{1 << 30};
};

TEST_F(PrefixCacheTest, FindsTheLongestBeginningButForItsLastToken) {
  cache_.keep("", tokens(0, 100), entry(100));
  cache_.keep("", joined(tokens(0, 50), tokens(500, 80)), entry(130));
  cache_.keep("", tokens(300, 40), entry(40));
  EXPECT_EQ(cache_.entries(), 3u);
  EXPECT_EQ(cache_.find("", tokens(0, 100), {}).tokens, 99);
  EXPECT_EQ(cache_.find("", tokens(0, 200), {}).tokens, 99);
  EXPECT_EQ(cache_.find("", tokens(0, 30), {}).tokens, 29);
  EXPECT_EQ(cache_.find("", joined(tokens(0, 50), tokens(500, 20)), {}).tokens, 69);
  EXPECT_EQ(cache_.find("", joined(tokens(0, 50), tokens(490, 20)), {}).tokens, 49);
  EXPECT_EQ(cache_.find("", tokens(300, 100), {}).entry->target.length(), 40);
  EXPECT_EQ(cache_.find("", tokens(1, 100), {}).entry, nullptr);
  EXPECT_EQ(cache_.find("", tokens(0, 1), {}).tokens, 0);  // nothing is left of it
  EXPECT_EQ(cache_.find("", {}, {}).tokens, 0);
}

TEST_F(PrefixCacheTest, ATextTakesThePlaceOfItsBeginnings) {
  cache_.keep("", tokens(0, 100), entry(100));
  cache_.keep("", tokens(0, 300), entry(300));
  EXPECT_EQ(cache_.entries(), 1u);
  cache_.keep("", tokens(0, 200), entry(200));
  cache_.keep("", tokens(0, 300), entry(300));
  cache_.keep("", {}, entry(0));
  EXPECT_EQ(cache_.entries(), 1u);
  EXPECT_EQ(cache_.find("", tokens(0, 400), {}).tokens, 299);
}

TEST_F(PrefixCacheTest, CountsWhatTheDraftersKnow) {
  const void* const a = &kGroups[0];
  const void* const b = &kGroups[1];
  cache_.keep("", tokens(0, 100), with_drafter(entry(100), a, 100));
  cache_.keep("", tokens(0, 300), entry(300));
  EXPECT_EQ(cache_.entries(), 2u);  // the shorter one knows more
  EXPECT_EQ(cache_.find("", tokens(0, 400), {}).tokens, 299);
  const auto hit = cache_.find("", tokens(0, 400), {{a}});
  EXPECT_EQ(hit.tokens, 99);
  EXPECT_EQ(hit.entry->drafted_by(a)->rows.length(), 100);
  EXPECT_EQ(hit.entry->drafted_by(b), nullptr);
  EXPECT_EQ(cache_.find("", tokens(0, 400), {{b}}).tokens, 0);
  cache_.keep("", tokens(0, 300), with_drafter(entry(300), a, 250));
  EXPECT_EQ(cache_.entries(), 1u);
  EXPECT_EQ(cache_.find("", tokens(0, 400), {{a}}).tokens, 250);
}

TEST_F(PrefixCacheTest, SharedPagesCountOnceAndTheOldestGoFirst) {
  const std::int64_t page = pools_.whole->page_bytes();
  const PrefixCache::Entry first = entry(256);
  cache_.keep("", tokens(0, 256), first);
  cache_.keep("", joined(tokens(0, 192), tokens(900, 100)), entry_behind(first.target, 192, 292));
  cache_.keep("", tokens(400, 64), entry(64));
  EXPECT_EQ(cache_.bytes(), (4 + 2 + 1) * page);
  EXPECT_EQ(pages(), 7);
  EXPECT_EQ(cache_.find("", tokens(0, 256), {}).tokens, 255);  // used last
  cache_.drop_oldest();
  EXPECT_EQ(cache_.entries(), 2u);
  EXPECT_EQ(cache_.bytes(), 5 * page);
  EXPECT_EQ(pages(), 5);
  EXPECT_EQ(cache_.find("", joined(tokens(0, 192), tokens(900, 100)), {}).tokens, 191);
  while (cache_.entries() > 0) cache_.drop_oldest();
  EXPECT_EQ(cache_.entries(), 0u);
  EXPECT_EQ(cache_.bytes(), 0);
  EXPECT_EQ(pages(), 4);  // those of `first`
}

TEST_F(PrefixCacheTest, StaysWithinItsBytes) {
  PrefixCache small(3 * pools_.whole->page_bytes());
  for (int i = 0; i < 20; ++i) {
    small.keep("", tokens(1000 * i, 128), entry(128));
    EXPECT_LE(small.bytes(), 3 * pools_.whole->page_bytes());
    EXPECT_EQ(small.entries(), 1u);
  }
  small.keep("", tokens(7, 256), entry(256));  // larger than all there is
  EXPECT_EQ(small.entries(), 0u);
  EXPECT_EQ(pages(), 0);
}

// As when it is written to a file, while the text goes on: a block that nobody else holds any more is written
// to in place. The flag orders nothing between the threads, so that the sanitizer sees what the blocks' holds
// do.
TEST_F(PrefixCacheTest, TheRowsOfAKeptTextMayBeReadOnAnotherThread) {
  SequenceRows text(KvCache(kShape, pools_), std::make_shared<RowPool>(4));
  const auto append = [&](int round) {
    for (TokenId token = 0; token < 10; ++token)
      std::fill_n(text.append(token), 4, static_cast<float>(round));
  };
  append(0);
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> dropped = false;
    std::vector<float> rows;
    std::thread reader([kept = text.keep(10).features, &dropped, &rows]() mutable {
      std::exchange(kept, {}).copy_first(10, rows);
      dropped.store(true, std::memory_order_relaxed);
    });
    const bool waits = round % 2 == 0;
    while (waits && !dropped.load(std::memory_order_relaxed)) std::this_thread::yield();
    text.reset();
    append(round + 1);
    reader.join();
    EXPECT_EQ(rows, std::vector<float>(40, static_cast<float>(round)));
  }
}

/// Texts of a model one of whose layers sees a window of 100.
class WindowedPrefixCacheTest : public PrefixCacheTest {
 protected:
  static constexpr std::int64_t kWindow = 100;
  /// Keeps a text as it is read, whole pages at a time.
  void read(std::span<const TokenId> entry, std::int64_t chunk) {
    KvCache running(shape_, both_);
    for (std::int64_t end = chunk; end <= std::ssize(entry); end += chunk) {
      running.reserve(chunk).commit_all();
      cache_.keep("", entry.first(static_cast<std::size_t>(end)), {.target = running});
    }
  }
  std::int64_t windowed_pages() const { return both_.windowed->pages_in_use(); }

  KvCache::Shape shape_{
      .layers = 2, .kv_heads = 1, .head_dim = 2, .capacity = 8192, .windowed = {1, 0}, .window = kWindow};
  KvCache::Pools both_ = KvCache::make_pools(shape_);
};

TEST_F(WindowedPrefixCacheTest, FindsOnlyWhatCanBeGoneOnWith) {
  const std::vector<TokenId> entry = tokens(0, 2048);
  read(entry, 128);
  EXPECT_EQ(cache_.find("", joined(entry, tokens(9000, 10)), {}).tokens, 2047);
  for (const std::int64_t shared : {300, 700, 1111, 1900}) {
    const auto hit = cache_.find("", joined(tokens(0, shared), tokens(9000, 50)), {});
    EXPECT_LE(hit.tokens, shared - 1);
    EXPECT_GE(hit.tokens, shared - 1 - 512) << "a beginning that was kept apart is near";
    ASSERT_NE(hit.entry, nullptr) << shared;
    EXPECT_TRUE(hit.entry->target.holds(hit.tokens));
    KvCache resumed(shape_, both_);
    resumed.share(hit.entry->target, hit.tokens);
    resumed.reserve(10).commit_all();
    EXPECT_EQ(resumed.length(), hit.tokens + 10);
  }
  EXPECT_EQ(cache_.longest("", tokens(0, 2048)).tokens, 2048);
}

TEST_F(WindowedPrefixCacheTest, GivesAllBackInTheEnd) {
  read(tokens(0, 2048), 128);
  EXPECT_LT(cache_.entries(), 10u) << "not every page's beginning";
  while (cache_.entries() > 0) cache_.drop_oldest();
  EXPECT_EQ(cache_.bytes(), 0);
  EXPECT_EQ(windowed_pages(), 0);
  EXPECT_EQ(both_.whole->pages_in_use(), 0);
}

}  // namespace
}  // namespace augur
