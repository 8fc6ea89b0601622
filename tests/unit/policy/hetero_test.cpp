#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "part_fixture.h"
#include "policy/hetero_policy.h"
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

constexpr int kBase = 3;
const std::vector<double> kThresholds{1.5, 2.5, 3.0, 3.5};

std::shared_ptr<const HeteroBins> bins() {
  return std::make_shared<const HeteroBins>(
      HeteroBins{.top_k = 4, .depth = kBase, .thresholds = kThresholds});
}

const HeteroPolicy::Options kOptions{.shape = {.top_k = 3, .levels = kBase, .size = 20}};

/// Phi(P*) from the drafted tree, with whole paths: of all paths of the base depth that were expanded, the
/// one whose last law is the surest.
double reference_phi(const DraftTree& tree, const RandomLaw& law) {
  double phi = 0;
  float surest = -1e9f;
  for (std::int32_t node = 0; node < tree.size(); ++node) {
    const Path path = path_of(tree, node);
    if (std::ssize(path) != kBase - 1 || tree.first_child(node) < 0) continue;
    const float best = law.after(path).children.front().second;
    if (best <= surest) continue;
    surest = best;
    phi = 0;
    for (std::size_t length = 0; length <= path.size(); ++length) {
      phi += static_cast<double>(
          law.after(Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length))).entropy);
    }
  }
  return phi;
}

TEST(Hetero, DepthAndSizeFollowTheBin) {
  std::vector<int> seen(5, 0);
  for (unsigned seed = 0; seed < 400; ++seed) {
    const RandomLaw law{seed};
    HeteroPolicy policy(bins(), kOptions);
    DraftTree tree;
    tree.reset(0, 0);
    const int expansions = draft(policy, kRoomy, tree, law, false);
    const double phi = reference_phi(tree, law);
    int bin = 0;
    while (bin < 4 && phi >= kThresholds[static_cast<std::size_t>(bin)]) ++bin;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", phi " + std::to_string(phi));
    ++seen[static_cast<std::size_t>(bin)];
    // alpha = ceil(3 / 2) = 2: bins 0 and 1 go 2 and 1 levels deeper, bin 2 and those above do not.
    const int levels = kBase + std::max(0, bin < 3 ? 2 - bin : 0);
    EXPECT_EQ(expansions, 1 + 3 * (levels - 1));
    EXPECT_EQ(tree.max_depth(), levels);
    policy.prune(tree);
    const int sizes[] = {6 + 2, 12 + 1, 20, 20, 20};
    EXPECT_EQ(tree.size(), sizes[bin]);
  }
  for (int bin = 0; bin < 5; ++bin) EXPECT_GT(seen[static_cast<std::size_t>(bin)], 5) << bin;
}

// The paper's table 6 has it apart from drafting.
TEST(Hetero, TimesTheSearchForABinByTheRoundsClock) {
  const testing_support::TickingClock clock;
  RoundInfo round = kRoomy;
  round.clock = &clock;
  HeteroPolicy policy(bins(), kOptions);
  for (unsigned seed = 0; seed < 3; ++seed) {
    DraftTree tree;
    tree.reset(0, 0);
    draft(policy, round, tree, RandomLaw{seed});
    EXPECT_EQ(policy.classify_ms(), 1.0) << "one search a round, and none of the rounds before";
  }
  EXPECT_EQ(clock.readings(), 3 * 2) << "drafting itself is not timed here";
  policy.begin(round);
  EXPECT_EQ(policy.classify_ms(), 0.0);
}

TEST(Hetero, EveryMechanismCanBeSwitchedOff) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const RandomLaw law{seed};
    const auto shape = [&](bool extend, bool prune, bool keep_shapes) {
      HeteroPolicy::Options options = kOptions;
      options.extend = extend;
      options.prune = prune;
      options.keep_shapes = keep_shapes;
      HeteroPolicy policy(bins(), options);
      DraftTree tree;
      tree.reset(0, 0);
      draft(policy, kRoomy, tree, law);
      return std::pair(std::vector(tree.tokens().begin(), tree.tokens().end()), tree.max_depth());
    };
    Eagle2Policy eagle2(kOptions.shape);
    DraftTree usual;
    usual.reset(0, 0);
    draft(eagle2, kRoomy, usual, law);
    EXPECT_TRUE(std::ranges::equal(shape(false, false, true).first, usual.tokens()));
    EXPECT_LE(shape(false, true, true).second, kBase);
    EXPECT_EQ(shape(true, false, true).first.size(), 20u);
    EXPECT_EQ(shape(true, true, false), shape(true, true, true)) << "keeping shapes changes nothing but time";
  }
}

TEST(Hetero, ShortRoundsAndDrawnTreesAreEagle2s) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const RandomLaw law{seed};
    for (const bool drawn : {false, true}) {
      const RoundInfo round{.room = 9, .max_depth = drawn ? 9 : kBase - 1};
      HeteroPolicy policy(bins(), kOptions);
      Eagle2Policy eagle2(kOptions.shape);
      DraftTree tree, usual;
      for (DraftTree* t : {&tree, &usual}) {
        t->reset(0, 0);
        if (drawn) t->set_sampled(8);
      }
      draft(policy, round, tree, law);
      draft(eagle2, round, usual, law);
      EXPECT_TRUE(std::ranges::equal(tree.tokens(), usual.tokens()));
    }
  }
}

