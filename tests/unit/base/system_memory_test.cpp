#include "base/system_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_system.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::error_of;
using testing_support::FakeSystem;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// 16 GiB, 12 of them available.
void give_machine(FakeSystem& system) {
  system.file("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:   12582912 kB\n");
}

TEST(SystemMemory, IsTheMachinesWithoutGroups) {
  FakeSystem system;
  EXPECT_EQ(memory_limit(system.root()), std::nullopt);
  EXPECT_EQ(available_memory(system.root()), std::nullopt);
  give_machine(system);
  EXPECT_EQ(memory_limit(system.root()), 16 * kGiB);
  EXPECT_EQ(available_memory(system.root()), 12 * kGiB);
}

TEST(SystemMemory, IsWhatAGroupLeaves) {
  FakeSystem system;
  give_machine(system);
  system.mount("/", "sys/fs/cgroup")
      .file("proc/self/cgroup", "0::/unit\n")
      .file("sys/fs/cgroup/unit/memory.max", "8589934592\n")
      .file("sys/fs/cgroup/unit/memory.current", "8589934592\n");
  EXPECT_EQ(memory_limit(system.root()), 8 * kGiB);
  EXPECT_EQ(available_memory(system.root()), 0);
  system.file("sys/fs/cgroup/unit/memory.max", "17179869184000\n");  // more than there is
  EXPECT_EQ(memory_limit(system.root()), 16 * kGiB);
  EXPECT_EQ(available_memory(system.root()), 12 * kGiB);
}

TEST(SystemMemory, WhatExceedsALimitIsAnErrorWithTheSizes) {
  FakeSystem system;
  const auto require = [&](std::int64_t bytes) {
    return error_of([&] { require_memory("the weights", bytes, system.root()); });
  };
  EXPECT_EQ(require(std::int64_t{1} << 60), "no error") << "nothing is known";
  give_machine(system);
  system.mount("/", "sys/fs/cgroup").file("proc/self/cgroup", "0::/\n");
  system.file("sys/fs/cgroup/memory.max", "4294967296\n");
  EXPECT_EQ(require(4 * kGiB), "no error");
  EXPECT_THAT(require(4 * kGiB + 1), AllOf(HasSubstr("the weights"), HasSubstr("4.00 GiB of memory")));
  system.file("proc/self/status", "Name:\taugur\nRssAnon:\t 1048576 kB\nRssFile:\t 9999999 kB\n");
  EXPECT_EQ(require(3 * kGiB), "no error");
  EXPECT_THAT(require(4 * kGiB), AllOf(HasSubstr("take 4.00 GiB"), HasSubstr("holds 1.00 GiB")));
}

}  // namespace
}  // namespace augur
