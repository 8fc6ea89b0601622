#include "policy/auto/belief_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "policy/auto/beliefs.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::error_of;

/// A drafter that is right three times in four where it says one half.
DrafterBelief some_belief() {
  DrafterBelief belief;
  for (int i = 0; i < 400; ++i) {
    belief.calibrator.observe(std::log(0.5), 1 + i % 3, i % 4 != 0);
    belief.profile.observe(1 + i % 3, i % 5, 0.7 / (1 + i % 5));
    belief.drawn_profile.observe(1, 0, i % 2);
  }
  return belief;
}

TEST(BeliefFile, GivesBackWhatItWasGiven) {
  const DrafterBelief before = some_belief();
  DrafterBelief after;
  EXPECT_FALSE(after.seen());
  read_belief(belief_to_json(before), "f", after);
  EXPECT_TRUE(after.seen());
  for (const double q : {0.05, 0.4, 0.5, 0.9}) {
    for (int depth = 1; depth < 10; ++depth) {
      EXPECT_DOUBLE_EQ(after.calibrator.acceptance(std::log(q), depth),
                       before.calibrator.acceptance(std::log(q), depth));
    }
  }
  EXPECT_NEAR(after.calibrator.acceptance(std::log(0.5), 1), 0.75, 0.05);
  // Values; they are believed as if they came from few observations.
  for (std::size_t depth = 0; depth < RankProfile::kDepths; ++depth) {
    for (std::size_t rank = 0; rank < RankProfile::kRanks; ++rank) {
      EXPECT_EQ(after.profile.means()[depth][rank].value, before.profile.means()[depth][rank].value);
      EXPECT_EQ(after.drawn_profile.means()[depth][rank].value,
                before.drawn_profile.means()[depth][rank].value);
    }
  }
  EXPECT_NEAR(after.profile.at(1, 0), before.profile.at(1, 0), 0.1);
}

TEST(BeliefFile, YieldsToWhatIsSeenSooner) {
  DrafterBelief before = some_belief();
  DrafterBelief after;
  read_belief(belief_to_json(before), "f", after);
  for (int i = 0; i < 48; ++i) {
    before.calibrator.observe(std::log(0.5), 1, false);
    after.calibrator.observe(std::log(0.5), 1, false);
    before.profile.observe(1, 0, 0);
    after.profile.observe(1, 0, 0);
  }
  EXPECT_LT(after.calibrator.acceptance(std::log(0.5), 1),
            0.8 * before.calibrator.acceptance(std::log(0.5), 1));
  EXPECT_LT(after.calibrator.acceptance(std::log(0.5), 1), 0.25);
  EXPECT_LT(after.profile.at(1, 0), 0.7 * before.profile.at(1, 0));
}

TEST(BeliefFile, RefusesWhatCannotBe) {
  const auto refusal = [](const char* pointer, const nlohmann::json& value) {
    nlohmann::json object = belief_to_json(some_belief());
    object[nlohmann::json::json_pointer(pointer)] = value;
    DrafterBelief into;
    const std::string error = error_of([&] { read_belief(object, "costs.json", into); });
    EXPECT_FALSE(into.seen()) << "half read: " << pointer;
    return error;
  };
  EXPECT_THAT(refusal("/calibration", nullptr), AllOf(HasSubstr("costs.json"), HasSubstr("calibration")));
  EXPECT_THAT(refusal("/calibration", {1, 2}), HasSubstr("array of 21"));
  EXPECT_THAT(refusal("/calibration/3", {1, 2, 3}), HasSubstr("array of 2"));
  EXPECT_THAT(refusal("/calibration/3/0", 1e300), HasSubstr("calibration"));
  EXPECT_THAT(refusal("/calibration/3/1", -1), HasSubstr("calibration"));
  EXPECT_THAT(refusal("/outcomes", "many"), HasSubstr("outcomes"));
  EXPECT_THAT(refusal("/ranks/0", 3), HasSubstr("ranks"));
  EXPECT_THAT(refusal("/ranks/0/0/0", 1.5), HasSubstr("ranks"));
  EXPECT_THAT(refusal("/drawn_ranks/7/11/1", nullptr), HasSubstr("drawn_ranks"));
  DrafterBelief into;
  EXPECT_THAT(error_of([&] { read_belief(nlohmann::json::array(), "f", into); }), HasSubstr("an object"));
}

}  // namespace
}  // namespace augur
