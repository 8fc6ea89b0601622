// Parts calibrated from traces: the regression tree, the classifiers, and the examples made for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "files/json_reader.h"
#include "files/safetensors.h"
#include "lab/trace/trace_file.h"
#include "lab/train/classifier.h"
#include "lab/train/part_writer.h"
#include "lab/train/regression_tree.h"
#include "lab/train/stratification.h"
#include "lab/train/trace_set.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;
using testing_support::TemporaryFolder;

TEST(RegressionTree, FindsSteps) {
  std::vector<double> x, y;
  for (int i = 0; i < 400; ++i) {
    const double at = (i * 37 % 400) / 100.0;  // 0 to 4, shuffled
    x.push_back(at);
    y.push_back(at < 1 ? 1 : at < 2 ? 3 : at < 3 ? 10 : 20);
  }
  const RegressionTree tree = fit_regression_tree(x, y, {.levels = 3, .smallest = 5});
  ASSERT_EQ(tree.bins.size(), 4u) << "there is nothing more to split";
  EXPECT_THAT(tree.thresholds, testing::Pointwise(testing::DoubleNear(0.02), {1.0, 2.0, 3.0}));
  EXPECT_DOUBLE_EQ(tree.bins[2].mean, 10);
  EXPECT_EQ(tree.bins[2].count, 100);
  EXPECT_NEAR(tree.bins[2].deviation, 0, 1e-6);
  EXPECT_EQ(fit_regression_tree(x, y, {.levels = 1, .smallest = 5}).bins.size(), 2u);
  EXPECT_EQ(fit_regression_tree(x, y, {.levels = 3, .smallest = 201}).bins.size(), 1u);
}

TEST(RegressionTree, SplitsWhereTheErrorIsLeast) {
  // By hand: 0 0 0 | 6 6 leaves nothing, other splits leave something.
  const RegressionTree tree = fit_regression_tree(
      std::vector<double>{5, 1, 2, 4, 3}, std::vector<double>{6, 0, 0, 6, 0}, {.levels = 1, .smallest = 1});
  EXPECT_THAT(tree.thresholds, testing::ElementsAre(3.5));
  EXPECT_THAT(error_of([] { fit_regression_tree({}, {}, {}); }), HasSubstr("0 inputs"));
}

// HeteroSpec's equation 2 by hand, outcomes 0 1 3 6 at 1 2 3 4. Sums of squares after the first, second and
// third: 0 + 12.67, 0.5 + 4.5, 4.67 + 0. Weighted by the shares 1/4, 2/4, 3/4: 9.5, 2.5, 3.5.
TEST(RegressionTree, SplitsByThePapersLossWhereAsked) {
  const std::vector<double> x{1, 2, 3, 4}, y{0, 1, 3, 6};
  RegressionTreeOptions options{.levels = 1, .smallest = 1};
  EXPECT_THAT(fit_regression_tree(x, y, options).thresholds, testing::ElementsAre(3.5));
  options.loss = SplitLoss::Weighted;
  EXPECT_THAT(fit_regression_tree(x, y, options).thresholds, testing::ElementsAre(2.5));
}

TEST(RegressionTree, LeavesHoldAtLeastAsManyAsAsked) {
  const std::vector<double> x{1, 2, 3, 4}, y{9, 0, 0, 0};
  EXPECT_THAT(fit_regression_tree(x, y, {.levels = 1, .smallest = 1}).thresholds, testing::ElementsAre(1.5));
  EXPECT_THAT(fit_regression_tree(x, y, {.levels = 1, .smallest = 2}).thresholds, testing::ElementsAre(2.5));
  EXPECT_TRUE(fit_regression_tree(x, y, {.levels = 1, .smallest = 3}).thresholds.empty());
}

TEST(RegressionTree, HasTheLevelsAsked) {
  std::vector<double> x, y;
  for (int i = 0; i < 64; ++i) {
    x.push_back(i);
    y.push_back(i * i);
  }
  EXPECT_EQ(fit_regression_tree(x, y, {.levels = 3, .smallest = 1}).bins.size(), 8u);
  EXPECT_EQ(fit_regression_tree(x, y, {.levels = 4, .smallest = 1}).bins.size(), 16u);
}

