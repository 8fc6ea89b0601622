#include "lab/papers/paper.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "files/json_reader.h"
#include "lab/papers/paper_tables.h"
#include "lab/suite/method.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing_support::error_of;

const FoundPart kDrafter = {"small", "draft", true, ""};
const std::vector<FoundPart> kParts = {kDrafter,
                                       {"bins", "hetero", false, "draft small"},
                                       {"nodes", "c2t", false, ""},
                                       {"list", "frspec", false, ""},
                                       {"clusters", "dynaspec", false, "draft small"},
                                       {"foreign", "acceptance", false, "eagle3 other"}};

TEST(PaperStudy, EveryStudysMethodsAreMethods) {
  for (const std::string& name : paper_names()) {
    const PaperStudy study = paper_study(name, kDrafter, kParts, "no/such/folder");
    EXPECT_EQ(study.methods().front(), "plain");
    EXPECT_GE(study.methods().size(), 3U) << name;
    for (const std::string& text : study.methods()) {
      EXPECT_NO_THROW(parse_method(text, {})) << text;
      EXPECT_THAT(text, Not(HasSubstr("{"))) << "every name is filled in";
    }
    for (const PaperTable& table : study.tables) {
      EXPECT_FALSE(table.rows.empty()) << table.title;
      for (const PaperRow& row : table.rows)
        EXPECT_TRUE(!row.method.empty() || !row.paper.empty()) << row.label;
    }
  }
}

/// A figure by where it stands.
std::string place_of(const std::string& paper, const std::string& table, const std::string& row,
                     const std::string& column, const std::string& model, const std::string& dataset,
                     double temperature) {
  return fmt::format("{} | {} | {} | {} | {} | {} | {}", paper, table, row, column, model, dataset,
                     temperature);
}

// The papers were read twice, by two readers who did not see each other's figures (second_reading.json).
TEST(PaperReadings, AreThoseOfTheSecondReader) {
  std::map<std::string, double> second;
  const auto file = std::filesystem::path(AUGUR_SOURCE_DIR) / "lab/papers/second_reading.json";
  const nlohmann::json read = read_json(file);
  for (const nlohmann::json& f : read.at("figures")) {
    const std::string place = place_of(f.at("paper"), f.at("table"), f.at("row"), f.at("column"),
                                       f.at("model"), f.at("dataset"), f.at("temperature"));
    EXPECT_TRUE(second.emplace(place, f.at("value")).second) << "twice: " << place;
  }
  int compared = 0;
  for (const std::string& name : paper_names()) {
    for (const PaperReading& reading : paper_readings(name)) {
      for (const auto& [column, value] : reading.figures) {
        const std::string place = place_of(name, reading.table, reading.row, column, reading.model,
                                           reading.dataset, reading.temperature);
        ++compared;
        if (second.count(place) == 0) {
          ADD_FAILURE() << "the second reading has nothing at " << place;
        } else {
          EXPECT_EQ(value, second[place]) << place;
        }
      }
    }
  }
  EXPECT_GT(compared, 1500);
}

TEST(PaperReadings, EveryFigureIsShownInSomeColumn) {
  const std::map<std::string, std::string> shown_as = {{"tokens", "verified"}, {"candidates", "verified"}};
  for (const std::string& name : paper_names()) {
    std::vector<FoundPart> parts = kParts;
    parts.push_back({"heads", "acceptance", false, ""});
    const PaperStudy study = paper_study(name, kDrafter, parts, "no/such/folder");
    for (const PaperTable& table : study.tables) {
      const std::set<std::string> columns(table.columns.begin(), table.columns.end());
      for (const PaperRow& row : table.rows) {
        for (const PaperReading& reading : row.paper) {
          for (const auto& [column, value] : reading.figures) {
            const auto as = shown_as.find(column);
            EXPECT_EQ(columns.count(as == shown_as.end() ? column : as->second), 1U)
                << table.title << ": " << column;
          }
        }
      }
    }
  }
}

TEST(PaperStudy, LeavesOutRowsWhosePartIsNotThereAndRefusesWhereItIsAboutThePart) {
  const PaperStudy study = paper_study("acceptance", kDrafter, kParts, "models");
  EXPECT_THAT(study.methods(), Not(Contains(HasSubstr("foreign"))));
  EXPECT_THAT(error_of([] { paper_study("hetero", kDrafter, {kDrafter}, "models"); }),
              HasSubstr("no hetero part made for small"));
  EXPECT_THAT(error_of([] { paper_study("nonsense", kDrafter, kParts, "models"); }), HasSubstr("'nonsense'"));
}

