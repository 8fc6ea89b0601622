// Every study of a paper, on the small model with a small drafter and parts of arbitrary weights: each method
// of it decodes, gives plain decoding's tokens, and has its line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "lab/papers/paper.h"
#include "lab/papers/paper_tables.h"
#include "lab/suite/document.h"
#include "lab/suite/parts.h"
#include "lab/suite/runner.h"
#include "support/random_parts.h"
#include "support/stories.h"
#include "support/temporary_folder.h"
#include "support/vocabulary_parts.h"
#include "vocab/token_order.h"

namespace augur {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using testing::HasSubstr;
using testing_support::random_values;
using testing_support::stories_path;

void write_classifier(const fs::path& folder, const std::vector<std::string>& features, std::int64_t hidden,
                      const std::string& drafter) {
  fs::create_directories(folder);
  const auto inputs = static_cast<std::int64_t>(features.size());
  testing_support::write_part_config(folder, {{"augur_part", "c2t"},
                                              {"format", 1},
                                              {"features", features},
                                              {"hidden", hidden},
                                              {"drafter", drafter}});
  testing_support::write_part_tensors(folder,
                                      {{"fc1.weight", {hidden, inputs}, random_values(hidden * inputs, 1)},
                                       {"fc1.bias", {hidden}, random_values(hidden, 2)},
                                       {"fc2.weight", {1, hidden}, random_values(hidden, 3)},
                                       {"fc2.bias", {1}, {0.2f}}});
}

/// "small", a drafter for stories260k, with every part that studies ask for, and a classifier of another
/// drafter.
void write_parts(const fs::path& parts) {
  constexpr std::int64_t kHidden = 64, kVocab = 512;
  const fs::path small = parts / "small";
  fs::create_directories(small);
  testing_support::write_disturbed_stories(small, 0.1f);
  testing_support::write_random_parts(small, kHidden);
  write_classifier(small / "c2t", {"P", "logP", "H", "d"}, 48, "draft small");
  write_classifier(parts / "no-depth", {"P", "logP", "H"}, 48, "draft small");
  write_classifier(parts / "narrow", {"P", "H", "d"}, 12, "draft small");
  write_classifier(parts / "other", {"P", "H", "d"}, 48, "draft large");
  write_token_order(small / "frspec", testing_support::some_frequencies(kVocab), {{"vocab", kVocab}});
  testing_support::some_clusters(kVocab, 20, RouterInput::State, kHidden).write(small / "dynaspec", {});
}

class StudyRun : public testing::TestWithParam<std::string> {};

TEST_P(StudyRun, MeasuresEveryRow) {
  const testing_support::TemporaryFolder folder;
  const fs::path parts = folder.path() / "parts";
  write_parts(parts);
  const std::vector<FoundPart> found = find_parts(parts, fingerprint_of(Checkpoint::open(stories_path())));
  ASSERT_EQ(std::count_if(found.begin(), found.end(), [](const FoundPart& p) { return p.drafter; }), 1);
  const FoundPart drafter =
      *std::find_if(found.begin(), found.end(), [](const FoundPart& p) { return p.drafter; });
  const PaperStudy study = paper_study(GetParam(), drafter, found, parts.string());

  std::vector<Method> methods;
  for (const std::string& text : study.methods()) methods.push_back(parse_method(text, {}, parts));
  EngineOptions options;
  options.model = stories_path().string();
  options.threads = 1;
  Workbench bench(options, methods);
  const std::vector<PromptSet> sets = {{"mt_bench", {{"a", "", {"Once upon a time"}}}},
                                       {"gsm8k", {{"b", "", {"Lily had two cats"}}}}};
  const SuiteRequest request{.max_tokens = 12};
  StateFile state(folder.path() / "state.jsonl", {{"augur_suite", 1}});
  const std::atomic<bool> go_on{false};
  const SuiteRunReport report =
      run_suites(bench, sets, methods, {.request = request, .rounds = 2, .cancel = &go_on}, state);
  EXPECT_TRUE(report.complete());
  const ordered_json document = suite_document({.command = "test", .rounds = 2, .request = request},
                                               bench.info(), sets, methods, report, state);
  EXPECT_FALSE(outputs_differ(document));

  const std::string text = paper_tables(study, document);
  for (const PaperTable& table : study.tables) {
    EXPECT_THAT(text, HasSubstr(table.title));
    for (const PaperRow& row : table.rows) {
      if (row.method.empty()) continue;
      EXPECT_THAT(text, HasSubstr("\n" + row.label + " ")) << table.title;
    }
    if (table.lengths) {
      EXPECT_THAT(text, HasSubstr("of the longest chain: alpha"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Papers, StudyRun, testing::ValuesIn(paper_names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace augur
