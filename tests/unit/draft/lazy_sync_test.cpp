// What a drafter has to read of a prompt waits until somebody drafts with it; then it drafts what it would
// have drafted if it had read along.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "draft/common/sequence_rows.h"
#include "support/golden_head.h"

namespace augur {
namespace {

using testing_support::golden_head_path;
using testing_support::GoldenTarget;

constexpr std::int64_t kContext = 512;
constexpr std::size_t kPrompt = 300;

class LazySync : public testing::TestWithParam<const char*> {
 protected:
  LazySync()
      : folder_(GetParam()),
        head_(Checkpoint::open(golden_head_path(folder_))),
        shared_(target_.load(type_of(folder_), head_)) {
    const auto layers = shared_->make({.context = kContext})->tap_layers().size();
    width_ = layers * static_cast<std::size_t>(target_.model->config().hidden);
    for (std::size_t i = 0; i <= kPrompt; ++i) text_.push_back(static_cast<TokenId>(1 + i % 50));
    for (std::size_t i = 0; i < kPrompt * width_; ++i)
      features_.push_back(0.01f * static_cast<float>(i % 89));
  }

  static std::string type_of(const std::string& folder) {
    return folder == "peagle" ? "eagle3" : folder.substr(0, folder.find('_'));
  }
  /// A drafter that has been told of the prompt, 100 tokens at a time.
  std::unique_ptr<Drafter> told(bool reads_along) {
    auto drafter = shared_->make({.context = kContext});
    for (std::size_t first = 0; first < kPrompt; first += 100) {
      drafter->sync({.tokens = std::span<const TokenId>(text_).subspan(first, 100),
                     .first_position = static_cast<std::int64_t>(first),
                     .features = features_.data() + first * width_,
                     .next = text_[first + 100]});
      while (reads_along && drafter->run_chunk()) {
      }
    }
    return drafter;
  }
  static std::vector<float> draft(Drafter& drafter, TokenId root) {
    DraftTree tree;
    tree.reset(root, kPrompt);
    drafter.expand(tree, std::vector<std::int32_t>{0}, {.top_k = 4, .max_nodes = 4});
    drafter.end_round();
    return {tree.log_probs().begin(), tree.log_probs().end()};
  }

  std::string folder_;
  GoldenTarget target_{WeightFormat::BF16};
  Checkpoint head_;
  std::unique_ptr<DrafterModel> shared_;
  std::size_t width_ = 0;
  std::vector<TokenId> text_;
  std::vector<float> features_;
};

TEST_P(LazySync, NothingRunsBeforeTheFirstDraft) {
  const auto drafter = told(false);
  SequenceRows& rows = *drafter->sequence_rows();
  EXPECT_EQ(rows.waiting(), static_cast<std::int64_t>(kPrompt));
  EXPECT_EQ(rows.cache().length(), 0);
  EXPECT_EQ(drafter->root_rows(), static_cast<std::int64_t>(kPrompt));
  draft(*drafter, text_.back());
  EXPECT_EQ(rows.waiting(), 0);
  EXPECT_EQ(rows.cache().length(), static_cast<std::int64_t>(kPrompt));
  EXPECT_EQ(drafter->root_rows(), 1);
}

TEST_P(LazySync, ReadingAlongDraftsTheSame) {
  const auto lazy = told(false);
  const auto eager = told(true);
  EXPECT_EQ(eager->sequence_rows()->waiting(), static_cast<std::int64_t>(kPrompt) - SequenceRows::kChunk);
  const std::vector<float> drafted = draft(*lazy, text_.back());
  ASSERT_EQ(drafted.size(), 5u);
  EXPECT_EQ(draft(*eager, text_.back()), drafted);
  EXPECT_EQ(draft(*lazy, text_.back()), drafted) << "a second time from one root";
}

TEST_P(LazySync, ATextThatWaitsIsKeptAndGoneOnWith) {
  const auto first = told(false);
  const auto expected = draft(*told(false), text_.back());
  const SequenceRows::Kept kept = first->sequence_rows()->keep(kPrompt - 100);
  auto second = shared_->make({.context = kContext});
  second->sequence_rows()->resume(kept, kPrompt - 100);
  second->sync(
      {.tokens = std::span<const TokenId>(text_).first(kPrompt - 100), .next = text_[kPrompt - 100]});
  second->sync({.tokens = std::span<const TokenId>(text_).subspan(kPrompt - 100, 100),
                .first_position = kPrompt - 100,
                .features = features_.data() + (kPrompt - 100) * width_,
                .next = text_[kPrompt]});
  EXPECT_EQ(second->sequence_rows()->waiting(), static_cast<std::int64_t>(kPrompt));
  EXPECT_EQ(draft(*second, text_.back()), expected);
}

INSTANTIATE_TEST_SUITE_P(Heads, LazySync,
                         testing::Values("eagle", "eagle3_official", "mtp_deepseek", "peagle", "dflash",
                                         "hydra_plus_plus"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace augur
