#include "policy/auto/probe_schedule.h"

#include <gtest/gtest.h>

namespace augur {
namespace {

int rounds_until_due(ProbeSchedule& schedule) {
  int rounds = 0;
  for (; !schedule.due(); ++rounds) schedule.wait();
  return rounds;
}

TEST(ProbeSchedule, WaitsTwiceAsLongAfterEveryFailure) {
  ProbeSchedule schedule;
  for (const int expected : {8, 16, 32, 64, 128, 256, 512, 512}) {
    EXPECT_EQ(rounds_until_due(schedule), expected);
    schedule.failed();
  }
  schedule.succeeded();
  EXPECT_EQ(rounds_until_due(schedule), 8);
}

TEST(ProbeSchedule, ANewTextStartsFromAQuarterOfTheLastInterval) {
  ProbeSchedule after_many_failures(512);
  EXPECT_EQ(rounds_until_due(after_many_failures), 128);
  ProbeSchedule after_one(16);
  EXPECT_EQ(rounds_until_due(after_one), 8);
  ProbeSchedule after_none(0);
  EXPECT_EQ(rounds_until_due(after_none), 8);
}

}  // namespace
}  // namespace augur
