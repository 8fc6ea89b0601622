// What is counted as memory of texts: pages, rows that wait for drafters, wherever they are held.
#include "session/kv_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "decode/decoder.h"
#include "draft/common/sequence_rows.h"
#include "support/plain_policy.h"
#include "support/stories.h"

namespace augur {
namespace {

using testing_support::PlainPolicy;
using testing_support::Stories;

/// Has all rows of the text wait, and never runs any.
class WaitingDrafter final : public Drafter {
 public:
  WaitingDrafter(KvCache cache, std::shared_ptr<RowPool> pool) : text_(std::move(cache), std::move(pool)) {}
  std::string_view name() const override { return "waiting"; }
  void reset() override { text_.reset(); }
  SequenceRows* sequence_rows() override { return &text_; }
  void sync(const AcceptedRows& rows) override {
    for (const TokenId token : rows.tokens) text_.append(token);
  }
  void expand(DraftTree&, std::span<const std::int32_t>, const ExpandOptions&) override {}

 private:
  SequenceRows text_;
};

class KvBudgetTest : public testing::Test {
 protected:
  Sequence text() {
    SequenceOptions options{.max_tokens = 200};
    options.speculation.drafters.push_back(
        {std::make_unique<WaitingDrafter>(stories_.model->make_cache(), rows_),
         std::make_unique<PlainPolicy>()});
    return {*stories_.model, stories_.prompt("Once upon a time"), std::move(options)};
  }
  void step(Sequence& sequence, int steps) {
    Sequence* const batch[] = {&sequence};
    for (int i = 0; i < steps; ++i) decoder_.step(batch);
  }
  std::int64_t waiting_bytes(const Sequence& sequence) const {
    return (sequence.read() + RowPool::kBlockRows - 1) / RowPool::kBlockRows * rows_->block_bytes();
  }
  std::int64_t page_bytes() const {
    std::int64_t bytes = 0;
    form_.target.for_pools(
        [&](const KvPagePool& pool, const KvSpan&) { bytes += pool.pages_in_use() * pool.page_bytes(); });
    return bytes;
  }

  Stories stories_;
  std::shared_ptr<RowPool> rows_ = std::make_shared<RowPool>(1000);
  KeptTextForm form_{.target = stories_.model->make_cache(),
                     .drafters = {{.identity = "waiting",
                                   .group = nullptr,
                                   .cache = stories_.model->make_cache(),
                                   .features = rows_}}};
  PrefixCache kept_{std::int64_t{1} << 30};
  Drafters drafters_;
  KvBudget budget_{std::int64_t{1} << 30, std::int64_t{1} << 29, form_, kept_, drafters_};
  Decoder decoder_{*stories_.model};
};

TEST_F(KvBudgetTest, CountsTheRowsThatWaitForDraftersOfRunningTexts) {
  Sequence sequence = text();
  EXPECT_EQ(budget_.in_use(), 0);
  step(sequence, 100);
  ASSERT_GT(sequence.read(), 100);
  EXPECT_EQ(budget_.in_use(), page_bytes() + waiting_bytes(sequence));
  const Sequence* const running[] = {&sequence};
  EXPECT_EQ(budget_.held_by(running), budget_.in_use());
  sequence.forget();
  EXPECT_LE(budget_.in_use(), rows_->block_bytes()) << "one that is there for the next rows";
  sequence.stop_drafting();
  EXPECT_EQ(budget_.in_use(), 0);
}

TEST_F(KvBudgetTest, CountsWhatKeptTextsShareWithThemOnce) {
  decoder_.reuse_prefixes(&kept_);
  Sequence sequence = text();
  step(sequence, 100);
  decoder_.retire(sequence);
  EXPECT_EQ(kept_.entries(), 1u);
  EXPECT_GT(kept_.bytes(), waiting_bytes(sequence));
  EXPECT_EQ(budget_.in_use(), page_bytes() + waiting_bytes(sequence) + kept_.token_bytes());
  sequence.stop_drafting();
  EXPECT_EQ(budget_.in_use(), kept_.bytes());
}

TEST_F(KvBudgetTest, ForeseesTheRowsOfAStepAndOfAWholeText) {
  Sequence sequence = text();
  const Sequence* const running[] = {&sequence};
  for (int i = 0; i < 150; ++i) {
    const std::int64_t before = budget_.in_use();
    const std::int64_t foreseen = KvBudget::growth(running);
    step(sequence, 1);
    EXPECT_LE(budget_.in_use() - before, foreseen) << i;
  }
  const std::int64_t held = budget_.in_use();
  sequence.forget();
  EXPECT_GE(KvBudget::whole(sequence), held);
}

TEST_F(KvBudgetTest, RowsThatWaitMakeKeptTextsGiveWay) {
  decoder_.reuse_prefixes(&kept_);
  {
    Sequence sequence = text();
    step(sequence, 100);
    decoder_.retire(sequence);
  }
  const std::int64_t bytes = budget_.in_use();
  KvBudget full(bytes, bytes, form_, kept_, drafters_);
  EXPECT_TRUE(full.make_room(0));
  EXPECT_EQ(kept_.entries(), 1u);
  SharedRows running(rows_);
  running.append();
  EXPECT_TRUE(full.make_room(0));
  EXPECT_EQ(kept_.entries(), 0u);
}

}  // namespace
}  // namespace augur