const nlohmann::json kConfig = {
    {"augur_part", "hetero"},
    {"format", 1},
    {"levels", 3},
    {"thresholds", {0.5, 1}},
    {"top_k", 10},
    {"depth", 5},
    {"bins", {{{"low", 0}, {"high", 0.5}}, {{"low", 0.5}, {"high", 1}}, {{"low", 1}, {"high", 9}}}}};

TEST(Hetero, ReadsItsFile) {
  const PartFiles files("hetero_reads");
  files.config(kConfig);
  const HeteroBins read = HeteroBins::read(files.path(), nullptr, nullptr);
  EXPECT_EQ(read.count(), 3);
  EXPECT_EQ(read.bin(0.2), 0);
  EXPECT_EQ(read.bin(0.5), 1);
  EXPECT_EQ(read.bin(50), 2);
  EXPECT_EQ(make_policy("hetero:model=" + files.path())->wants().top_k, 10);
  EXPECT_THROW(make_policy("hetero"), Error);
  EXPECT_THROW(make_policy("hetero:depth=4,model=" + files.path()), Error);
  EXPECT_THROW(make_policy("hetero:gamma1=2,model=" + files.path()), Error);
}

TEST(Hetero, AlphaIsHowManyBinsAreSure) {
  const PartFiles files("hetero_sure");
  nlohmann::json config = kConfig;
  config["depth"] = 3;
  const auto write = [&](std::initializer_list<double> lengths) {
    config["bins"].clear();
    for (const double length : lengths) config["bins"].push_back({{"count", 1}, {"mean_length", length}});
    files.config(config);
    return HeteroBins::read(files.path(), nullptr, nullptr);
  };
  // Half of all drafts whole: 2^-1/3 + 2^-2/3 + 1/2 = 1.924 of three levels.
  EXPECT_EQ(write({2.8, 2.1, 1.93}).sure, 3);
  EXPECT_EQ(write({2.8, 1.92, 2.1}).sure, 1) << "counted from the lowest on";
  EXPECT_EQ(write({1.5, 1.2, 1.0}).sure, 0);
  EXPECT_THROW(write({2.8, 3.1, 1.0}), Error) << "more than was drafted";

  const HeteroBins sure = write({2.8, 2.1, 1.93});
  const auto shapes = HeteroPolicy::make_shapes(sure, kOptions);
  ASSERT_EQ(shapes.size(), 3U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(shapes[static_cast<std::size_t>(i)].levels, kBase + 3 - i) << i;
  HeteroPolicy::Options asked = kOptions;
  asked.alpha = 1;
  EXPECT_EQ(HeteroPolicy::make_shapes(sure, asked)[0].levels, kBase + 1);
  EXPECT_EQ(HeteroPolicy::make_shapes(sure, asked)[1].levels, kBase);
}

/// Levels of the lowest bin's shape, as they are drafted.
int levels_of(const std::string& policy) {
  const auto made = make_policy(policy);
  DraftTree tree;
  tree.reset(0, 0);
  draft(*made, kRoomy, tree, RandomLaw{1}, false);
  return tree.max_depth();
}

// Section 5.3: alpha = ceil(depth / 2), whatever the bins say of being sure. Depth 5 and two sure bins of
// three, all drafts in bin 0: 5 + 2 levels, 5 + 3 by the paper's rule, 5 + 1 where one is asked for.
TEST(Hetero, AlphaMayBeHalfTheDepth) {
  const PartFiles files("hetero_half");
  nlohmann::json config = kConfig;
  config["thresholds"] = {1000, 2000};
  config["bins"] = {{{"mean_length", 4.9}}, {{"mean_length", 4.8}}, {{"mean_length", 1.0}}};
  files.config(config);
  const std::string policy = "hetero:topk=2,size=20,model=" + files.path();
  EXPECT_EQ(levels_of(policy), 5 + 2);
  EXPECT_EQ(levels_of(policy + ",alpha=half"), 5 + 3);
  EXPECT_EQ(levels_of(policy + ",alpha=1"), 5 + 1);
  EXPECT_THROW(make_policy(policy + ",alpha=third"), Error);
}

TEST(Hetero, RefusesWhatIsNoTable) {
  const PartFiles files("hetero_refuses");
  const std::pair<const char*, nlohmann::json> bad[] = {{"augur_part", "c2t"},
                                                        {"format", 9},
                                                        {"levels", 1},
                                                        {"thresholds", {1, 0.5}},
                                                        {"thresholds", {1, "x"}},
                                                        {"thresholds", 3},
                                                        {"top_k", 0},
                                                        {"depth", nullptr},
                                                        {"bins", nlohmann::json::array()},
                                                        {"bins", 1},
                                                        {"bins", {1, 2, 3}},
                                                        {"thresholds", {0.5}}};
  for (const auto& [key, value] : bad) {
    nlohmann::json config = kConfig;
    config[key] = value;
    files.config(config);
    EXPECT_THROW(HeteroBins::read(files.path(), nullptr, nullptr), Error) << key << ' ' << value;
  }
}

}  // namespace
}  // namespace augur
