#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "cost/cost.h"
#include "part_fixture.h"
#include "policy/acceptance_policy.h"
#include "policy_fixture.h"
#include "support/policy_plan.h"
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

constexpr std::size_t kWidth = 8;

Backend& backend() {
  static Backend two(2);
  return two;
}

/// Two blocks of random weights, and the same network written out.
struct RandomHead {
  RandomHead()
      : files(std::string("acceptance_") + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::mt19937 random(11);
    std::uniform_real_distribution<float> uniform(-0.6f, 0.6f);
    const auto fill = [&](std::size_t count) {
      std::vector<float> values(count);
      for (float& v : values) v = uniform(random);
      return values;
    };
    for (const char* block : {"blocks.0", "blocks.1"}) {
      tensors.push_back({block + std::string(".weight"), {kWidth, kWidth}, fill(kWidth * kWidth)});
      tensors.push_back({block + std::string(".bias"), {kWidth}, fill(kWidth)});
    }
    tensors.push_back({"head.weight", {1, kWidth}, fill(kWidth)});
    tensors.push_back({"head.bias", {1}, {1.5f}});
    files.config(config);
    files.tensors(tensors);
  }

  double probability(const std::vector<float>& state) const {
    std::vector<double> x(state.begin(), state.end());
    for (const std::size_t block : {0u, 2u}) {
      std::vector<double> next = x;
      for (std::size_t r = 0; r < kWidth; ++r) {
        double sum = static_cast<double>(tensors[block + 1].values[r]);
        for (std::size_t c = 0; c < kWidth; ++c) {
          sum += static_cast<double>(tensors[block].values[r * kWidth + c]) * x[c];
        }
        next[r] += sum / (1 + std::exp(-sum));
      }
      x = next;
    }
    double logit = 1.5;
    for (std::size_t c = 0; c < kWidth; ++c) logit += static_cast<double>(tensors[4].values[c]) * x[c];
    return 1 / (1 + std::exp(-logit));
  }

  PartFiles files;
  nlohmann::json config = {{"augur_part", "acceptance"}, {"format", 1}, {"hidden", kWidth}, {"blocks", 2}};
  std::vector<PartFiles::Tensor> tensors;
};

/// What the drafter said of a token before it ran it.
struct Draw {
  float log_prob = 0;
  float entropy = 0;
};

/// What the head says of a tree's only token, whose state this is.
double probability(AcceptanceHead& head, const std::vector<float>& state, const Draw& draw = {}) {
  DraftTree tree;
  tree.reset(0, 0);
  const std::int32_t node = tree.add(DraftTree::kRoot, 7, draw.log_prob, 1);
  tree.set_entropy(DraftTree::kRoot, draw.entropy);
  std::ranges::copy(state, tree.make_hidden(node, state.size()).begin());
  double out = 0;
  head.probabilities(tree, {&node, 1}, {&out, 1});
  return out;
}

TEST(Acceptance, TheHeadIsTheNetworkOfItsFile) {
  const RandomHead random;
  AcceptanceHead head(random.files.path(), nullptr, backend(), DType::F32);
  double low = 1, high = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    const std::vector<float> state = RandomLaw{seed}.after({1}).hidden;
    const double p = probability(head, state, {.log_prob = -1.0, .entropy = 2.0});
    EXPECT_NEAR(p, random.probability(state), 1e-5);
    low = std::min(low, p);
    high = std::max(high, p);
  }
  EXPECT_GT(high - low, 0.2);
  EXPECT_THROW(probability(head, std::vector<float>(kWidth + 1)), Error);
}

