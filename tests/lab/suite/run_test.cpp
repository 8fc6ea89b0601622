// The whole way, on the small model: cells, resumption, analyses, document, page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "lab/suite/analysis.h"
#include "lab/suite/document.h"
#include "lab/suite/keys.h"
#include "lab/suite/report.h"
#include "lab/suite/tables.h"
#include "support/stories.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing_support::stories_path;

class SuiteRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string self = ":model=" + stories_path().string();
    methods_ = new std::vector<Method>{parse_method("plain", {}), parse_method("ngram:n-max=6", {}),
                                       parse_method("draft" + self + ",topk=3,depth=3,size=8", {}),
                                       parse_method("draft,ngram" + self + ",policy=auto", {})};
    EngineOptions options;
    options.model = stories_path().string();
    options.threads = 1;
    options.draft_weights = DraftWeightFormat::Native;  // what drafts for itself is to be itself
    bench_ = new Workbench(options, *methods_);
  }
  static void TearDownTestSuite() {
    delete bench_;
    delete methods_;
  }

  StateFile open() const { return StateFile(folder_.path() / "s.jsonl", {{"augur_suite", 1}}); }
  SuiteRunReport run(StateFile& state, int rounds = 1,
                     const std::function<void(const SuiteProgress&)>& progress = {},
                     RoundLog* log = nullptr) {
    return run_suites(*bench_, sets_, *methods_,
                      {.request = request_, .rounds = rounds, .log = log, .cancel = &cancel_}, state,
                      progress);
  }
  AnalysisOptions one_prompt() const { return {.request = request_, .prompts = 1, .samples = 1}; }
  ordered_json document(const StateFile& state, const SuiteRunReport& report, int rounds = 1) const {
    return suite_document({.command = "augur bench suite </script>", .rounds = rounds, .request = request_},
                          bench_->info(), sets_, *methods_, report, state);
  }

  static std::vector<Method>* methods_;
  static Workbench* bench_;
  testing_support::TemporaryFolder folder_;
  std::vector<PromptSet> sets_ = {
      {"one", {{"a", "x", {"Once upon a time"}}, {"b", "y", {"The cat", "And then"}}}},
      {"two", {{"c", "x", {"One day, Lily"}}}}};
  SuiteRequest request_{.max_tokens = 24};
  std::atomic<bool> cancel_{false};
};
std::vector<Method>* SuiteRun::methods_ = nullptr;
Workbench* SuiteRun::bench_ = nullptr;

TEST_F(SuiteRun, EveryCellIsMeasuredOnceAndAllOutputsAgree) {
  StateFile state = open();
  const SuiteRunReport report = run(state, 2);
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.planned, 2 * 3 * 4);
  EXPECT_EQ(report.fresh, report.planned);
  EXPECT_GE(report.overhead(), 0);
  EXPECT_LT(report.overhead(), 1);

  const ordered_json found = document(state, report, 2);
  EXPECT_FALSE(outputs_differ(found));
  EXPECT_EQ(found["overall"][0]["tau"], 1.0);
  EXPECT_GT(found["overall"][2]["tau"], 2.0) << "it drafts for itself";
  EXPECT_EQ(found["suites"][0]["methods"][2]["tokens"], 2 * 3 * 24)
      << "of both rounds; two turns count twice";
  EXPECT_EQ(found["suites"][0]["categories"].size(), 2U);
  EXPECT_THAT(suite_tables(found), HasSubstr("one: 2 of 2 prompts"));

  // A model that drafts for itself is nearly always right, and `auto` says what it expects.
  const ordered_json& row = found["overall"][2];
  EXPECT_GT(row["accepted_per_position"][0].get<double>(), 0.9 * row["calls"].get<double>());
  EXPECT_EQ(row["forecasts"]["plain"], 0);
  const ordered_json& steered = found["overall"][3]["forecasts"];
  EXPECT_GT(steered["forecast_ms"], 0.0);
  EXPECT_EQ(steered["tokens"], 2 * 4 * 24);
  EXPECT_GT(found["overall"][3]["forecasts"]["oracle_per_second"], 0.0) << "its costs are known";
  const std::string details = suite_tables(found, true);
  EXPECT_THAT(details, HasSubstr("; accepted at depth 1, 2, ..: 0.9"));
  EXPECT_THAT(details, HasSubstr("decided: plain"));
  EXPECT_THAT(details, HasSubstr("knowing what would be accepted"));
}

TEST_F(SuiteRun, TheLogHasEveryRoundOfTheCellsThatWereRun) {
  const std::filesystem::path file = folder_.path() / "rounds.jsonl";
  const auto tokens_by_method = [&] {
    std::map<std::string, int> tokens;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      const ordered_json round = ordered_json::parse(line);
      tokens[round["suite"].get<std::string>() + " " + round["variant"].get<std::string>()] +=
          round["tokens"].get<int>();
    }
    return tokens;
  };
  StateFile state = open();
  {
    RoundLog log(file.string(), false);
    run(state, 1, {}, &log);
    log.finish();
  }
  auto tokens = tokens_by_method();
  ASSERT_EQ(tokens.size(), 2 * 4U);
  EXPECT_EQ(tokens["one plain"], 3 * 24) << "three answers";
  EXPECT_EQ(tokens["two " + (*methods_)[3].text], 24);
  {
    RoundLog log(file.string(), true);
    run(state, 2, {}, &log);
    log.finish();
  }
  EXPECT_EQ(tokens_by_method()["one plain"], 2 * 3 * 24) << "the second round is behind the first";
}

