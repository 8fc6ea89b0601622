#include "cost/cost_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "augur/engine.h"
#include "base/arithmetic_law.h"
#include "checkpoint/checkpoint.h"
#include "cost/measured_file.h"
#include "support/slow_device.h"
#include "support/stories.h"
#include "support/vocabulary_parts.h"

namespace augur {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::stories_path;
using testing_support::TemporaryFolder;

class CostCacheTest : public testing::Test {
 protected:
  Engine load(const std::string& draft = "", const std::string& vocabulary = "full") {
    EngineOptions options;
    options.model = stories_path().string();
    options.draft_model = draft;
    options.threads = 2;
    options.cost_cache = folder_.path().string();
    options.speculation.drafters = {draft.empty() ? "ngram" : "draft"};
    options.speculation.policy.name = "auto";
    options.speculation.draft_vocabulary = vocabulary;
    options.log = [this](LogLevel level, std::string_view text) {
      if (level >= LogLevel::Warning) warnings_.emplace_back(text);
    };
    return Engine(options);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder_.path())) found.push_back(entry.path());
    return found;
  }
  static nlohmann::json read(const fs::path& file) { return nlohmann::json::parse(std::ifstream(file)); }
  static void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }
  /// As a machine with nothing else to do would have measured it, whatever this one does beside: what is in
  /// doubt is measured again.
  static void take_for_calm(nlohmann::json& content) {
    for (auto& knot : content["target"]["verify"]) knot["doubt"] = 0.0;
    for (auto& drafter : content["drafters"]) {
      for (auto& curve : drafter) {
        for (auto& knot : curve) knot["doubt"] = 0.0;
      }
    }
  }

  TemporaryFolder folder_;
  std::vector<std::string> warnings_;
};

TEST_F(CostCacheTest, MeasuresOnceAndRemembers) {
  load();
  ASSERT_EQ(files().size(), 1u);
  const fs::path file = files().front();
  nlohmann::json content = read(file);
  EXPECT_EQ(content["augur_costs"], 2);
  EXPECT_TRUE(content["drafters"].contains("ngram"));
  take_for_calm(content);
  // A figure that no measurement gives: who shows it has read the file.
  content["target"]["context"] = 12345;
  write(file, content.dump());
  EXPECT_EQ(load().costs().context, 12345);
  EXPECT_NE(load().costs(true).context, 12345) << "measured anew";
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(CostCacheTest, KeepsDraftersApartAndTheirFiguresTogether) {
  load();
  load(stories_path().string());
  ASSERT_EQ(files().size(), 1u);
  const nlohmann::json drafters = read(files().front())["drafters"];
  EXPECT_EQ(drafters.size(), 2u) << drafters.dump();
  EXPECT_TRUE(drafters.contains("ngram"));
}

TEST_F(CostCacheTest, KeepsVocabulariesOfADrafterApart) {
  const TemporaryFolder list;
  write_token_order(list.path(), testing_support::some_frequencies(512), {});
  load(stories_path().string());
  load(stories_path().string(), "frspec:" + list.path().string() + ":64");
  load(stories_path().string(), "frspec:" + list.path().string() + ":128");
  const nlohmann::json drafters = read(files().front())["drafters"];
  EXPECT_EQ(drafters.size(), 3u) << drafters.dump();
}

TEST_F(CostCacheTest, DraftersAreNotBelievedLongerThanTheTarget) {
  load(stories_path().string());
  load();
  ASSERT_EQ(read(files().front())["drafters"].size(), 2u);
  load().costs(true);
  const nlohmann::json drafters = read(files().front())["drafters"];
  EXPECT_EQ(drafters.size(), 1u) << "measured beside a target that is measured anew: " << drafters.dump();
  EXPECT_TRUE(drafters.contains("ngram"));
}

TEST_F(CostCacheTest, EnginesSideBySideDoNotForgetEachOthersDrafters) {
  Engine first = load();
  {
    Engine second = load(stories_path().string());
    first.costs(true);
  }
  EXPECT_EQ(read(files().front())["drafters"].size(), 2u);
}

TEST_F(CostCacheTest, ReplacesADamagedFileWithOneWarning) {
  load();
  const fs::path file = files().front();
  for (const char* text :
       {"{\"augur_costs\": 2", "{}x", "[]", "{\"augur_costs\": 9}", "{\"augur_costs\": 2, \"for\": 3}"}) {
    warnings_.clear();
    write(file, text);
    load();
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr(file.filename().string()))) << text;
    EXPECT_EQ(read(file)["augur_costs"], 2) << text;
  }
  nlohmann::json content = read(file);
  content["drafters"]["ngram"]["root"][0]["ms"] = "fast";
  warnings_.clear();
  write(file, content.dump());
  load();
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("root[0].ms")));
}

