// What is said of --spec-vocab values and files that are not as they must be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "head_fixture.h"
#include "support/error_of.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;
using testing_support::HeadProblem;
using testing_support::some_clusters;
using testing_support::some_frequencies;
using testing_support::some_target;
using testing_support::TemporaryFolder;

const std::filesystem::path kData = std::filesystem::path(AUGUR_SOURCE_DIR) / "tests" / "data" / "vocab";

TEST(VocabularySpec, ReadsEveryForm) {
  using Kind = VocabularySpec::Kind;
  EXPECT_EQ(VocabularySpec::parse("full").kind, Kind::Full);
  EXPECT_EQ(VocabularySpec::parse("").kind, Kind::Auto);
  EXPECT_EQ(VocabularySpec::parse("auto:a/b").path, "a/b");
  EXPECT_EQ(VocabularySpec::parse("frspec:a/freq_8.pt").path, "a/freq_8.pt");
  const auto sized = VocabularySpec::parse("pafr:c:/x.pt:4096");
  EXPECT_EQ(sized.kind, Kind::PositionAware);
  EXPECT_EQ(sized.path, "c:/x.pt");
  EXPECT_EQ(sized.size, 4096);
  const auto budget = VocabularySpec::parse("dynaspec:folder:40,20");
  EXPECT_EQ(budget.path, "folder");
  EXPECT_TRUE(budget.position_aware && budget.first == 40 && budget.second == 20);
  EXPECT_FALSE(VocabularySpec::parse("dynaspec:folder:40").position_aware);
  EXPECT_EQ(VocabularySpec::parse("dynaspec:folder:40;20"), budget);
  EXPECT_FALSE(budget.floored);
  auto floored = budget;
  floored.floored = true;
  EXPECT_EQ(VocabularySpec::parse("dynaspec:folder:40,20:floor"), floored);
  EXPECT_EQ(VocabularySpec::parse("dynaspec:c:/the:floor").path, "c:/the:floor") << "no budget before it";
  EXPECT_THAT(error_of([] { VocabularySpec::parse("dynaspec:folder:40:floor"); }), HasSubstr("K0,K1"));
  for (const char* bad : {"frspec:", "some:x", "full:8", "dynaspec:;", "frspec:x:0", "pafr:x:1,2",
                          "dynaspec:x:1,2,3", "dynaspec:x:,", "hot:x:99999999999999999999"}) {
    EXPECT_THAT(error_of([&] { VocabularySpec::parse(bad); }), HasSubstr(bad)) << bad;
  }
}

TEST(VocabularySpec, WithoutAPathIsTheDraftersOwnPart) {
  EXPECT_EQ(VocabularySpec::parse("frspec").path, "");
  EXPECT_EQ(VocabularySpec::parse("frspec:4096").size, 4096);
  EXPECT_EQ(VocabularySpec::parse("frspec:4096").path, "");
  EXPECT_TRUE(VocabularySpec::parse("dynaspec:8,4").position_aware);
  const testing_support::TemporaryFolder drafter;
  for (const char* kind : {"frspec", "pafr", "hot"}) {
    const VocabularySpec spec = VocabularySpec::parse(kind);
    EXPECT_THAT(error_of([&] { spec.located(drafter.path()); }),
                HasSubstr((drafter.path() / "frspec").string()));
  }
  EXPECT_EQ(VocabularySpec::parse("auto").located(drafter.path()), VocabularySpec::parse("full"));
  write_token_order(drafter.path() / "frspec", std::vector<std::int64_t>(48, 1), {});
  EXPECT_EQ(VocabularySpec::parse("auto").located(drafter.path()).path, drafter.path().string());
  EXPECT_THAT(error_of([] { VocabularySpec::parse("auto:elsewhere").located({}); }),
              HasSubstr("expected frspec or dynaspec in elsewhere"));
  const VocabularySpec found = VocabularySpec::parse("hot:12").located(drafter.path());
  EXPECT_EQ(found.path, (drafter.path() / "frspec").string());
  EXPECT_EQ(found.size, 12);
  EXPECT_EQ(VocabularySpec::parse("hot:elsewhere:12").located(drafter.path()).path, "elsewhere");
  EXPECT_THAT(error_of([] { VocabularySpec::parse("dynaspec").located({}); }), HasSubstr("draft model"));
}

TEST(VocabularySpec, WritesWhatItReads) {
  for (const char* text : {"full", "auto", "auto:a/b", "frspec", "frspec:a/b", "pafr:c:/x.pt:4096", "hot:12",
                           "dynaspec:f:40;20", "dynaspec:40", "dynaspec:8;4", "dynaspec:f:40;20:floor"}) {
    EXPECT_EQ(to_string(VocabularySpec::parse(text)), text);
  }
  EXPECT_EQ(to_string(VocabularySpec::parse("dynaspec:f:8,4")), "dynaspec:f:8;4");
}

