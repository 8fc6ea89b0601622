#include "cli/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace augur::cli {
namespace {

volatile std::sig_atomic_t counted = 0;

void count(int) {
  counted = counted + 1;
}

/// Has both signals counted, as a program may that uses the guard; afterwards they do what they did.
class InterruptGuardTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    counted = 0;
    was_[0] = std::signal(SIGINT, count);
    was_[1] = std::signal(SIGTERM, count);
  }
  void TearDown() override {
    std::signal(SIGINT, was_[0]);
    std::signal(SIGTERM, was_[1]);
  }

 private:
  void (*was_[2])(int) = {};
};

TEST_P(InterruptGuardTest, TheFirstSignalAsksForAStopAndTheSecondDoesWhatItDidBefore) {
  const InterruptGuard guard;
  EXPECT_FALSE(guard.stop());
  EXPECT_FALSE(guard.interrupted());
  EXPECT_EQ(guard.exit_code(), 0);
  std::raise(GetParam());
  EXPECT_TRUE(guard.stop());
  EXPECT_TRUE(guard.interrupted());
  EXPECT_EQ(guard.exit_code(), 128 + GetParam());
  EXPECT_EQ(counted, 0);
  std::raise(SIGINT);
  EXPECT_EQ(counted, 1);
  std::raise(SIGTERM);
  EXPECT_EQ(counted, 2);
  EXPECT_EQ(guard.exit_code(), 128 + GetParam());
}

TEST_P(InterruptGuardTest, AtItsEndTheSignalsDoWhatTheyDidBefore) {
  { const InterruptGuard guard; }
  std::raise(GetParam());
  EXPECT_EQ(counted, 1);
  const InterruptGuard next;
  EXPECT_FALSE(next.interrupted());
}

TEST_P(InterruptGuardTest, AStopForAnotherReasonIsNoInterruption) {
  const InterruptGuard guard;
  guard.stop() = true;
  EXPECT_FALSE(guard.interrupted());
  EXPECT_EQ(guard.exit_code(), 0);
}

INSTANTIATE_TEST_SUITE_P(Signals, InterruptGuardTest, testing::Values(SIGINT, SIGTERM),
                         [](const auto& test) { return test.param == SIGINT ? "SIGINT" : "SIGTERM"; });

}  // namespace
}  // namespace augur::cli
