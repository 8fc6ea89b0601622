// The same number of nodes for every policy, and several texts of a prompt.
#include "lab/suite/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "lab/suite/cell_table.h"
#include "lab/suite/document.h"
#include "lab/suite/keys.h"
#include "lab/suite/parts.h"
#include "lab/suite/tables.h"
#include "policy/registry.h"
#include "support/error_of.h"
#include "support/stories.h"

namespace augur {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::error_of;
using testing_support::stories_path;

constexpr int kBudget = 6;

Method budgeted(const std::string& text, int nodes = kBudget) {
  Method method = parse_method(text, {});
  use_budget(method, nodes);
  return method;
}

TEST(UseBudget, SetsTheLimitsThatThePolicyReads) {
  EXPECT_EQ(budgeted("draft:policy=chain").speculation.draft_max, 6);
  EXPECT_EQ(budgeted("draft:policy=chain").speculation.tree_size, std::nullopt);
  EXPECT_EQ(budgeted("draft:topk=4").speculation.tree_size, 7) << "the newest token counts";
  EXPECT_EQ(budgeted("draft:policy=adaedl").speculation.tree_size, std::nullopt);
  EXPECT_EQ(budgeted("draft:policy=adaedl:tree=1").speculation.tree_size, 7);
  EXPECT_EQ(budgeted("draft:policy=auto").speculation, parse_method("draft:policy=auto", {}).speculation);
  EXPECT_TRUE(budgeted("plain").plain());
  EXPECT_EQ(budgeted("draft:policy=chain", 5000).speculation.draft_max, 1024) << "the longest chain there is";
}

TEST(UseBudget, RefusesMethodsThatSayThemselvesHowMuchIsVerified) {
  EXPECT_THAT(error_of([] { budgeted("draft:n-max=4"); }), StartsWith("draft:n-max=4: n-max: the budget"));
  EXPECT_THAT(error_of([] { budgeted("draft:topk=4,size=9"); }), HasSubstr("size: the budget of 6 nodes"));
  EXPECT_THAT(error_of([] { budgeted("draft:policy=c2t:size=9"); }), HasSubstr("size: the budget"));
  EXPECT_THAT(error_of([] { budgeted("draft:tree=mc_sim_7b_63"); }), HasSubstr("tree: the budget"));
}

TEST(DefaultMethods, LeaveTheirSizeToABudget) {
  const std::vector<FoundPart> parts = {{.name = "head", .kind = "eagle3", .drafter = true}};
  for (const bool quick : {false, true}) {
    for (const std::string& text : default_methods(parts, quick, true))
      EXPECT_NO_THROW(budgeted(text)) << text;
  }
}

class Budgets : public testing::Test {
 protected:
  static Workbench bench_of(const std::vector<Method>& methods) {
    EngineOptions options;
    options.model = stories_path().string();
    options.threads = 1;
    options.draft_weights = DraftWeightFormat::Native;  // what drafts for itself is always right
    return {options, methods};
  }
  std::vector<PromptSet> sets_ = {
      {"one", {{"a", "x", {"Once upon a time"}}, {"b, \"c\"", "y", {"The cat"}}}}};
};

TEST_F(Budgets, AreVerifiedByEveryPolicyAndNeverExceeded) {
  const std::string self = "draft:model=" + stories_path().string();
  std::vector<Method> methods = {parse_method("plain", {})};
  for (const char* rest : {",policy=chain", ",topk=3,depth=6", ",policy=dymax:threshold=0",
                           ",policy=svip:threshold=1", ",policy=auto", ",topk=8,depth=8"}) {
    methods.push_back(budgeted(self + rest));
  }
  methods.push_back(budgeted("draft,ngram:model=" + stories_path().string() + ",topk=3,depth=6"));
  Workbench bench = bench_of(methods);
  StateFile state({}, {});
  run_suites(bench, sets_, methods, {.request = {.max_tokens = 50, .budget = kBudget}}, state);
  for (std::size_t m = 1; m < methods.size(); ++m) {
    SCOPED_TRACE(methods[m].text);
    SpeculationStatistics sum;
    for (const auto& [key, cell] : state.cells()) {
      if (key.method == method_key(methods[m], "")) sum.add(cell.speculation);
    }
    ASSERT_GT(sum.calls, 0);
    EXPECT_LE(sum.verified_tokens, sum.calls * (1 + kBudget));
    if (find_policy_type(methods[m].speculation.policy.name).may_decode_plainly) continue;
    // All but the last round of a text, for which less is left to write.
    EXPECT_GE(sum.verified_tokens, (sum.calls - 2) * (1 + kBudget));
  }
}

TEST_F(Budgets, SeedsAreTextsOfTheSamePrompt) {
  const std::vector<Method> methods = {parse_method("plain", {}), parse_method("ngram:n-max=4", {})};
  Workbench bench = bench_of(methods);
  StateFile state({}, {});
  SuiteRequest request{.max_tokens = 20};
  request.sampling.temperature = 1;
  const SuiteRunReport report =
      run_suites(bench, sets_, methods, {.request = request, .rounds = 2, .seeds = 3}, state);
  EXPECT_EQ(report.planned, 2 * 3 * 2 * 2);
  EXPECT_TRUE(report.complete());
  std::set<std::string> outputs;
  for (const auto& [key, cell] : state.cells()) outputs.insert(cell.output);
  EXPECT_EQ(outputs.size(), 2U * 3U) << "of a prompt and a seed, whatever the method and the round";

  const ordered_json document = suite_document({.rounds = 2, .seeds = 3, .request = request}, bench.info(),
                                               sets_, methods, report, state);
  EXPECT_FALSE(outputs_differ(document)) << "with every seed the tokens are plain decoding's";
  EXPECT_EQ(document["suites"][0]["methods"][1]["tokens"], 2 * 3 * 2 * 20);
  EXPECT_EQ(document["suites"][0]["prompts"], 2);
  const ordered_json& interval = document["overall"][1]["speedup_interval"];
  ASSERT_TRUE(interval.is_array());
  EXPECT_LE(interval[0], document["overall"][1]["speedup"]);
  EXPECT_GE(interval[1], document["overall"][1]["speedup"]);
  const std::string shown =
      fmt::format("{:.2f}-{:.2f}", interval[0].get<double>(), interval[1].get<double>());
  EXPECT_THAT(suite_tables(document), HasSubstr(shown));
  EXPECT_THAT(markdown_tables(document), HasSubstr(shown));

  // Every cell is a line with the prompt's name.
  std::istringstream csv(csv_of_cells(document));
  std::string line;
  ASSERT_TRUE(std::getline(csv, line));
  EXPECT_THAT(line, StartsWith("suite,prompt,category,method,seed,round,prompt_tokens,tokens,"));
  int lines = 0;
  int quoted = 0;
  for (; std::getline(csv, line); ++lines) quoted += line.starts_with("one,\"b, \"\"c\"\"\",y,") ? 1 : 0;
  EXPECT_EQ(lines, report.planned);
  EXPECT_EQ(quoted, report.planned / 2);
}

}  // namespace
}  // namespace augur
