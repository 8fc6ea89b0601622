#include "lab/suite/method.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "draft/registry.h"
#include "files/json_reader.h"
#include "lab/suite/parts.h"
#include "policy/registry.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing_support::error_of;

TEST(Method, ReadsTypesSettingsAndLabel) {
  const Method method = parse_method(
      "eagle3,ngram:topk=8,depth=5,size=32,coupling=0,label=both,policy=hetero:model=x;depth=6", {});
  EXPECT_THAT(method.speculation.drafters, ElementsAre("eagle3", "ngram"));
  EXPECT_EQ(method.speculation.tree_topk, 8);
  EXPECT_EQ(method.speculation.tree_depth, 5);
  EXPECT_EQ(method.speculation.tree_size, 32);
  EXPECT_FALSE(method.speculation.coupling);
  EXPECT_EQ(method.speculation.policy, (PolicyChoice{"hetero", {{"model", "x"}, {"depth", "6"}}}));
  EXPECT_EQ(method.label, "both");
  EXPECT_FALSE(method.plain());
  EXPECT_TRUE(parse_method("plain", {}).plain());
}

TEST(Method, LabelLeavesOutWhereFilesAre) {
  EXPECT_EQ(parse_method("draft:model=a/b,topk=4", {}).label, "draft:topk=4");
  EXPECT_EQ(parse_method("draft:model=a/b", {}).label, "draft");
  EXPECT_EQ(parse_method("ngram:n-max=8", {}).label, "ngram:n-max=8");
  EXPECT_EQ(parse_method("draft:vocab=frspec:a/b:64,topk=4", {}).label, "draft:vocab=frspec:64,topk=4");
  EXPECT_EQ(parse_method("draft:vocab=dynaspec:a/b", {}).label, "draft:vocab=dynaspec");
}

TEST(Method, WhatItLeavesOutIsTheBase) {
  SpeculationPlan base;
  base.draft_max = 7;
  base.draft_vocabulary = "frspec:64";
  EXPECT_EQ(parse_method("ngram", base).speculation.draft_max, 7);
  EXPECT_EQ(parse_method("ngram", base).speculation.draft_vocabulary, "frspec:64");
  EXPECT_EQ(parse_method("ngram:n-max=9,vocab=full", base).speculation.draft_max, 9);
}

TEST(Method, NamesOfPartsAreLookedForInTheirFolder) {
  const testing_support::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "head");
  const std::string head = (folder.path() / "head").string();
  EXPECT_EQ(parse_method("eagle3:model=head", {}, folder.path()).draft_model, head);
  EXPECT_EQ(parse_method("eagle3:model=other", {}, folder.path()).draft_model, "other");
  EXPECT_EQ(parse_method("ngram:policy=c2t:model=head;beta=0.5", {}, folder.path()).speculation.policy,
            (PolicyChoice{"c2t", {{"model", head}, {"beta", "0.5"}}}));
}

TEST(Method, TheVocabularysPartIsLookedForToo) {
  const testing_support::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "list");
  const std::string list = (folder.path() / "list").string();
  const auto vocabulary = [&](const std::string& value) {
    return parse_method("draft:vocab=" + value + ",topk=4", {}, folder.path()).speculation.draft_vocabulary;
  };
  EXPECT_EQ(vocabulary("full"), "full");
  EXPECT_EQ(vocabulary("frspec:list:4096"), "frspec:" + list + ":4096");
  EXPECT_EQ(vocabulary("dynaspec:other:8;4"), "dynaspec:other:8;4");
  EXPECT_EQ(vocabulary("frspec:64"), "frspec:64") << "the drafter's own part";
}