TEST(TokenOrder, ReadsThePublishedList) {
  const TokenOrder order = read_token_order(kData / "freq_24.pt", 48);
  EXPECT_EQ(order.tokens.size(), 24u);
  EXPECT_EQ(order.tokens[2], 41);
  EXPECT_THAT(error_of([] { read_token_order(kData / "freq_24.pt", 44); }),
              HasSubstr("entry 9 is token 44: the vocabulary has 44"));
  EXPECT_THAT(error_of([] { read_token_order(kData / "beyond.pt", 48); }), HasSubstr("token 48"));
  EXPECT_THAT(error_of([] { read_token_order(kData / "twice.pt", 48); }),
              HasSubstr("token 5 is listed twice"));
}

TEST(TokenOrder, ForcesEndOfTextIn) {
  const VocabularyChoice choice(VocabularySpec::parse("frspec:" + (kData / "freq_24.pt").string() + ":8"),
                                some_target(48), std::vector<TokenId>{45, 40});
  HeadProblem problem(DType::F32, 48);
  VocabularyHead head(problem.weights(), &choice);
  head.run(problem.rows({0}));
  const auto ids = head.target_ids().first(8);
  EXPECT_EQ(std::vector<TokenId>(ids.begin(), ids.end()), (std::vector<TokenId>{5, 2, 41, 0, 7, 8, 40, 45}));
}

TEST(TokenOrder, RefusesAnotherVocabularyAndSizesItDoesNotHave) {
  TemporaryFolder folder;
  write_token_order(folder.path(), some_frequencies(100), {});
  EXPECT_EQ(read_token_order(folder.path(), 100).tokens, by_frequency(some_frequencies(100)));
  EXPECT_THAT(error_of([&] { read_token_order(folder.path(), 101); }),
              HasSubstr("config.json: vocab: made for a vocabulary of 100, the model has 101"));
  EXPECT_THAT(error_of([&] {
                VocabularyChoice(VocabularySpec::parse("frspec:" + folder.path().string() + ":101"),
                                 some_target(100), {});
              }),
              HasSubstr("101 tokens were asked for, it lists 100"));
  std::ofstream(folder.path() / "config.json") << R"({"augur_part": "c2t", "format": 1, "vocab": 100})";
  EXPECT_THAT(error_of([&] { read_token_order(folder.path(), 100); }),
              HasSubstr("augur_part: expected frspec, found c2t"));
  std::ofstream(folder.path() / "config.json") << R"({"augur_part": "frspec", "format": 2, "vocab": 100})";
  EXPECT_THAT(error_of([&] { read_token_order(folder.path(), 100); }), HasSubstr("format: is 2"));
}

TEST(TokenOrder, KnowsWhatItsQuarterHolds) {
  TemporaryFolder folder;
  EXPECT_EQ(read_token_order(kData / "freq_24.pt", 48).quarter_share, 0.0);
  std::vector<std::int64_t> counts(8, 1);
  counts[3] = 90;
  counts[6] = 4;
  write_token_order(folder.path(), counts, {});
  EXPECT_DOUBLE_EQ(read_token_order(folder.path(), 8).quarter_share, 0.94);
  std::ofstream(folder.path() / "config.json")
      << R"({"augur_part": "frspec", "format": 1, "vocab": 8, "quarter_share": 2})";
  EXPECT_THAT(error_of([&] { read_token_order(folder.path(), 8); }), HasSubstr("quarter_share"));
}

class AutomaticVocabularyTest : public testing::Test {
 protected:
  static constexpr std::int64_t kEntries = 20000;

  void write_frequencies() const {
    std::vector<std::int64_t> counts(kEntries, 1);
    for (std::size_t i = 0; i < kEntries / 4; ++i) counts[4 * i] = 99;
    write_token_order(folder_.path() / "frspec", counts, {});
  }
  void write_clusters(double share, double tokens, std::int64_t width = HeadProblem::kWidth) const {
    some_clusters(kEntries, 9, RouterInput::State, width)
        .write(folder_.path() / "dynaspec", {{kPartTargetKey, to_json(made_for_)},
                                             {"held_out", {{"best_token", share}, {"tokens", tokens}}}});
  }
  /// Entries of the choice for a target so many times the head.
  std::string chosen(std::int64_t target_heads) {
    const HeadWeights weights = problem_.weights();
    const VocabularyChoice choice(VocabularySpec::parse("auto:" + folder_.path().string()), target_, {},
                                  target_heads * weights.matrix->bytes());
    const auto shortlist = choice.make(weights);
    if (shortlist == nullptr) return "full";
    return std::ssize(shortlist->order()) == kEntries ? "dynaspec" : "frspec";
  }

