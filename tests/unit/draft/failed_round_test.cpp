// A round that an exception ends leaves a drafter as it was: it drafts the same from the same root, and goes
// on with the text.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "model/prefill.h"
#include "support/golden_head.h"

namespace augur {
namespace {

using testing_support::golden_head_path;
using testing_support::GoldenTarget;

class FailedRound : public testing::TestWithParam<const char*> {
 protected:
  static constexpr TokenId kNoToken = 1 << 20;

  FailedRound()
      : folder_(GetParam()),
        head_(Checkpoint::open(golden_head_path(folder_))),
        shared_(target_.load(folder_.substr(0, folder_.find('_')), head_)),
        text_{1, 2, 3, 4, 5, 6},
        cache_(target_.model->make_cache(64)) {
    prefill(*target_.model, std::span(text_).first(3), cache_);
    features_.resize(text_.size() *
                     std::max<std::size_t>(1, shared_->make({.context = 64})->tap_layers().size()) *
                     static_cast<std::size_t>(target_.model->config().hidden));
    for (std::size_t i = 0; i < features_.size(); ++i) features_[i] = 0.01f * static_cast<float>(i % 97);
  }

  std::unique_ptr<Drafter> drafter() {
    auto drafter = shared_->make({.context = 64});
    sync(*drafter, 0, 3);
    return drafter;
  }
  void sync(Drafter& drafter, std::size_t first, std::size_t end) {
    const std::size_t width = features_.size() / text_.size();
    drafter.sync({.tokens = std::span<const TokenId>(text_).subspan(first, end - first),
                  .first_position = static_cast<std::int64_t>(first),
                  .features = features_.data() + first * width,
                  .next = text_[end]});
  }
  /// Log-probabilities of a round of two levels from the root at `position`.
  std::vector<float> draft(Drafter& drafter, std::size_t position) {
    DraftTree tree;
    tree.reset(text_[position], static_cast<std::int64_t>(position));
    const ExpandOptions options{.top_k = 3, .max_nodes = 9, .target_cache = &cache_};
    drafter.expand(tree, std::vector<std::int32_t>{0}, options);
    drafter.expand(tree, std::vector<std::int32_t>{1, 2, 3}, options);
    drafter.end_round();
    return {tree.log_probs().begin(), tree.log_probs().end()};
  }
  /// A round whose second level has a token that no forward takes.
  void fail(Drafter& drafter) {
    DraftTree tree;
    tree.reset(text_[3], 3);
    const ExpandOptions options{.top_k = 3, .max_nodes = 9, .target_cache = &cache_};
    drafter.expand(tree, std::vector<std::int32_t>{0}, options);
    const std::int32_t bad = tree.add(0, kNoToken, -1.0f, 1);
    EXPECT_THROW(drafter.expand(tree, std::vector<std::int32_t>{bad}, options), Error);
  }

  std::string folder_;
  GoldenTarget target_{WeightFormat::BF16};
  Checkpoint head_;
  std::unique_ptr<DrafterModel> shared_;
  std::vector<TokenId> text_;
  std::vector<float> features_;
  KvCache cache_;
};

TEST_P(FailedRound, CanBeDraftedAgain) {
  const auto well = drafter();
  const std::vector<float> expected = draft(*well, 3);
  ASSERT_EQ(expected.size(), 13u);
  const auto ill = drafter();
  fail(*ill);
  EXPECT_EQ(draft(*ill, 3), expected);
  EXPECT_EQ(draft(*ill, 3), expected) << "and once more";
}

TEST_P(FailedRound, DoesNotEndTheText) {
  const auto well = drafter();
  const auto ill = drafter();
  fail(*ill);
  if (folder_ == "layerskip") ill->end_round();  // whose rows are in the target's cache
  prefill(*target_.model, std::span(text_).subspan(3, 2), cache_);
  sync(*well, 3, 5);
  sync(*ill, 3, 5);
  EXPECT_EQ(draft(*ill, 5), draft(*well, 5));
}

INSTANTIATE_TEST_SUITE_P(Heads, FailedRound,
                         testing::Values("eagle", "eagle3_official", "mtp_deepseek", "hydra_plus_plus",
                                         "layerskip"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace augur
