// docs/adding_a_drafter.md, done: the program with the example's file and line knows the drafter by name, and
// writes what plain decoding writes, in fewer steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"
#include "examples/generate.h"
#include "examples/registered.h"

namespace augur::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(ExampleDrafter, IsKnownByItsName) {
  const Outcome outcome = run_augur({"generate", "--help"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("bigram"));
}

TEST(ExampleDrafter, IsTestedUnasked) {
  EXPECT_TRUE(has_test("Registered/LosslessDrafters.TokensAreThoseOfPlainDecoding/bigram"));
  EXPECT_TRUE(has_test("Registered/DrafterContract.AddsWhatItIsAskedFor/bigram"));
}

TEST(ExampleDrafter, WritesWhatPlainDecodingWrites) {
  const std::vector<std::vector<std::string>> samplings = {{}, {"--temp", "0.8", "--seed", "3"}};
  const std::vector<std::vector<std::string>> shapes = {
      {"--spec-policy", "chain"}, {"--spec-tree-topk", "3"}, {"--spec-policy", "auto"}};
  for (const std::vector<std::string>& sampling : samplings) {
    const json plain = generate_stories(sampling);
    ASSERT_EQ(plain["tokens"].size(), 120u);
    for (const std::vector<std::string>& shape : shapes) {
      for (const char* type : {"bigram", "bigram,ngram"}) {
        std::vector<std::string> arguments = sampling;
        arguments.insert(arguments.end(), shape.begin(), shape.end());
        arguments.insert(arguments.end(), {"--spec-type", type});
        const json drafted = generate_stories(arguments);
        EXPECT_EQ(drafted["tokens"], plain["tokens"]) << type << ", " << shape.back();
        EXPECT_EQ(drafted["speculation"]["type"], type);
        // What the policy `auto` drafts depends on the clock.
        if (shape.back() == "auto") continue;
        EXPECT_GT(drafted["speculation"]["accepted_tokens"], 10) << type << ", " << shape.back();
        EXPECT_LT(drafted["speculation"]["calls"], plain["speculation"]["calls"])
            << type << ", " << shape.back();
      }
    }
  }
}

TEST(ExampleDrafter, SharesABatchWithItself) {
  const auto prompts = temporary_file("prompts.jsonl",
                                      "{\"id\":\"a\",\"category\":\"c\",\"turns\":[\"Once upon a time\"]}\n"
                                      "{\"id\":\"b\",\"category\":\"c\",\"turns\":[\"Lily and Tom\"]}\n"
                                      "{\"id\":\"c\",\"category\":\"c\",\"turns\":[\"The big red ball\"]}\n");
  const auto run = [&](const std::string& type, const char* parallel) {
    const Outcome outcome = run_augur({"generate", "-m", stories260k(), "-t", "2", "-n", "60", "--ignore-eos",
                                       "--prompts", prompts.string(), "--parallel", parallel, "--json",
                                       "--spec-type", type, "--spec-tree-topk", "3"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::map<std::string, json> tokens;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      const json result = json::parse(line);
      tokens[result["id"]] = result["tokens"];
    }
    return tokens;
  };
  const auto plain = run("none", "1");
  ASSERT_EQ(plain.size(), 3u);
  EXPECT_EQ(run("bigram", "3"), plain);
}

}  // namespace
}  // namespace augur::test
