#include "base/affinity.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace augur {
namespace {

TEST(Affinity, FindsProcessorsBeyondTheSizeOfGlibcsType) {
  constexpr int kLast = 2500;
  const std::vector<int> cpus = allowed_cpus([](std::size_t bytes, cpu_set_t* set) {
    if (bytes * 8 <= kLast) {  // the kernel's set is larger
      errno = EINVAL;
      return -1;
    }
    CPU_SET_S(0, bytes, set);
    CPU_SET_S(1023, bytes, set);
    CPU_SET_S(1024, bytes, set);
    CPU_SET_S(kLast, bytes, set);
    return 0;
  });
  EXPECT_EQ(cpus, (std::vector{0, 1023, 1024, kLast}));
}

TEST(Affinity, IsEmptyWhereTheSystemDoesNotSay) {
  int asked = 0;
  const auto refuse = [&](int error) {
    return allowed_cpus([&asked, error](std::size_t, cpu_set_t*) {
      ++asked;
      errno = error;
      return -1;
    });
  };
  EXPECT_TRUE(refuse(EPERM).empty());
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(refuse(EINVAL).empty());  // and it ends
  EXPECT_LT(asked, 30);
}

TEST(Affinity, BindsAThread) {
  std::thread([] {
    const std::vector<int> all = allowed_cpus();
    ASSERT_FALSE(all.empty());
    bind_thread(std::span(&all.back(), 1));
    EXPECT_EQ(allowed_cpus(), std::vector{all.back()});
    bind_thread(all);
    EXPECT_EQ(allowed_cpus(), all);
  }).join();
}

TEST(Affinity, ATeamIsAsLargeAsTheTimeThatIsGranted) {
  EXPECT_EQ(usable_cpus(64, std::nullopt), 64);
  EXPECT_EQ(usable_cpus(64, 2.0), 2);
  EXPECT_EQ(usable_cpus(64, 2.25), 3);
  EXPECT_EQ(usable_cpus(64, 0.01), 1);
  EXPECT_EQ(usable_cpus(4, 8.0), 4);
  EXPECT_EQ(usable_cpus(4, 1e300), 4);
  EXPECT_EQ(usable_cpus(0, std::nullopt), 1);
}

}  // namespace
}  // namespace augur