  TemporaryFolder folder_;
  HeadProblem problem_{DType::F32, kEntries};
  Fingerprint target_ = some_target(kEntries);
  Fingerprint made_for_ = target_;
};

// A large target reads so much that failed drafts cost more than the head; a small one does not.
TEST_F(AutomaticVocabularyTest, TakesTheQuarterWhereItPays) {
  write_frequencies();
  EXPECT_EQ(chosen(10), "frspec");
  EXPECT_EQ(chosen(1000), "full");
  problem_.target_ids.resize(kEntries);  // a head with a vocabulary of its own
  EXPECT_EQ(chosen(10), "full");
}

TEST_F(AutomaticVocabularyTest, TakesClustersThatKeepMoreForLess) {
  write_frequencies();
  write_clusters(0.99, 0.05 * kEntries);
  EXPECT_EQ(chosen(10), "dynaspec");
  EXPECT_EQ(chosen(1000), "full");
  write_clusters(0.5, 0.05 * kEntries);
  EXPECT_EQ(chosen(10), "frspec");
  write_clusters(0.99, 0.9 * kEntries);
  EXPECT_EQ(chosen(10), "frspec");
}

TEST_F(AutomaticVocabularyTest, LeavesClustersThatAreNotForItOut) {
  write_frequencies();
  write_clusters(0.99, 0.05 * kEntries, 2 * HeadProblem::kWidth);
  EXPECT_EQ(chosen(10), "frspec");
  made_for_.digest = "fedcba9876543210";
  write_clusters(0.99, 0.05 * kEntries);
  EXPECT_EQ(chosen(10), "frspec");
  made_for_ = target_;
  write_clusters(2, 0.05 * kEntries);
  EXPECT_THAT(error_of([&] { chosen(10); }), HasSubstr("held_out.best_token"));
}

TEST(ClusterFiles, RefuseWhatIsNotAPartition) {
  TemporaryFolder folder;
  const auto refusal = [&](const auto& change) {
    ClusterPart part = some_clusters(120, 9, RouterInput::Previous);
    change(part);
    part.write(folder.path(), {});
    return error_of([&] { ClusterPart::read(folder.path(), some_target(120)); });
  };
  EXPECT_EQ(refusal([](ClusterPart&) {}), "no error");
  EXPECT_THAT(refusal([](ClusterPart& p) { p.cluster_of[5] = 9; }),
              HasSubstr("tensor cluster_of: token 5 is in cluster 9, there are 9"));
  EXPECT_THAT(refusal([](ClusterPart& p) { p.cluster_of[5] = -1; }), HasSubstr("cluster -1"));
  EXPECT_THAT(refusal([](ClusterPart& p) {
                for (auto& c : p.cluster_of) c = c == 4 ? 3 : c;
              }),
              HasSubstr("cluster 4 has no tokens"));
  EXPECT_THAT(refusal([](ClusterPart& p) { p.fc2_bias[0] = INFINITY; }),
              HasSubstr("tensor router.fc2.bias: holds inf"));
  EXPECT_THAT(refusal([](ClusterPart& p) { p.budget.first = 10; }), HasSubstr("budget.first"));
  some_clusters(120, 9, RouterInput::State).write(folder.path(), {});
  EXPECT_THAT(error_of([&] { ClusterPart::read(folder.path(), some_target(121)); }),
              HasSubstr("made for a vocabulary of 120, the model has 121"));
  EXPECT_THAT(error_of([&] {
                VocabularyChoice(VocabularySpec::parse("dynaspec:" + folder.path().string() + ":10"),
                                 some_target(120), {});
              }),
              HasSubstr("10 clusters were asked for, there are 9"));
  Fingerprint other = some_target(120);
  other.digest = "fedcba9876543210";
  some_clusters(120, 9, RouterInput::State)
      .write(folder.path(), {{kPartTargetKey, to_json(some_target(120))}});
  EXPECT_EQ(error_of([&] { ClusterPart::read(folder.path(), some_target(120)); }), "no error");
  EXPECT_NE(error_of([&] { ClusterPart::read(folder.path(), other); }), "no error");
}

TEST(ClusterFiles, RefuseADrafterOfAnotherWidth) {
  TemporaryFolder folder;
  ClusterPart part = some_clusters(500, 9, RouterInput::State);
  part.hidden = 32;
  part.fc1_weight.resize(static_cast<std::size_t>(part.router_hidden * part.inputs()));
  part.write(folder.path(), {});
  const VocabularyChoice choice(VocabularySpec::parse("dynaspec:" + folder.path().string()), some_target(500),
                                {});
  HeadProblem problem(DType::F32, 500);
  EXPECT_THAT(error_of([&] { VocabularyHead(problem.weights(), &choice); }),
              HasSubstr("hidden: made for a drafter with states of 32, this one has 40"));
}

}  // namespace
}  // namespace augur
