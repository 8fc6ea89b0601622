#include "verify/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "enumeration.h"
#include "reference.h"
#include "support/probability_of.h"

namespace augur {
namespace {

using testing_support::probability_of;

using Law = std::vector<double>;  // over the vocabulary
using Text = std::vector<TokenId>;

/// A target whose law after a text is a table of random numbers, some of them 0.
class TinyModel {
 public:
  TinyModel(int vocab, unsigned seed, bool zeros) : vocab_(vocab), seed_(seed), zeros_(zeros) {}
  int vocab() const { return vocab_; }

  Law after(const Text& text) const {
    unsigned hash = seed_ * 2654435761u;
    for (const TokenId token : text) hash = (hash ^ static_cast<unsigned>(token + 7)) * 2246822519u + 3u;
    std::mt19937 random(hash);
    Law law(static_cast<std::size_t>(vocab_));
    double total = 0;
    for (double& p : law) {
      p = zeros_ && random() % 4 == 0 ? 0.0 : 1.0 + random() % 100;
      total += p;
    }
    if (total == 0) law[0] = total = 1;
    // The verifiers see float32: let that be the law.
    for (double& p : law) p = static_cast<double>(static_cast<float>(p / total));
    return law;
  }

 private:
  int vocab_;
  unsigned seed_;
  bool zeros_;
};

Text path_text(const DraftTree& tree, std::int32_t node) {
  Text text;
  for (; node != DraftTree::kRoot; node = tree.parents()[static_cast<std::size_t>(node)]) {
    text.insert(text.begin(), tree.tokens()[static_cast<std::size_t>(node)]);
  }
  return text;
}

class TinyView final : public TargetView {
 public:
  TinyView(const TinyModel& model, const DraftTree& tree, Chance& chance)
      : model_(model), tree_(tree), chance_(chance) {}
  TokenId draw(std::int32_t node) override { return chance_.pick(model_.after(path_text(tree_, node))); }
  const SparseDistribution& distribution(std::int32_t node) override {
    law_ = {};
    const Law law = model_.after(path_text(tree_, node));
    for (std::size_t i = 0; i < law.size(); ++i) {
      if (law[i] <= 0) continue;
      law_.tokens.push_back(static_cast<TokenId>(i));
      law_.probs.push_back(static_cast<float>(law[i]));
    }
    return law_;
  }

