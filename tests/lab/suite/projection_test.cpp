#include "lab/papers/projection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/bench/cost_curve.h"
#include "support/error_of.h"

namespace augur {
namespace {

using nlohmann::ordered_json;

const MeasuredCosts::Curve kCosts = {{1, 16, 64}, {10.0, 13.0, 37.0}};

TEST(MsAt, RunsThroughTheMeasuredCountsAndBeyond) {
  EXPECT_DOUBLE_EQ(ms_at(kCosts, 1), 10.0);
  EXPECT_DOUBLE_EQ(ms_at(kCosts, 0.5), 10.0);
  EXPECT_DOUBLE_EQ(ms_at(kCosts, 8.5), 11.5);
  EXPECT_DOUBLE_EQ(ms_at(kCosts, 16), 13.0);
  EXPECT_DOUBLE_EQ(ms_at(kCosts, 40), 25.0);
  EXPECT_DOUBLE_EQ(ms_at(kCosts, 128), 69.0);
}

TEST(Project, ScalesDraftingWithThePlainStep) {
  const auto row = [](double tokens, double calls, double verified, double draft_ms, double verify_ms) {
    return ordered_json{{"tau", tokens / calls}, {"calls", calls},         {"verified_tokens", verified},
                        {"draft_ms", draft_ms},  {"verify_ms", verify_ms}, {"other_ms", 0.0}};
  };
  // A plain step of 5 ms; drafting took 1 ms a call, a fifth of it.
  const ordered_json document = {{"methods", {{{"label", "plain"}}, {{"label", "tree"}}}},
                                 {"overall", {row(100, 100, 100, 0, 500), row(100, 40, 640, 40, 260)}}};
  const ordered_json found = project(model_shape("1b"), kCosts, document);
  EXPECT_DOUBLE_EQ(found["methods"][0]["speedup"].get<double>(), 1.0);
  EXPECT_DOUBLE_EQ(found["methods"][1]["speedup"].get<double>(), 2.5 * 10 / (13.0 + 0.2 * 10));
}

TEST(ModelShape, KnowsTwo) {
  EXPECT_EQ(model_shape("8b").layers, 32);
  EXPECT_THAT(testing_support::error_of([] { model_shape("3b"); }), testing::HasSubstr("'3b'"));
}

}  // namespace
}  // namespace augur
