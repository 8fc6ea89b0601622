// `augur train` hands over to the training program, where there is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"

namespace augur::test {
namespace {

using ::testing::HasSubstr;

bool training_is_built() {
  return std::filesystem::exists(std::filesystem::path(AUGUR_PROGRAM).parent_path() / "augur-train");
}

TEST(Train, WithoutTheProgramItSaysHowToGetIt) {
  if (training_is_built()) GTEST_SKIP() << "augur-train is built";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"train"}, {"train", "--help"}, {"train", "eagle3", "-m", "x"}}) {
    const Outcome outcome = run_augur(arguments);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("make train"));
    EXPECT_THAT(outcome.err, HasSubstr("augur-train"));
  }
}

class Training : public testing::Test {
 protected:
  void SetUp() override {
    if (!training_is_built()) GTEST_SKIP() << "augur-train is not built";
  }
};

TEST_F(Training, HelpOfEveryPart) {
  const Outcome all = run_augur({"train", "--help"});
  EXPECT_EQ(all.code, 0);
  for (const std::string part :
       {"generate", "eagle3", "eagle", "mtp", "medusa", "hydra", "dflash", "draft", "lm"}) {
    EXPECT_THAT(all.out, HasSubstr(part));
    const Outcome help = run_augur({"train", part, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("--model"));
  }
}

TEST_F(Training, FlagsTakeNumbersThatMakeSense) {
  const std::vector<std::string> command = {"train", "mtp", "-m", "m",        "--data",
                                            "d",     "-o",  "o",  "--tokens", "10"};
  for (const auto& [flag, value] : {std::pair{"--lr", "nan"},
                                    {"-t", "-3"},
                                    {"--minutes", "-1"},
                                    {"--minutes", "nan"},
                                    {"--max-tokens-per-file", "-7"},
                                    {"--weight-decay", "inf"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {flag, value});
    const Outcome outcome = run_augur(arguments);
    EXPECT_EQ(outcome.code, 2) << flag;
    EXPECT_THAT(outcome.err, HasSubstr(std::string("'") + value + "' is not a number from")) << flag;
  }
}

TEST_F(Training, AnswersAreKeptFromWhatIsNotTheirs) {
  const std::string prompts = temporary_file("p.jsonl", "{\"text\": \"Once upon a time\"}\n").string();
  const std::string notes = temporary_file("notes.txt", "keep me").string();
  const Outcome refused =
      run_augur({"train", "generate", "-m", stories260k(), "--prompts", prompts, "-o", notes});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("notes.txt"));
  EXPECT_EQ(std::filesystem::file_size(notes), 7u);
  const Outcome twice =
      run_augur({"train", "generate", "-m", stories260k(), "--prompts", prompts, "--prompts",
                 "other/" + std::filesystem::path(prompts).filename().string(), "-o", notes + ".jsonl"});
  EXPECT_EQ(twice.code, 1);
  EXPECT_THAT(twice.err, HasSubstr("have the same name"));
}

TEST_F(Training, FromPromptsToAHeadThatDrafts) {
  const std::string prompts =
      temporary_file("texts.jsonl",
                     "{\"text\": \"Once upon a time, there was a girl named Lily.\"}\n"
                     "{\"text\": \"One day, a boy went to the park with his dog.\"}\n"
                     "{\"text\": \"There was a big tree. A bird lived in the tree.\"}\n")
          .string();
  const std::string answers = temporary_file("answers.jsonl").string();
  std::filesystem::remove(answers);
  const std::vector<std::string> generate = {
      "train", "generate", "-m",           stories260k(), "--prompts",      prompts,
      "-o",    answers,    "--max-tokens", "60",          "--temperatures", "0,1"};
  const Outcome generated = run_augur(generate);
  ASSERT_EQ(generated.code, 0) << generated.err;
  EXPECT_THAT(generated.err, HasSubstr("3 answers"));
  const Outcome again = run_augur(generate);
  EXPECT_THAT(again.err, HasSubstr("3 answers are there, 0 to go"));
  std::vector<std::string> expanded = generate;
  expanded.insert(expanded.end(), {"--weights", "f32"});
  const Outcome refused = run_augur(expanded);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("weights f32"));

  const std::filesystem::path folder = temporary_file("head.txt").parent_path();
  const std::string inside = (folder / "inside").string();
  std::filesystem::remove_all(inside);
  const std::string excluded =
      temporary_file("excluded.jsonl", "{\"text\": \"One day, a boy went to the park with his dog.\"}\n")
          .string();
  std::vector<std::string> from_prompts = {
      "train", "mtp",      "-m",  stories260k(),   "--generate", prompts,      "-o",
      inside,  "--tokens", "600", "--step-tokens", "100",        "--held-out", "1"};
  const Outcome whole = run_augur(from_prompts);
  ASSERT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("3 to go"));
  EXPECT_THAT(whole.err, HasSubstr("600 tokens to learn: about "));
  std::filesystem::remove_all(inside);
  from_prompts.insert(from_prompts.end(), {"--exclude-prompts", excluded});
  const Outcome filtered = run_augur(from_prompts);
  ASSERT_EQ(filtered.code, 0) << filtered.err;
  EXPECT_THAT(filtered.err, HasSubstr("1 prompts left out: near prompts of --exclude-prompts"));
  EXPECT_THAT(filtered.err, HasSubstr("2 to go"));
  const Outcome nothing = run_augur({"train", "mtp", "-m", stories260k(), "-o", inside, "--tokens", "10"});
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("expected --data or --generate"));

  const std::string out = (folder / "head").string();
  std::filesystem::remove_all(out);
  const Outcome trained = run_augur({"train", "mtp", "-m", stories260k(), "--data", answers, "-o", out,
                                     "--tokens", "1000", "--step-tokens", "100", "--held-out", "1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_TRUE(std::filesystem::exists(out + "/README.md"));

  const std::vector<std::string> plain = {"generate",         "-m", stories260k(), "-p",
                                          "Once upon a time", "-n", "40",          "--json"};
  std::vector<std::string> drafted = plain;
  drafted.insert(drafted.end(), {"-md", out, "--spec-type", "mtp", "--spec-draft-n-max", "4"});
  const Outcome with = run_augur(drafted);
  ASSERT_EQ(with.code, 0) << with.err;
  const auto result = nlohmann::json::parse(with.out);
  EXPECT_EQ(result["tokens"], nlohmann::json::parse(run_augur(plain).out)["tokens"]);
  EXPECT_EQ(result["speculation"]["type"], "mtp");
  EXPECT_GT(result["speculation"]["drafted_tokens"], 0);

  const Outcome broken =
      run_augur({"train", "mtp", "-m", stories260k(), "--data", prompts + "x", "-o", out, "--tokens", "10"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.err, HasSubstr("texts.jsonlx"));
}

}  // namespace
}  // namespace augur::test
