#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "base/error.h"

namespace augur {
namespace {

TEST(SplitRange, CoversEverythingOnceOnGrainBoundaries) {
  for (const std::int64_t count : {0, 1, 5, 16, 36, 100}) {
    for (const int size : {1, 2, 3, 7}) {
      for (const std::int64_t grain : {1, 4}) {
        std::int64_t next = 0;
        for (int rank = 0; rank < size; ++rank) {
          const Range r = split_range(count, rank, size, grain);
          EXPECT_EQ(r.begin, next);
          EXPECT_TRUE(r.end == count || r.end % grain == 0);
          next = r.end;
        }
        EXPECT_EQ(next, count);
      }
    }
  }
}

TEST(ThreadPool, BarrierOrdersPhases) {
  ThreadPool pool(4);
  std::vector<int> cells(4, 0);
  for (int round = 1; round <= 500; ++round) {
    std::atomic<int> wrong{0};
    pool.run([&](Team& team) {
      const auto self = static_cast<std::size_t>(team.rank());
      cells[self] = round;
      team.barrier();
      if (std::accumulate(cells.begin(), cells.end(), 0) != 4 * round) wrong.fetch_add(1);
      team.barrier();
    });
    ASSERT_EQ(wrong.load(), 0) << "round " << round;
  }
}

TEST(ThreadPool, RegionsFromSeveralThreadsDoNotMix) {
  ThreadPool pool(2);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  const auto start_regions = [&] {
    for (int i = 0; i < 200; ++i) {
      pool.run([&](Team&) {
        const int now = inside.fetch_add(1) + 1;
        int seen = most.load();
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        inside.fetch_sub(1);
      });
    }
  };
  std::thread other(start_regions);
  start_regions();
  other.join();
  EXPECT_LE(most.load(), 2);
}

TEST(ThreadPool, PinnedThreadsSitOnDifferentCores) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one core";
  {
    ThreadPool pool(2, true);
    std::vector<int> cores(2, -1);
    pool.run([&](Team& team) { cores[static_cast<std::size_t>(team.rank())] = sched_getcpu(); });
    EXPECT_NE(cores[0], cores[1]);
  }
  sched_setaffinity(0, sizeof before, &before);  // the pool pinned this thread too
}

TEST(ThreadPool, RefusesAbsurdCounts) {
  EXPECT_THROW(ThreadPool(-1), Error);
  EXPECT_THROW(ThreadPool(1 << 20), Error);
}

}  // namespace
}  // namespace augur
