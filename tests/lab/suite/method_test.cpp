#include "lab/suite/method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/suite/parts.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing_support::error_of;

TEST(Method, ReadsTypesSettingsAndLabel) {
  const Method method = parse_method(
      "eagle3,ngram:topk=8,depth=5,size=32,coupling=0,label=both,policy=hetero:model=x;depth=6", {});
  EXPECT_THAT(method.speculation.types, ElementsAre("eagle3", "ngram"));
  EXPECT_EQ(method.speculation.tree_topk, 8);
  EXPECT_EQ(method.speculation.tree_depth, 5);
  EXPECT_EQ(method.speculation.tree_size, 32);
  EXPECT_FALSE(method.speculation.coupling);
  EXPECT_EQ(method.speculation.policy, "hetero:model=x;depth=6");
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
  SpeculationOptions base;
  base.draft_max = 7;
  EXPECT_EQ(parse_method("ngram", base).speculation.draft_max, 7);
}

TEST(Method, NamesOfPartsAreLookedForInTheirFolder) {
  const testing_support::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "head");
  const std::string head = (folder.path() / "head").string();
  EXPECT_EQ(parse_method("eagle3:model=head", {}, folder.path()).draft_model, head);
  EXPECT_EQ(parse_method("eagle3:model=other", {}, folder.path()).draft_model, "other");
  EXPECT_EQ(parse_method("ngram:policy=c2t:model=head;beta=0.5", {}, folder.path()).speculation.policy,
            "c2t:model=" + head + ";beta=0.5");
  EXPECT_EQ(parse_method("ngram:policy=auto:c2t=head;hetero=other", {}, folder.path()).speculation.policy,
            "auto:c2t=" + head + ";hetero=other");
}

TEST(Method, TheVocabularysPartIsLookedForToo) {
  const testing_support::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "list");
  const std::string list = (folder.path() / "list").string();
  const auto vocabulary = [&](const std::string& value) {
    return parse_method("draft:vocab=" + value + ",topk=4", {}, folder.path()).draft_vocabulary;
  };
  EXPECT_EQ(vocabulary("full"), "full");
  EXPECT_EQ(vocabulary("frspec:list:4096"), "frspec:" + list + ":4096");
  EXPECT_EQ(vocabulary("dynaspec:other:8;4"), "dynaspec:other:8,4");
}

TEST(Method, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(error_of([] { parse_method("nonsense", {}); }),
              HasSubstr("neither plain nor a speculation type"));
  EXPECT_THAT(error_of([] { parse_method("plain,ngram", {}); }), HasSubstr("'plain'"));
  EXPECT_THAT(error_of([] { parse_method("", {}); }), HasSubstr("neither plain"));
  EXPECT_THAT(error_of([] { parse_method("ngram:n-max", {}); }), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(error_of([] { parse_method("ngram:n-max=0", {}); }), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(error_of([] { parse_method("ngram:n-max=8x", {}); }), HasSubstr("expected a number"));
  EXPECT_THAT(error_of([] { parse_method("ngram:colour=red", {}); }), HasSubstr("'colour'"));
}

TEST(DefaultMethods, BeginWithPlainAndUsePartsWithTheirOwnDrafterOnly) {
  const std::vector<FoundPart> parts = {{"small", "draft", true, ""},
                                        {"head", "eagle3", true, ""},
                                        {"bins", "hetero", false, "draft small"},
                                        {"words", "frspec", false, ""}};
  const std::vector<std::string> methods = default_methods(parts, false);
  EXPECT_EQ(methods.front(), "plain");
  EXPECT_THAT(methods, Contains("draft:model=small,policy=hetero:model=bins"));
  EXPECT_THAT(methods, Not(Contains(HasSubstr("eagle3:model=head,policy=hetero"))));
  EXPECT_THAT(methods, Not(Contains(HasSubstr("words"))));
  EXPECT_THAT(methods, Contains("eagle3:model=head,policy=auto"));
  EXPECT_THAT(methods, Contains("eagle3,ngram:model=head,policy=auto"));
  for (const std::string& text : methods) EXPECT_NO_THROW(parse_method(text, {})) << text;
  EXPECT_LT(default_methods(parts, true).size(), methods.size());
}

}  // namespace
}  // namespace augur
