#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "draft/registry.h"
#include "files/json_reader.h"
#include "files/safetensors.h"
#include "kernels/ops.h"
#include "model/model.h"
#include "support/no_tokenizer.h"
#include "support/test_device.h"
#include "tree/draft_tree.h"

namespace augur::testing_support {

inline std::filesystem::path golden_head_path(const std::string& name) {
  return std::filesystem::path(AUGUR_SOURCE_DIR) / "tests" / "golden" / "heads" / name;
}

/// All values of a tensor of a golden file.
inline std::vector<float> golden_values(const WeightStore& file, const std::string& name) {
  const StoredTensor* tensor = file.find(name);
  EXPECT_NE(tensor, nullptr) << name;
  std::vector<float> out(tensor->bytes.size() / sizeof(float));
  read_rows(*tensor, 0, tensor->shape.size() > 1 ? tensor->shape[0] : 1, out.data());
  return out;
}

/// The tiny target of tests/golden/heads, or another.
struct GoldenTarget {
  explicit GoldenTarget(WeightFormat type, Isa isa = select_isa(),
                        const std::filesystem::path& path = golden_head_path("target"))
      : backend(2, false, isa),
        device(test_device(backend)),
        model(Model::load(backend, Checkpoint::open(path), {.weights = type, .device = device.get()})) {}

  std::unique_ptr<DrafterModel> load(std::string_view type, const Checkpoint& head,
                                     const VocabularyChoice* vocabulary = nullptr) {
    return find_drafter_type(type).load({.backend = backend,
                                         .target = *model,
                                         .tokenizer = tokenizer,
                                         .target_path = "target",
                                         .head = &head,
                                         .context = model->context(),
                                         .vocabulary = vocabulary});
  }

  Backend backend;
  std::unique_ptr<Device> device;  ///< null: the host
  NoTokenizer tokenizer;
  std::unique_ptr<Model> model;
};

/// What the independent implementation drafts with a head over several rounds (tests/golden/heads/README.md).
class GoldenHead {
 public:
  explicit GoldenHead(const std::string& name)
      : folder(golden_head_path(name)),
        checkpoint(Checkpoint::open(folder)),
        expected(read_json(folder / "expected.json")),
        tensors_(open_safetensors(folder / "expected.safetensors")) {}

  /// All values of a tensor.
  std::vector<float> values(const std::string& name) const { return golden_values(*tensors_, name); }
  bool has(const std::string& name) const { return tensors_->find(name) != nullptr; }

  const std::filesystem::path folder;
  const Checkpoint checkpoint;
  const nlohmann::json expected;

 private:
  std::unique_ptr<WeightStore> tensors_;
};

/// Whether the drafter's confidence at a node is what was expected: it adds children for those who ask for a
/// little less, and none for those who ask for a little more. The round goes on.
inline void expect_confidence(Drafter& drafter, const DraftTree& tree, std::int32_t node, float expected,
                              float tolerance) {
  for (const float least : {expected + tolerance, expected - tolerance}) {
    DraftTree copy = tree;
    drafter.expand(copy, {&node, 1},
                   {.top_k = 1, .max_nodes = 1, .least_confidence = static_cast<double>(least)});
    EXPECT_EQ(copy.first_child(node) >= 0, least < expected) << "confidence " << expected;
  }
}

/// Runs the rounds of a golden head through two drafters of one batch, one of which learns of the text in
/// pieces, and compares every log-probability of every node, the confidences where the head has any, and with
/// `states` the drafter's hidden state.
class GoldenRun {
 public:
  GoldenRun(const GoldenHead& head, const DrafterModel& model, float tolerance, bool states)
      : head_(head), tolerance_(tolerance), states_(states) {
    for (auto& d : drafters_) d = model.make({.context = 256});
    if (head_.has("features")) features_ = head_.values("features");
    text_ = head_.expected["text"].get<std::vector<TokenId>>();
    for (const auto& id : head_.expected["draft_to_target"]) ids_.push_back(id.get<TokenId>());
  }