TEST(Acceptance, TheHeadMayWeighHowTheDrafterCameByTheToken) {
  RandomHead random;
  const std::vector<float> state = RandomLaw{3}.after({1}).hidden;
  const double without = random.probability(state);
  const auto read = [&] {
    random.files.config(random.config);
    return AcceptanceHead(random.files.path(), nullptr, backend(), DType::F32);
  };
  EXPECT_FALSE(read().wants().entropy);
  random.config["log_prob_weight"] = 0.5;
  random.config["entropy_weight"] = -0.25;
  AcceptanceHead head = read();
  EXPECT_TRUE(head.wants().entropy);
  const double logit = std::log(without / (1 - without));
  EXPECT_NEAR(probability(head, state), without, 1e-5);
  const double expected = 1 / (1 + std::exp(-(logit - 1 - 0.75)));
  EXPECT_NEAR(probability(head, state, {.log_prob = -2, .entropy = 3}), expected, 1e-5);
  EXPECT_EQ(probability(head, state, {.log_prob = -1e9}),
            probability(head, state, {.log_prob = AcceptanceHead::kLeastLogProb}));

  DraftTree tree;
  tree.reset(0, 0);
  const std::int32_t node = tree.add(DraftTree::kRoot, 7, -2.0f, 0);
  tree.set_entropy(DraftTree::kRoot, 3.0f);
  tree.set_entropy(node, 100.0f);  // of what comes after it
  std::ranges::copy(state, tree.make_hidden(node, state.size()).begin());
  // Beside another node, whose draw is its own.
  const std::int32_t other = tree.add(node, 8, -1.0f, 0);
  std::ranges::copy(state, tree.make_hidden(other, state.size()).begin());
  double both[2];
  head.probabilities(tree, std::vector<std::int32_t>{node, other}, both);
  EXPECT_NEAR(both[0], expected, 1e-5);
  EXPECT_NEAR(both[1], probability(head, state, {.log_prob = -1, .entropy = 100}), 1e-7);
}

TEST(Acceptance, StatesMayCountByTheirDirectionAlone) {
  RandomHead random;
  random.config["rms_norm_eps"] = 1e-6;
  random.files.config(random.config);
  AcceptanceHead head(random.files.path(), nullptr, backend(), DType::F32);
  std::vector<float> state = RandomLaw{3}.after({1}).hidden, unit = state, larger = state;
  double squares = 0;
  for (const float x : state) squares += static_cast<double>(x) * static_cast<double>(x) / kWidth;
  for (float& x : unit) x /= static_cast<float>(std::sqrt(squares));
  for (float& x : larger) x *= 100;
  EXPECT_NEAR(probability(head, state), random.probability(unit), 1e-4);
  EXPECT_NEAR(probability(head, larger), random.probability(unit), 1e-4);
  EXPECT_TRUE(std::isfinite(probability(head, std::vector<float>(kWidth, 0.0f))));
}

/// Every path's acceptance from its own tokens alone.
double path_acceptance(const RandomHead* head, const RandomLaw& law, const Path& path) {
  double accepted = 1;
  for (std::size_t length = 1; length <= path.size(); ++length) {
    const Path here(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length));
    if (head != nullptr) {
      accepted *= head->probability(law.after(here).hidden);
    } else {
      const Path before(here.begin(), here.end() - 1);
      for (const auto& [token, log_prob] : law.after(before).children) {
        if (token == here.back()) accepted *= std::exp(static_cast<double>(log_prob));
      }
    }
  }
  return accepted;
}

TEST(Acceptance, BranchesStopAtTheThresholdOfTheirOwnPaths) {
  const RandomHead random;
  const auto head = std::make_shared<AcceptanceHead>(random.files.path(), nullptr, backend(), DType::F32);
  for (const bool with_head : {true, false}) {
    const double h = with_head ? 0.6 : 0.5;
    std::map<int, int> depths;
    for (unsigned seed = 0; seed < 300; ++seed) {
      const RandomLaw law{seed};
      AcceptancePolicy policy(with_head ? head : nullptr,
                              {.shape = {.top_k = 3, .levels = 5, .size = 30}, .threshold = h});
      Eagle2Policy eagle2({.top_k = 3, .levels = 5, .size = 30});
      DraftTree tree;
      tree.reset(0, 0);
      draft(policy, kRoomy, tree, law, false);
      for (std::int32_t node = 1; node < tree.size(); ++node) {
        if (tree.first_child(node) < 0) continue;
        const Path path = path_of(tree, node);
        const double own = path_acceptance(with_head ? &random : nullptr, law, path);
        // It was expanded, so what was known of its branch had not stopped it: a head knew its parent.
        const Path before(path.begin(), path.end() - 1);
        const double drafted =
            std::exp(static_cast<double>(tree.log_probs()[static_cast<std::size_t>(node)]));
        ASSERT_LE(1 - path_acceptance(with_head ? &random : nullptr, law, before) * drafted, h + 1e-6);
        // Where its own branch is above h, nothing below its children was drafted.
        if (with_head && 1 - own > h + 1e-6) {
          for (std::int32_t c = tree.first_child(node); c >= 0; c = tree.next_sibling(c)) {
            ASSERT_EQ(tree.first_child(c), -1);
          }
        }
      }
      ++depths[tree.max_depth()];
    }
    EXPECT_GE(depths.size(), 3u) << "some stop early, some late";
  }
}

