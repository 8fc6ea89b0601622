#include "lab/suite/figure_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/suite/policy_bars.h"
#include "support/error_of.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;
using testing_support::error_of;

ordered_json row(double rate, double tau, double calls, double verified,
                 std::vector<double> round_speedups = {}) {
  return {{"tokens_per_second", rate},
          {"tau", tau},
          {"accept_length", tau - 1},
          {"tokens", tau * calls},
          {"calls", calls},
          {"verified_tokens", verified},
          {"different", 0},
          {"slowest_prompt", "a \"b\", c"},
          {"speedup_interval", {1.25, 1.5}},
          {"round_speedups", std::move(round_speedups)}};
}

ordered_json method(const std::string& text) {
  return {{"label", text}, {"text", text}, {"policy", ""}, {"peer", false}};
}

ordered_json two_suites(double temperature) {
  return {{"methods", {method("plain"), method("draft:topk=4,size=8")}},
          {"settings", {{"temperature", temperature}}},
          {"suites",
           {{{"name", "one"}, {"prompts", 2}, {"methods", {row(100, 1, 64, 64), row(150, 2, 32, 200)}}},
            {{"name", "two"}, {"prompts", 3}, {"methods", {row(90, 1, 64, 64), row(150, 3.5, 20, 99)}}}}},
          {"overall", {row(95, 1, 128, 128), row(150, 2.25, 52, 299)}}};
}

TEST(FiguresAsCsv, ALineForEverySuiteAndMethod) {
  const std::string csv = csv_of_figures(two_suites(0));
  EXPECT_THAT(csv, testing::StartsWith("suite,prompts,method,tokens_per_second,"));
  EXPECT_THAT(csv, HasSubstr("speedup_interval_low,speedup_interval_high,tau_interval_low,"));
  EXPECT_THAT(csv, HasSubstr("\none,2,\"draft:topk=4,size=8\",150.0,"));
  EXPECT_THAT(csv, HasSubstr("\nall suites,5,plain,95.0,"));
  EXPECT_THAT(csv, HasSubstr(",\"a \"\"b\"\", c\",1.25,1.5,,\n")) << "what is unknown is empty";
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 3 * 2);
  ordered_json one = two_suites(0);
  one["suites"].erase(1);
  EXPECT_THAT(csv_of_figures(one), Not(HasSubstr("all suites")));
}

TEST(AcceptedLengths, ATableAMethodAndARowADocument) {
  const std::vector<ordered_json> documents = {two_suites(0), two_suites(1)};
  EXPECT_EQ(accepted_lengths(documents),
            "`draft:topk=4,size=8`\n\n"
            "| | one | two | all | suites |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| temperature 0 | 2.00 | 3.50 | 2.25 | 2.75 |\n"
            "| temperature 1 | 2.00 | 3.50 | 2.25 | 2.75 |\n");
  auto damaged = documents;
  damaged[1]["suites"][0]["name"] = "other";
  EXPECT_THAT(error_of([&] { accepted_lengths(damaged); }), HasSubstr("different suites"));
  damaged = documents;
  damaged[1]["suites"][1]["methods"] = ordered_json::array();
  EXPECT_THAT(error_of([&] { accepted_lengths(damaged); }), HasSubstr("two: not measured yet"));
}

TEST(PolicyBars, CompareWithFixedRowsAndWithTheSameSettings) {
  const std::string tree = "eagle3:model=m,topk=10,depth=6,size=";
  const ordered_json document = {
      {"methods",
       {method("plain"), method(tree + "10"), method(tree + "30"), method(tree + "30,policy=hetero"),
        method("eagle3:model=m,policy=c2t:beta=0.5;size=128"), method("eagle3,ngram:model=m,policy=auto")}},
      {"suites",
       {{{"name", "one"},
         // Calls times τ are 600 tokens; verified a token: 1, 4, 6.
         {"methods",
          {row(100, 1.0, 600, 600, {1.0, 1.0}), row(180, 2.0, 300, 2400, {1.9, 1.7}),
           row(200, 3.0, 200, 3600, {1.8, 2.2}), row(210, 3.0, 200, 1800, {2.0, 2.2}),
           row(150, 2.5, 240, 1500, {1.5, 1.5}), row(190, 9.0, 60, 600, {1.9, 1.9})}}}}}};
  const std::string bars = policy_bars(document);
  // The best fixed row of the first half is size 10, of the second size 30: (2.2 / 1.7 + 2.0 / 1.8) / 2.
  EXPECT_THAT(bars, HasSubstr("1.05 of " + tree + "30, 1.20 of the row chosen; 2.10 of plain\n"));
  EXPECT_THAT(bars, HasSubstr("    against " + tree + "30: tokens/s +5.0%, calls +0.0%, verified -50.0%\n"));
  EXPECT_THAT(bars, HasSubstr("    2.00 accepted a call, for 50% of the fixed trees' verified tokens\n"));
  EXPECT_THAT(bars, HasSubstr("    1.50 accepted a call, for 50% of the fixed trees' verified tokens\n"))
      << "c2t: 2.5 a token, between sizes 5";
  EXPECT_THAT(bars, HasSubstr("0.95 of " + tree + "30, ")) << "auto";
  EXPECT_THAT(bars, Not(HasSubstr("8.00 accepted"))) << "no fixed trees of its drafters";
  EXPECT_THAT(bars, Not(HasSubstr("all suites")));

  ordered_json once = document;
  for (ordered_json& r : once["suites"][0]["methods"]) r["round_speedups"].erase(1);
  EXPECT_THAT(policy_bars(once), HasSubstr("30, one round only; 2.10 of plain"));
  once["suites"][0]["methods"] = ordered_json::array();
  EXPECT_EQ(policy_bars(once), "Nothing was measured.\n");
}

}  // namespace
}  // namespace augur
