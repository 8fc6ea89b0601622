#include "decode/dear_mask.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "decode/decoder.h"
#include "support/generation.h"
#include "support/parity_constraint.h"

namespace augur {
namespace {

using testing_support::ParityConstraint;
using testing_support::Stories;

/// Every third mask takes more than a round has.
class DearConstraint final : public ParityConstraint {
 public:
  DearConstraint() : ParityConstraint(512) {}
  bool try_fill(std::span<std::uint32_t> mask, std::int64_t steps) override {
    if (length() % 3 == 2) {
      work_ += steps;
      return false;
    }
    fill(mask);
    return true;
  }
  void fill_unless(std::span<std::uint32_t> mask, const std::function<bool()>& stopped) override {
    if (stopped && stopped()) throw std::runtime_error("stopped");
    if (fails) throw std::runtime_error("beyond the budget");
    fill(mask);
  }
  std::int64_t work() const override { return work_; }

  bool fails = false;

 private:
  std::int64_t work_ = 0;
};

class DearMaskTest : public testing::Test {
 protected:
  Sequence sequence(std::int64_t tokens, std::unique_ptr<TokenConstraint> constraint = nullptr) {
    SequenceOptions options;
    options.max_tokens = tokens;
    options.constraint = std::move(constraint);
    return Sequence(*stories_.model, prompt_, std::move(options));
  }
  /// As no thread of its own would: when the test says so.
  void make_masks() {
    for (const auto& job : std::exchange(jobs_, {})) job();
  }

  Stories stories_;
  std::vector<TokenId> prompt_ = stories_.prompt("Once upon a time");
  std::vector<std::function<void()>> jobs_;
  RunElsewhere elsewhere_ = [this](std::function<void()> job) { jobs_.push_back(std::move(job)); };
};

/// Its neighbour has a token in every step, and both write what they write alone.
TEST_F(DearMaskTest, ASequenceSitsOutStepsUntilItsMaskIsThere) {
  Sequence alone = sequence(12, std::make_unique<DearConstraint>());
  Sequence free_alone = sequence(40);
  {
    Decoder decoder(*stories_.model);
    Sequence* const batch[] = {&alone, &free_alone};
    while (!alone.finished() || !free_alone.finished()) decoder.step(batch);
  }
  Sequence dear = sequence(12, std::make_unique<DearConstraint>());
  Sequence neighbour = sequence(40);
  Decoder decoder(*stories_.model);
  decoder.make_masks_elsewhere(elsewhere_);
  Sequence* const batch[] = {&dear, &neighbour};
  int sat_out = 0;
  int waited = 0;
  while (!dear.finished()) {
    const std::size_t before = neighbour.generated().size();
    decoder.step(batch);
    if (!neighbour.finished() && before > 0) {
      EXPECT_EQ(neighbour.generated().size(), before + 1);
    }
    if (!dear.waits_for_mask()) continue;
    ++sat_out;
    if (++waited % 2 == 0) make_masks();
  }
  while (!neighbour.finished()) decoder.step(batch);
  EXPECT_EQ(sat_out, 8);
  EXPECT_EQ(std::vector(dear.tokens().begin(), dear.tokens().end()),
            std::vector(alone.tokens().begin(), alone.tokens().end()));
  EXPECT_EQ(std::vector(neighbour.tokens().begin(), neighbour.tokens().end()),
            std::vector(free_alone.tokens().begin(), free_alone.tokens().end()));
}

TEST_F(DearMaskTest, AMaskBeyondItsBudgetEndsItsSequenceOnly) {
  auto constraint = std::make_unique<DearConstraint>();
  constraint->fails = true;
  Sequence dear = sequence(12, std::move(constraint));
  Sequence neighbour = sequence(12);
  Decoder decoder(*stories_.model);
  decoder.make_masks_elsewhere(elsewhere_);
  Sequence* const batch[] = {&dear, &neighbour};
  while (!dear.finished() || !neighbour.finished()) {
    decoder.step(batch);
    make_masks();
  }
  EXPECT_EQ(dear.finish_reason(), FinishReason::Error);
  EXPECT_EQ(dear.generated().size(), 2u);
  EXPECT_EQ(neighbour.finish_reason(), FinishReason::Length);
}

/// The job has all that it needs, and ends at its next look.
TEST_F(DearMaskTest, ASequenceMayGoWhileItsMaskIsInTheMaking) {
  Decoder decoder(*stories_.model);
  decoder.make_masks_elsewhere(elsewhere_);
  {
    Sequence dear = sequence(12, std::make_unique<DearConstraint>());
    Sequence* const batch[] = {&dear};
    while (!dear.waits_for_mask()) decoder.step(batch);
    dear.cancel();
    decoder.step(batch);
    EXPECT_EQ(dear.finish_reason(), FinishReason::Cancelled);
  }
  ASSERT_EQ(jobs_.size(), 1u);
  make_masks();
}

}  // namespace
}  // namespace augur