TEST(Acceptance, TimesTheHeadByTheRoundsClock) {
  const RandomHead random;
  const auto head = std::make_shared<AcceptanceHead>(random.files.path(), nullptr, backend(), DType::F32);
  const testing_support::TickingClock clock;
  RoundInfo round = kRoomy;
  round.clock = &clock;
  for (const bool with_head : {true, false}) {
    AcceptancePolicy policy(with_head ? head : nullptr,
                            {.shape = {.top_k = 3, .levels = 5, .size = 30}, .threshold = 1.0});
    for (unsigned seed = 0; seed < 2; ++seed) {
      DraftTree tree;
      tree.reset(0, 0);
      draft(policy, round, tree, RandomLaw{seed});
      EXPECT_EQ(policy.classify_ms(), with_head ? 5.0 : 0.0) << "once a level";
    }
  }
}

TEST(Acceptance, ExtremeThresholdsAreEagle2AndOneLevel) {
  int whole = 0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    const RandomLaw law{seed};
    const auto never = make_policy("acceptance:h=1,topk=3,k-max=4,size=30");
    const auto at_once = make_policy("acceptance:h=0.000001,topk=3,k-max=4,size=30");
    const auto one_stops_all = make_policy("acceptance:all=1,h=0.5,topk=3,k-max=4,size=30");
    const auto eagle2 = make_policy("eagle2:topk=3,depth=4,size=30");
    DraftTree a, b, c, usual;
    for (DraftTree* tree : {&a, &b, &c, &usual}) tree->reset(0, 0);
    draft(*never, kRoomy, a, law);
    draft(*at_once, kRoomy, b, law);
    const int expansions = draft(*one_stops_all, kRoomy, c, law, false);
    draft(*eagle2, kRoomy, usual, law);
    EXPECT_TRUE(std::ranges::equal(a.tokens(), usual.tokens()));
    EXPECT_EQ(b.max_depth(), 1) << "a token's acceptance is known when it is drafted";
    bool stopped = false;
    for (std::int32_t v = c.first_child(DraftTree::kRoot); v >= 0; v = c.next_sibling(v)) {
      stopped =
          stopped || 1 - std::exp(static_cast<double>(c.log_probs()[static_cast<std::size_t>(v)])) > 0.5;
    }
    EXPECT_EQ(expansions == 1, stopped);
    whole += stopped ? 0 : 1;
  }
  EXPECT_GE(whole, 5);
  EXPECT_LE(whole, 45);
}

