#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "cost/expert_demand.h"
#include "cost/fast_times.h"
#include "cost/yardsticks.h"
#include "tree/drafter_traits.h"

namespace augur {

/// A time in ms as a function of a number of rows, and how sure that is. The logarithms of the times at fixed
/// row counts are one Gaussian: an error may be the machine's speed, which all of them share, or the curve's
/// shape, which neighbours share. An observation (a Kalman filter's update) moves every time as far as it is
/// in doubt and has to do with the one observed, so that a few steps put a wrong table right, also where they
/// never looked. Forgetting lets the doubt grow back to what is known of any curve, and that about the speed
/// faster while observations contradict the curve.
///
/// What disturbs a step makes it longer, never shorter: a short time is believed at once, a long one little
/// by little. Beside what is believed at the moment stands what the machine can do (FastTimes), which is kept
/// for other processes. Nothing allocates.
class CostCurve {
 public:
  static constexpr auto& kRows = FastTimes::kRows;

  /// A guess, base * (1 + slope * (rows - 1)): its shape is about right, its speed may be anything.
  CostCurve(double base_ms, double slope);

  /// Straight lines between the knots; rows beyond the last follow its line. Never 0.
  double at(double rows) const;
  /// Standard error of log(at(rows) / at(base)): what two row counts share, the machine's speed, is not in
  /// it.
  double doubt(double rows, double base) const;
  /// Whether anything but the guess is known.
  bool observed() const { return observed_; }

  /// A time that was measured carefully, at a knot: it replaces what the knot says. `doubt`: standard error
  /// of its logarithm, by which it may be too long.
  void set(double rows, double ms, double doubt = 0);
  /// When the knots are set that are known: what cannot be is taken off, what is in doubt follows its
  /// neighbours and is moved by steps as far as it is in doubt, and knots that were never set take the line
  /// between their neighbours that were. `bent`: the part of each knot's time that lies on no line and is
  /// added to it.
  void settle(const std::array<double, kRows.size()>& bent = {});
  /// No time is longer than that of more rows, up to those of the knot `last`.
  void flatten_peaks(std::size_t last = kRows.size() - 1);
  /// A time that was seen once; `variance`: of what its logarithm is in doubt by beside its noise.
  void observe(double rows, double ms, double variance = 0);
  /// Of log(at(rows)), the noise of one observation included.
  double variance(double rows) const;
  void scale(double factor);
  /// Another measurement of the same curve: the shorter times of both, settled.
  void improve(const CostCurve& other);
  /// What was measured was another state of the machine: every knot is in doubt by at least so much.
  void distrust(double doubt);

  double value(std::size_t knot) const;
  /// What is kept for other processes, in ms.
  double fastest_ms(std::size_t knot) const { return std::exp(fastest_.log_ms()[knot]); }
  const FastTimes& fastest() const { return fastest_; }

 private:
  using Vector = FastTimes::Vector;
  /// Between the knots `low` and the next one, or beyond the last.
  struct Place {
    std::size_t low;
    double along;                  ///< 0 at the first, 1 at the second
    std::array<double, 2> shares;  ///< d log at(rows) / d log(time at the knot); they add up to 1
  };
  Place place(double rows) const;
  double covariance(const Place& a, const Place& b) const;
  /// Of an observation's error; `more`: beside its noise.
  double error_variance(const Place& place, double more) const;
  void fill_gaps(const Vector& bent);
  void forget(double more);
  void believe(double error, const Place& place, double more);

  Vector log_ms_{};
  std::array<Vector, kRows.size()> covariance_{};
  std::array<bool, kRows.size()> set_{};
  FastTimes fastest_;
  bool observed_ = false;
  double surprise_ = 0;  ///< running mean of the observations' errors, in standard errors
};

/// What drafting with one drafter costs, in ms: its first level as a function of the tokens of text that it
/// has not run yet, and every further level as a function of how many nodes it expands. Further levels cost
/// the same at any depth (their attention grows by a few rows only), so one curve serves them all.
class DraftCosts {
 public:
  DraftCosts();

  /// Level 0 expands the root and catches up, `rows` tokens in all, the root included; level i expands the
  /// nodes of depth i, `rows` of them.
  double level_ms(int level, int rows) const { return (level == 0 ? root_ : levels_).at(rows); }
  /// Level 0 of one sequence: of many rows chunks of kSequenceChunk run before it.
  double catch_up_ms(int rows) const {
    const int chunks = (rows - 1) / kSequenceChunk;
    return chunks * root_.at(kSequenceChunk) + root_.at(rows - chunks * kSequenceChunk);
  }
  /// By what factor the target's step is longer after drafting: what the drafter reads takes the place of the
  /// target's weights in the caches.
  double slowdown() const { return std::exp(log_slowdown_); }
  /// False: nothing but a guess.
  bool measured() const { return root_.observed(); }
  void observe(int level, int rows, double ms);
  /// As CostCurve's, of both curves.
  void improve(const DraftCosts& other);
  void distrust(double doubt);

