#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "draft/expansion.h"

namespace augur::testing_support {

/// A drafter that is asked for less than its policy wants, in turn by every limit, and whose every expansion
/// is held to what drafter.h promises.
class CheckedDrafter final : public Drafter {
 public:
  /// `vocab`: of the target.
  CheckedDrafter(std::unique_ptr<Drafter> drafter, std::int32_t vocab)
      : drafter_(std::move(drafter)), vocab_(vocab) {}

  std::string_view name() const override { return drafter_->name(); }
  DrafterTraits traits() const override { return drafter_->traits(); }
  std::span<const int> tap_layers() const override { return drafter_->tap_layers(); }
  std::optional<TargetWants> target_wants() const override { return drafter_->target_wants(); }
  void reset() override { drafter_->reset(); }
  SequenceRows* sequence_rows() override { return drafter_->sequence_rows(); }
  std::int64_t root_rows() const override { return drafter_->root_rows(); }
  bool run_chunk() override { return drafter_->run_chunk(); }
  void saw(const TargetRows& rows) override { drafter_->saw(rows); }
  void sync(const AcceptedRows& rows) override { drafter_->sync(rows); }
  std::optional<EarlyRows> take_early_rows() override { return drafter_->take_early_rows(); }
  void end_round() override { drafter_->end_round(); }
  const void* group() const override { return drafter_->group(); }

  void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
              const ExpandOptions& options) override {
    const ExpandJob job{this, &tree, frontier, options};
    expand_many({&job, 1});
  }
  void expand_many(std::span<const ExpandJob> jobs) override {
    std::vector<ExpandJob> asked;
    std::vector<DraftTree> before;
    for (const ExpandJob& job : jobs) {
      before.push_back(*job.tree);
      asked.push_back(static_cast<CheckedDrafter*>(job.drafter)->less(job));
    }
    asked.front().drafter->expand_many(asked);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const std::string_view broken =
          broken_promise(asked[i], asked[i].drafter->traits(), before[i].size(), vocab_);
      EXPECT_TRUE(broken.empty()) << name() << ": " << broken << ": " << asked[i].frontier.size()
                                  << " nodes, top_k " << asked[i].options.top_k << ", max_nodes "
                                  << asked[i].options.max_nodes;
      DraftTree now = *jobs[i].tree;
      now.truncate(before[i].size());
      EXPECT_TRUE(std::ranges::equal(now.tokens(), before[i].tokens())) << "nodes stay what they are";
      EXPECT_TRUE(std::ranges::equal(now.scores(), before[i].scores())) << "nodes stay what they are";
    }
  }

 private:
  ExpandJob less(ExpandJob job) {
    job.drafter = drafter_.get();
    ExpandOptions& options = job.options;
    const int turn = expansions_++ % 3;
    if (turn == 1) options.max_nodes = std::max(1, options.max_nodes / 2);
    if (turn == 2) options.top_k = std::max(1, options.top_k / 2);
    return job;
  }

  std::unique_ptr<Drafter> drafter_;
  std::int32_t vocab_;
  int expansions_ = 0;
};

}  // namespace augur::testing_support
