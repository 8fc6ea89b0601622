#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cost/cost.h"
#include "policy/auto/auto_sequence.h"
#include "policy/auto/budget.h"
#include "policy/auto/predict.h"
#include "policy/auto/recent_rate.h"
#include "policy/round_controller.h"

namespace augur {

/// `auto`: in every round of a batch the drafts and nodes for which tokens - price * ms is largest, the price
/// being the long-run rate (Dinkelbach's method), at the optimistic end of what is believed of costs and
/// acceptance, as long as the budget bears it. docs/adaptivity.md.
class Chooser final : public RoundController {
 public:
  Chooser();

  /// What is believed about a drafter, by its name, over all texts. Stays where it is.
  DrafterBelief& belief(const std::string& drafter) { return beliefs_[drafter]; }

  void begin(std::span<RoundMember* const> members, int other_rows) override;
  void plan(int level, std::span<RoundMember* const> growing) override;
  /// Sets the scores to the logarithms of the nodes' chances.
  void drafted(std::span<RoundMember* const> members) override;
  void cut(std::span<RoundMember* const> members) override;
  void observe(std::span<RoundMember* const> members) override;

 private:
  /// Standard errors above what is believed at which costs and acceptance are judged: what has been seen a
  /// hundred times is taken as it is, what nobody has looked at is looked at.
  static constexpr double kOptimism = 0.42;
  /// Below, at which something must pay not to be charged to the budget.
  static constexpr double kCaution = 2.0;
  static constexpr int kBranch = 48;  ///< tokens of a branch, and nodes of a one-shot drafter's tree

  static AutoSequence& sequence_of(RoundMember& member) {
    return static_cast<AutoSequence&>(*member.sequence);
  }
  /// The one that is asked about.
  static AutoSequence::Drafter& drafter_of(RoundMember& member) {
    return sequence_of(member).drafters[member.drafter];
  }

  /// What plain steps and rows cost.
  struct Terms {
    double step_ms = 1;          ///< the members' share of a plain step, without prompts
    double threshold = 1;        ///< a node of less chance is never worth verifying, whatever else is
    std::vector<double> row_ms;  ///< [n]: time of n rows more than those that are run anyway
  };
  struct Cut {
    std::size_t nodes = 0;
    double net = 0;  ///< tokens - price * ms
  };
  /// How many of the candidates and of `more` (falling), taken together by falling chance, are best verified.
  Cut best(const Terms& terms, std::span<const float> more = {}) const;
  double steps(double ms) const { return ms / now_.step_ms; }
  /// What pays at the lower confidence bound, too, needs no budget.
  bool affords(double draft_ms, std::size_t nodes) const {
    return !below_confidence_bound_ || budget_.affords(steps(draft_ms_ + draft_ms + now_.row_ms[nodes]));
  }
  void choose_drafters(std::span<RoundMember* const> growing);
  double level_ms(const AutoSequence::Drafter& drafter, int level, int rows) const;
  int usual_rows(const AutoSequence::Drafter& drafter) const;
  double first_level_ms(const AutoSequence::Drafter& drafter) const;
  double catch_up_ms(const AutoSequence::Drafter& drafter) const;
  /// Tokens - price * ms of drafting.
  struct Prospect {
    double net = 0;            ///< of a round, with its part of catching up
    double sequence_gain = 0;  ///< of the rounds that the sequence has left, without catching up
  };
  Prospect prospect(const AutoSequence::Drafter& drafter, const Terms& terms, double unproposed,
                    double errors);
  bool can_be_paid_for(const AutoSequence::Drafter& drafter, double unproposed);
  double net_beside_others(const AutoSequence& sequence, std::size_t drafter);
  struct DrafterBid;
  bool may_catch_up(const AutoSequence& sequence, const AutoSequence::Drafter& drafter, double granted,
                    DrafterBid& bid);
  bool may_look(AutoSequence::Drafter& drafter);
  void begin_drafting(RoundMember& member);
  /// Weighs the nodes that a drafter has added since the last call.
  void absorb(AutoSequence& sequence, AutoSequence::Drafter& drafter, const DraftTree& tree);
  void choose_frontier(int level, std::span<RoundMember* const> growing);
  int children_above_threshold(const AutoSequence::Drafter& drafter, float chance, int depth) const;
  void forecast(std::span<RoundMember* const> members, std::size_t nodes);

  std::map<std::string, DrafterBelief, std::less<>> beliefs_;
  Budget budget_;
  RecentRate rate_;

  // The round in flight.
  const CostModel* costs_ = nullptr;
  double sequences_ = 1;    ///< members
  double tree_rows_ = 1;    ///< all roots, and what others verify
  double base_rows_ = 1;    ///< rows that are run anyway: these and the prompts'
  double context_ = 0;      ///< the members' mean
  double base_ms_ = 1;      ///< of base_rows_
  double slowdown_ = 1;     ///< factor of the step's time after what drafts
  double expected_ms_ = 1;  ///< of the step's forward
  /// Tokens per ms. While prompts are read, that of the batch to come: a token that is drafted meanwhile
  /// saves time then.
  double price_ = 0;
  double step_ms(double reading) const;
  void set_terms(Terms& terms, double reading, double prompt_rows, double errors) const;
  Terms now_;
  Terms coming_;  ///< once the prompts have been read, and those texts are written, too; without optimism
  std::size_t room_ = 0;  ///< nodes that may be verified
  double draft_ms_ = 0;   ///< spent on drafting by the cost model, but for what is invested
  double investing_ = 0;  ///< plain steps of what is invested
  /// What is drafted, or verified, does not pay at kCaution standard errors below what is believed.
  bool below_confidence_bound_ = false;
  bool plain_ = false;             ///< nothing is drafted: the plain step is to be seen
  std::vector<float> candidates_;  ///< chances of all drafted nodes above the threshold, falling

  // Scratch.
  /// A drafter of one member that may draft in this round.
  struct DrafterBid {
    double gain = 0;            ///< Prospect::net beside the other drafters, without the level's price
    double catch_up_ms = 0;     ///< that is charged to the budget's balance
    double invested_steps = 0;  ///< plain steps of catching up that are not
    std::uint32_t member = 0;

    bool operator<(const DrafterBid& other) const {
      return gain != other.gain ? gain > other.gain : member < other.member;
    }
  };
  /// A node that may be expanded, or verified.
  struct NodeBid {
    float chance = 0;
    std::uint32_t member = 0;
    std::int32_t node = 0;

    /// Of equal chance the earlier node, so that parents come before their children.
    bool operator<(const NodeBid& other) const {
      return chance != other.chance   ? chance > other.chance
             : member != other.member ? member < other.member
                                      : node < other.node;
    }
  };
  /// A node of the merged trees.
  struct CutBid : NodeBid {
    float lower_bound = 0;  ///< of the chance
  };
  std::vector<DrafterBid> drafter_bids_;
  std::vector<NodeBid> node_bids_;
  std::vector<CutBid> cut_bids_;
  std::vector<float> more_;
  std::vector<double> chances_;
};

}  // namespace augur
