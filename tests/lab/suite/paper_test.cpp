#include "lab/papers/paper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lab/suite/method.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
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
      for (const PaperRow& row : table.rows) {
        for (const auto& [model, figures] : row.paper)
          EXPECT_EQ(figures.size(), table.columns.size()) << model;
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
  const std::vector<FoundPart> parts = {kDrafter, part("a", R"(["P", "logP", "H"])"),
                                        part("b", R"(["P", "logP", "H", "d"])")};
  const PaperStudy study = paper_study("c2t", kDrafter, parts, folder.string());
  std::filesystem::remove_all(folder);
  const auto& rows = study.tables[1].rows;
  ASSERT_EQ(rows.size(), 3U) << "the tree, P+H and all three; the others have no part";
  EXPECT_EQ(rows[1].label, "P+H");
  EXPECT_THAT(rows[1].method, HasSubstr("model=a;"));
  EXPECT_EQ(rows[2].label, "P+H+d");
  EXPECT_THAT(rows[2].method, HasSubstr("model=b;"));
}

TEST(PaperTables, PutOursBesideThePapers) {
  const PaperStudy study{
      "A title",
      "everything",
      {{"A table",
        {"speedup", "calls"},
        {{"base", "ngram", {{"M", {2.0, 100}}}}, {"better", "suffix", {{"M", {3.0, 90}}}}}}}};
  const auto row = [](double speedup, int calls) {
    return nlohmann::ordered_json{{"speedup", speedup}, {"calls", calls}};
  };
  const nlohmann::ordered_json document = {
      {"methods", {{{"text", "plain"}}, {{"text", "ngram"}}, {{"text", "suffix"}}}},
      {"overall", {row(1, 400), row(1.5, 200), row(1.25, 150)}}};
  const std::string text = paper_tables(study, document);
  EXPECT_THAT(text, HasSubstr("150 (-25.0%)"));
  EXPECT_THAT(text, HasSubstr("90 (-10.0%)"));
  EXPECT_THAT(text, HasSubstr("1.25x"));
  EXPECT_THAT(text, HasSubstr("paper, M"));
  EXPECT_THAT(text, HasSubstr("What differs: everything"));
}

}  // namespace
}  // namespace augur