 private:
  const TinyModel& model_;
  const DraftTree& tree_;
  Chance& chance_;
  SparseDistribution law_;
};

/// The text a verification leaves: accepted tokens and the next one.
Text emitted(const DraftTree& tree, const Verdict& verdict) {
  Text text = path_text(tree, verdict.path.back());
  text.push_back(verdict.next);
  return text;
}

/// Completes a text to `length` tokens by plain decoding and adds the probability of each completion.
void complete(const TinyModel& model, const Text& text, std::size_t length, double probability,
              std::map<Text, double>& out) {
  if (text.size() >= length) {
    out[Text(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length))] += probability;
    return;
  }
  const Law law = model.after(text);
  double total = 0;
  for (const double p : law) total += p;
  for (std::size_t i = 0; i < law.size(); ++i) {
    if (law[i] <= 0) continue;
    Text longer = text;
    longer.push_back(static_cast<TokenId>(i));
    complete(model, longer, length, probability * law[i] / total, out);
  }
}

std::map<Text, double> plain_law(const TinyModel& model, std::size_t length) {
  std::map<Text, double> law;
  complete(model, {}, length, 1.0, law);
  return law;
}

void expect_same_law(const std::map<Text, double>& found, const std::map<Text, double>& expected) {
  double total = 0;
  for (const auto& [text, p] : found) {
    total += p;
    const auto it = expected.find(text);
    ASSERT_TRUE(it != expected.end() || p < 1e-9) << "an impossible text";
    if (it == expected.end()) continue;
    ASSERT_NEAR(p, it->second, 1e-7);
  }
  ASSERT_NEAR(total, 1.0, 1e-7);
}

using Verify = void (*)(const DraftTree&, TargetView&, Chance&, Verdict&);

void walk(const DraftTree& tree, TargetView& view, Chance&, Verdict& out) {
  verify_walk(tree, view, out);
}
void sequential(const DraftTree& tree, TargetView& view, Chance& chance, Verdict& out) {
  RejectionScratch scratch;
  verify_sequential(tree, view, chance, scratch, out);
}
void rejection(const DraftTree& tree, TargetView& view, Chance& chance, Verdict& out) {
  RejectionScratch scratch;
  verify_rejection(tree, view, chance, scratch, out);
}

constexpr std::size_t kLength = 3;  // deeper than any tree here

/// Law of the first kLength tokens when trees come from `grow` (which may use chance too).
std::map<Text, double> speculative_law(const TinyModel& model, Verify verify,
                                       const std::function<void(DraftTree&, Chance&)>& grow) {
  std::map<Text, double> law;
  EnumeratingChance::for_each_outcome([&](EnumeratingChance& chance) {
    DraftTree tree;
    tree.reset(0, 0);
    grow(tree, chance);
    TinyView view(model, tree, chance);
    Verdict verdict;
    verify(tree, view, chance, verdict);
    complete(model, emitted(tree, verdict), kLength, chance.probability(), law);
  });
  return law;
}

/// A fixed random tree of up to two levels.
std::function<void(DraftTree&, Chance&)> fixed_tree(unsigned seed, int vocab) {
  return [=](DraftTree& tree, Chance&) {
    std::mt19937 random(seed);
    for (int i = 0; i < 6; ++i) {
      const auto parent = static_cast<std::int32_t>(random() % static_cast<unsigned>(tree.size()));
      if (tree.depths()[static_cast<std::size_t>(parent)] < 2) {
        tree.add(parent, static_cast<TokenId>(random() % static_cast<unsigned>(vocab)), -1, 1);
      }
    }
  };
}

/// Draws `count` children of a node without replacement from its law under `drafter`.
void draw_children(const TinyModel& drafter, DraftTree& tree, std::int32_t node, int count, Chance& chance) {
  Law law = drafter.after(path_text(tree, node));
  const std::span<float> q = tree.make_q(node);
  for (std::size_t i = 0; i < law.size(); ++i) q[i] = static_cast<float>(law[i]);
  for (int i = 0; i < count; ++i) {
    double left = 0;
    for (const double p : law) left += p;
    if (left <= 0) return;
    const std::int32_t token = chance.pick(law);
    law[static_cast<std::size_t>(token)] = 0;
    tree.add(node, token, 0, 1);
  }
}

TEST(Walk, LeavesTheLawOfPlainDecoding) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const TinyModel model(3, seed, seed % 2 == 1);
    expect_same_law(speculative_law(model, walk, fixed_tree(seed, 3)), plain_law(model, kLength));
  }
}

TEST(SequentialRejection, LeavesTheLawOfPlainDecoding) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const TinyModel model(3 + static_cast<int>(seed % 2), seed, seed % 3 == 1);
    expect_same_law(speculative_law(model, sequential, fixed_tree(seed, model.vocab())),
                    plain_law(model, kLength));
  }
}

TEST(Rejection, ChainsLeaveTheLawOfPlainDecoding) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const TinyModel model(3, seed, seed % 3 == 1);
    const TinyModel drafter(3, seed + 1000, seed % 4 == 2);
    expect_same_law(speculative_law(model, rejection,
                                    [&](DraftTree& tree, Chance& chance) {
                                      tree.set_sampled(3);
                                      draw_children(drafter, tree, 0, 1, chance);
                                      draw_children(drafter, tree, 1, 1, chance);
                                    }),
                    plain_law(model, kLength));
  }
}

TEST(Rejection, TreesWithoutReplacementLeaveTheLawOfPlainDecoding) {
  for (unsigned seed = 0; seed < 25; ++seed) {
    const TinyModel model(3, seed, seed % 3 == 1);
    const TinyModel drafter(3, seed + 2000, seed % 4 == 2);
    const int width = 2 + static_cast<int>(seed % 2);
    expect_same_law(speculative_law(model, rejection,
                                    [&](DraftTree& tree, Chance& chance) {
                                      tree.set_sampled(3);
                                      draw_children(drafter, tree, 0, width, chance);
                                      // Which child grows may depend on the tokens drawn before.
                                      const std::int32_t grown =
                                          tree.size() > 2 && tree.tokens()[1] == 0 ? 2 : 1;
                                      draw_children(drafter, tree, grown, 2, chance);
                                    }),
                    plain_law(model, kLength));
  }
}