TEST(Stratification, ComparesLowBins) {
  // Ten steps of ten pairs each. Levels 3: eight bins; levels 1: two, of which the first is low.
  std::vector<double> x, y;
  for (int i = 0; i < 100; ++i) {
    x.push_back(i);
    y.push_back(i / 10 * 10 + i / 50 * 100);
  }
  const RegressionTreeOptions options{.levels = 1, .smallest = 10};
  const RegressionTree tree = fit_regression_tree(x, y, options);
  ASSERT_THAT(tree.thresholds, testing::ElementsAre(49.5));
  const auto overlaps = stratum_overlaps(x, y, tree, options, std::vector<int>{1, 6});
  ASSERT_EQ(overlaps.size(), 2u);
  EXPECT_DOUBLE_EQ(overlaps[0].jaccard, 1);
  EXPECT_EQ(overlaps[1].bins, 10u);
  EXPECT_DOUBLE_EQ(overlaps[1].threshold, 39.5) << "four bins of ten";
  EXPECT_DOUBLE_EQ(overlaps[1].jaccard, 0.8);
}

TEST(Separation, CountsPairs) {
  const std::vector<float> scores{0.9f, 0.8f, 0.3f, 0.8f, 0.1f};
  const std::vector<std::uint8_t> labels{1, 1, 0, 0, 1};
  // Pairs (positive, negative): 0.9 beats both, 0.8 beats one and ties one, 0.1 beats none.
  EXPECT_DOUBLE_EQ(separation(scores, labels).auc, 3.5 / 6);
  const Operating at = operating_point(scores, labels, 0.5);
  EXPECT_DOUBLE_EQ(at.recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(at.taken, 3.0 / 5);
  EXPECT_DOUBLE_EQ(recall_at(scores, labels, 0.2), 1.0 / 3);
}

/// Accepted with a probability that no single feature tells.
Examples crossed(int size, int width, std::uint32_t seed) {
  Examples examples;
  examples.width = width;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int i = 0; i < size; ++i) {
    for (int f = 0; f < width; ++f) examples.features.push_back(uniform(random));
    const float* row = examples.features.data() + static_cast<std::ptrdiff_t>(i) * width;
    examples.labels.push_back((row[0] > 0) == (row[1] > 0));
  }
  return examples;
}

TEST(Classifier, LearnsWhatNoFeatureTellsAlone) {
  for (const bool c2t : {true, false}) {
    const int width = c2t ? 3 : 5;  // the last two have weights of their own in the acceptance head
    const Examples train = crossed(4000, width, 1);
    const Examples held_out = crossed(1000, width, 2);
    Classifier classifier = c2t ? c2t_classifier(48, {1, 1, 1}, 1) : acceptance_classifier(width, 2, 1);
    const double before = separation(probabilities(classifier, held_out), held_out.labels).auc;
    fit(classifier, train, {.epochs = c2t ? 60 : 150, .batch = 128, .learning_rate = 1e-2});
    const double after = separation(probabilities(classifier, held_out), held_out.labels).auc;
    EXPECT_LT(before, 0.7);
    EXPECT_GT(after, 0.9) << (c2t ? "c2t" : "acceptance");
  }
}

// The paper's acceptance head: states as they are, and nothing beside them.
TEST(Classifier, MayLookAtStatesAlone) {
  Examples examples;
  examples.width = 1 + kDrawFeatures;
  examples.features = {1, 5, 7, 1, -3, 2, 2, 5, 7};
  examples.labels = {1, 0, 1};
  const std::vector<float> paper = probabilities(state_classifier(3, 1, 1), examples);
  EXPECT_EQ(paper[0], paper[1]) << "the same state, drawn otherwise";
  EXPECT_NE(paper[0], paper[2]) << "a longer state";
  const std::vector<float> usual = probabilities(acceptance_classifier(3, 1, 1), examples);
  EXPECT_NE(usual[0], usual[1]);
  EXPECT_NEAR(usual[0], usual[2], 1e-5) << "only the direction counts";
}