/// Another build's figures: under the same name, were it only for a hand that put them there.
TEST_F(CostCacheTest, FiguresOfOtherArithmeticOrCodeAreMeasuredAnew) {
  load();
  const fs::path file = files().front();
  const nlohmann::json good = read(file);
  ASSERT_EQ(good["for"]["law"], kArithmeticLaw);
  for (const char* key : {"law", "code", "isa"}) {
    ASSERT_TRUE(good["for"].contains(key)) << key;
    nlohmann::json other = good;
    other["for"][key] = "another";
    other["target"]["context"] = 12345;
    warnings_.clear();
    write(file, other.dump());
    EXPECT_NE(load().costs().context, 12345) << key;
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("measured anew"))) << key;
    EXPECT_EQ(read(file)["for"], good["for"]);
  }
}

/// What a busy minute says of one row count, and that it was busy.
TEST_F(CostCacheTest, WhatWasMeasuredBesideABusyProgramIsMeasuredAgain) {
  load(stories_path().string());
  const fs::path file = files().front();
  nlohmann::json busy = read(file);
  for (auto& knot : busy["target"]["verify"]) {
    knot["ms"] = 1e4;
    knot["doubt"] = 0.5;
  }
  write(file, busy.dump());
  EXPECT_LT(load(stories_path().string()).costs().verify.ms.front(), 1e3);
  const nlohmann::json knot = read(file)["target"]["verify"][0];
  EXPECT_LT(knot["ms"], 1e3);
  EXPECT_LT(knot["doubt"], 0.5);
}

TEST_F(CostCacheTest, ABusyProcessDoesNotOverwriteWhatAQuietOneHasFound) {
  Engine busy = load();
  ASSERT_EQ(files().size(), 1u);
  const fs::path file = files().front();
  nlohmann::json quiet = read(file);
  for (auto& knot : quiet["target"]["verify"]) knot["ms"] = 1e-3;
  write(file, quiet.dump());
  { const Engine ends = std::move(busy); }
  const nlohmann::json kept = read(file);
  EXPECT_EQ(kept["target"]["verify"].size(), quiet["target"]["verify"].size());
  for (const auto& knot : kept["target"]["verify"]) EXPECT_NEAR(knot["ms"].get<double>(), 1e-3, 1e-9);
}

TEST_F(CostCacheTest, AFullDiskFailsNoGeneration) {
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full{.rlim_cur = 100, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  Result result;
  EXPECT_NO_THROW(result = load().generate({.prompt = "Once upon a time", .max_tokens = 8}));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
  EXPECT_EQ(result.tokens.size(), 8u);
  EXPECT_THAT(warnings_, testing::Contains(HasSubstr("cannot be written")));
  EXPECT_THAT(files(), IsEmpty()) << "nothing half written stays";
}

TEST_F(CostCacheTest, WarnsWhereItCannotWrite) {
  write(folder_.path() / "file", "");
  EngineOptions options;
  options.model = stories_path().string();
  options.cost_cache = (folder_.path() / "file" / "below").string();
  options.speculation.drafters = {"ngram"};
  options.speculation.policy.name = "auto";
  options.log = [this](LogLevel level, std::string_view text) {
    if (level >= LogLevel::Warning) warnings_.emplace_back(text);
  };
  Engine{options};
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("below")));
}

TEST_F(CostCacheTest, KeepsNothingWhenToldSo) {
  EngineOptions options;
  options.model = stories_path().string();
  options.cost_cache = "none";
  options.speculation.drafters = {"ngram"};
  Engine engine(options);
  const MeasuredCosts costs = engine.costs();
  EXPECT_TRUE(costs.file.empty());
  EXPECT_EQ(costs.verify.rows.size(), costs.verify.ms.size());
  EXPECT_GT(costs.verify.ms.front(), 0.0);
  ASSERT_EQ(costs.drafters.size(), 1u);
  EXPECT_EQ(costs.drafters.front().name, "ngram");
}

TEST_F(CostCacheTest, DevicesHaveFilesOfTheirOwn) {
  Backend backend(1);
  testing_support::SlowDevice slow(backend);
  const Checkpoint checkpoint = Checkpoint::open(stories_path());
  const auto file_on = [&](Device* device) {
    const auto model = Model::load(backend, checkpoint, {.device = device});
    return CostCache(folder_.path(), *model, "stories", {}).file();
  };
  EXPECT_NE(file_on(&slow), file_on(nullptr));
}

TEST_F(CostCacheTest, LiesWhereTheSpecificationSays) {
  const char* before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before == nullptr ? "" : before;
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(measured_folder(""), fs::path("/somewhere/augur/costs"));
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(measured_folder(""), fs::path(std::getenv("HOME")) / ".cache/augur/costs");
  before == nullptr ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace augur
