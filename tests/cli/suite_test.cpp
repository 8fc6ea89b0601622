#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace augur::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

json read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  return json::parse(in);
}

/// The arguments of a small run that leaves its files beside `path`.
std::vector<std::string> small_run(const std::filesystem::path& path) {
  const std::string draft = "draft:model=" + stories260k() + ",topk=3,depth=3,size=8";
  return {"bench",
          "suite",
          "-m",
          stories260k(),
          "--limit",
          "2",
          "--rounds",
          "2",
          "-n",
          "12",
          "-t",
          "1",
          "--json",
          path.string(),
          "--methods",
          "ngram",
          draft,
          "--report",
          path.string() + ".html"};
}

TEST(BenchSuite, MeasuresWritesAndGoesOn) {
  const auto path = temporary_file("suite.json");
  const Outcome first = run_augur(small_run(path));
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("quick: 2 of 2 prompts"));
  EXPECT_THAT(first.out, HasSubstr("12 of 12 cells;"));
  const json found = read_json(path);
  EXPECT_EQ(found["complete"], true);
  EXPECT_EQ(found["methods"].size(), 3U);
  EXPECT_EQ(found["methods"][0]["text"], "plain");
  EXPECT_THAT(found["command"].get<std::string>(), HasSubstr("bench suite -m"));
  EXPECT_FALSE(found["samples"].empty());

  const Outcome again = run_augur(small_run(path));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read_json(path)["suites"], found["suites"]) << "nothing was measured again";

  auto warmer = small_run(path);
  warmer.insert(warmer.end(), {"--temp", "1"});
  const Outcome refused = run_augur(warmer);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("made with temperature"));
}

TEST(BenchSuite, SaysWhatIsWrong) {
  const auto outcome = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"bench",       "suite",  "-m",
                                          stories260k(), "--json", temporary_file("wrong.json").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_augur(arguments);
  };
  EXPECT_THAT(outcome({"--methods", "nonsense"}).err, HasSubstr("nonsense"));
  EXPECT_THAT(outcome({"--methods", "ngram", "ngram"}).err, HasSubstr("given twice"));
  EXPECT_THAT(outcome({"--prompts", "no/such.jsonl"}).err, HasSubstr("no/such.jsonl"));
  EXPECT_THAT(outcome({"--peers", "no/such.txt"}).err, HasSubstr("no/such.txt"));
  EXPECT_THAT(outcome({"--system", "x"}).err, HasSubstr("the model has no chat template"));
}

/// The same comparison by its short name: one prompt, the draft model of -md, details.
TEST(BenchSpec, FindsTheSameTokens) {
  const auto file = temporary_file("spec.json");
  const auto log = temporary_file("spec.log");
  const Outcome outcome = run_augur({"bench",
                                     "spec",
                                     "-m",
                                     stories260k(),
                                     "-md",
                                     stories260k(),
                                     "-p",
                                     "Once upon a time",
                                     "-n",
                                     "60",
                                     "-t",
                                     "1",
                                     "--show",
                                     "--rounds",
                                     "2",
                                     "--with",
                                     "ngram:n-max=8",
                                     "--with",
                                     "auto:n-max=4",
                                     "--with",
                                     "draft,ngram:topk=2,depth=3,size=8",
                                     "--json",
                                     file.string(),
                                     "--log",
                                     log.string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("---- plain"), HasSubstr("there was a little girl"),
                                 HasSubstr("prompt: 1 of 1 prompts"), HasSubstr("same tokens"),
                                 HasSubstr("accepted at depth 1"), HasSubstr("8 of 8 cells;")));
  const json methods = read_json(file)["suites"][0]["methods"];
  ASSERT_EQ(methods.size(), 4u);
  for (const json& method : methods) EXPECT_EQ(method["different"], 0);
  EXPECT_EQ(methods[0]["tau"], 1.0);
  EXPECT_GT(methods[2]["tau"], 3.0);
  std::ifstream rounds(log);
  std::string line;
  ASSERT_TRUE(std::getline(rounds, line));
  EXPECT_EQ(json::parse(line)["variant"], "plain");
  const Outcome priced = run_augur({"bench", "rounds", log.string()});
  EXPECT_EQ(priced.code, 0) << priced.err;
  EXPECT_THAT(priced.out, AllOf(HasSubstr("prompt\n  plain  "), HasSubstr(" of the best fixed; measured ")));
  EXPECT_THAT(run_augur({"bench", "rounds", file.string()}).err, HasSubstr("spec.json line 1"));
}