TEST_F(SuiteRun, ACancelledRunGoesOnWithoutRepeatingCells) {
  int first = 0;
  {
    StateFile state = open();
    const SuiteRunReport report = run(state, 1, [&](const SuiteProgress& told) {
      EXPECT_EQ(told.planned, 12);
      if (told.done == 5) cancel_ = true;
    });
    EXPECT_FALSE(report.complete());
    first = report.fresh;
    EXPECT_EQ(first, 5);
    EXPECT_FALSE(document(state, report)["complete"]);
  }
  cancel_ = false;
  StateFile state = open();
  const SuiteRunReport report = run(state);
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.fresh, 12 - first);
  EXPECT_EQ(run(state).fresh, 0);
}

TEST_F(SuiteRun, AnOutputThatDiffersIsFound) {
  StateFile state = open();
  SuiteRunReport report = run(state);
  Cell wrong = state.cells().at({prompt_key("two", sets_[1].prompts[0]), method_key((*methods_)[1], ""), 0});
  wrong.output = "0123456789abcdef";
  state.add(wrong);
  const ordered_json found = document(state, report);
  EXPECT_TRUE(outputs_differ(found));
  EXPECT_EQ(found["overall"][1]["different"], 1);
  EXPECT_EQ(found["overall"][2]["different"], 0);
  EXPECT_THAT(suite_tables(found), HasSubstr("1 DIFFER"));
}

TEST_F(SuiteRun, ChangingWhatIsAskedChangesTheCells) {
  StateFile state = open();
  run(state);
  sets_[1].prompts[0].turns[0] += "!";
  EXPECT_EQ(run(state).fresh, 4);
  EXPECT_NE(method_key((*methods_)[1], ""), method_key((*methods_)[2], ""));
}

TEST_F(SuiteRun, WatchedRoundsTellWhatWasAccepted) {
  const SuitePrompt& prompt = sets_[0].prompts[0];
  const ordered_json tree = watch_rounds(*bench_, (*methods_)[2], prompt, request_, 10, nullptr);
  int accepted = 0;
  bool phi = false;
  for (const ordered_json& round : tree["rounds"]) {
    accepted += round[4].get<int>() + 1;
    phi = phi || !round[0].is_null();
    EXPECT_LE(round[5], 8);
    if (round[2] == 1) {
      EXPECT_EQ(round[1] == 0, round[4] == 0) << round.dump();
    }
  }
  EXPECT_TRUE(phi);
  EXPECT_GE(accepted, 24);
  const ordered_json lookup = watch_rounds(*bench_, (*methods_)[1], prompt, request_, 10, nullptr);
  EXPECT_FALSE(lookup["rounds"].empty());
  for (const ordered_json& round : lookup["rounds"]) {
    EXPECT_TRUE(round[0].is_null()) << "no law, no entropy";
  }
}

TEST_F(SuiteRun, AWatchedTextIsTheSameTextAndItsTreesAreTrees) {
  const SuitePrompt& prompt = sets_[0].prompts[0];
  std::string plain;
  bench_->run((*methods_)[0], prompt, request_, nullptr, [&](const Result& r) { plain = r.text; });
  for (std::size_t m = 0; m < methods_->size(); ++m) {
    const ordered_json watched = watch_text(*bench_, (*methods_)[m], prompt, request_, nullptr);
    std::string text;
    for (const ordered_json& token : watched["tokens"]) text += token[0].get<std::string>();
    EXPECT_EQ(text, plain);
    EXPECT_EQ(watched["tokens"].size(), 24U);
    int tokens = 0;
    for (const ordered_json& round : watched["rounds"]) {
      int accepted = 0;
      int verified = 0;
      const ordered_json& nodes = round["nodes"];
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        EXPECT_LT(nodes[n][1].get<int>(), static_cast<int>(n));
        EXPECT_EQ(nodes[n][1] == -1, n == 0);
        accepted += nodes[n][4] == 2 && n > 0 ? 1 : 0;
        verified += nodes[n][4] != 0 ? 1 : 0;
      }
      EXPECT_EQ(round["accepted"], accepted);
      EXPECT_EQ(round["verified"], verified);
      tokens += accepted + 1;
    }
    EXPECT_GE(tokens, 24) << "the last round may go beyond the end";
  }
}

TEST_F(SuiteRun, ThePageCarriesTheDocumentAndCannotBeBrokenOutOf) {
  StateFile state = open();
  const SuiteRunReport report = run(state);
  analyse(*bench_, sets_, *methods_, one_prompt(), state);
  const ordered_json found = document(state, report);
  EXPECT_EQ(found["analyses"].size(), 3U) << "of all that draft";
  ASSERT_EQ(found["samples"].size(), 1U);
  EXPECT_EQ(found["samples"][0]["suite"], "one");
  EXPECT_EQ(found["samples"][0]["methods"].size(), 4U);
  EXPECT_GE(found["costs"]["verify"].size(), 5U);
  EXPECT_FALSE(found["costs"]["drafters"].empty());

  const std::string page = report_page(found);
  constexpr std::string_view kOpen = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(kOpen) + kOpen.size();
  const std::size_t end = page.find("</script>", begin);
  ordered_json shown = found;
  for (ordered_json& suite : shown["suites"]) {
    EXPECT_EQ(suite["cells"].size(), suite["prompts"].get<std::size_t>() * 4);
    suite.erase("cells");
  }
  EXPECT_TRUE(ordered_json::parse(page.substr(begin, end - begin)) == shown)
      << "also behind '</script>' in a text";
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg")) << "loads nothing";
  EXPECT_EQ(page.find("https://"), std::string::npos);
}

}  // namespace
}  // namespace augur