  CostCurve& root() { return root_; }
  const CostCurve& root() const { return root_; }
  CostCurve& levels() { return levels_; }
  const CostCurve& levels() const { return levels_; }

 private:
  friend class CostModel;
  CostCurve root_{1, 2 * kNegligible};
  CostCurve levels_{1, 2 * kNegligible};
  double log_slowdown_ = 0;
  double slowdown_variance_;
  bool ran_ = false;         ///< since the last step
  bool ran_before_ = false;  ///< before that
};

/// The costs of one target on one machine, in ms of wall time: the prices that every adaptive decision is
/// made by. Measured once (cost_probe.h), then followed while generating: every step is an
/// observation. Shared by the sequences of an engine; policies read it. One thread at a time; reading and
/// observing allocate nothing.
///
/// A mixture of experts takes longer by every expert that its rows wake. The curve is that of rows which
/// choose evenly (ExpertDemand::even), whatever was woken when it was measured or corrected, and what rows
/// are expected to wake less than those makes a forward shorter.
class CostModel {
 public:
  CostModel() = default;
  explicit CostModel(const ExpertDemand& experts) : experts_(experts) {}

  /// T_verify: the target's forward over `rows` rows behind `context` tokens, with their logits and the check
  /// of the drafts. verify_ms(1, context) is the plain step without the overhead.
  double verify_ms(double rows, double context) const { return forward_ms(rows) * grown(rows, context); }
  /// out[n]: by how much n rows more than `base` make a step longer, rising with n; `errors` standard errors
  /// below what is believed, as what has not been tried for long may be cheaper than it seemed.
  void optimistic_rows_ms(double base, double context, double errors, std::span<double> out) const;
  /// The rest of a step: committing, synchronising drafters, book-keeping.
  double other_ms() const { return other_.at(1); }
  /// T_step: a plain step, all included.
  double step_ms(double context) const { return verify_ms(1, context) + other_ms(); }
  /// False: nothing but a guess.
  bool measured() const { return verify_.observed(); }

  /// The drafter's entry, made when it is not there. Stays where it is.
  DraftCosts& drafter(std::string_view name);
  const std::map<std::string, DraftCosts, std::less<>>& drafters() const { return drafters_; }

  /// A step of `rows` rows whose contexts' mean is `context`. `experts` that they woke, over all layers.
  void observe_step(double rows, double context, double verify_ms, double other_ms, double experts = 0);

  /// What rows are expected to wake; ExpertDemand::dense() of a model without experts.
  const ExpertDemand& experts() const { return experts_; }
  ExpertDemand& experts() { return experts_; }
  /// By what share of a plain forward one more expert in one layer makes a forward longer.
  double expert_share() const { return expert_share_; }
  void set_expert_share(double share);
  /// The same in ms.
  double expert_ms() const { return expert_share_ * verify_.at(1); }

  /// Another measurement of the same target: the shorter times of both, and of the rest the one that was less
  /// disturbed.
  void improve(const CostModel& other);
  /// The other's target; drafters stay.
  void replace_target(const CostModel& other);

  // For the probe and the file.
  CostCurve& verify_curve() { return verify_; }
  const CostCurve& verify_curve() const { return verify_; }
  CostCurve& other_curve() { return other_; }
  const CostCurve& other_curve() const { return other_; }
  double reference_context() const { return reference_context_; }
  /// By how much of the time at the reference context one more token of context adds, for few and for many
  /// rows: attention grows with both.
  void set_growth(double reference_context, double one_row, double many_rows);
  double growth_one() const { return growth_one_; }
  double growth_many() const { return growth_many_; }
  static constexpr double kManyRows = 64;

 private:
  /// The time's factor over the reference context's.
  double grown(double rows, double context) const;
  double forward_ms(double rows) const;  ///< at the reference context

  CostCurve verify_{1, 2 * kNegligible};  ///< at the reference context, of rows that choose experts evenly
  ExpertDemand experts_;
  double expert_share_ = 0;
  CostCurve other_{kNegligible, 0};
  double reference_context_ = 0;
  double growth_one_ = 0;
  double growth_many_ = 0;
  double trusted_ms_ = 0;  ///< a plain forward, as it was measured
  std::map<std::string, DraftCosts, std::less<>> drafters_;
};

}  // namespace augur
