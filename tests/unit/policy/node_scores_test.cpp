#include "policy/node_scores.h"

#include <gtest/gtest.h>

#include <cmath>

#include "part_fixture.h"
#include "policy/c2t_classifier.h"
#include "policy/registry.h"

namespace augur {
namespace {

using testing_support::PartFiles;

PartFiles part(const std::string& kind) {
  return PartFiles("score_" + kind + testing::UnitTest::GetInstance()->current_test_info()->name());
}

/// Bins below and above an entropy of 5, made for a depth of 4.
void write_two_bins(const PartFiles& files, int top_k) {
  files.config({{"augur_part", "hetero"},
                {"format", 1},
                {"levels", 1},
                {"thresholds", {5.0}},
                {"bins", {{{"count", 1}}, {{"count", 1}}}},
                {"top_k", top_k},
                {"depth", 4}});
}

/// root -> 1, 2; 1 -> 3. Root and 1 have been expanded.
struct Expanded {
  Expanded() {
    tree.reset(0, 0);
    tree.add(0, 1, std::log(0.6f), 1);
    tree.add(0, 2, std::log(0.3f), 1);
    tree.add(1, 3, std::log(0.5f), 1);
    tree.set_entropy(0, 1.0f);
    tree.set_entropy(1, 2.0f);
    tree.set_top_entropy(0, 1.0f);
    tree.set_top_entropy(1, 2.0f);
    const std::span<float> state = tree.make_hidden(1, 2);
    state[0] = 2;
    state[1] = -1;
  }
  DraftTree tree;
};

TEST(NodeScores, ClassifiersSpeakOfPathsAndScoresOfNodes) {
  const PartFiles files = part("c2t");
  files.config({{"augur_part", "c2t"}, {"format", 1}, {"features", {"P", "H", "d"}}, {"hidden", 1}});
  files.tensors({{"fc1.weight", {1, 3}, {3, -0.2f, -0.1f}},
                 {"fc1.bias", {1}, {1}},
                 {"fc2.weight", {1, 1}, {1}},
                 {"fc2.bias", {1}, {-2}}});
  const Expanded drafted;
  const auto score = load_c2t_score(files.path(), nullptr, nullptr);
  EXPECT_TRUE(score->wants().entropy);
  const C2tClassifier classifier = C2tClassifier::read(files.path(), nullptr);
  const double first = classifier.confidence({.joint = 0.6, .entropy = 1, .depth = 1});
  const double second = classifier.confidence({.joint = 0.3, .entropy = 2, .depth = 2});
  EXPECT_NEAR(score->read(drafted.tree, 1).log_prob, std::log(first), 1e-5);
  EXPECT_NEAR(score->read(drafted.tree, 3).log_prob, std::log(second / first), 1e-5);
}

TEST(NodeScores, TheHeadKnowsOfNodesThatHaveRun) {
  const PartFiles files = part("acceptance");
  files.config({{"augur_part", "acceptance"}, {"format", 1}, {"hidden", 2}, {"blocks", 1}});
  files.tensors({{"blocks.0.weight", {2, 2}, {0, 0, 0, 0}},
                 {"blocks.0.bias", {2}, {0, 0}},
                 {"head.weight", {1, 2}, {0.5f, 1}},
                 {"head.bias", {1}, {1}}});
  const Expanded drafted;
  const auto score = load_acceptance_score(files.path(), nullptr);
  EXPECT_TRUE(score->wants().hidden);
  EXPECT_NEAR(score->read(drafted.tree, 1).log_prob, -std::log(1 + std::exp(-1.0)), 1e-6);
  EXPECT_FALSE(score->read(drafted.tree, 2).known());
  EXPECT_FALSE(score->read(drafted.tree, 3).known());
}

TEST(NodeScores, BinsAreStrataOfThePathsEntropy) {
  const PartFiles files = part("hetero");
  write_two_bins(files, 10);
  Expanded drafted;
  const auto score = load_hetero_score(files.path(), nullptr, nullptr);
  EXPECT_EQ(score->wants().top_k, 10);
  ASSERT_EQ(score->strata(), 2);
  const NodeScore::Reading first = score->read(drafted.tree, 1);  // 1 at depth 1 is as 4 at depth 4
  EXPECT_EQ(first.stratum, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(first.log_prob), std::log(0.6f));
  EXPECT_EQ(score->read(drafted.tree, 3).stratum, 1);  // 3 at depth 2 is as 6
  drafted.tree.set_top_entropy(0, std::nanf(""));
  EXPECT_FALSE(score->read(drafted.tree, 3).known());
}

TEST(NodeScores, AutoTakesThemAndAsksForWhatTheyRead) {
  const PartFiles files = part("hetero");
  write_two_bins(files, 7);
  const std::vector<DrafterSeat> seats = {{"ngram", {.one_shot = true, .has_probabilities = false}},
                                          {"draft", {}}};
  const auto wants = [&](const std::string& policy) {
    const auto model = load_policy(policy, {});
    const SequencePolicies policies = model->make_all(seats);
    return std::pair(policies.by_drafter[0]->wants(), policies.by_drafter[1]->wants());
  };
  EXPECT_FALSE(wants("auto").second.anything()) << "what nobody reads is not worked out";
  const auto [lookup, drafter] = wants("auto:hetero=" + files.path());
  EXPECT_FALSE(lookup.anything());
  EXPECT_EQ(drafter.top_k, 7);
  EXPECT_ANY_THROW(load_policy("auto:c2t=" + files.path(), {})) << "bins are no classifier";
  EXPECT_ANY_THROW(load_policy("auto:c2t=/no/such/folder", {}));
}

}  // namespace
}  // namespace augur
