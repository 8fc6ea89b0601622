// What methods learn is their own affair: no cell depends on which methods, rounds or runs were before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lab/suite/keys.h"
#include "lab/suite/runner.h"
#include "support/error_of.h"
#include "support/stories.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing_support::error_of;
using testing_support::stories_path;

constexpr int kRounds = 3;

class LearningMethods : public testing::Test {
 protected:
  static std::vector<Method> methods_of(const std::vector<std::string>& texts) {
    std::vector<Method> methods;
    for (const std::string& text : texts) methods.push_back(parse_method(text, {}));
    return methods;
  }
  static EngineOptions options() {
    EngineOptions options;
    options.model = stories_path().string();
    options.threads = 1;
    return options;
  }
  SuiteRunReport run(Workbench& bench, const std::vector<Method>& methods, StateFile& state,
                     const std::function<void(const SuiteProgress&)>& progress = {}) {
    return run_suites(bench, sets_, methods, {.request = request_, .rounds = kRounds, .cancel = &cancel_},
                      state, progress);
  }
  /// Tokens a call, by method and round.
  static std::map<std::string, std::vector<double>> taus(const std::vector<Method>& methods,
                                                         const StateFile& state) {
    std::map<std::string, std::vector<double>> out;
    for (const Method& method : methods) {
      for (int round = 0; round < kRounds; ++round) {
        double tokens = 0;
        double calls = 0;
        for (const auto& [key, cell] : state.cells()) {
          if (key.method != method_key(method, "") || key.round != round) continue;
          tokens += static_cast<double>(cell.tokens);
          calls += static_cast<double>(cell.speculation.calls);
        }
        out[method.text].push_back(tokens / calls);
      }
    }
    return out;
  }
  std::map<std::string, std::vector<double>> taus_in_order(const std::vector<std::string>& texts) {
    const std::vector<Method> methods = methods_of(texts);
    Workbench bench(options(), methods);
    StateFile state({}, {});
    EXPECT_TRUE(run(bench, methods, state).complete());
    return taus(methods, state);
  }

  std::vector<PromptSet> sets_ = {
      {"one", {{"a", "x", {"Once upon a time"}}, {"b", "y", {"The cat", "And then the cat"}}}},
      {"two", {{"c", "x", {"One day, Lily"}}, {"d", "x", {"Once upon a time there was a cat"}}}}};
  SuiteRequest request_{.max_tokens = 40};
  std::atomic<bool> cancel_{false};
};

TEST_F(LearningMethods, HaveTheSameAcceptanceInAnyOrderAndRound) {
  const std::string self = ":model=" + stories_path().string();
  std::vector<std::string> texts = {"plain", "suffix:n-max=8", "ngram:n-max=6",
                                    "draft,suffix" + self + ",topk=2,depth=3,size=8", "suffix:n-max=3"};
  const auto forwards = taus_in_order(texts);
  // Plain decoding is what the others are compared with and stays the first.
  std::reverse(texts.begin() + 1, texts.end());
  const auto backwards = taus_in_order(texts);
  for (const std::string& text : texts) {
    EXPECT_EQ(forwards.at(text), backwards.at(text)) << text;
    EXPECT_EQ(forwards.at(text).front(), forwards.at(text).back()) << text << ", first and last round";
  }
  EXPECT_GT(forwards.at("suffix:n-max=8").front(), 1.0);
}

TEST_F(LearningMethods, KeepWithinARoundWhatTheyAskToKeep) {
  const std::vector<std::string> texts = {"plain", "suffix:n-max=8", "suffix:n-max=8,keep=1"};
  const auto found = taus_in_order(texts);
  EXPECT_GT(found.at(texts[2]).front(), found.at(texts[1]).front()) << "texts of a round are alike";
  EXPECT_EQ(found.at(texts[2]).front(), found.at(texts[2]).back()) << "rounds begin alike";
}

TEST_F(LearningMethods, ThatKeepRunARoundWhole) {
  const std::vector<Method> methods = methods_of({"plain", "suffix:n-max=8,keep=1"});
  const testing_support::TemporaryFolder folder;
  const auto open = [&] { return StateFile(folder.path() / "s.jsonl", {{"augur_suite", 1}}); };
  {
    Workbench bench(options(), methods);
    StateFile state = open();
    const SuiteRunReport report = run(bench, methods, state, [&](const SuiteProgress& told) {
      EXPECT_EQ(told.planned, kRounds * 4 * 2);
      if (told.done == 11) cancel_ = true;  // in the middle of the second round
    });
    EXPECT_FALSE(report.complete());
  }
  cancel_ = false;
  Workbench bench(options(), methods);
  StateFile cut_off = open();
  const SuiteRunReport rest = run(bench, methods, cut_off);
  EXPECT_TRUE(rest.complete());
  EXPECT_GT(rest.fresh, kRounds * 4 * 2 - 11) << "the begun round is run again";
  StateFile whole({}, {});
  run(bench, methods, whole);
  EXPECT_EQ(taus(methods, cut_off), taus(methods, whole));
}

TEST(MethodThatKeeps, SaysSo) {
  EXPECT_TRUE(parse_method("suffix:keep=1", {}).keeps_learnt);
  EXPECT_FALSE(parse_method("suffix:keep=0", {}).keeps_learnt);
  EXPECT_FALSE(parse_method("suffix", {}).keeps_learnt);
  EXPECT_EQ(parse_method("suffix:n-max=8,keep=1", {}).label, "suffix:n-max=8,keep=1");
  EXPECT_THAT(error_of([] { parse_method("suffix:keep=2", {}); }),
              testing::HasSubstr("keep: expected 0 or 1, found '2'"));
}

}  // namespace
}  // namespace augur
