// From text to parts to drafting with them, as a user would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/program.h"
#include "support/stories_answer.h"
#include "support/temporary_folder.h"

namespace augur::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::kStoriesKnownAnswer;
using testing_support::TemporaryFolder;

class Vocabulary : public testing::Test {
 protected:
  Vocabulary() {
    std::ofstream file(texts());
    for (const char* text :
         {"Once upon a time, there was a little girl named Lily.", "Tom and Lily are friends.",
          "One day, a big dog went to the park to play.", "The cat was sad. It was too hot."}) {
      file << nlohmann::json{{"text", text}}.dump() << "\n";
    }
  }
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string texts() const { return in("texts.jsonl"); }

  TemporaryFolder folder_;
};

TEST_F(Vocabulary, PartsAreMadeUsedAndMeasured) {
  Outcome outcome = run_augur({"train", "frspec", "-m", stories260k(), "--data", texts(), "-o", in("list")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("of 512 occur"));
  outcome = run_augur({"train",        "dynaspec",   "-m",
                       stories260k(),  "-d",         stories260k(),
                       "--prompts",    texts(),      "-o",
                       in("clusters"), "--examples", "1000",
                       "-n",           "40",         "--clusters",
                       "16",           "--core",     in("list"),
                       "--core-size",  "32",         "--router-hidden",
                       "32",           "-t",         "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("16 clusters, router of 32"));

  const std::string list = in("list");
  for (const std::string& vocabulary :
       {"frspec:" + list + ":128", "pafr:" + list, "hot:" + list + ":64", "dynaspec:" + in("clusters"),
        "dynaspec:" + in("clusters") + ":6,4"}) {
    outcome = run_augur({"generate", "-m", stories260k(), "-t", "2", "-md", stories260k(), "--spec-vocab",
                         vocabulary, "-p", "", "-n", "200"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, kStoriesKnownAnswer) << vocabulary;
  }

  outcome = run_augur({"bench",        "vocab",
                       "-m",           stories260k(),
                       "-d",           stories260k(),
                       "-t",           "2",
                       "--prompts",    texts(),
                       "--vocab",      "frspec:" + list + ":128",
                       "--vocab",      "dynaspec:" + in("clusters"),
                       "-n",           "30",
                       "--theory",     "1",
                       "--shape",      "2048x64",
                       "--shape-size", "512",
                       "--json",       in("figures.json")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("the same tokens"), HasSubstr("overlap"), HasSubstr("8 beams")));
  std::ifstream file(in("figures.json"));
  const auto figures = nlohmann::json::parse(file);
  ASSERT_EQ(figures["suites"][0]["vocabularies"].size(), 3u);
  EXPECT_NEAR(figures["suites"][0]["vocabularies"][0]["computed"].get<double>(), 512, 0.1);
  EXPECT_NEAR(figures["suites"][0]["vocabularies"][1]["computed"].get<double>(), 128, 0.1);
}

TEST_F(Vocabulary, WhatCannotBeIsRefusedByName) {
  const auto error = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"generate", "-m", stories260k(), "-p", "", "-n", "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_augur(arguments);
    EXPECT_EQ(outcome.code, 1);
    return outcome.err;
  };
  EXPECT_THAT(error({"--spec-vocab", "frspec:x", "--spec-type", "ngram"}),
              HasSubstr("nothing that drafts here (ngram) has a vocabulary"));
  EXPECT_THAT(error({"--spec-vocab", "rare:x", "-md", stories260k()}), HasSubstr("unknown kind"));
  EXPECT_THAT(error({"--spec-vocab", "dynaspec:" + in("none"), "-md", stories260k()}), HasSubstr("none"));
  EXPECT_THAT(run_augur({"train", "frspec", "--help"}).out, HasSubstr("--data"));
}

}  // namespace
}  // namespace augur::test