TEST(Classifier, RepeatsBitForBit) {
  const Examples train = crossed(500, 3, 1);
  const auto once = [&] {
    Classifier classifier = c2t_classifier(8, {1, 1, 1}, 3);
    fit(classifier, train, {.epochs = 2, .batch = 64, .negatives = 0.5});
    return probabilities(classifier, train);
  };
  EXPECT_EQ(once(), once());
}

// Labels that are noise can only be learnt by heart: early epochs are the best ones for what was not seen.
TEST(Classifier, KeepsTheEpochThatIsBestOnOtherExamples) {
  constexpr int kWidth = 40, kLearnt = 300, kEpochs = 40;
  Examples all = crossed(400, kWidth, 1);
  std::mt19937 random(2);
  for (std::uint8_t& label : all.labels) label = random() % 2;
  Examples learnt = all, unseen = all;
  learnt.labels.resize(kLearnt);
  learnt.features.resize(kLearnt * kWidth);
  unseen.labels.erase(unseen.labels.begin(), unseen.labels.begin() + kLearnt);
  unseen.features.erase(unseen.features.begin(), unseen.features.begin() + kLearnt * kWidth);
  const auto loss = [&](const Examples& examples, int epochs, double validation) {
    Classifier classifier = acceptance_classifier(kWidth, 2, 1);
    fit(classifier, examples,
        {.epochs = epochs, .batch = 50, .learning_rate = 1e-2, .validation = validation});
    return separation(probabilities(classifier, unseen), unseen.labels).loss;
  };
  std::vector<double> after;
  for (int epochs = 1; epochs <= kEpochs; ++epochs) after.push_back(loss(learnt, epochs, 0));
  const double least = *std::min_element(after.begin(), after.end());
  EXPECT_NEAR(loss(all, kEpochs, 0.25), least, 1e-6);
  EXPECT_GT(after.back(), 1.5 * least) << "the last epoch is no worse: this test shows nothing";
}

// Acceptance-guided drafting's equation 10 by hand: logits 0 and ln 3 are probabilities 1/2 and 3/4. With
// chances 0.8 and 0.25, weights 2 and 6: 2 * 0.8 ln 2 + 6 * 0.2 ln 2 = 2.8 ln 2, and 2 * 0.25 ln(4/3) + 6 *
// 0.75 ln 4.
TEST(WeightedLoss, IsThePapers) {
  const torch::Tensor logits = torch::tensor({0.0, std::log(3.0)}, torch::kFloat64);
  const torch::Tensor y = torch::tensor({0.8, 0.25}, torch::kFloat64);
  const double first = 2.8 * std::log(2.0);
  const double second = 0.5 * std::log(4.0 / 3) + 4.5 * std::log(4.0);
  EXPECT_NEAR(weighted_loss(logits, y, 2, 6).item<double>(), (first + second) / 2, 1e-12);
  const double even = 0.5 * (std::log(2.0) + 0.25 * std::log(4.0 / 3) + 0.75 * std::log(4.0));
  EXPECT_NEAR(weighted_loss(logits, y, 1, 1).item<double>(), even, 1e-12);
}

// One feature that is always 1: what is learnt is the mean of the labels, of the chances, or one side's
// weight.
TEST(Classifier, LearnsChancesAndWeights) {
  Examples examples;
  examples.width = 1;
  for (int i = 0; i < 200; ++i) {
    examples.features.push_back(1);
    examples.labels.push_back(i % 2);
  }
  const auto learnt = [&](FitOptions options) {
    options.epochs = 60;
    options.batch = 50;
    options.learning_rate = 3e-2;
    Classifier classifier = c2t_classifier(4, {1}, 1);
    fit(classifier, examples, options);
    return probabilities(classifier, examples).front();
  };
  EXPECT_NEAR(learnt({}), 0.5, 0.03);
  EXPECT_NEAR(learnt({.negative_weight = 3}), 0.25, 0.03) << "1 of 1 + 3";
  EXPECT_NEAR(learnt({.positive_weight = 3}), 0.75, 0.03);
  examples.chances.assign(200, 0.8f);
  EXPECT_NEAR(learnt({}), 0.8, 0.03);
}

