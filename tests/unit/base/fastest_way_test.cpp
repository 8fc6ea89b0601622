#include "base/fastest_way.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace augur {
namespace {

constexpr double kFaster = 0.97;

/// Ways of given times on a machine of which another program takes a share of the moments.
class Ways {
 public:
  Ways(std::vector<double> ms, double busy, unsigned seed) : ms_(std::move(ms)), busy_(busy), random_(seed) {}

  FastestWay fastest() {
    return fastest_way(ms_.size(), kFaster, [this](std::size_t way) {
      ++measured_;
      double ms = ms_[way] * std::normal_distribution<double>(1, 0.003)(random_);
      if (std::bernoulli_distribution(busy_)(random_))
        ms *= 1 + std::exponential_distribution<double>(2)(random_);
      return ms;
    });
  }
  int measured() const { return measured_; }

 private:
  std::vector<double> ms_;
  double busy_;
  std::mt19937 random_;
  int measured_ = 0;
};

TEST(FastestWay, IsFoundOnACalmMachine) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Ways ways({2, 1.98, 1.8, 1.85, 2.2}, 0, seed);
    const FastestWay found = ways.fastest();
    EXPECT_EQ(found.way, 2U) << seed;
    EXPECT_LT(found.doubt, 1 - kFaster) << seed;
    EXPECT_EQ(ways.measured(), 6 * 5) << "calm times are not taken again";
  }
}

TEST(FastestWay, IsTheFirstWhereNoneIsClearlyFaster) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    EXPECT_EQ(Ways({2, 1.97, 1.96, 2.1}, 0, seed).fastest().way, 0U) << seed;
  }
}

TEST(FastestWay, ThatABusyProgramPretendsIsInDoubtOrNotTaken) {
  int wrong = 0;
  int sure = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const FastestWay found = Ways(std::vector<double>(9, 2), 0.7, seed).fastest();
    if (found.doubt <= 1 - kFaster) ++sure;
    if (found.way != 0 && found.doubt <= 1 - kFaster) ++wrong;
  }
  EXPECT_LE(wrong, 2) << "of " << sure;
}

TEST(FastestWay, IsMeasuredMoreOftenBesideABusyProgram) {
  Ways busy({2, 1.8}, 0.7, 1);
  busy.fastest();
  Ways calm({2, 1.8}, 0, 1);
  calm.fastest();
  EXPECT_GT(busy.measured(), calm.measured());
}

}  // namespace
}  // namespace augur