  void run() {
    const auto taps = head_.expected["taps"].get<std::vector<int>>();
    const std::span<const int> asked = drafters_[0]->tap_layers();
    ASSERT_EQ(std::vector<int>(asked.begin(), asked.end()), taps);
    std::size_t known = 0;
    for (std::size_t r = 0; r < head_.expected["rounds"].size(); ++r) {
      SCOPED_TRACE("round " + std::to_string(r));
      const nlohmann::json& round = head_.expected["rounds"][r];
      const auto committed = round["committed"].get<std::size_t>();
      sync(*drafters_[0], known, committed);
      for (std::size_t i = known; i < committed; ++i) sync(*drafters_[1], i, i + 1);
      known = committed;
      draft(round, r);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  float worst() const { return worst_; }

 private:
  void sync(Drafter& drafter, std::size_t first, std::size_t end) {
    const std::size_t width = features_.size() / (text_.size() - 1);
    drafter.sync({.tokens = std::span<const TokenId>(text_).subspan(first, end - first),
                  .first_position = static_cast<std::int64_t>(first),
                  .features = features_.empty() ? nullptr : features_.data() + first * width,
                  .next = text_[end]});
  }

  void draft(const nlohmann::json& round, std::size_t r) {
    const auto tokens = round["tokens"].get<std::vector<TokenId>>();
    const auto parents = round["parents"].get<std::vector<int>>();
    const auto depths = round["depths"].get<std::vector<int>>();
    const auto ranks = round["ranks"].get<std::vector<std::size_t>>();
    const auto with_logits = round["with_logits"].get<std::vector<std::size_t>>();
    const std::string prefix = "round" + std::to_string(r) + ".";
    const std::vector<float> logits = head_.values(prefix + "logits");
    const std::vector<float> hidden = head_.values(prefix + "hidden");
    const std::size_t vocab = logits.size() / with_logits.size();
    const std::size_t width = hidden.size() / with_logits.size();
    std::vector<float> confidences;
    if (head_.has(prefix + "confidence")) {
      confidences = head_.values(prefix + "confidence");
      ASSERT_EQ(confidences.size(), with_logits.size());
    }
    DraftTree trees[2];
    for (DraftTree& tree : trees) tree.reset(tokens[0], round["committed"].get<std::int64_t>());
    // Where the golden nodes are in our trees, which have every possible child of an expanded node.
    std::vector<std::int32_t> node_of[2];
    node_of[0] = node_of[1] = {0};
    const int deepest = *std::max_element(depths.begin(), depths.end());
    std::size_t row = 0;
    for (int depth = 0; depth <= deepest; ++depth) {
      std::vector<std::int32_t> frontiers[2];
      std::vector<std::size_t> rows;
      for (std::size_t node = 0; node < tokens.size(); ++node) {
        if (depths[node] != depth) continue;
        const bool expands = std::find(with_logits.begin(), with_logits.end(), node) != with_logits.end();
        for (std::size_t d = 0; d < 2; ++d) {
          if (depth > 0) {
            const auto parent = node_of[d][static_cast<std::size_t>(parents[node])];
            std::int32_t child = trees[d].first_child(parent);
            for (std::size_t rank = 0; rank < ranks[node]; ++rank) child = trees[d].next_sibling(child);
            ASSERT_EQ(trees[d].tokens()[static_cast<std::size_t>(child)], tokens[node]) << "node " << node;
            node_of[d].push_back(child);
          }
          if (expands) frontiers[d].push_back(node_of[d][node]);
        }
        if (expands) rows.push_back(node);
      }
      if (rows.empty()) continue;
      for (std::size_t i = 0; i < rows.size() && !confidences.empty(); ++i) {
        SCOPED_TRACE("node " + std::to_string(rows[i]));
        for (std::size_t d = 0; d < 2; ++d)
          expect_confidence(*drafters_[d], trees[d], node_of[d][rows[i]], confidences[row + i], tolerance_);
      }
      std::vector<ExpandJob> jobs;
      for (std::size_t d = 0; d < 2; ++d) {
        jobs.push_back(
            {drafters_[d].get(),
             &trees[d],
             frontiers[d],
             {.top_k = static_cast<int>(vocab), .max_nodes = 1 << 20, .wants = {.hidden = states_}}});
      }
      drafters_[0]->expand_many(jobs);
      for (const std::size_t node : rows) {
        SCOPED_TRACE("node " + std::to_string(node));
        const std::span<const float> expected(logits.data() + row * vocab, vocab);
        const std::span<const float> state(hidden.data() + row * width, width);
        for (std::size_t d = 0; d < 2; ++d) compare(trees[d], node_of[d][node], expected, state);
        if (testing::Test::HasFatalFailure()) return;
        ++row;
      }
    }
    ASSERT_EQ(row, with_logits.size());
    for (auto& drafter : drafters_) drafter->end_round();
  }

  /// What differences in a row count relative to: its largest number, if that is above 1. Sums of numbers of
  /// that size have made it, so float32 cannot do better for its small ones.
  static float scale(std::span<const float> row) {
    float largest = 1.0f;
    for (const float v : row) largest = std::max(largest, std::abs(v));
    return largest;
  }

  void compare(const DraftTree& tree, std::int32_t node, std::span<const float> logits,
               std::span<const float> state) {
    const float lse = log_sum_exp(logits.data(), std::ssize(logits));
    float worst = 0.0f;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const std::int32_t child = tree.find_child(node, ids_.empty() ? static_cast<TokenId>(i) : ids_[i]);
      ASSERT_GE(child, 0) << "entry " << i;
      worst =
          std::max(worst, std::abs(tree.log_probs()[static_cast<std::size_t>(child)] - (logits[i] - lse)));
    }
    EXPECT_LE(worst, tolerance_) << "log-probabilities";
    worst_ = std::max(worst_, worst);
    if (!states_) return;
    const std::span<const float> ours = tree.hidden(node);
    ASSERT_EQ(ours.size(), state.size());
    worst = 0.0f;
    for (std::size_t i = 0; i < state.size(); ++i)
      worst = std::max(worst, std::abs(ours[i] - state[i]) / scale(state));
    EXPECT_LE(worst, tolerance_) << "hidden state";
    worst_ = std::max(worst_, worst);
  }

  const GoldenHead& head_;
  float tolerance_;
  bool states_;
  std::unique_ptr<Drafter> drafters_[2];
  std::vector<float> features_;
  std::vector<TokenId> text_;
  std::vector<TokenId> ids_;
  float worst_ = 0.0f;
};

}  // namespace augur::testing_support
