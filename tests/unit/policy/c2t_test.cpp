#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "part_fixture.h"
#include "policy/c2t_classifier.h"
#include "policy_fixture.h"
#include "support/ticking_clock.h"

namespace augur {
namespace {

using testing_support::draft;
using testing_support::kRoomy;
using testing_support::make_policy;
using testing_support::PartFiles;
using testing_support::Path;
using testing_support::path_of;
using testing_support::RandomLaw;

const nlohmann::json kConfig = {{"augur_part", "c2t"},
                                {"format", 1},
                                {"features", {"P", "H", "d"}},
                                {"hidden", 3},
                                {"scale", {1.0, 0.5, 0.1}}};

const std::vector<PartFiles::Tensor> kTensors = {
    {"fc1.weight", {3, 3}, {4.0f, -1.0f, 0.5f, -2.0f, 1.5f, 1.0f, 1.0f, 1.0f, -3.0f}},
    {"fc1.bias", {3}, {-0.5f, 0.25f, 0.5f}},
    {"fc2.weight", {1, 3}, {1.5f, -1.0f, 0.75f}},
    {"fc2.bias", {1}, {-0.5f}}};

/// The network, written out.
double confidence(double joint, double entropy, double depth) {
  const double x[] = {joint, 0.5 * entropy, 0.1 * depth};
  double logit = -0.5;
  for (std::size_t h = 0; h < 3; ++h) {
    double sum = static_cast<double>(kTensors[1].values[h]);
    for (std::size_t f = 0; f < 3; ++f) sum += static_cast<double>(kTensors[0].values[3 * h + f]) * x[f];
    logit += static_cast<double>(kTensors[2].values[h]) * std::max(sum, 0.0);
  }
  return 1 / (1 + std::exp(-logit));
}

class C2t : public testing::Test {
 protected:
  C2t() {
    files.config(kConfig);
    files.tensors(kTensors);
  }
  PartFiles files{std::string("c2t_") + testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_F(C2t, TheClassifierIsTheNetworkOfItsFile) {
  const C2tClassifier all = C2tClassifier::read(files.path(), nullptr);
  EXPECT_TRUE(all.uses_entropy());
  for (const double p : {0.01, 0.3, 0.99}) {
    for (const double h : {0.0, 1.7}) EXPECT_NEAR(all.confidence({p, h, 3}), confidence(p, h, 3), 1e-6);
  }
  // Features in another order, and fewer of them.
  nlohmann::json config = kConfig;
  config["features"] = {"d", "P"};
  config.erase("scale");
  files.config(config);
  auto tensors = kTensors;
  tensors[0] = {"fc1.weight", {3, 2}, {1, 0, 0, 1, 0, 0}};
  files.tensors(tensors);
  const C2tClassifier two = C2tClassifier::read(files.path(), nullptr);
  EXPECT_FALSE(two.uses_entropy());
  const double logit = -0.5 + 1.5 * (2 - 0.5) - 1.0 * (0.4 + 0.25) + 0.75 * 0.5;
  EXPECT_NEAR(two.confidence({0.4, 9, 2}), 1 / (1 + std::exp(-logit)), 1e-6);
  // The logarithm, which ends somewhere.
  config["features"] = {"logP", "H"};
  files.config(config);
  tensors[0] = {"fc1.weight", {3, 2}, {-1, 0, 0, 0, 0, 0}};
  files.tensors(tensors);
  const C2tClassifier log = C2tClassifier::read(files.path(), nullptr);
  const auto expected = [](double log_joint) {
    return 1 / (1 + std::exp(-(-0.5 + 1.5 * std::max(-log_joint - 0.5, 0.0) - 1.0 * 0.25 + 0.75 * 0.5)));
  };
  EXPECT_NEAR(log.confidence({0.1, 0, 1}), expected(std::log(0.1)), 1e-6);
  EXPECT_NEAR(log.confidence({0, 0, 1}), expected(std::log(C2tClassifier::kLeastJoint)), 1e-6);
}

/// The construction from its description: of a level the top_k by joint probability, of those the confident,
/// of those the `second` most confident; of all, where there are more than fit in `room`, the most probable.
struct Reference {
  std::set<Path> paths;
  bool cut = false;  ///< there were more than fit
};
Reference reference(const RandomLaw& law, double beta, int top_k, int children, int levels, int room,
                    int second = 0) {
  struct Node {
    Path path;
    float score;
    double confidence;
  };
  std::vector<Node> kept;
  std::vector<Node> level{{{}, 0.0f, 1.0}};
  for (int depth = 1; depth <= levels && !level.empty(); ++depth) {
    if (static_cast<int>(kept.size()) + 1 > room) break;
    std::vector<Node> fresh;
    for (const Node& parent : level) {
      const auto after = law.after(parent.path);
      for (int i = 0; i < children; ++i) {
        const auto& [token, log_prob] = after.children[static_cast<std::size_t>(i)];
        Node node = parent;
        node.path.push_back(token);
        node.score += log_prob;
        node.confidence =
            confidence(std::exp(static_cast<double>(node.score)), static_cast<double>(after.entropy), depth);
        fresh.push_back(node);
      }
    }
    std::stable_sort(fresh.begin(), fresh.end(), [](auto& a, auto& b) { return a.score > b.score; });
    if (std::ssize(fresh) > top_k) fresh.resize(static_cast<std::size_t>(top_k));
    std::erase_if(fresh, [&](const Node& n) { return n.confidence <= beta; });
    if (second > 0 && std::ssize(fresh) > second) {
      std::stable_sort(fresh.begin(), fresh.end(),
                       [](auto& a, auto& b) { return a.confidence > b.confidence; });
      fresh.resize(static_cast<std::size_t>(second));
    }
    kept.insert(kept.end(), fresh.begin(), fresh.end());
    level = fresh;
  }
  std::stable_sort(kept.begin(), kept.end(), [](auto& a, auto& b) { return a.score > b.score; });
  Reference out{.cut = std::ssize(kept) > room};
  if (out.cut) kept.resize(static_cast<std::size_t>(room));
  for (const Node& n : kept) out.paths.insert(n.path);
  return out;
}

TEST_F(C2t, TreesAreThoseOfTheDescription) {
  std::set<std::size_t> sizes;
  int cut = 0;
  for (const int size : {200, 8}) {
    for (const double beta : {0.3, 0.5, 0.6}) {
      const auto policy = make_policy(
          fmt::format("c2t:topk=5,children=3,depth=4,size={},model={},beta={}", size, files.path(), beta));
      for (unsigned seed = 0; seed < 300; ++seed) {
        const RandomLaw law{seed};
        DraftTree tree;
        tree.reset(0, 0);
        draft(*policy, kRoomy, tree, law);
        std::set<Path> found;
        for (std::int32_t node = 1; node < tree.size(); ++node) found.insert(path_of(tree, node));
        const Reference expected = reference(law, beta, 5, 3, 4, size - 1);
        ASSERT_EQ(found, expected.paths) << "seed " << seed << ", beta " << beta << ", size " << size;
        sizes.insert(found.size());
        cut += expected.cut ? 1 : 0;
      }
    }
  }
  EXPECT_GT(sizes.size(), 8u) << "the rule bites";
  EXPECT_GT(cut, 100) << "and so does the size";
}

// Section 4.2.2: of the nodes that pass, the K most confident; and appendix B.6's rows without it.
TEST_F(C2t, ASecondTopKLeavesTheMostConfident) {
  const auto tree_of = [&](const std::string& settings, const RandomLaw& law) {
    const auto policy =
        make_policy("c2t:topk=100,children=3,depth=4,size=200,beta=0.3,model=" + files.path() + settings);
    DraftTree tree;
    tree.reset(0, 0);
    draft(*policy, kRoomy, tree, law);
    std::set<Path> found;
    for (std::int32_t node = 1; node < tree.size(); ++node) found.insert(path_of(tree, node));
    return found;
  };
  int cut = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RandomLaw law{seed};
    const std::set<Path> second = tree_of(",second=2", law);
    ASSERT_EQ(second, reference(law, 0.3, 100, 3, 4, 199, 2).paths) << seed;
    const std::set<Path> all = tree_of("", law);
    ASSERT_EQ(all, reference(law, 0.3, 100, 3, 4, 199).paths) << seed;
    ASSERT_EQ(all, tree_of(",second=0", law));
    cut += second != all;
  }
  EXPECT_GT(cut, 100) << "the rule bites";
}

// Appendix C, table 6: the entropy may be taken over another number of probabilities than usual.
TEST_F(C2t, TheEntropyIsOverAsManyAsAreAskedFor) {
  const auto policy_with = [&](const std::string& settings) {
    return make_policy("c2t:topk=5,children=3,depth=4,size=200,beta=0.5,model=" + files.path() + settings);
  };
  const auto usual = policy_with("");
  EXPECT_TRUE(usual->wants().entropy);
  EXPECT_EQ(usual->wants().top_k, 0);
  const auto few = policy_with(",entropy-top=20");
  EXPECT_FALSE(few->wants().entropy);
  EXPECT_EQ(few->wants().top_k, 20);
  EXPECT_GT(policy_with(",entropy-top=all")->wants().top_k, 1'000'000);
  EXPECT_THROW(policy_with(",entropy-top=-1"), Error);
  // That one is read: the fixture's drafter records the one that is wanted, and no other.
  for (unsigned seed = 0; seed < 100; ++seed) {
    const RandomLaw law{seed};
    DraftTree tree;
    tree.reset(0, 0);
    draft(*few, kRoomy, tree, law);
    std::set<Path> found;
    for (std::int32_t node = 1; node < tree.size(); ++node) found.insert(path_of(tree, node));
    ASSERT_EQ(found, reference(law, 0.5, 5, 3, 4, 199).paths) << seed;
  }
}

// Appendix E has it apart from drafting.
TEST_F(C2t, TimesTheClassifierByTheRoundsClock) {
  const testing_support::TickingClock clock;
  RoundInfo round = kRoomy;
  round.clock = &clock;
  const auto policy = make_policy("c2t:topk=5,children=3,depth=4,size=200,beta=0,model=" + files.path());
  for (unsigned seed = 0; seed < 3; ++seed) {
    DraftTree tree;
    tree.reset(0, 0);
    draft(*policy, round, tree, RandomLaw{seed});
    EXPECT_EQ(policy->classify_ms(), 4.0) << "once a level, and no round before counts";
  }
  round.drafter.has_probabilities = false;
  DraftTree tree;
  tree.reset(0, 0);
  draft(*policy, round, tree, RandomLaw{});
  EXPECT_EQ(policy->classify_ms(), 0.0) << "nothing is rated";
}

// By hand: the root has four children of probability 0.4, 0.3, 0.2, 0.1, whose confidence the network below
// makes fall with probability: sigmoid(1.5 - 2 P) is 0.668, 0.711, 0.750, 0.786. Above 0.7 are three; two of
// them stay.
TEST_F(C2t, TheSecondTopKIsByConfidenceNotByProbability) {
  nlohmann::json config = kConfig;
  config["features"] = {"P"};
  config["hidden"] = 1;
  config.erase("scale");
  files.config(config);
  files.tensors({{"fc1.weight", {1, 1}, {1.0f}},
                 {"fc1.bias", {1}, {0.0f}},
                 {"fc2.weight", {1, 1}, {-2.0f}},
                 {"fc2.bias", {1}, {1.5f}}});
  const auto kept = [&](const std::string& settings) {
    const auto policy =
        make_policy("c2t:depth=1,children=4,size=9,beta=0.7,model=" + files.path() + settings);
    policy->begin(kRoomy);
    DraftTree tree;
    tree.reset(0, 0);
    std::vector<std::int32_t> frontier;
    policy->next_frontier(tree, frontier);
    TokenId token = 1;
    for (const float p : {0.4f, 0.3f, 0.2f, 0.1f}) tree.add(DraftTree::kRoot, token++, std::log(p), 0);
    policy->next_frontier(tree, frontier);
    policy->prune(tree);
    return std::vector<TokenId>(tree.tokens().begin() + 1, tree.tokens().end());
  };
  EXPECT_EQ(kept(""), (std::vector<TokenId>{2, 3, 4}));
  EXPECT_EQ(kept(",second=2"), (std::vector<TokenId>{3, 4}));
}

// The paper's draft takes K = 10 candidates of a node; here 4 are usual.
TEST_F(C2t, CandidatesOfANode) {
  const auto widths = [&](const std::string& settings) {
    const auto policy = make_policy("c2t:depth=2,beta=0,topk=100,size=200,model=" + files.path() + settings);
    policy->begin(kRoomy);
    return policy->width();
  };
  EXPECT_EQ(widths(""), 4);
  EXPECT_EQ(widths(",children=10"), 10);
}

TEST_F(C2t, SizeRoomAndDepthHold) {
  const RandomLaw law{3};
  const auto policy = make_policy("c2t:topk=9,children=4,depth=5,size=12,beta=0,model=" + files.path());
  DraftTree tree;
  tree.reset(0, 0);
  draft(*policy, kRoomy, tree, law);
  EXPECT_EQ(tree.size(), 12);
  tree.reset(0, 0);
  draft(*policy, {.room = 5, .max_depth = 2}, tree, law);
  EXPECT_EQ(tree.size(), 6);
  EXPECT_LE(tree.max_depth(), 2);
  tree.reset(0, 0);
  draft(*policy, {.room = 0, .max_depth = 2}, tree, law);
  EXPECT_TRUE(tree.only_root());
}

TEST_F(C2t, ChainsAreAnEarlyExit) {
  const auto policy = make_policy("c2t:chain=1,depth=6,beta=0.5,model=" + files.path());
  std::set<std::int32_t> lengths;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RandomLaw law{seed};
    DraftTree tree;
    tree.reset(0, 0);
    draft(*policy, kRoomy, tree, law);
    const std::set<Path> expected = reference(law, 0.5, 15, 1, 6, 63).paths;
    ASSERT_EQ(tree.size(), std::ssize(expected) + 1);
    lengths.insert(tree.size());
  }
  EXPECT_GE(lengths.size(), 3u);
}

TEST_F(C2t, DrawnNodesStay) {
  const auto policy = make_policy("c2t:children=3,depth=3,beta=0.6,model=" + files.path());
  const auto cut = make_policy("c2t:children=3,depth=3,size=3,beta=0,model=" + files.path());
  for (unsigned seed = 0; seed < 50; ++seed) {
    DraftTree tree;
    tree.reset(0, 0);
    tree.set_sampled(8);
    draft(*policy, kRoomy, tree, {seed}, false);
    const std::int32_t drafted = tree.size();
    policy->prune(tree);
    EXPECT_EQ(tree.size(), std::min(drafted, 64));
    tree.reset(0, 0);
    tree.set_sampled(8);
    draft(*cut, kRoomy, tree, {seed});
    EXPECT_EQ(tree.size(), 3);
    EXPECT_EQ(tree.parents()[2], 0) << "by place, not by score";
  }
}

TEST_F(C2t, NoFiniteWeightsMakeAConfidenceThatIsNone) {
  auto tensors = kTensors;
  tensors[0].values.assign(9, 3e38f);
  tensors[2].values = {3e38f, -3e38f, 3e38f};
  files.tensors(tensors);
  EXPECT_EQ(C2tClassifier::read(files.path(), nullptr).confidence({0.5, 1, 1}), 1.0);
}

TEST_F(C2t, RefusesWhatIsNoClassifier) {
  const auto refused = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json config = kConfig;
    config[key] = value;
    files.config(config);
    try {
      C2tClassifier::read(files.path(), nullptr);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("config.json"), std::string::npos);
      EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refused("augur_part", "hetero"));
  EXPECT_TRUE(refused("format", 2));
  EXPECT_TRUE(refused("features", nlohmann::json::array()));
  EXPECT_TRUE(refused("features", {"P", "H", "x"}));
  EXPECT_TRUE(refused("features", {"P", "H", "H"}));
  EXPECT_TRUE(refused("scale", {1.0}));
  EXPECT_TRUE(refused("hidden", 0));
  nlohmann::json config = kConfig;
  config["hidden"] = 4;
  files.config(config);
  EXPECT_THROW(C2tClassifier::read(files.path(), nullptr), Error);
  files.config(kConfig);
  auto tensors = kTensors;
  tensors[3].values = {std::numeric_limits<float>::quiet_NaN()};
  files.tensors(tensors);
  EXPECT_THROW(C2tClassifier::read(files.path(), nullptr), Error);
  EXPECT_THROW(make_policy("c2t"), Error);
  EXPECT_THROW(make_policy("c2t:model=/nowhere"), Error);
}

TEST_F(C2t, TransfersWithinAFamilyOnly) {
  const Fingerprint made_for{"llama", 64, 2, 192, "0123456789abcdef"};
  nlohmann::json config = kConfig;
  config["target"] = to_json(made_for);
  files.config(config);
  std::string warning;
  C2tClassifier::read(files.path(), &made_for, &warning);
  EXPECT_EQ(warning, "");
  Fingerprint sibling = made_for;
  sibling.layers = 4;
  C2tClassifier::read(files.path(), &sibling, &warning);
  EXPECT_NE(warning, "");
  Fingerprint stranger = made_for;
  stranger.family = "qwen2";
  EXPECT_THROW(C2tClassifier::read(files.path(), &stranger, &warning), Error);
}

}  // namespace
}  // namespace augur
