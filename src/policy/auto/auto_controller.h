#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policy/auto/beliefs.h"
#include "policy/auto/probe_schedule.h"
#include "policy/auto/verify_plan.h"
#include "policy/round_controller.h"

namespace augur {

/// Decides every round by one price of time (docs/adaptivity.md): tokens - price * ms is to be as large as
/// possible, where the price is the long-run rate. Nodes are verified while their probability exceeds the
/// price of their row; levels are drafted while the tokens they are expected to add exceed theirs; a drafter
/// drafts while its rounds have gained more tokens than their time was worth; a drafter that costs nothing
/// (a look-up) always does. What does not pay is probed after 8, 16, 32, ... rounds, and two ledgers bound
/// what all of it may lose against plain decoding: in this text, and in all texts together. One per sequence;
/// AutoPolicy asks it about its drafter.
class AutoController final : public RoundController {
 public:
  /// Tokens a round that drafting, and another level of it, must be worth: at less, what no table tells
  /// (other caches, other pages) and the noise of the decision eat the gain.
  static constexpr double kLeastValue = 0.02;

  struct Seat {
    std::string name;     ///< of the drafter, as beliefs know it
    bool lookup = false;  ///< it has no law of its own: taken to be free until measured
  };
  /// `seats`: the sequence's drafters in their order, which should be: free ones first.
  AutoController(Beliefs& beliefs, std::span<const Seat> seats);

  void begin_round(const RoundInfo& round, bool sampled) override;
  void cut(DraftTree& tree) override;
  StepForecast forecast() const override { return forecast_; }
  void observe(const StepTrace& trace) override;

  // For AutoPolicy, in the order of the drafters.

  /// Whether drafter `seat` drafts in this round.
  bool wants(std::size_t seat, const RoundInfo& round);
  /// Books what a level cost by the model.
  void spend(double ms) { draft_ms_ += ms; }
  /// Whether the round may risk another `ms` of drafting and verifying. The first level is wants()'s to
  /// decide.
  bool affords(double ms) const { return draft_ms_ - arrears_ms_ + ms <= stake_ms_; }
  DrafterBelief& belief(std::size_t seat) { return *seats_[seat].belief; }
  const VerifyPlan& plan() const { return plan_; }
  double price() const { return price_; }
  int sequences() const { return sequences_; }
  /// P of the candidates of this round so far, falling. Candidates below plan().threshold() are left out.
  std::span<const float> candidates() const { return candidates_; }
  void add_candidates(std::span<const float> probabilities);
  /// A drafter's tokens of depth 1 are right with this probability together.
  void cover_root(double probability) { covered_ = 1 - (1 - covered_) * (1 - probability); }

 private:
  struct SeatState {
    DrafterBelief* belief = nullptr;
    bool lookup = false;
    DraftGain gain;
    ProbeSchedule probes;
    bool paid = false;        ///< its drafting costs time worth mentioning
    bool begun = false;       ///< it has drafted in this sequence
    bool up_to_date = false;  ///< it drafted in the last round
    bool in_use = false;      ///< it paid when it was last asked
    bool first = false;       ///< nobody had tried it before
    int trial = 0;            ///< rounds that it is still tried for
    double credit = 0;        ///< that its trial may use
    // Of this round, for a paid one that drafts:
    bool drafts = false;
    double open_share = 1.0;       ///< chance that what was drafted before leaves to it
    VerifyPlan::Cut without;       ///< the best cut of what was drafted before
    double drafted_before_ms = 0;  ///< time that this had taken
  };
  double left_ms(double credit) const { return text_.left_ms(plain_ms_, credit); }
  bool may_lose(double ms, double credit) const { return left_ms(credit) >= ms; }
  bool drafted() const;
  bool is_free(const SeatState& seat, const RoundInfo& round) const;
  bool promises(const SeatState& seat, const RoundInfo& round);
  double value(const SeatState& seat, double open) const;
  double value(const SeatState& seat) const { return value(seat, 1 - covered_); }
  bool pays(std::size_t seat) const;
  double arrears_ms(const SeatState& seat, const RoundInfo& round) const;
  bool excused(const SeatState& seat) const;
  double risk_ms(const SeatState& seat, const RoundInfo& round) const;
  void favour(std::size_t from);
  void retire(std::size_t seat);
  bool engages(std::size_t seat, const RoundInfo& round);
  std::size_t choose(const DraftTree& tree);
  std::size_t widened(std::size_t count) const;
  Agreement* company(const DraftTree& tree, std::size_t node) const;
  void weigh(const DraftTree& tree);
  double trust_in_forecast() const;
  void learn_outcomes(const StepTrace& trace);
  void forget_gains(bool of_all);
  void learn_gains(double tokens, double extra_ms);

  Beliefs& beliefs_;
  std::vector<SeatState> seats_;
  Ledger text_;
  double paid_debt_;       ///< what drafting that takes time has lost in other texts, in plain steps: <= 0,
                           ///< and so much less credit has such drafting in this one
  double probe_credit_;    ///< plain steps: what other texts have left over may be used to probe
  double bias_ = 0;        ///< tokens that forecasts have lately been too high by
  double promised_ = 0;    ///< tokens that were booked beyond what came, in all
  ProbeSchedule starved_;  ///< of candidates that are not worth verifying

  // The round in flight.
  RoundInfo round_;
  VerifyPlan plan_;
  double price_ = 0;
  double plain_ms_ = 0;   ///< of one token of this sequence, plain
  double base_rows_ = 1;  ///< of the forward without this sequence's drafts
  int sequences_ = 1;
  bool sampled_ = false;
  bool allowed_ = false;
  bool wide_ = false;    ///< more is verified than pays, to see what it costs
  int probe_ = -1;       ///< seat that is probed, -1: none
  double stake_ms_ = 0;  ///< that the round may risk
  double draft_ms_ = 0;
  double arrears_ms_ = 0;  ///< of it, for catching up
  double excused_ms_ = 0;  ///< of these, for beginning with the prompt: not this text's loss
  double covered_ = 0;
  int favourite_ = -1;  ///< the paid drafter of the largest value; -1: not asked yet
  std::vector<float> candidates_;
  StepForecast forecast_;

  // Scratch of cut().
  std::vector<float> surest_;          ///< by node: a(v) by the surest of its proposers
  std::vector<Agreement*> companies_;  ///< by node: what others' opinion of it makes of that
  std::vector<float> chances_;         ///< by node: P(v)
  std::vector<std::int32_t> order_;
  std::vector<float> falling_;
};

}  // namespace augur
