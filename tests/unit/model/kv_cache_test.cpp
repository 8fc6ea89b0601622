#include "model/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/error.h"
#include "support/error_of.h"
#include "unit/kernels/attention_fixture.h"

namespace augur {
namespace {

constexpr int kLayers = 2;
constexpr int kHeads = 3;
constexpr int kDim = 6;

KvCache make(std::int64_t capacity, DType type = DType::BF16) {
  return KvCache(
      {.layers = kLayers, .kv_heads = kHeads, .head_dim = kDim, .capacity = capacity, .type = type});
}

/// What slot `slot` is filled with: different for every layer, head and element, exact in bf16.
float mark(std::int64_t token, int layer, int head, int element) {
  return static_cast<float>((token * 7 + layer * 31 + head * 13 + element) % 251);
}

void write(const KvCache& cache, std::int64_t slot, std::int64_t token) {
  for (int layer = 0; layer < kLayers; ++layer) {
    const KvLayerView view = cache.layer(layer);
    for (int head = 0; head < kHeads; ++head) {
      float key[kDim];
      float value[kDim];
      for (int i = 0; i < kDim; ++i) {
        key[i] = mark(token, layer, head, i);
        value[i] = -mark(token, layer, head, i);
      }
      kv_store(view, head, slot, key, value);
    }
  }
}

/// True when slot `slot` holds exactly what write() of `token` puts there: compares with a fresh cache.
bool holds(const KvCache& cache, std::int64_t slot, std::int64_t token) {
  KvCache reference(
      {.layers = kLayers, .kv_heads = kHeads, .head_dim = kDim, .capacity = 16, .type = cache.shape().type});
  KvTxn txn = reference.reserve(16);
  write(reference, 0, token);
  const KvCache copy = [&] {
    KvCache c = make(16, cache.shape().type);
    c.reserve(16).commit_all();
    return c;
  }();
  const std::size_t element = cache.shape().type == DType::BF16 ? 2 : 4;
  for (int layer = 0; layer < kLayers; ++layer) {
    // The panel of 16 slots that holds `slot`, moved to the start of a small cache, then its slot to 0.
    const KvLayerView from = cache.layer(layer);
    const KvLayerView to = copy.layer(layer);
    const KvLayerView expected = reference.layer(layer);
    const std::size_t panel = 16 * kDim * element;
    const std::byte* const from_page = from.pages[slot / kKvPageSlots];
    const std::int64_t at = slot % kKvPageSlots / 16 * static_cast<std::int64_t>(panel);
    for (int head = 0; head < kHeads; ++head) {
      const std::int64_t of_head = head * kv_head_bytes(from);
      std::memcpy(to.pages[0] + to.k + of_head, from_page + from.k + of_head + at, panel);
      std::memcpy(to.pages[0] + to.v + of_head, from_page + from.v + of_head + at, panel);
    }
    if (slot % 16 != 0) kv_move(to, slot % 16, 0);
    // Clear what lies behind slot 0 in both by writing the same marks there.
    for (int s = 1; s < 16; ++s) {
      kv_move(to, 0, s);
      kv_move(expected, 0, s);
    }
    for (int head = 0; head < kHeads; ++head) {
      const std::int64_t of_head = head * kv_head_bytes(from);
      for (const std::int64_t part : {to.k + of_head, to.v + of_head}) {
        if (std::memcmp(to.pages[0] + part, expected.pages[0] + part, panel) != 0) return false;
      }
    }
  }
  return true;
}

TEST(KvCache, CommitsAPath) {
  for (const DType type : {DType::BF16, DType::F32}) {
    KvCache cache = make(64, type);
    {
      KvTxn txn = cache.reserve(20);
      EXPECT_EQ(txn.base(), 0);
      for (int i = 0; i < 20; ++i) write(cache, i, 100 + i);
      txn.commit_all();
    }
    EXPECT_EQ(cache.length(), 20);
    {
      KvTxn txn = cache.reserve(9);
      EXPECT_EQ(txn.base(), 20);
      for (int i = 0; i < 9; ++i) write(cache, 20 + i, 200 + i);
      const std::vector<std::int32_t> path = {0, 2, 3, 8};
      txn.commit(path);
    }
    EXPECT_EQ(cache.length(), 24);
    EXPECT_TRUE(holds(cache, 19, 119));
    EXPECT_TRUE(holds(cache, 20, 200));
    EXPECT_TRUE(holds(cache, 21, 202));
    EXPECT_TRUE(holds(cache, 22, 203));
    EXPECT_TRUE(holds(cache, 23, 208));
    EXPECT_FALSE(holds(cache, 23, 207));
  }
}

TEST(KvCache, RollsBack) {
  KvCache cache = make(32);
  { const KvTxn txn = cache.reserve(10); }
  EXPECT_EQ(cache.length(), 0);
  {
    KvTxn txn = cache.reserve(10);
    const KvTxn moved = std::move(txn);
    EXPECT_EQ(moved.rows(), 10);
  }
  EXPECT_EQ(cache.length(), 0);
  KvTxn txn = cache.reserve(3);
  txn.commit({});
  EXPECT_EQ(cache.length(), 0);
}

TEST(KvCache, GrowsWithItsContents) {
  KvCache cache = make(2000);
  for (std::int64_t token = 0; token < 2000;) {
    const std::int64_t rows = std::min<std::int64_t>(333, 2000 - token);
    KvTxn txn = cache.reserve(rows);
    for (std::int64_t i = 0; i < rows; ++i) write(cache, token + i, token + i);
    txn.commit_all();
    token += rows;
  }
  for (const std::int64_t slot : {0, 1, 15, 16, 255, 256, 511, 1024, 1999})
    EXPECT_TRUE(holds(cache, slot, slot)) << slot;
}

/// Every panel of 16 slots has its scales behind its numbers: what attention sees is what it saw before.
TEST(KvCache, EightBitsGrowWithTheirContents) {
  constexpr int kTokens = 250;
  KvCache cache(
      {.layers = kLayers, .kv_heads = kHeads, .head_dim = 32, .capacity = 2000, .type = DType::Q8_0});
  const std::vector<TestTokens> tokens = {TestTokens(kTokens, 2 * kHeads, kHeads, 32, 1),
                                          TestTokens(kTokens, 2 * kHeads, kHeads, 32, 2)};
  TestRows last;
  last.add(kTokens - 1, kTokens, {});
  const auto attention = [&] {
    std::vector<std::vector<float>> result;
    for (int layer = 0; layer < kLayers; ++layer) {
      result.push_back(
          attend(select_isa(), tokens[static_cast<std::size_t>(layer)], cache.layer(layer), last));
    }
    return result;
  };
  {
    KvTxn txn = cache.reserve(kTokens);
    for (int layer = 0; layer < kLayers; ++layer) {
      for (int t = 0; t < kTokens; ++t)
        tokens[static_cast<std::size_t>(layer)].store(cache.layer(layer), t, t);
    }
    txn.commit_all();
  }
  const std::int64_t pages = cache.layer(0).page_count;
  const auto before = attention();
  for (const std::int64_t rows : {100, 700, 900}) {
    cache.reserve(rows).commit_all();
    EXPECT_EQ(attention(), before) << cache.length();
  }
  EXPECT_GT(cache.layer(0).page_count, 4 * pages);
}

void append(KvCache& cache, std::int64_t tokens, std::int64_t first_mark) {
  KvTxn txn = cache.reserve(tokens);
  for (std::int64_t i = 0; i < tokens; ++i) write(cache, txn.base() + i, first_mark + i);
  txn.commit_all();
}

TEST(KvCache, SharesPagesUntilOneIsWrittenTo) {
  const KvCache::Shape shape{.layers = kLayers, .kv_heads = kHeads, .head_dim = kDim, .capacity = 400};
  const KvCache::Pools pools = KvCache::make_pools(shape);
  const auto& pool = pools.whole;
  KvCache first(shape, pools);
  append(first, 150, 0);
  EXPECT_EQ(pool->pages_in_use(), 3);
  {
    KvCache::Shape small = shape;
    small.capacity = 200;
    KvCache second(small, pools);
    second.share(first, 140);
    EXPECT_EQ(second.length(), 140);
    EXPECT_EQ(pool->pages_in_use(), 3);
    append(second, 30, 1000);
    EXPECT_EQ(pool->pages_in_use(), 4);  // the page that both had begun is there twice
    append(first, 20, 2000);
    EXPECT_EQ(pool->pages_in_use(), 4);  // nobody else holds it any more
    for (const std::int64_t slot : {0, 63, 64, 127, 128, 139}) {
      EXPECT_TRUE(holds(first, slot, slot)) << slot;
      EXPECT_TRUE(holds(second, slot, slot)) << slot;
    }
    EXPECT_TRUE(holds(first, 149, 149));
    EXPECT_TRUE(holds(first, 169, 2019));
    EXPECT_TRUE(holds(second, 140, 1000));
    EXPECT_TRUE(holds(second, 169, 1029));
    EXPECT_THROW(second.reserve(31), Error);
  }
  EXPECT_EQ(pool->pages_in_use(), 3);
  first.truncate(64);
  EXPECT_EQ(pool->pages_in_use(), 1);
  first.truncate(0);
  EXPECT_EQ(pool->pages_in_use(), 0);
}

TEST(KvCache, WritesBehindATruncationDoNotReachOthers) {
  const KvCache::Shape shape{.layers = kLayers, .kv_heads = kHeads, .head_dim = kDim, .capacity = 400};
  KvCache text(shape);
  append(text, 100, 0);
  const KvCache kept = text;
  text.truncate(70);
  append(text, 30, 500);
  EXPECT_TRUE(holds(kept, 70, 70));
  EXPECT_TRUE(holds(kept, 99, 99));
  EXPECT_TRUE(holds(text, 70, 500));
}

KvCache::Shape windowed_shape(std::vector<std::uint8_t> windowed, std::int64_t window) {
  return {.layers = kLayers,
          .kv_heads = kHeads,
          .head_dim = kDim,
          .capacity = 4000,
          .windowed = std::move(windowed),
          .window = window};
}

TEST(KvCache, LayersWithAWindowKeepTheirWindowOnly) {
  const KvCache::Shape shape = windowed_shape({0, 1}, 100);
  const KvCache::Pools pools = KvCache::make_pools(shape);
  EXPECT_EQ(pools.whole->page_bytes(), pools.windowed->page_bytes());
  KvCache cache(shape, pools);
  EXPECT_EQ(cache.page_bytes(), 2 * pools.whole->page_bytes());
  for (std::int64_t tokens = 0; tokens < 1300; tokens += 13) {
    append(cache, 13, tokens);
    EXPECT_EQ(pools.whole->pages_in_use(), (cache.length() + 63) / 64);
    EXPECT_LE(pools.windowed->pages_in_use(), 4)
        << "the window, which may begin and end within pages, and one";
  }
  for (const std::int64_t slot : {1201, 1250, 1299}) EXPECT_TRUE(holds(cache, slot, slot)) << slot;
  std::int64_t bytes = 0;
  cache.for_pages([&](const std::byte*, std::int64_t page) { bytes += page; });
  EXPECT_EQ(bytes,
            (pools.whole->pages_in_use() + pools.windowed->pages_in_use()) * pools.whole->page_bytes());

  EXPECT_TRUE(cache.holds(1300));
  EXPECT_TRUE(cache.holds(1300 - 64)) << "whoever falls back a page sees all that it saw";
  EXPECT_FALSE(cache.holds(1000));
  EXPECT_FALSE(cache.holds(1301));
  cache.truncate(1240);
  append(cache, 1, 1240);
  EXPECT_TRUE(holds(cache, 1240, 1240));
  cache.truncate(0);
  EXPECT_EQ(pools.windowed->pages_in_use(), 0);
  append(cache, 10, 0);
  EXPECT_TRUE(holds(cache, 3, 3)) << "it may begin anew";
}

TEST(KvCache, CopiesOfWindowsShareAndAreWrittenToApart) {
  const KvCache::Shape shape = windowed_shape({1, 1}, 80);
  const KvCache::Pools pools = KvCache::make_pools(shape);
  EXPECT_EQ(pools.whole, nullptr) << "no layer sees everything";
  KvCache text(shape, pools);
  append(text, 500, 0);
  const std::int64_t held = pools.windowed->pages_in_use();
  const KvCache kept = text;
  KvCache other(shape, pools);
  other.share(kept, 490);
  EXPECT_EQ(pools.windowed->pages_in_use(), held);
  append(other, 400, 2000);
  append(text, 400, 3000);
  for (const std::int64_t slot : {421, 448, 499}) EXPECT_TRUE(holds(kept, slot, slot)) << slot;
  EXPECT_TRUE(holds(other, 850, 2360));
  EXPECT_TRUE(holds(text, 850, 3350));
  EXPECT_TRUE(kept.holds(490));
  EXPECT_FALSE(text.holds(490)) << "it has gone on";
}

TEST(KvCache, LayersThatKeepNothingTakeNoMemory) {
  const KvCache::Shape shape{
      .layers = 2, .kv_heads = kHeads, .head_dim = kDim, .capacity = 1024, .type = DType::BF16};
  KvCache::Shape more = shape;
  more.layers = 5;
  more.keeps_nothing = {1, 0, 1, 0, 1};
  KvCache cache(more);
  EXPECT_EQ(cache.page_bytes(), KvCache(shape).page_bytes());
  EXPECT_TRUE(cache.keeps_nothing(2));
  EXPECT_FALSE(cache.keeps_nothing(3));
  EXPECT_EQ(cache.layer(1).k, 0);
  EXPECT_EQ(cache.layer(3).k, cache.layer(1).v * 2);
  cache.reserve(70).commit(std::vector<std::int32_t>{0, 2, 69});
  EXPECT_EQ(cache.length(), 3);

  const auto refused = [&](std::vector<std::uint8_t> nothing) {
    more.keeps_nothing = std::move(nothing);
    return testing_support::error_of([&] { KvCache made(more); });
  };
  EXPECT_THAT(refused({1, 0}), testing::HasSubstr("2 of 5 layers"));
  EXPECT_THAT(refused({1, 1, 1, 1, 1}), testing::HasSubstr("none of 5 layers"));
}

/// Layer 1 keeps rows; both kinds move together.
TEST(KvCache, RowsInPlaceOfKeysAreMovedSharedAndGivenBack) {
  KvCache cache({.layers = 3,
                 .kv_heads = kHeads,
                 .head_dim = kDim,
                 .capacity = 1024,
                 .type = DType::BF16,
                 .windowed = {0, 1, 0},
                 .row_floats = {0, 5, 0},
                 .window = 3});
  EXPECT_TRUE(cache.keeps_rows(1));
  EXPECT_FALSE(cache.keeps_rows(2));
  const auto put = [](const KvCache& to, std::int64_t slot, float value) {
    for (int i = 0; i < 5; ++i) to.rows(1).row(slot)[i] = value + static_cast<float>(i) / 8;
  };
  const auto at = [](const KvCache& of, std::int64_t slot) { return of.rows(1).row(slot)[4]; };
  KvTxn txn = cache.reserve(70);
  for (int i = 0; i < 70; ++i) put(cache, i, static_cast<float>(i));
  std::vector<std::int32_t> path;
  for (std::int32_t i = 0; i < 70; ++i) {
    if (i != 3 && i != 66) path.push_back(i);
  }
  txn.commit(path);
  ASSERT_EQ(cache.length(), 68);
  EXPECT_EQ(at(cache, 2), 2.5f);
  EXPECT_EQ(at(cache, 3), 4.5f);
  EXPECT_EQ(at(cache, 65), 67.5f);

  KvCache copy = cache;
  {
    KvTxn next = copy.reserve(1);
    put(copy, 68, 500);
    next.commit_all();
  }
  EXPECT_EQ(at(copy, 67), at(cache, 67));
  cache.truncate(66);
  {
    KvTxn next = cache.reserve(1);
    put(cache, 66, 600);
    next.commit_all();
  }
  EXPECT_EQ(at(cache, 66), 600.5f);
  EXPECT_EQ(at(copy, 66), 68.5f) << "a copy is written to apart";

  for (int i = 0; i < 5; ++i) cache.reserve(60).commit_all();
  EXPECT_EQ(cache.rows(1).pages[0], nullptr) << "nobody sees it any more";
  EXPECT_NE(cache.layer(0).pages[0], nullptr);
  EXPECT_FALSE(cache.holds(10));
  EXPECT_TRUE(cache.holds(cache.length() - 1));
}

/// Layer 1 keeps a state. Nothing computes here: a test does what a pass does.
class KvStates : public testing::Test {
 protected:
  static constexpr std::int32_t kFloats = 3;
  const KvCache::Shape shape_{.layers = 2,
                              .kv_heads = kHeads,
                              .head_dim = kDim,
                              .capacity = 1024,
                              .type = DType::BF16,
                              .state_floats = {0, kFloats},
                              .record_floats = {0, 2}};
  const KvCache::Pools pools_ = KvCache::make_pools(shape_);
  KvCache cache_{shape_, pools_};

