// docs/adding_a_policy.md, done: the program with the example's file and line knows the policy and its
// settings by name, and writes what plain decoding writes, in fewer steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "examples/generate.h"
#include "examples/registered.h"

namespace augur::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(ExamplePolicy, IsKnownByItsName) {
  EXPECT_THAT(run_augur({"generate", "--help"}).out, HasSubstr("taper"));
}

TEST(ExamplePolicy, IsTestedUnasked) {
  EXPECT_TRUE(has_test("Registered/LosslessPolicies.TokensAreThoseOfPlainDecoding/taper"));
  EXPECT_TRUE(has_test("Registered/PolicyContract.KeepsDrawnCandidatesWhateverTheyAre/taper"));
}

TEST(ExamplePolicy, WritesWhatPlainDecodingWrites) {
  const std::string model = stories260k();
  for (const std::vector<std::string>& sampling :
       {std::vector<std::string>{}, {"--temp", "0.8", "--seed", "3"}}) {
    const json plain = generate_stories(sampling);
    ASSERT_EQ(plain["tokens"].size(), 120u);
    // A draft model that is its own target, a look-up, both; and drawn trees, which are cut by place.
    for (const std::vector<std::string>& drafters :
         {std::vector<std::string>{"--spec-type", "draft", "-md", model},
          {"--spec-type", "ngram"},
          {"--spec-type", "draft,ngram", "-md", model}}) {
      std::vector<std::string> arguments = sampling;
      arguments.insert(arguments.end(), drafters.begin(), drafters.end());
      arguments.insert(arguments.end(), {"--spec-policy", "taper"});
      const json drafted = generate_stories(arguments);
      EXPECT_EQ(drafted["tokens"], plain["tokens"]) << drafters[1];
      EXPECT_LT(drafted["speculation"]["calls"], plain["speculation"]["calls"]) << drafters[1];
    }
  }
}

TEST(ExamplePolicy, KeepsToItsSettings) {
  const std::string model = stories260k();
  const auto rows = [&](const std::string& policy) {
    const json result = generate_stories({"-md", model, "--spec-policy", policy});
    return result["speculation"]["verified_tokens"].get<double>() /
           result["speculation"]["calls"].get<double>();
  };
  EXPECT_LE(rows("taper:size=6"), 6.0);
  EXPECT_GT(rows("taper:size=12"), 6.0);
  // One node a level, then its one child: a chain.
  EXPECT_LE(rows("taper:share=0,topk=1"), 5.0);
  const Outcome outcome = run_stories({"-md", model, "--spec-policy", "taper:share=2"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("policy taper: share: expected a number from 0 to 1"));
}

TEST(ExamplePolicy, DrawsTreesForRejection) {
  const json greedy = generate_stories({});
  const json result =
      generate_stories({"-md", stories260k(), "--spec-policy", "taper:size=6", "--spec-verify", "rejection"});
  EXPECT_EQ(result["tokens"], greedy["tokens"]) << "greedily, rejection keeps the ids";
  const json drawn = generate_stories({"-md", stories260k(), "--spec-policy", "taper:size=6", "--spec-verify",
                                       "rejection", "--temp", "1", "--seed", "3"});
  EXPECT_GT(drawn["speculation"]["accepted_tokens"], 40) << "the drafter's distribution is the target's";
}

}  // namespace
}  // namespace augur::test
