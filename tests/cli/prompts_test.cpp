#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program.h"

namespace augur::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<json> lines(const std::string& text) {
  std::vector<json> result;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) result.push_back(json::parse(line));
  return result;
}

Outcome run_prompts(const std::string& file, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"generate", "-m", stories260k(), "--prompts", file, "-n", "24"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_augur(arguments);
}

/// Prompts whose generations end at different times, so that batches change as they run.
std::string prompt_lines(int count) {
  const std::vector<std::string> beginnings = {"Once upon a time", "The dog", "A",
                                               "Lily and Tom went to the park and", "One day, a big cat"};
  std::string text;
  for (int i = 0; i < count; ++i) {
    const std::string prompt = beginnings[static_cast<std::size_t>(i) % beginnings.size()] +
                               std::string(static_cast<std::size_t>(i) / beginnings.size(), ' ');
    text += json{{"id", i}, {"category", "test"}, {"turns", {prompt, "ignored"}}}.dump() + "\n";
  }
  return text;
}

TEST(Prompts, OneObjectALineInTheOrderOfTheFile) {
  const auto file =
      temporary_file("p.jsonl", prompt_lines(5) + "\n  \n" + R"({"id": "last", "turns": ["The"]})");
  const Outcome outcome = run_prompts(file.string());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::vector<json> results = lines(outcome.out);
  ASSERT_EQ(results.size(), 6u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)]["id"], i);
  EXPECT_EQ(results[5]["id"], "last");
  EXPECT_TRUE(results[0]["speculation"].contains("calls"));
  EXPECT_EQ(lines(run_prompts(file.string(), {"--limit", "2"}).out).size(), 2u);
}

TEST(Prompts, ABatchChangesNoResult) {
  const auto file = temporary_file("p.jsonl", prompt_lines(11));
  for (const std::vector<std::string>& how :
       std::vector<std::vector<std::string>>{{},
                                             {"--temp", "0.8", "--top-p", "0.95", "--stop", ". "},
                                             {"--spec-type", "ngram"},
                                             {"-md", stories260k()}}) {
    const std::vector<json> alone = lines(run_prompts(file.string(), how).out);
    std::vector<std::string> batched = how;
    batched.insert(batched.end(), {"--parallel", "4"});
    const std::vector<json> together = lines(run_prompts(file.string(), batched).out);
    ASSERT_EQ(alone.size(), 11u);
    ASSERT_EQ(together.size(), 11u);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_EQ(together[i]["id"], alone[i]["id"]);
      EXPECT_EQ(together[i]["tokens"], alone[i]["tokens"]);
      EXPECT_EQ(together[i]["text"], alone[i]["text"]);
      EXPECT_EQ(together[i]["finish_reason"], alone[i]["finish_reason"]);
    }
  }
}

TEST(Prompts, AMalformedLineIsNamedAndWhatCameBeforeIsKept) {
  const std::vector<std::pair<std::string, std::string>> bad_lines = {
      {"{\"id\": 3, \"turns\": [\"x\"", "JSON"},
      {"[1, 2]", "object"},
      {R"({"id": 3})", "turns"},
      {R"({"id": 3, "turns": []})", "turns"},
      {R"({"id": 3, "turns": [7]})", "turns"},
      {R"({"id": [3], "turns": ["x"]})", "id"},
  };
  for (const auto& [line, what] : bad_lines) {
    const auto file = temporary_file("p.jsonl", prompt_lines(2) + line + "\n" + prompt_lines(1));
    const Outcome outcome = run_prompts(file.string());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(lines(outcome.out).size(), 2u);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(file.string() + ":3: "), HasSubstr(what)));
  }
}

TEST(Prompts, FormsOfOtherBenchmarksAreTaken) {
  const auto file = temporary_file("p.jsonl", R"({"question_id": 81, "turns": ["Once upon a time", "x"]}
{"prompt": "Once upon a time"}
)");
  const std::vector<json> results = lines(run_prompts(file.string()).out);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]["id"], 81);
  EXPECT_EQ(results[1]["id"], 2) << "the line";
  EXPECT_EQ(results[0]["tokens"], results[1]["tokens"]);
}

TEST(Prompts, APromptThatIsTooLongIsRefusedAndTheOthersRun) {
  std::string text = prompt_lines(2);
  std::string endless;
  for (int i = 0; i < 400; ++i) endless += "the big dog ";
  text += json{{"id", "endless"}, {"turns", {endless}}}.dump() + "\n";
  text += R"({"id": "after", "turns": ["The"]})";
  const auto file = temporary_file("p.jsonl", text);
  for (const std::string parallel : {"1", "3"}) {
    const Outcome outcome = run_prompts(file.string(), {"--parallel", parallel});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("endless"));
    const std::vector<json> results = lines(outcome.out);
    ASSERT_EQ(results.size(), 4u);
    EXPECT_TRUE(results[2].contains("error"));
    EXPECT_EQ(results[3]["id"], "after");
    EXPECT_EQ(results[3]["tokens"].size(), 24u);
  }
}

}  // namespace
}  // namespace augur::test