TEST(BenchSpec, ComparesWhatIsAtHandAndKeepsNothingUnasked) {
  const auto folder = temporary_file("spec").parent_path();
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  };
  const auto before = files();
  const Outcome outcome =
      run_augur({"bench", "spec", "-m", stories260k(), "-p", "One day", "-n", "16", "-t", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("ngram:policy=auto"), HasSubstr("3 of 3 cells;")));
  EXPECT_EQ(files(), before);
  EXPECT_EQ(run_augur({"bench", "spec", "-m", stories260k()}).code, 2) << "what from?";
  EXPECT_EQ(run_augur({"bench", "spec", "-m", stories260k(), "-p", "x", "--prompts", "y"}).code, 2);
  EXPECT_THAT(run_augur({"bench", "spec", "-m", stories260k(), "-p", "x", "--with", "ngram:n-max=many"}).err,
              HasSubstr("n-max"));
  EXPECT_THAT(run_augur({"bench", "spec", "-m", stories260k(), "-p", "x", "--system", "y"}).err,
              HasSubstr("--system"));
}

TEST(BenchSuite, FiguresToStandardOutputStandAlone) {
  const Outcome outcome =
      run_augur({"bench",  "suite", "-m",        stories260k(), "-p",        "One day",   "-n",
                 "8",      "-t",    "1",         "--rounds",    "1",         "--methods", "ngram",
                 "--json", "-",     "--analyse", "0",           "--samples", "0"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["complete"], true);
}

TEST(BenchReport, TablesInMarkdownFromTheFigures) {
  const auto path = temporary_file("tables.json");
  ASSERT_EQ(run_augur(small_run(path)).code, 0);
  const Outcome tables = run_augur({"bench", "report", path.string(), "--markdown"});
  EXPECT_EQ(tables.code, 0) << tables.err;
  EXPECT_THAT(tables.out, HasSubstr("| `plain` | 1.00 (1.00-1.00) |  | 1.00 | 1.00 |"));
  EXPECT_THAT(tables.out, HasSubstr("| speedup by suite | quick |\n| --- | --- |\n| `plain`, tokens/s |"));
  EXPECT_THAT(tables.out, HasSubstr("temperature 0.0, 12 tokens, 2 rounds"));

  const Outcome csv = run_augur({"bench", "report", path.string(), "--csv", "-"});
  EXPECT_EQ(csv.code, 0) << csv.err;
  EXPECT_THAT(csv.out, HasSubstr("\nquick,2,plain,"));
  const Outcome lengths = run_augur({"bench", "report", path.string(), path.string(), "--lengths"});
  EXPECT_THAT(lengths.out, HasSubstr("`ngram`\n\n| | quick | all | suites |\n")) << lengths.err;
  EXPECT_THAT(run_augur({"bench", "report", path.string(), "--bars"}).out, HasSubstr("  ngram  "));
  EXPECT_THAT(run_augur({"bench", "report", path.string(), path.string(), "--markdown"}).err,
              HasSubstr("2 files: expected one, or --lengths"));
  EXPECT_EQ(run_augur({"bench", "report", path.string(), "--markdown", "--bars"}).code, 2);

  // A file that somebody edited is refused by the field.
  const auto error = [&](auto&& damage) {
    json content = read_json(path);
    damage(content);
    return run_augur({"bench", "report", temporary_file("x.json", content.dump()).string(), "--markdown"})
        .err;
  };
  EXPECT_THAT(error([](json& c) { c = json::object(); }), HasSubstr("x.json: not a file that"));
  EXPECT_THAT(error([](json& c) { c.erase("methods"); }), HasSubstr("x.json: not what"));
  EXPECT_THAT(error([](json& c) { c["overall"].erase(1); }),
              HasSubstr("a row for each of 3 methods, found 2"));
  EXPECT_THAT(error([](json& c) { c["overall"][0]["tau"] = "much"; }), HasSubstr("overall: not what"));
  EXPECT_THAT(error([](json& c) {
                c["suites"][0]["methods"][1]["speedup_by_round"] = {1, 2};
              }),
              HasSubstr("speedup_by_round: expected three numbers"));
  EXPECT_THAT(error([](json& c) { c["settings"].erase("temperature"); }), HasSubstr("settings: not what"));
}

TEST(BenchSuite, ThePageRendersAtPhoneAndDesktopWidth) {
  const auto path = temporary_file("page.json");
  const Outcome outcome = run_augur(small_run(path));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string check =
      std::string(AUGUR_SOURCE_DIR) + "/tests/cli/check_report.sh '" + path.string() + ".html'";
  const int status = std::system(check.c_str());
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no Chromium here: the page was made, but not opened";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace augur::test
