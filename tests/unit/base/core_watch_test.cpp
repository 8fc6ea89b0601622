// How many cores others leave.
#include "base/core_watch.h"

#include <gtest/gtest.h>

namespace augur {
namespace {

/// Two cores on which this process and others have used so much.
struct Machine {
  double now = 0;
  double own = 0;
  double others = 0;
  bool known = true;

  CoreWatch watch() {
    return CoreWatch({0, 1}, {.busy = [this](std::span<const int>) -> std::optional<double> {
                                return known ? std::optional(own + others) : std::nullopt;
                              },
                              .own = [this] { return own; },
                              .now = [this] { return now; }});
  }
  void pass(double seconds, double own_share, double others_share) {
    now += seconds;
    own += own_share * seconds;
    others += others_share * seconds;
  }
};

TEST(CoreWatch, LeavesACoreToWhoTakesIt) {
  Machine machine;
  CoreWatch watch = machine.watch();
  EXPECT_EQ(watch.look(), std::nullopt);  // nothing to compare with
  machine.pass(0.25, 2, 0);
  EXPECT_EQ(watch.look(), 2);
  machine.pass(0.25, 1.3, 0.6);  // two threads and a third, on two cores
  EXPECT_EQ(watch.look(), 1);
  machine.pass(0.25, 1, 1);  // it has the core for itself: it must not be taken back for that
  EXPECT_EQ(watch.look(), 1);
  machine.pass(0.25, 1, 0);  // it has ended
  EXPECT_EQ(watch.look(), 2);
}

TEST(CoreWatch, TakesNoNoticeOfALittle) {
  Machine machine;
  CoreWatch watch = machine.watch();
  watch.look();
  machine.pass(0.25, 1.8, 0.2);
  EXPECT_EQ(watch.look(), 2);
}

TEST(CoreWatch, KeepsOneCoreAmongMany) {
  Machine machine;
  CoreWatch watch = machine.watch();
  watch.look();
  machine.pass(0.25, 0.2, 1.8);
  EXPECT_EQ(watch.look(), 1);
}

TEST(CoreWatch, AnswersOnceAWindow) {
  Machine machine;
  CoreWatch watch = machine.watch();
  watch.look();
  machine.pass(CoreWatch::kWindow / 2, 2, 0);
  EXPECT_EQ(watch.look(), std::nullopt);
  machine.pass(CoreWatch::kWindow / 2, 2, 0);
  EXPECT_EQ(watch.look(), 2);
}

TEST(CoreWatch, ForgetsWhatWasLongAgo) {
  Machine machine;
  CoreWatch watch = machine.watch();
  watch.look();
  machine.pass(60, 0, 2);
  EXPECT_EQ(watch.look(), std::nullopt);
  machine.pass(0.25, 2, 0);
  EXPECT_EQ(watch.look(), 2);
}

TEST(CoreWatch, SaysNothingOfAnUnknownMachine) {
  Machine machine{.known = false};
  CoreWatch watch = machine.watch();
  watch.look();
  machine.pass(0.25, 1, 1);
  EXPECT_EQ(watch.look(), std::nullopt);
}

TEST(BusyTicks, AreThoseOfTheCoresAskedFor) {
  constexpr std::string_view kStat =
      "cpu  111 0 0 0 0 0 0 0 0 0\n"
      "cpu0 10 20 30 4000 500 6 7 800 0 0\n"
      "cpu1 1 2 3 4000 500 4 5 800 0 0\n"
      "cpu10 100 0 0 0 0 0 0 0 0 0\n"
      "intr 1 2 3\ncpu2 1 1 1 1 1 1 1 1 1 1\n";
  EXPECT_EQ(busy_ticks(kStat, std::vector{0}), 73);
  EXPECT_EQ(busy_ticks(kStat, std::vector{0, 1, 10}), 73 + 15 + 100);
  EXPECT_EQ(busy_ticks(kStat, std::vector{0, 2}), std::nullopt);
  EXPECT_EQ(busy_ticks("cpu0 1 2", std::vector{0}), std::nullopt);
  EXPECT_EQ(busy_ticks("", std::vector{0}), std::nullopt);
}

TEST(CoreWatch, ReadsThisMachine) {
  const CoreWatch::Source source = CoreWatch::Source::system();
  const double own = source.own();
  const auto busy = source.busy(std::vector{0});
  if (!busy) GTEST_SKIP() << "no /proc/stat here";
  EXPECT_GT(*busy, 0);
  EXPECT_GE(source.own(), own);
}

}  // namespace
}  // namespace augur
