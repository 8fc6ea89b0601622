#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

#include "base/affinity.h"
#include "base/control_group.h"
#include "base/error.h"
#include "support/sanitized.h"

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

std::size_t cores_allowed() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::size_t>(CPU_COUNT(&set)) : 0;
}

TEST(ThreadPool, PinnedThreadsSitOnDifferentCores) {
  const std::size_t allowed = cores_allowed();
  if (allowed < 2) GTEST_SKIP() << "one core";
  ThreadPool pool(2, true);
  std::vector<int> cores(2, -1);
  const auto look = [&](Team& team) { cores[static_cast<std::size_t>(team.rank())] = sched_getcpu(); };
  pool.run(look);
  EXPECT_NE(cores[0], cores[1]);
  EXPECT_EQ(cores_allowed(), allowed) << "the caller stays bound";
  const int of_creator = cores[0];
  std::thread([&] { pool.run(look); }).join();
  EXPECT_EQ(cores[0], of_creator) << "a region that another thread starts";
  EXPECT_EQ(ThreadPool(0, true).size(), usable_cpus(allowed, group_limits().cpus));
}

TEST(ThreadPool, SaysWhyItCannotPin) {
  const auto allowed = static_cast<int>(cores_allowed());
  try {
    const ThreadPool pool(allowed + 1, true);
    ADD_FAILURE() << "two threads share a core";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 fmt::format("threads: {} cannot be bound to a processor each, as this process may use {}",
                             allowed + 1, allowed)
                     .c_str());
  }
  EXPECT_EQ(cores_allowed(), static_cast<std::size_t>(allowed)) << "the caller stays bound";
}

TEST(ThreadPool, MakesWayForWhoTakesACore) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  const int cores = CPU_COUNT(&set);
  if (cores < 2) GTEST_SKIP() << "one core";
  double now = 0, others = 0;
  ThreadPool pool(cores, false,
                  {.busy = [&](std::span<const int>) { return std::optional(others); },
                   .own = [] { return 0.0; },
                   .now = [&] { return now; }});
  const auto team = [&] {
    pool.make_way();
    std::atomic<int> members{0}, size{0};
    for (int region = 0; region < 50; ++region) {
      pool.run([&](Team& t) {
        ++members;
        t.barrier();
        size = t.size();
      });
    }
    EXPECT_EQ(members, 50 * size);
    return size.load();
  };
  EXPECT_EQ(team(), cores);
  now += 0.3;
  others += 0.3;  // a whole core
  EXPECT_EQ(team(), cores - 1);
  EXPECT_EQ(team(), cores - 1);
  now += 0.3;
  EXPECT_EQ(team(), cores);
}

TEST(ThreadPool, MoreThreadsThanCoresFinish) {
  ThreadPool pool(static_cast<int>(cores_allowed()) * 4 + 1);
  std::atomic<int> arrived{0};
  pool.run([&](Team& team) {
    for (int phase = 0; phase < 100; ++phase) {
      arrived.fetch_add(1);
      team.barrier();
    }
  });
  EXPECT_EQ(arrived.load(), pool.size() * 100);
}

TEST(ThreadPoolDeathTest, ThreadsThatCannotBeStartedAreAnError) {
  if (testing_support::kSanitized) GTEST_SKIP() << "sanitizers need address space of their own";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto start_too_many = [] {
    const rlimit limit{.rlim_cur = 1 << 30, .rlim_max = 1 << 30};
    setrlimit(RLIMIT_AS, &limit);
    try {
      ThreadPool pool(1024);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s", error.what());
      std::_Exit(3);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(start_too_many(), ::testing::ExitedWithCode(3), "of 1024 could be started");
}

TEST(ThreadPool, RefusesAbsurdCounts) {
  EXPECT_THROW(ThreadPool(-1), Error);
  EXPECT_THROW(ThreadPool(1 << 20), Error);
}

}  // namespace
}  // namespace augur