TEST(PaperStudy, TellsClassifiersApartByTheirFeatures) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "augur_paper_classifiers";
  const auto part = [&](const std::string& name, const char* features) {
    std::filesystem::create_directories(folder / name);
    std::ofstream(folder / name / "config.json")
        << R"({"augur_part": "c2t", "features": )" << features << "}";
    return FoundPart{name, "c2t", false, ""};
  };
  const std::vector<FoundPart> parts = {
      kDrafter, part("a", R"(["P", "logP", "H"])"), part("b", R"(["P", "logP", "H", "d"])"),
      part("c", R"(["P", "H", "d"])"), part("d", R"(["P", "H", "d"], "hidden": 12)")};
  const PaperStudy study = paper_study("c2t", kDrafter, parts, folder.string());
  std::filesystem::remove_all(folder);
  std::map<std::string, std::string> features;
  for (const PaperRow& row : study.tables[1].rows) features[row.label] = row.method;
  EXPECT_EQ(features.size(), 5U)
      << "the tree, the paper's, P+H, P+H+d and P+logP+H+d; the others have no part";
  EXPECT_THAT(features["P+H"], HasSubstr("model=a;"));
  EXPECT_THAT(features["P+logP+H+d"], HasSubstr("model=b;"));
  EXPECT_THAT(features["P+H+d"], HasSubstr("model=c;"));
  EXPECT_THAT(study.methods(), Contains(HasSubstr("model=d;")));
}

TEST(PaperStudy, EveryPartOfAKindGetsARow) {
  std::vector<FoundPart> parts = kParts;
  parts.push_back({"others", "c2t", false, "draft large"});
  const PaperStudy study = paper_study("c2t", kDrafter, parts, "no/such/folder");
  std::vector<std::string> labels;
  for (const PaperRow& row : study.tables[2].rows) labels.push_back(row.label);
  EXPECT_THAT(labels, Contains("nodes, beta 0.5"));
  EXPECT_THAT(labels, Contains("others, beta 0.5")) << "a classifier of another drafter is transferred";
  const PaperStudy bins = paper_study("hetero", kDrafter, kParts, "no/such/folder");
  EXPECT_THAT(bins.methods(), Contains(HasSubstr("policy=hetero:model=bins;alpha=half")));
}

TEST(PaperStudy, OtherDraftersHaveRowsWhereThereAreSome) {
  const auto drafts_with = [](const std::vector<FoundPart>& parts, const char* type) {
    for (const std::string& method : paper_study("acceptance", kDrafter, parts, "models").methods()) {
      if (method.starts_with(type)) return true;
    }
    return false;
  };
  EXPECT_FALSE(drafts_with(kParts, "medusa:"));
  std::vector<FoundPart> parts = kParts;
  parts.push_back({"heads", "medusa", true, ""});
  EXPECT_TRUE(drafts_with(parts, "medusa:model=heads,"));
}

/// Two methods beside plain in two suites.
nlohmann::ordered_json some_document(double temperature) {
  const auto row = [](double speedup, int calls, std::vector<double> rounds) {
    return nlohmann::ordered_json{{"speedup", speedup}, {"calls", calls}, {"round_speedups", rounds}};
  };
  const nlohmann::ordered_json one = {row(1, 200, {1, 1}), row(1.5, 100, {1.4, 1.6}),
                                      row(1.25, 75, {1.25, 0})};
  const nlohmann::ordered_json overall = {row(1, 400, {1, 1}), row(1.5, 200, {1.4, 1.6}),
                                          row(1.25, 150, {1.25})};
  return {{"settings", {{"temperature", temperature}}},
          {"methods", {{{"text", "plain"}}, {{"text", "ngram"}}, {{"text", "suffix"}}}},
          {"overall", overall},
          {"suites", {{{"name", "mt_bench"}, {"methods", one}}, {{"name", "mine"}, {"methods", one}}}}};
}

PaperReading reading(const std::string& dataset, double temperature, std::map<std::string, double> figures) {
  return {.table = "Table 1",
          .row = "r",
          .model = "M",
          .dataset = dataset,
          .temperature = temperature,
          .figures = std::move(figures),
          .remark = {}};
}

TEST(PaperTables, PutOursBesideThePapers) {
  const PaperStudy study{"A title",
                         "everything",
                         {{"A table",
                           {"speedup", "calls", "variance"},
                           {{"base", "ngram", {reading("X", 0, {{"speedup", 2.0}, {"calls", 100}})}},
                            {"better", "suffix", {reading("X", 0, {{"speedup", 3.0}, {"calls", 90}})}},
                            {"paper only", "", {reading("X", 0, {{"calls", 80}})}},
                            {"warm", "ngram", {reading("X", 1, {{"calls", 77}})}}}}},
                         {}};
  const std::string text = paper_tables(study, some_document(0));
  EXPECT_THAT(text, HasSubstr("150 (-25.0%)"));
  EXPECT_THAT(text, HasSubstr("90 (-10.0%)"));
  EXPECT_THAT(text, HasSubstr("1.25x"));
  EXPECT_THAT(text, HasSubstr("paper, M"));
  EXPECT_THAT(text, HasSubstr("paper only"));
  EXPECT_THAT(text, HasSubstr("80 (-20.0%)"));
  EXPECT_THAT(text, HasSubstr("0.0200"))
      << "1.4 and 1.6 deviate by 0.1 from their mean, one degree of freedom";
  EXPECT_THAT(text, Not(HasSubstr("77"))) << "of temperature 1";
  EXPECT_THAT(text, HasSubstr("What differs: everything"));
  EXPECT_THAT(paper_tables(study, some_document(1)), HasSubstr("77"));
  EXPECT_THAT(paper_tables(study, some_document(1)), Not(HasSubstr("paper only")));
}