TEST(Rejection, ADrafterThatIsTheTargetIsAlwaysAccepted) {
  const TinyModel model(4, 5, false);
  double whole = 0;
  EnumeratingChance::for_each_outcome([&](EnumeratingChance& chance) {
    DraftTree tree;
    tree.set_sampled(4);
    draw_children(model, tree, 0, 1, chance);
    draw_children(model, tree, 1, 1, chance);
    TinyView view(model, tree, chance);
    Verdict verdict;
    RejectionScratch scratch;
    verify_rejection(tree, view, chance, scratch, verdict);
    // An outcome that rejects may be enumerated, but with no probability.
    if (verdict.path.size() == 3u) whole += chance.probability();
  });
  EXPECT_NEAR(whole, 1, 1e-9);
}

/// The enumeration must be able to fail: a verifier that forgets to remove rejected mass is found out.
TEST(Enumeration, FindsAWrongVerifier) {
  const TinyModel model(3, 1, false);
  const auto wrong = [](const DraftTree& tree, TargetView& view, Chance& chance, Verdict& out) {
    const SparseDistribution& law = view.distribution(0);
    out.path = {0};
    const std::int32_t child = tree.first_child(0);
    const TokenId token = tree.tokens()[static_cast<std::size_t>(child)];
    if (chance.happens(static_cast<double>(probability_of(token, law)))) {
      out.path.push_back(child);
      out.next = 0;
      return;
    }
    const std::vector<double> p(law.probs.begin(), law.probs.end());
    out.next = law.tokens[static_cast<std::size_t>(chance.pick(p))];
  };
  const auto found = speculative_law(model, wrong, [](DraftTree& tree, Chance&) { tree.add(0, 1, 0, 1); });
  double worst = 0;
  const auto expected = plain_law(model, kLength);
  for (const auto& [text, p] : expected) {
    worst = std::max(worst, std::abs(p - (found.contains(text) ? found.at(text) : 0.0)));
  }
  EXPECT_GT(worst, 0.01);
}

/// Sampled runs with the real source of randomness. The 99.99% quantile of chi-square with `freedom` degrees
/// by Wilson and Hilferty's approximation.
double chi_square_limit(int freedom) {
  const double k = freedom;
  return k * std::pow(1.0 - 2.0 / (9.0 * k) + 3.72 * std::sqrt(2.0 / (9.0 * k)), 3.0);
}

void expect_chi_square(const std::map<Text, double>& law, const std::map<Text, int>& counts, int runs) {
  double statistic = 0;
  int freedom = -1;
  for (const auto& [text, p] : law) {
    const double expected = p * runs;
    const auto it = counts.find(text);
    const double seen = it == counts.end() ? 0 : it->second;
    statistic += (seen - expected) * (seen - expected) / expected;
    ++freedom;
  }
  EXPECT_LT(statistic, chi_square_limit(freedom));
}

TEST(KeyedChance, RejectionByChiSquare) {
  const int runs = 40000;
  const TinyModel model(4, 11, false);
  const TinyModel drafter(4, 12, false);
  for (const bool sampled : {false, true}) {
    std::map<Text, int> counts;
    for (int run = 0; run < runs; ++run) {
      KeyedChance draft_chance(1, run);
      KeyedChance chance(2, run);
      DraftTree tree;
      tree.reset(0, run);
      if (sampled) {
        tree.set_sampled(4);
        draw_children(drafter, tree, 0, 2, draft_chance);
      } else {
        tree.add(0, 2, 0, 1);
        tree.add(0, 0, 0, 1);
      }
      TinyView view(model, tree, chance);
      Verdict verdict;
      (sampled ? rejection : sequential)(tree, view, chance, verdict);
      Text text = emitted(tree, verdict);
      text.resize(1);
      ++counts[text];
    }
    expect_chi_square(plain_law(model, 1), counts, runs);
  }
}