TEST(Classifier, WantsBothKinds) {
  Examples examples = crossed(50, 3, 1);
  examples.labels.assign(50, 0);
  Classifier classifier = c2t_classifier(8, {1, 1, 1}, 3);
  EXPECT_THAT(error_of([&] { fit(classifier, examples, {}); }), HasSubstr("50 examples, 0 of them accepted"));
}

TraceHeader header(int top_k = 10) {
  TraceHeader h;
  h.target = {.family = "llama", .hidden = 4, .layers = 1, .vocab = 100, .digest = "00"};
  h.hidden = 2;
  h.top_k = top_k;
  return h;
}

/// The text 1 2 3 4; one round from the 2: candidates 3 (right) with 4 (right) and 5, and 9.
void write_traces(const std::filesystem::path& file, const TraceHeader& h, int sequences) {
  TraceSequence sequence;
  sequence.prompt_size = 1;
  sequence.tokens = {1, 2, 3, 4};
  TraceRound round;
  round.root = 1;
  round.tokens = {2, 3, 9, 4, 5};
  round.parents = {-1, 0, 0, 1, 1};
  round.log_probs = {0, std::log(0.5f), std::log(0.25f), std::log(0.5f), std::log(0.25f)};
  round.entropies = {1.5f, 2.5f, NAN, NAN, NAN};
  round.top_entropies = {1, 2, NAN, NAN, NAN};
  round.stateful = {1, 2};
  round.hidden = {1, 2, 3, 4};
  if (h.target_probabilities) {
    round.target_log_probs = {NAN, std::log(0.25f), std::log(0.5f), std::log(0.5f), std::log(0.1f)};
  }
  sequence.rounds = {round};
  TraceWriter writer(file, h);
  for (int i = 0; i < sequences; ++i) {
    sequence.tokens[0] = i;  // another prompt
    writer.write(sequence);
  }
  writer.finish();
}