  /// A state is the sum of its tokens here, and a record is a token.
  static void run(KvTxn& txn, const std::vector<float>& tokens) {
    const KvCache& cache = txn.cache();
    const LayerState state = cache.state(1);
    const auto token = [&](std::int64_t slot) {
      return slot >= txn.base() ? tokens[static_cast<std::size_t>(slot - txn.base())]
                                : cache.records(1).row(slot)[0];
    };
    if (state.folded < txn.fold_to()) {
      float sum = state.from == nullptr ? 0.0f : state.from[0];
      for (std::int64_t slot = state.folded; slot < txn.fold_to(); ++slot) sum += token(slot);
      state.to[0] = sum;
    }
    for (std::int64_t slot = txn.first_record(); slot < txn.base() + txn.rows(); ++slot)
      cache.records(1).row(slot)[0] = tokens[static_cast<std::size_t>(slot - txn.base())];
    txn.set_folded(0, 2);
  }
  void append(KvCache& to, const std::vector<float>& tokens, std::int64_t certain) {
    KvTxn txn = to.reserve(std::ssize(tokens), certain);
    run(txn, tokens);
    txn.commit_all();
  }
  /// The sum of all tokens, as a next pass finds it.
  static float sum_of(const KvCache& cache) {
    const LayerState state = cache.state(1);
    float sum = state.from == nullptr ? 0.0f : state.from[0];
    for (std::int64_t slot = state.folded; slot < cache.length(); ++slot)
      sum += cache.records(1).row(slot)[0];
    return sum;
  }
};

TEST_F(KvStates, APathsRecordsAreFoldedByTheNextPass) {
  append(cache_, {1, 2, 4}, 3);
  EXPECT_EQ(cache_.folded(), 2) << "all but the last of what was certain";
  EXPECT_EQ(sum_of(cache_), 7);
  {
    KvTxn txn = cache_.reserve(4, 1);
    run(txn, {8, 100, 16, 200});
    EXPECT_EQ(cache_.folded(), 3);
    txn.commit(std::vector<std::int32_t>{0, 2});
  }
  EXPECT_EQ(cache_.length(), 5);
  EXPECT_EQ(sum_of(cache_), 31);
  append(cache_, {32}, 1);
  EXPECT_EQ(cache_.folded(), 5);
  EXPECT_EQ(sum_of(cache_), 63);
  EXPECT_TRUE(cache_.holds(5));
  EXPECT_FALSE(cache_.holds(4));
}

TEST_F(KvStates, WhatIsRolledBackLeavesTheStateAsItWas) {
  append(cache_, {1, 2, 4}, 3);
  for (const std::int64_t certain : {0, 1, 3}) {
    KvTxn txn = cache_.reserve(3, certain);
    run(txn, {50, 60, 70});
  }
  EXPECT_EQ(cache_.length(), 3);
  EXPECT_EQ(sum_of(cache_), 7);
  append(cache_, {8}, 1);
  EXPECT_EQ(sum_of(cache_), 15);
}

TEST_F(KvStates, ASharedStateIsNotWrittenTo) {
  append(cache_, {1, 2, 4}, 3);
  KvCache other(shape_, pools_);
  other.share(cache_, 2);
  EXPECT_EQ(pools_.states->pages_in_use(), 1);
  append(other, {100}, 1);
  EXPECT_EQ(pools_.states->pages_in_use(), 1) << "there was nothing to fold";
  append(other, {100}, 1);
  EXPECT_EQ(pools_.states->pages_in_use(), 2);
  append(cache_, {8}, 1);
  EXPECT_EQ(sum_of(cache_), 15);
  EXPECT_EQ(sum_of(other), 203);
}

TEST_F(KvStates, RecordsTakeNoMoreMemoryThanWhatIsNotFolded) {
  append(cache_, std::vector<float>(500, 1.0f), 500);
  EXPECT_EQ(pools_.records->pages_in_use(), 1) << "a prompt's rows leave the last one's";
  for (int i = 0; i < 100; ++i) append(cache_, {1}, 1);
  EXPECT_LE(pools_.records->pages_in_use(), 2);
  EXPECT_EQ(sum_of(cache_), 600);
  cache_.truncate(0);
  EXPECT_EQ(pools_.records->pages_in_use() + pools_.states->pages_in_use(), 0);
  append(cache_, {5, 6}, 2);
  EXPECT_EQ(sum_of(cache_), 11) << "it begins at nothing again";
}

TEST_F(KvStates, ALaidOutTextIsTheOneThatItsPagesAreOf) {
  append(cache_, std::vector<float>(70, 1.0f), 70);
  {
    KvTxn txn = cache_.reserve(3, 1);
    run(txn, {2, 3, 4});
    txn.commit_all();
  }
  KvCache other(shape_, pools_);
  other.lay_out(cache_.length(), cache_.folded_by_layer());
  std::vector<std::vector<std::byte>> pages;
  cache_.for_pages(
      [&](const std::byte* page, std::int64_t bytes) { pages.emplace_back(page, page + bytes); });
  std::size_t next = 0;
  other.for_pages([&](std::byte* page, std::int64_t) {
    other.memory().write(page, pages.at(next));
    ++next;
  });
  EXPECT_EQ(next, pages.size());
  EXPECT_EQ(sum_of(other), 79);
  append(other, {1}, 1);
  EXPECT_EQ(sum_of(other), 80);
}

TEST(KvCache, RefusesStatesThatCannotBe) {
  const auto refused = [](std::vector<std::int32_t> states, std::vector<std::int32_t> records) {
    EXPECT_THROW(KvCache({.layers = 2,
                          .kv_heads = kHeads,
                          .head_dim = kDim,
                          .capacity = 64,
                          .type = DType::BF16,
                          .state_floats = std::move(states),
                          .record_floats = std::move(records)}),
                 Error);
  };
  refused({1}, {1});
  refused({0, 1}, {});
  refused({0, 1}, {0, 0});
  refused({0, -1}, {0, 1});
}

TEST(KvCache, RefusesRowsThatCannotBe) {
  const auto refused = [](std::vector<std::uint8_t> windowed, std::vector<std::int32_t> floats,
                          std::int64_t window) {
    EXPECT_THROW(KvCache({.layers = 2,
                          .kv_heads = kHeads,
                          .head_dim = kDim,
                          .capacity = 64,
                          .type = DType::BF16,
                          .windowed = std::move(windowed),
                          .row_floats = std::move(floats),
                          .window = window}),
                 Error);
  };
  refused({0, 1}, {4, 0}, 3);  // a layer without a window
  refused({}, {4, 0}, 0);      // likewise
  refused({0, 1}, {0, -1}, 3);
  refused({0, 1}, {4}, 3);
  refused({0, 1}, {0, 1 << 24}, 3);
}

TEST(KvCache, RefusesWindowsThatCannotBe) {
  for (const auto& [windowed, window] : std::vector<std::pair<std::vector<std::uint8_t>, std::int64_t>>{
           {{1}, 8}, {{0, 0}, 8}, {{1, 0}, 0}, {{1, 0}, -3}, {{}, 8}}) {
    EXPECT_THROW(KvCache{windowed_shape(windowed, window)}, Error) << window;
  }
}

TEST(KvCache, ReportsAFullContextAndStaysUsable) {
  KvCache cache = make(10);
  cache.reserve(8).commit_all();
  EXPECT_EQ(cache.room(), 2);
  try {
    cache.reserve(3);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("context of 10 tokens is full"));
  }
  EXPECT_EQ(cache.length(), 8);
  cache.reserve(2).commit_all();
  EXPECT_EQ(cache.room(), 0);
  cache.truncate(4);
  EXPECT_EQ(cache.length(), 4);
}

TEST(KvCache, RefusesInvalidShapes) {
  const KvCache::Shape good{.layers = 2, .kv_heads = 2, .head_dim = 4, .capacity = 8};
  const auto refused = [](KvCache::Shape shape) { EXPECT_THROW(KvCache{shape}, Error); };
  for (int KvCache::Shape::*field :
       {&KvCache::Shape::layers, &KvCache::Shape::kv_heads, &KvCache::Shape::head_dim}) {
    for (const int bad : {0, -1, INT32_MAX}) {
      KvCache::Shape shape = good;
      shape.*field = bad;
      refused(shape);
    }
  }
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX}) {
    KvCache::Shape shape = good;
    shape.capacity = bad;
    refused(shape);
  }
  KvCache::Shape shape = good;
  shape.type = DType::F16;
  refused(shape);
  shape = {.layers = 60000, .kv_heads = 60000, .head_dim = 60000, .capacity = 1 << 30};
  refused(shape);
}

}  // namespace
}  // namespace augur
