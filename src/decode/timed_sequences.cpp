#include "decode/timed_sequences.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "decode/decoder.h"
#include "decode/sequence.h"
#include "model/forward_timer.h"

namespace augur {
namespace {

constexpr int kRootChildren = 16;
constexpr int kChildren = 4;
constexpr int kBranch = 32;          ///< tokens of a one-shot drafter
constexpr std::int64_t kTree = 512;  ///< rows that a drafter may hold beside the text

/// Drafts trees whose levels are all of one width, another in every round, and verifies next to nothing.
class ProbePolicy final : public TreePolicy {
 public:
  ProbePolicy(std::vector<DraftSample>& samples, const Clock& clock)
      : samples_(samples), watch_(clock), moment_(samples.empty() ? 0 : samples.back().moment) {}

  void begin(const RoundInfo& round) override {
    behind_ = round.behind;
    levels_ = round.drafter.one_shot ? 1 : std::min(kProbedLevels, round.drafter.max_depth);
    one_shot_ = round.drafter.one_shot;
    level_ = 0;
    pending_ = false;
    width_ = kProbedWidths[static_cast<std::size_t>(round_++) % kProbedWidths.size()];
    ++moment_;
  }
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override {
    take_time();
    out.clear();
    if (level_ == levels_) return;
    const std::int32_t begin = level_ == 0 ? 0 : level_begin_;
    const std::int32_t end = level_ == 0 ? 1 : std::min(tree.size(), level_begin_ + width_);
    for (std::int32_t node = begin; node < end; ++node) out.push_back(node);
    if (out.empty()) return;
    level_begin_ = tree.size();
    rows_ = level_ == 0 ? behind_ : static_cast<int>(out.size());
    ++level_;
    pending_ = true;
    watch_.restart();
  }
  int width() const override { return one_shot_ ? kBranch : level_ == 1 ? kRootChildren : kChildren; }
  void prune(DraftTree& tree) override {
    take_time();  // a drafter that adds nothing is not asked again
    tree.truncate(std::min(tree.size(), 2));
  }

 private:
  void take_time() {
    if (pending_) samples_.push_back({moment_, level_ - 1, rows_, watch_.ms()});
    pending_ = false;
  }

  std::vector<DraftSample>& samples_;
  Stopwatch watch_;
  int moment_;
  int round_ = 0;
  int behind_ = 1;
  int levels_ = 0;
  int level_ = 0;
  int width_ = 1;
  int rows_ = 0;
  bool one_shot_ = false;
  bool pending_ = false;
  std::int32_t level_begin_ = 0;
};

}  // namespace

double time_overhead(Model& target, const Clock& clock) {
  constexpr int kSteps = 5;
  std::vector<double> other;
  SequenceOptions options;
  options.max_tokens = kSteps;
  options.on_step = [&](const StepTrace& trace) { other.push_back(trace.other_ms); };
  Sequence sequence(target, some_tokens(2, target.config().vocab), std::move(options));
  Decoder decoder(target, {.clock = &clock});
  Sequence* const batch[] = {&sequence};
  while (!sequence.finished()) decoder.step(batch);
  return other.empty() ? 0 : *std::min_element(other.begin(), other.end());
}

DraftProbe time_drafts(Model& target, std::function<std::unique_ptr<Drafter>(std::int64_t)> make) {
  return [&target, make = std::move(make)](const DraftedSequence& drafted, std::vector<DraftSample>& samples,
                                           const Clock& clock, double until_ms) {
    SequenceOptions options;
    options.max_tokens = 2 * drafted.rounds + kProbedLevels;
    options.context = drafted.prompt + options.max_tokens;
    options.speculation.drafters.push_back(
        {make(kTree + options.context), std::make_unique<ProbePolicy>(samples, clock)});
    Sequence sequence(target, some_tokens(drafted.prompt, target.config().vocab), std::move(options));
    Decoder decoder(target, {.clock = &clock});
    Sequence* const batch[] = {&sequence};
    while (sequence.statistics().calls < drafted.rounds && !sequence.finished()) {
      decoder.step(batch);
      if (clock.now_ms() > until_ms && !samples.empty()) return false;
    }
    return true;
  };
}

}  // namespace augur
