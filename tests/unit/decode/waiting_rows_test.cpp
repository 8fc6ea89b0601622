// Rows that wait for a drafter are bounded, whatever the text does: read, written plainly, or drafted for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "decode/decoder.h"
#include "draft/common/row_batch.h"
#include "draft/common/sequence_rows.h"
#include "support/generation.h"
#include "support/plain_policy.h"

namespace augur {
namespace {

using testing_support::one;
using testing_support::PlainPolicy;
using testing_support::Stories;

/// Has the text's rows wait, `width` features each, and runs them by the chunk. It has nothing to say.
class HoardingDrafter final : public Drafter {
 public:
  struct Seen {
    std::int64_t most_waiting = 0;
    int chunks = 0;
  };
  HoardingDrafter(KvCache cache, std::int64_t width, Seen& seen)
      : text_(std::move(cache), std::make_shared<RowPool>(width)), seen_(seen) {}
  std::string_view name() const override { return "hoarding"; }
  void reset() override { text_.reset(); }
  SequenceRows* sequence_rows() override { return &text_; }
  std::int64_t root_rows() const override { return std::max<std::int64_t>(1, text_.waiting()); }
  bool run_chunk() override {
    if (!text_.has_chunk()) return false;
    RowBatch batch;
    text_.begin(batch, SequenceRows::kChunk);
    if (++seen_.chunks == fails_at_) std::rethrow_exception(why_);
    text_.commit();
    return true;
  }
  void end_round() override { text_.roll_back(); }
  void sync(const AcceptedRows& rows) override {
    for (const TokenId token : rows.tokens) text_.append(token);
    seen_.most_waiting = std::max(seen_.most_waiting, text_.waiting());
  }
  void expand(DraftTree&, std::span<const std::int32_t>, const ExpandOptions&) override {}

  template <class Exception>
  void fail_at(int chunk, const Exception& why) {
    fails_at_ = chunk;
    why_ = std::make_exception_ptr(why);
  }

 private:
  SequenceRows text_;
  Seen& seen_;
  int fails_at_ = 0;
  std::exception_ptr why_;
};

class WaitingRows : public testing::Test {
 protected:
  /// Of so many features, a chunk and a few rows are more than may wait.
  static constexpr std::int64_t kWide = 70'000;

  std::unique_ptr<HoardingDrafter> drafter(std::int64_t width, HoardingDrafter::Seen& seen) {
    return std::make_unique<HoardingDrafter>(stories_.model->make_cache(), width, seen);
  }
  Sequence written_plainly(std::unique_ptr<HoardingDrafter> drafter, std::int64_t tokens) {
    return {
        *stories_.model,
        prompt_,
        {.max_tokens = tokens, .speculation = {one(std::move(drafter), std::make_unique<PlainPolicy>())}}};
  }

  Stories stories_;
  std::vector<TokenId> prompt_ = stories_.prompt("Once upon a time");
};

TEST_F(WaitingRows, OfATextThatIsWrittenPlainlyAreBounded) {
  HoardingDrafter::Seen seen;
  Sequence sequence = written_plainly(drafter(kWide, seen), 400);
  Sequence* const batch[] = {&sequence};
  Decoder decoder(*stories_.model);
  while (!sequence.finished()) decoder.step(batch);
  EXPECT_EQ(sequence.failure(), nullptr);
  EXPECT_EQ(seen.chunks, 1);
  EXPECT_EQ(seen.most_waiting, SequenceRows::kChunk + 1);
}

TEST_F(WaitingRows, OfATextThatIsReadAreBounded) {
  HoardingDrafter::Seen seen;
  prompt_.resize(480, prompt_.back());
  Sequence sequence = written_plainly(drafter(kWide, seen), 1);
  Sequence* const batch[] = {&sequence};
  Decoder decoder(*stories_.model, {.prefill_rows = 60});
  while (!sequence.finished()) decoder.step(batch);
  EXPECT_EQ(seen.chunks, 1);
  EXPECT_EQ(seen.most_waiting, SequenceRows::kChunk + 60 - SequenceRows::kChunk % 60);
}

TEST_F(WaitingRows, RunForNobodyWhereFewWait) {
  HoardingDrafter::Seen seen;
  Sequence sequence = written_plainly(drafter(8, seen), 400);
  Sequence* const batch[] = {&sequence};
  Decoder decoder(*stories_.model);
  while (!sequence.finished()) decoder.step(batch);
  EXPECT_EQ(seen.chunks, 0);
  EXPECT_GT(seen.most_waiting, 400);
}

TEST_F(WaitingRows, ThatCannotRunFailTheirTextAlone) {
  HoardingDrafter::Seen seen;
  auto failing = drafter(kWide, seen);
  failing->fail_at(1, std::runtime_error("no chunk"));
  Sequence fails = written_plainly(std::move(failing), 400);
  Sequence goes_on(*stories_.model, prompt_, {.max_tokens = 400});
  Sequence* const batch[] = {&fails, &goes_on};
  Decoder decoder(*stories_.model);
  while (!fails.finished() || !goes_on.finished()) decoder.step(batch);
  EXPECT_EQ(fails.finish_reason(), FinishReason::Error);
  EXPECT_EQ(goes_on.finish_reason(), FinishReason::Length);
  EXPECT_EQ(fails.generated().size(), static_cast<std::size_t>(SequenceRows::kChunk) + 2 - prompt_.size());
}

// As everything that there is no memory for before a step has committed anything.
TEST_F(WaitingRows, ThatFindNoMemoryAreRunWhenTheStepIsMadeAgain) {
  HoardingDrafter::Seen seen;
  auto failing = drafter(kWide, seen);
  failing->fail_at(1, std::bad_alloc());
  Sequence sequence = written_plainly(std::move(failing), 400);
  Sequence* const batch[] = {&sequence};
  Decoder decoder(*stories_.model);
  decoder.throw_for_memory(true);
  int thrown = 0;
  while (!sequence.finished()) {
    try {
      decoder.step(batch);
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
  }
  EXPECT_EQ(thrown, 1);
  EXPECT_EQ(sequence.failure(), nullptr);
  EXPECT_EQ(sequence.generated().size(), 400U);
  EXPECT_EQ(seen.chunks, 2);
  EXPECT_EQ(seen.most_waiting, SequenceRows::kChunk + 1);
}

}  // namespace
}  // namespace augur
