// Limits of containers and of systemd's units, read from trees like the kernel's.
#include "base/control_group.h"

#include <gtest/gtest.h>

#include "fake_system.h"

namespace augur {
namespace {

using testing_support::FakeSystem;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

TEST(GroupLimits, NothingIsKnownWithoutGroups) {
  const FakeSystem system;
  const GroupLimits limits = group_limits(system.root());
  EXPECT_EQ(limits.memory, std::nullopt);
  EXPECT_EQ(limits.memory_left, std::nullopt);
  EXPECT_EQ(limits.cpus, std::nullopt);
}

TEST(GroupLimits, AContainerSeesItsGroupAsTheRoot) {
  FakeSystem system;
  system.mount("/", "sys/fs/cgroup")
      .file("proc/self/cgroup", "0::/\n")
      .file("sys/fs/cgroup/memory.max", "8388608\n")
      .file("sys/fs/cgroup/memory.current", "3145728\n")
      .file("sys/fs/cgroup/cpu.max", "250000 100000\n");
  const GroupLimits limits = group_limits(system.root());
  EXPECT_EQ(limits.memory, 8 * kMiB);
  EXPECT_EQ(limits.memory_left, 5 * kMiB);
  EXPECT_EQ(limits.cpus, 2.5);
}

TEST(GroupLimits, AUnitOfSystemdLiesBelowTheRoot) {
  FakeSystem system;
  const std::string slice = "sys/fs/cgroup/system.slice/";
  system.mount("/", "sys/fs/cgroup")
      .file("proc/self/cgroup", "0::/system.slice/augur.service\n")
      .file(slice + "memory.max", "max\n")
      .file(slice + "cpu.max", "max 100000\n")
      .file(slice + "augur.service/memory.max", "4194304\n")
      .file(slice + "augur.service/memory.current", "1048576\n")
      .file(slice + "augur.service/cpu.max", "50000 100000\n");
  const GroupLimits limits = group_limits(system.root());
  EXPECT_EQ(limits.memory, 4 * kMiB);
  EXPECT_EQ(limits.memory_left, 3 * kMiB);
  EXPECT_EQ(limits.cpus, 0.5);
}

// Each figure from another level: the unit has 6 MiB and all of its processors, but the slice above only 4
// MiB of which its neighbours hold most, and two processors.
TEST(GroupLimits, TheLeastOfAllLevelsCounts) {
  FakeSystem system;
  system.mount("/", "sys/fs/cgroup")
      .file("proc/self/cgroup", "0::/a/b/c\n")
      .file("sys/fs/cgroup/a/memory.max", "4194304")
      .file("sys/fs/cgroup/a/memory.current", "3145728")
      .file("sys/fs/cgroup/a/cpu.max", "200000 100000")
      .file("sys/fs/cgroup/a/b/c/memory.max", "6291456")
      .file("sys/fs/cgroup/a/b/c/memory.current", "0")
      .file("sys/fs/cgroup/a/b/c/cpu.max", "400000 50000");
  const GroupLimits limits = group_limits(system.root());
  EXPECT_EQ(limits.memory, 4 * kMiB);
  EXPECT_EQ(limits.memory_left, kMiB);
  EXPECT_EQ(limits.cpus, 2.0);
}

TEST(GroupLimits, CachedFilesAreNotHeldAndNoneLeftIsNotUnknown) {
  FakeSystem system;
  system.mount("/", "sys/fs/cgroup")
      .file("proc/self/cgroup", "0::/\n")
      .file("sys/fs/cgroup/memory.max", "8388608\n")
      .file("sys/fs/cgroup/memory.current", "8388608\n")
      .file("sys/fs/cgroup/memory.stat",
            "anon 2097152\nfile 6291456\nshmem 1048576\nactive_file 1048576\ninactive_file 4194304\n");
  EXPECT_EQ(group_limits(system.root()).memory_left, 5 * kMiB);
  system.file("sys/fs/cgroup/memory.stat", "anon 8388608\n");
  EXPECT_EQ(group_limits(system.root()).memory_left, 0);
  system.file("sys/fs/cgroup/memory.current", "9437184\n");  // reclaim is under way
  EXPECT_EQ(group_limits(system.root()).memory_left, 0);
}

TEST(GroupLimits, VersionOneHasAHierarchyForEachController) {
  FakeSystem system;
  system.mount("/", "sys/fs/cgroup/memory", "memory")
      .mount("/", "sys/fs/cgroup/cpu,cpuacct", "cpu,cpuacct")
      .mount("/", "sys/fs/cgroup/unified")
      .file("proc/self/cgroup", "4:memory:/jobs/one\n2:cpu,cpuacct:/jobs\n1:name=systemd:/\n0::/\n")
      .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
      .file("sys/fs/cgroup/memory/memory.usage_in_bytes", "99999999999\n")
      .file("sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes", "8388608\n")
      .file("sys/fs/cgroup/memory/jobs/one/memory.usage_in_bytes", "4194304\n")
      .file("sys/fs/cgroup/memory/jobs/one/memory.stat",
            "inactive_file 1\nactive_file 1\ntotal_inactive_file 1048576\ntotal_active_file 1048576\n")
      .file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
      .file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
      .file("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "150000\n")
      .file("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n");
  const GroupLimits limits = group_limits(system.root());
  EXPECT_EQ(limits.memory, 8 * kMiB);
  EXPECT_EQ(limits.memory_left, 6 * kMiB);
  EXPECT_EQ(limits.cpus, 1.5);
}

// A container of version 1: the path is the host's, the mount shows that group only, at a folder with a
// space.
TEST(GroupLimits, AMountMayShowOneGroupOnly) {
  FakeSystem system;
  system.mount("/docker/abc", "my\\040groups/memory", "memory")
      .file("proc/self/cgroup", "4:memory:/docker/abc\n")
      .file("my groups/memory/memory.limit_in_bytes", "1048576\n");
  EXPECT_EQ(group_limits(system.root()).memory, kMiB);
  system.file("proc/self/cgroup", "4:memory:/elsewhere\n");  // nothing below it is ours
  EXPECT_EQ(group_limits(system.root()).memory, kMiB);
  system.file("proc/self/cgroup", "4:memory:/docker/abc/inner\n")
      .file("my groups/memory/inner/memory.limit_in_bytes", "524288\n");
  EXPECT_EQ(group_limits(system.root()).memory, kMiB / 2);
}

TEST(GroupLimits, FilesThatSayNothingLimitNothing) {
  FakeSystem system;
  system.mount("/", "sys/fs/cgroup")
      .file("proc/self/cgroup", "nonsense\n:\n0::/\n7:\n")
      .file("sys/fs/cgroup/memory.max", "99999999999999999999999\n")
      .file("sys/fs/cgroup/cpu.max", "100000 0\n");
  const GroupLimits limits = group_limits(system.root());
  EXPECT_EQ(limits.memory, std::nullopt);
  EXPECT_EQ(limits.cpus, std::nullopt);
}

}  // namespace
}  // namespace augur