TEST(Verifiers, EqualTheirReferencesOnRandomTrees) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const int vocab = 2 + static_cast<int>(seed % 9);
    const TinyModel model(vocab, seed, seed % 3 == 1);
    const TinyModel drafter(vocab, seed + 5000, false);
    const bool sampled = seed % 2 == 1;
    KeyedChance growth(seed, 0);
    DraftTree tree;
    if (sampled) {
      tree.set_sampled(vocab);
      for (std::int32_t node = 0; node < std::min(tree.size(), 8); ++node) {
        draw_children(drafter, tree, node, 1 + static_cast<int>(seed % 3), growth);
      }
    } else {
      fixed_tree(seed, vocab)(tree, growth);
    }
    // The same random numbers for both.
    KeyedChance ours(seed, 1);
    KeyedChance theirs(seed, 1);
    TinyView our_view(model, tree, ours);
    TinyView their_view(model, tree, theirs);
    Verdict verdict;
    (sampled ? rejection : sequential)(tree, our_view, ours, verdict);
    const Verdict expected = sampled ? reference::rejection(tree, their_view, theirs)
                                     : reference::sequential(tree, their_view, theirs);
    ASSERT_EQ(verdict.path, expected.path) << "seed " << seed;
    ASSERT_EQ(verdict.next, expected.next) << "seed " << seed;
    verify_walk(tree, our_view, verdict);
    const Verdict walked = reference::walk(tree, their_view);
    ASSERT_EQ(verdict.path, walked.path);
    ASSERT_EQ(verdict.next, walked.next);
  }
}

TEST(KeyedChance, DependsOnSeedAndPositionOnly) {
  KeyedChance a(5, 9);
  KeyedChance b(5, 9);
  KeyedChance other(5, 10);
  const std::vector<double> weights(1000, 1.0);
  int differ = 0;
  for (int i = 0; i < 20; ++i) {
    const auto x = a.pick(weights);
    EXPECT_EQ(x, b.pick(weights));
    differ += x != other.pick(weights);
  }
  EXPECT_GT(differ, 10);
}

TEST(Walk, DescendsExactlyWhileChildrenCarryTheDraw) {
  // A target that continues 1, 2, 3, 4.
  class Counting final : public TargetView {
   public:
    explicit Counting(const DraftTree& tree) : tree_(tree) {}
    TokenId draw(std::int32_t node) override { return tree_.depths()[static_cast<std::size_t>(node)] + 1; }
    const SparseDistribution& distribution(std::int32_t) override { return none_; }

   private:
    const DraftTree& tree_;
    SparseDistribution none_;
  };
  DraftTree tree;
  tree.add(0, 9, 0, 1);
  const auto one = tree.add(0, 1, 0, 1);
  tree.add(one, 9, 0, 1);
  const auto two = tree.add(one, 2, 0, 1);
  Counting target(tree);
  Verdict verdict;
  verify_walk(tree, target, verdict);
  EXPECT_THAT(verdict.path, testing::ElementsAre(0, one, two));
  EXPECT_EQ(verdict.next, 3);
}

/// A node of which nothing can be asked is the last of its path, whoever verifies: its token is accepted, and
/// the text goes on behind it in the next round.
TEST(VerifyWalk, EndsBeforeANodeThatItCannotEnter) {
  class Shallow final : public TargetView {
   public:
    explicit Shallow(const DraftTree& tree) : tree_(tree) {}
    TokenId draw(std::int32_t node) override { return depth(node) + 1; }
    const SparseDistribution& distribution(std::int32_t node) override {
      law_ = {};
      law_.tokens = {depth(node) + 1};
      law_.probs = {1.0f};
      return law_;
    }
    bool can_enter(std::int32_t node) override { return depth(node) < 2; }

   private:
    int depth(std::int32_t node) const { return tree_.depths()[static_cast<std::size_t>(node)]; }
    const DraftTree& tree_;
    SparseDistribution law_;
  };
  DraftTree tree;
  const auto one = tree.add(0, 1, 0, 1);
  const auto two = tree.add(one, 2, 0, 1);
  tree.add(two, 3, 0, 1);
  Shallow target(tree);
  Verdict verdict;
  verify_walk(tree, target, verdict);
  EXPECT_THAT(verdict.path, testing::ElementsAre(0, one));
  EXPECT_EQ(verdict.next, 2);
  KeyedChance chance(1, 0);
  RejectionScratch scratch;
  verify_sequential(tree, target, chance, scratch, verdict);
  EXPECT_THAT(verdict.path, testing::ElementsAre(0, one));
  EXPECT_EQ(verdict.next, 2);
}

}  // namespace
}  // namespace augur