TEST(TraceSet, MakesExamples) {
  TemporaryFolder folder;
  const std::string file = folder.path() / "a.trace";
  write_traces(file, header(), 4);
  const TraceSet traces({file}, 0.25);
  const SplitExamples c2t = c2t_examples(traces, c2t_features({}));
  EXPECT_EQ(c2t.train.size(), 3 * 4);
  EXPECT_EQ(c2t.held_out.size(), 4) << "one sequence of four";
  EXPECT_THAT(c2t.held_out.labels, testing::ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(c2t.held_out.features,
              testing::Pointwise(testing::FloatNear(1e-6f),
                                 {0.5f, std::log(0.5f), 1.5f, 1.f, 0.25f, std::log(0.25f), 1.5f, 1.f, 0.25f,
                                  std::log(0.25f), 2.5f, 2.f, 0.125f, std::log(0.125f), 2.5f, 2.f}));
  EXPECT_FLOAT_EQ(c2t.held_out.baseline[3], std::log(0.125f));
  const SplitExamples acceptance = acceptance_examples(traces);
  EXPECT_THAT(acceptance.held_out.labels, testing::ElementsAre(1, 0));
  EXPECT_THAT(acceptance.held_out.features,
              testing::ElementsAre(1, 2, std::log(0.5f), 1.5f, 3, 4, std::log(0.25f), 1.5f));
  EXPECT_EQ(acceptance.held_out.baseline.size(), 2u);
}

// The chances of equation 9: min(1, q / p) of the candidates 3 and 9 with p 0.5 and 0.25, q 0.25 and 0.5.
TEST(TraceSet, MakesChancesOfTheTargetsProbabilities) {
  TemporaryFolder folder;
  const std::string hard = folder.path() / "hard.trace", soft = folder.path() / "soft.trace";
  write_traces(hard, header(), 4);
  TraceHeader h = header();
  h.target_probabilities = true;
  write_traces(soft, h, 4);
  const SplitExamples examples = acceptance_examples(TraceSet({soft}, 0.25), AcceptanceLabels::Soft);
  EXPECT_THAT(examples.held_out.chances, testing::Pointwise(testing::FloatNear(1e-6f), {0.5f, 1.0f}));
  EXPECT_THAT(examples.held_out.labels, testing::ElementsAre(1, 0))
      << "what became of them is known all the same";
  EXPECT_TRUE(acceptance_examples(TraceSet({soft}, 0.25)).train.chances.empty());
  EXPECT_THAT(error_of([&] { acceptance_examples(TraceSet({hard}, 0.25), AcceptanceLabels::Soft); }),
              HasSubstr("--target-probabilities"));
}

TEST(TraceSet, LooksAtChosenFeatures) {
  TemporaryFolder folder;
  const std::string file = folder.path() / "a.trace";
  write_traces(file, header(), 4);
  const std::vector<std::string> names = {"d", "P"};
  const std::vector<C2tFeature> features = c2t_features(names);
  EXPECT_FLOAT_EQ(features[0].scale, 0.1f);
  const SplitExamples examples = c2t_examples(TraceSet({file}, 0.25), features);
  EXPECT_EQ(examples.train.width, 2);
  EXPECT_THAT(
      examples.held_out.features,
      testing::Pointwise(testing::FloatNear(1e-6f), {1.f, 0.5f, 1.f, 0.25f, 2.f, 0.25f, 2.f, 0.125f}));
  EXPECT_THAT(error_of([] { c2t_features(std::vector<std::string>{"P", "Q"}); }), HasSubstr("feature \"Q\""));
  EXPECT_THAT(error_of([] { c2t_features(std::vector<std::string>{"P", "P"}); }), HasSubstr("twice"));
}

TEST(TraceSet, RefusesFilesThatDoNotBelongTogether) {
  TemporaryFolder folder;
  const std::string a = folder.path() / "a.trace", b = folder.path() / "b.trace",
                    c = folder.path() / "c.trace";
  write_traces(a, header(), 1);
  write_traces(b, header(4), 1);
  TraceHeader other = header();
  other.target.digest = "11";
  write_traces(c, other, 1);
  EXPECT_THAT(error_of([&] {
                TraceSet({a, b}, 0.1);
              }),
              HasSubstr("b.trace: traces of another drafter or tree"));
  EXPECT_THAT(error_of([&] { TraceSet({a, c}, 0.1); }), HasSubstr("c.trace: traces of another target"));
}

TEST(PartWriter, NamesTargetAndPart) {
  TemporaryFolder folder;
  const auto out = folder.path() / "new" / "c2t";
  const Classifier classifier = c2t_classifier(8, {1, 1, 1}, 3);
  write_part(out, "c2t", header(), {{"hidden", 8}}, classifier.parameters, "# Card\n");
  const nlohmann::json config = read_json(out / "config.json");
  EXPECT_EQ(config["augur_part"], "c2t");
  EXPECT_EQ(config["format"], 1);
  EXPECT_EQ(config["hidden"], 8);
  EXPECT_EQ(check_fingerprint("f", config, header().target, Strictness::SameModel), "");
  Fingerprint other = header().target;
  other.family = "qwen2";
  EXPECT_THAT(error_of([&] { check_fingerprint("f", config, other, Strictness::SameFamily); }),
              HasSubstr("another target"));
  const auto store = open_safetensors_folder(out);
  EXPECT_EQ(store->require("fc1.weight", {8, 3}).dtype, DType::F32);
  EXPECT_EQ(store->require("fc2.bias", {1}).dtype, DType::F32);
}

}  // namespace
}  // namespace augur
