#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "policy/auto/cost_curve.h"

namespace augur {

/// What drafting with one drafter costs, in ms: its first level as a function of the tokens of text that it
/// has not run yet, and every further level as a function of how many nodes it expands. Further levels cost
/// the same at any depth (their attention grows by a few rows only), so one curve serves them all.
class DraftCosts {
 public:
  /// Level 0 expands the root and catches up, `rows` tokens in all, the root included; level i expands the
  /// nodes of depth i, `rows` of them.
  double level_ms(int level, int rows) const { return drift_ * (level == 0 ? root_ : levels_).at(rows); }
  /// False: nothing but a guess.
  bool measured() const { return root_.observed(); }
  void observe(int level, int rows, double ms);
  /// Makes today's speed part of the curves. Changes no time.
  void settle();

  CostCurve& root() { return root_; }
  const CostCurve& root() const { return root_; }
  CostCurve& levels() { return levels_; }
  const CostCurve& levels() const { return levels_; }

 private:
  CostCurve root_{1.0, 0.02};
  CostCurve levels_{1.0, 0.02};
  double drift_ = 1.0;  ///< as CostModel's
  std::int64_t steps_ = 0;
};

/// The costs of one target on one machine, in ms of wall time: the prices that every adaptive decision is
/// made by. Measured once (decode/cost_probe.h), then followed while generating: every step is an
/// observation. Shared by the sequences of an engine; policies read it. One thread at a time; reading and
/// observing allocate nothing.
class CostModel {
 public:
  /// T_verify: the target's forward over `rows` rows behind `context` tokens, with their logits and the check
  /// of the drafts. verify_ms(1, context) is the plain step without the overhead.
  double verify_ms(double rows, double context) const {
    return drift_ * verify_.at(rows) * (1 + growth(rows) * (context - reference_context_));
  }
  /// What one more row costs after `rows`.
  double row_ms(double rows, double context) const {
    return verify_ms(rows + 1, context) - verify_ms(rows, context);
  }
  /// The rest of a step: committing, synchronising drafters, book-keeping.
  double other_ms() const { return other_.at(1); }
  /// T_step: a plain step, all included.
  double step_ms(double context) const { return verify_ms(1, context) + other_ms(); }
  /// False: nothing but a guess.
  bool measured() const { return verify_.observed(); }

  /// What was read of the target has been held against forwards of this process.
  bool confirmed() const { return confirmed_; }
  void confirm() { confirmed_ = true; }

  /// The drafter's entry, made when it is not there. Stays where it is.
  DraftCosts& drafter(std::string_view name);
  const std::map<std::string, DraftCosts, std::less<>>& drafters() const { return drafters_; }

  /// Makes today's speed part of the tables, the drafters' too. Changes no time.
  void settle();

  /// A step of `rows` rows whose contexts' mean is `context`.
  void observe_step(double rows, double context, double verify_ms, double other_ms);

  // For the probe and the file.
  CostCurve& verify_curve() { return verify_; }
  const CostCurve& verify_curve() const { return verify_; }
  CostCurve& other_curve() { return other_; }
  const CostCurve& other_curve() const { return other_; }
  double drift() const { return drift_; }
  double reference_context() const { return reference_context_; }
  /// By how much of the time at the reference context one more token of context adds, for few and for many
  /// rows: attention grows with both.
  void set_growth(double reference_context, double one_row, double many_rows);
  double growth_one() const { return growth_one_; }
  double growth_many() const { return growth_many_; }
  static constexpr double kManyRows = 64;

 private:
  double growth(double rows) const {
    const double share = rows >= kManyRows ? 1.0 : (rows - 1) / (kManyRows - 1);
    return growth_one_ + share * (growth_many_ - growth_one_);
  }

  CostCurve verify_{10.0, 0.03};  ///< at the reference context
  CostCurve other_{0.02, 0.0};
  /// The machine's speed now (other load, frequency) over the measurement's. Follows every step, so that row
  /// counts that have not been used for long stay comparable with those that have.
  double drift_ = 1.0;
  std::int64_t steps_ = 0;  ///< observed
  bool confirmed_ = false;
  double reference_context_ = 0;
  double growth_one_ = 0;
  double growth_many_ = 0;
  std::map<std::string, DraftCosts, std::less<>> drafters_;
};

}  // namespace augur
