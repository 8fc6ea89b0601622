#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "policy/auto/predict.h"
#include "policy/round_controller.h"

namespace augur {

/// State of `auto` for one sequence: a prediction and this round's candidates for each of its drafters.
struct AutoSequence final : ControlledSequence {
  static constexpr int kMostNodes = 512;         ///< of a tree, and of all trees of a batch
  static constexpr std::size_t kMostWidth = 16;  ///< nodes of a tree that are expanded at once

  static constexpr double kPassingBy = 0.5;  ///< a round cheaper than this many plain steps is not decided
                                             ///< about

  struct Candidate {
    std::int32_t parent = -1;
    TokenId token = -1;
    std::int32_t depth = 0;
    std::int32_t rank = 0;  ///< among its siblings, the likeliest first
    float log_prob = 0;
    float chance = 1;  ///< P(v), times the text's token_value
    bool accepted = false;
  };
  struct Drafter {
    explicit Drafter(DrafterBelief& belief);

    /// `sampled`: candidates are drawn if the drafter has probabilities. `sequences`: in the round.
    void begin_round(const RoundInfo& info, bool sampled, double sequences);
    /// a(v), `errors` standard errors above the estimate. For drawn candidates it depends on the rank alone,
    /// because what is drafted and verified must not depend on which token was drawn.
    double chance(float log_prob, int depth, int rank, double errors = 0) const;
    /// One-shot drafters: records what a draft added.
    void learn_gain(double added);

    SequencePrediction prediction;
    // This round:
    RoundInfo round;
    bool drafts = false;
    bool tried_before = false;  ///< in this text
    double look_steps = 0;      ///< plain steps that looking at what it says may take
    double gain;                ///< one-shot: tokens less their rows' price that a draft adds, a running mean
    bool drawn = false;         ///< its candidates are drawn, not ranked
    std::vector<Candidate> candidates;  ///< by node of its tree
    std::int32_t newest = 0;            ///< first node of the newest level
  };

  /// Sets token_value, with which the candidates bid; a plain step of the batch takes `step_ms`.
  void set_token_value(const RoundInfo& info, double step_ms);
  /// The value of the most that a further draft can win: the root's next token, if nobody has proposed it.
  double unproposed_value() const { return token_value * p_unproposed; }
  /// What came of the round.
  void learn(const StepTrace& trace);

  std::deque<Drafter> drafters;  ///< in the sequence's order
  int rounds = 0;                ///< that it has been through
  double token_value = 1;        ///< of its tokens, in tokens of texts that are in time
  double p_unproposed = 1;       ///< chance that no drafter has proposed the root's next token so far
};

}  // namespace augur