TEST(Method, RefusesWhatItDoesNotKnow) {
  const auto error = [](const char* text) { return error_of([&] { parse_method(text, {}); }); };
  EXPECT_THAT(error("nonsense"), HasSubstr("'nonsense'"));
  EXPECT_THAT(error("plain,ngram"), HasSubstr("'none' stands alone"));
  EXPECT_THAT(error(""), HasSubstr("expected plain"));
  EXPECT_THAT(error(":topk=3"), HasSubstr("expected plain"));
  EXPECT_THAT(error("ngram:n-max"), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(error("ngram:n-max=0"),
              AllOf(StartsWith("ngram:n-max=0: n-max: "), HasSubstr("from 1 to 1024")));
  EXPECT_THAT(error("ngram:colour=red"), HasSubstr("'colour'"));
  EXPECT_THAT(error("ngram:model=a,model=b"), HasSubstr("model is given twice"));
}

TEST(FindParts, LooksIntoTheFoldersOfDrafters) {
  const std::filesystem::path models = std::filesystem::path(AUGUR_SOURCE_DIR) / "models";
  const nlohmann::json of = read_json(models / "smollm2-eagle3" / "hetero" / "config.json")["target"];
  const Fingerprint target{.family = of["family"],
                           .hidden = of["hidden"],
                           .layers = of["layers"],
                           .vocab = of["vocab"],
                           .digest = of["digest"]};
  const std::vector<FoundPart> found = find_parts(models, target);
  const auto is = [](const char* name, const char* kind) {
    return testing::AllOf(testing::Field(&FoundPart::name, name), testing::Field(&FoundPart::kind, kind));
  };
  EXPECT_THAT(found, Contains(is("smollm2-eagle3", "eagle3")));
  EXPECT_THAT(found, Contains(is("smollm2-draft-11m", "draft")));
  for (const char* kind : {"c2t", "hetero", "acceptance"}) {
    for (const char* drafter : {"eagle3:model=smollm2-eagle3", "draft:model=smollm2-draft-11m"}) {
      EXPECT_THAT(default_methods(found, false), Contains(std::string(drafter) + ",policy=" + kind));
    }
  }
  EXPECT_THAT(found, Contains(is("smollm2-draft-11m/frspec", "frspec")));
  EXPECT_THAT(found, Contains(is("smollm2-draft-11m/dynaspec", "dynaspec")));
}

TEST(DefaultMethods, BeginWithPlainAndUsePartsWithTheirOwnDrafterOnly) {
  const std::vector<FoundPart> parts = {{"small", "draft", true, ""},
                                        {"head", "eagle3", true, ""},
                                        {"bins", "hetero", false, "draft small"},
                                        {"small/c2t", "c2t", false, "draft small"},
                                        {"words", "frspec", false, ""}};
  const std::vector<std::string> methods = default_methods(parts, false);
  EXPECT_EQ(methods.front(), "plain");
  EXPECT_THAT(methods, Contains("draft:model=small,policy=hetero:model=bins"));
  EXPECT_THAT(methods, Contains("draft:model=small,policy=c2t")) << "found in the drafter's folder";
  EXPECT_THAT(methods, Not(Contains(HasSubstr("eagle3:model=head,policy=hetero"))));
  EXPECT_THAT(methods, Not(Contains(HasSubstr("words"))));
  EXPECT_THAT(methods, Contains("eagle3:model=head,policy=auto"));
  EXPECT_THAT(methods, Contains("eagle3,ngram:model=head,policy=auto"));
  for (const std::string& text : methods) EXPECT_NO_THROW(parse_method(text, {})) << text;
  EXPECT_LT(default_methods(parts, true).size(), methods.size());
}

TEST(DefaultMethods, HaveWhatIsRegisteredForThem) {
  const std::vector<FoundPart> parts = {{"head", "eagle3", true, ""}};
  for (const bool quick : {false, true}) {
    const std::vector<std::string> methods = default_methods(parts, quick);
    for (const DrafterType& type : drafter_types()) {
      const std::string text = fmt::format("{}:{}", type.name, type.suite);
      EXPECT_EQ(std::count(methods.begin(), methods.end(), text),
                !type.suite.empty() && (type.quick || !quick) ? 1 : 0)
          << text;
    }
    for (const PolicyType& policy : policy_types()) {
      if (policy.suite == PolicyType::Suite::No) continue;
      const auto wanted = !quick || policy.suite == PolicyType::Suite::Quick ? 1 : 0;
      const std::string text = fmt::format("eagle3:model=head,policy={}", policy.name);
      EXPECT_EQ(std::count(methods.begin(), methods.end(), text), wanted) << text;
    }
  }
}

TEST(WithMethodFiles, AFileStandsForItsLines) {
  const testing_support::TemporaryFolder folder;
  const std::string file = (folder.path() / "methods.txt").string();
  std::ofstream(file) << "# some\n\nngram:n-max=8\n  draft:topk=4\r\n";
  EXPECT_THAT(with_method_files({"plain", "@" + file, "ngram"}),
              ElementsAre("plain", "ngram:n-max=8", "draft:topk=4", "ngram"));
  std::ofstream(file) << "# nothing\n";
  EXPECT_THAT(error_of([&] { with_method_files({"@" + file}); }), HasSubstr("methods.txt: names no method"));
  EXPECT_THAT(error_of([&] { with_method_files({"@no/such"}); }), HasSubstr("no/such: can't be read"));
}

/// The lists that the project comes with, for the parts that it comes with.
TEST(WithMethodFiles, TheProjectsOwnAreMethods) {
  const std::string folder = std::string(AUGUR_SOURCE_DIR) + "/lab/suite/methods/";
  for (const char* name : {"drafters.txt", "policies.txt"}) {
    const std::vector<std::string> texts = with_method_files({"@" + folder + name});
    EXPECT_EQ(texts.front(), "plain");
    for (const std::string& text : texts) {
      const Method method = parse_method(text, {}, std::string(AUGUR_SOURCE_DIR) + "/models");
      if (method.draft_model.empty()) continue;
      EXPECT_TRUE(std::filesystem::exists(method.draft_model)) << text;
    }
  }
}

}  // namespace
}  // namespace augur