TEST(Acceptance, TheThresholdFollowsTheCosts) {
  const auto level = [](double rows) { return 0.6 + 0.1 * rows; };
  CostModel costs;
  DraftCosts& drafting = costs.drafter("test");
  for (const double rows : CostCurve::kRows) {
    costs.verify_curve().set(rows, 10 + 0.1 * rows);
    costs.other_curve().set(rows, 0.5);
    drafting.root().set(rows, 1.0);
    drafting.levels().set(rows, level(rows));
  }
  costs.set_growth(0, 0, 0);
  AcceptancePolicy policy(nullptr, {.shape = {.top_k = 3, .levels = 6, .size = 24}});
  RoundInfo round = kRoomy;
  round.costs = &costs;
  round.draft_costs = &drafting;
  policy.begin(round);
  const double verify = 10 + 0.1 * 16;
  EXPECT_NEAR(policy.threshold(3, 15), (verify - level(3)) / (verify + 0.5), 1e-9);
  EXPECT_GT(policy.threshold(1, 15), policy.threshold(3, 15)) << "a wider level is dearer";
  EXPECT_NEAR(policy.threshold(3, 1000), policy.threshold(3, 23), 1e-12) << "no more than are verified";
  const auto depth_with = [&](double level_ms) {
    int depth = 0;
    for (const double rows : CostCurve::kRows) drafting.levels().set(rows, level_ms);
    for (unsigned seed = 0; seed < 50; ++seed) {
      DraftTree tree;
      tree.reset(0, 0);
      draft(policy, round, tree, {seed}, false);
      depth += tree.max_depth();
    }
    return depth;
  };
  EXPECT_GT(depth_with(0.1), depth_with(4.0)) << "drafting that costs more stops earlier";
  EXPECT_TRUE(load_policy(testing_support::policy_plan("acceptance"))->needs_costs());
  EXPECT_FALSE(load_policy(testing_support::policy_plan("acceptance:h=0.95"))->needs_costs());
}

TEST(Acceptance, DrawnNodesAreCutByPlace) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto policy = make_policy("acceptance:h=0.8,topk=3,k-max=4,size=6");
    DraftTree tree;
    tree.reset(0, 0);
    tree.set_sampled(8);
    draft(*policy, kRoomy, tree, {seed}, false);
    const std::vector<TokenId> drafted(tree.tokens().begin(), tree.tokens().end());
    policy->prune(tree);
    ASSERT_EQ(tree.size(), std::min<std::int32_t>(6, static_cast<std::int32_t>(drafted.size())));
    EXPECT_TRUE(std::equal(tree.tokens().begin(), tree.tokens().end(), drafted.begin()));
  }
}

TEST(Acceptance, WeightsThatOverflowAcceptNothing) {
  RandomHead random;
  random.tensors[0].values.assign(kWidth * kWidth, 3e38f);
  random.tensors[2].values.assign(kWidth * kWidth, -3e38f);
  random.files.tensors(random.tensors);
  AcceptanceHead head(random.files.path(), nullptr, backend(), DType::F32);
  EXPECT_EQ(probability(head, std::vector<float>(kWidth, 2.0f)), 0.0);
}

TEST(Acceptance, TheHeadInSixteenBitsIsNearly) {
  const RandomHead random;
  AcceptanceHead head(random.files.path(), nullptr, backend());
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::vector<float> state = RandomLaw{seed}.after({1}).hidden;
    EXPECT_NEAR(probability(head, state), random.probability(state), 0.02);
  }
}

TEST(Acceptance, RefusesWhatIsNoHead) {
  RandomHead random;
  const auto refused = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json config = random.config;
    config[key] = value;
    random.files.config(config);
    EXPECT_THROW(AcceptanceHead(random.files.path(), nullptr, backend()), Error) << key << ' ' << value;
  };
  refused("augur_part", "c2t");
  refused("hidden", 9);
  refused("hidden", "8");
  refused("blocks", 0);
  refused("blocks", 3);
  refused("log_prob_weight", "a lot");
  refused("entropy_weight", nlohmann::json::array());
  refused("rms_norm_eps", 0);
  random.files.config(random.config);
  random.tensors.pop_back();
  random.files.tensors(random.tensors);
  EXPECT_THROW(AcceptanceHead(random.files.path(), nullptr, backend()), Error);
  const Fingerprint target{"llama", 64, 2, 192, "0123456789abcdef"};
  Fingerprint other = target;
  other.digest = "fedcba9876543210";
  random.config["target"] = to_json(target);
  random.files.config(random.config);
  EXPECT_THROW(AcceptanceHead(random.files.path(), &other, backend()), Error);
}

}  // namespace
}  // namespace augur