// HeteroSpec's table 6 and C2T's appendix E: what judging takes is a column of its own.
TEST(PaperTables, SetClassifyingApartFromDrafting) {
  nlohmann::ordered_json document = some_document(0);
  for (std::size_t m = 0; m < 3; ++m) {
    document["overall"][m].update({{"draft_ms", m == 2 ? 1500.25 : 2000.0},
                                   {"classify_ms", m == 2 ? 0.25 : 0.0},
                                   {"verify_ms", 4000.0},
                                   {"other_ms", 0.0}});
  }
  const PaperStudy study{
      "A title",
      "everything",
      {{"A table",
        {"draft_s", "additional_s", "total_s"},
        {{"tree", "ngram", {}}, {"bins", "suffix", {reading("X", 0, {{"additional_s", 2.3}})}}}}},
      {}};
  const std::string text = paper_tables(study, document);
  std::map<std::string, std::vector<std::string>> figures;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string label;
    words >> label;
    for (std::string word; words >> word;) figures[label].push_back(word);
  }
  EXPECT_EQ(figures["tree"], (std::vector<std::string>{"2.00", "6.00"})) << "there is nothing that judges";
  EXPECT_EQ(figures["bins"], (std::vector<std::string>{"1.50", "0.000250", "5.50"}));
  EXPECT_EQ(figures["paper,"], (std::vector<std::string>{"M", "2.30"}));
}

// C2T's tables 6 and 7, DynaSpec's algorithm 1.
TEST(PaperStudy, HasTheFormsThatThePapersCompare) {
  std::vector<FoundPart> parts = kParts;
  parts.push_back({"layer", "mtp", true, ""});
  parts.push_back({"features", "eagle", true, ""});
  const auto methods = [&](const std::string& name) {
    return paper_study(name, kDrafter, parts, "no/such/folder").methods();
  };
  const std::vector<std::string> c2t = methods("c2t");
  for (const char* top :
       {"entropy-top=100", "entropy-top=500", "entropy-top=1000", "entropy-top=10000", "entropy-top=all"}) {
    EXPECT_THAT(c2t, Contains(HasSubstr(top)));
  }
  for (const char* drafter : {"eagle:model=features,", "mtp:model=layer,"}) {
    int forms = 0;
    for (const std::string& method : c2t) forms += method.starts_with(drafter) ? 1 : 0;
    EXPECT_EQ(forms, 4) << drafter;
    EXPECT_THAT(c2t, Contains(AllOf(StartsWith(drafter), HasSubstr("policy=c2t:model=nodes;chain=1"))));
  }
  EXPECT_THAT(methods("dynaspec"), Contains(HasSubstr(":floor")));
  const auto quotes = [](const std::string& name, const std::string& table) {
    const std::vector<PaperReading> readings = paper_readings(name);
    return std::count_if(readings.begin(), readings.end(),
                         [&](const PaperReading& reading) { return reading.table == table; });
  };
  EXPECT_EQ(quotes("c2t", "Table 6"), 5);
  EXPECT_EQ(quotes("c2t", "Table 7"), 8);
  EXPECT_EQ(quotes("dynaspec", "Figure 3"), 3);
}

TEST(PaperTables, ShowEverySuiteBesideThePapersFiguresForIt) {
  const PaperStudy study{
      "A title",
      "everything",
      {{.title = "By suite",
        .columns = {"calls"},
        .rows = {{"base",
                  "ngram",
                  {reading("MT-bench", 0, {{"tokens", 1}, {"calls", 111}}),
                   reading("GSM8K", 0, {{"calls", 222}}), reading("Mean", 0, {{"calls", 333}})}}},
        .by_suite = true}},
      {{"MT-bench", "mt_bench"}, {"GSM8K", "gsm8k"}}};
  const std::string text = paper_tables(study, some_document(0));
  const auto at = [&](const char* part) { return text.find(part); };
  EXPECT_LT(at("By suite: mt_bench"), at("111"));
  EXPECT_LT(at("111"), at("By suite: mine"));
  EXPECT_EQ(at("222"), std::string::npos) << "no suite of that";
  EXPECT_LT(at("By suite: mean of the suites"), at("333"));
}

}  // namespace
}  // namespace augur
