#pragma once
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "policy/auto/choose.h"
#include "support/clocked_round.h"

namespace augur::simulation {

/// A target whose step takes step_ms and row_ms for every further row, and a drafter whose best candidate is
/// right with probability `right`, which it knows (q = right), or believes to be `claimed`; and maybe another
/// drafter.
struct World {
  double step_ms = 10;
  double row_ms = 0.3;
  double draft_ms = 1;
  double level_row_ms = 0;  ///< of every further node of a level
  double right = 0.8;
  double claimed = -1;
  int interrupted = -1;    ///< round whose drafting takes ten steps longer
  double catch_up_ms = 0;  ///< that the drafter takes for every token that was written without it
  int prompt = 0;          ///< tokens of the prompt, which the drafter has to catch up with, too
  double noise = 0;        ///< relative spread of single times
  double wander = 0;       ///< of the machine's speed, slowly, up and down
  /// It begins with nothing to say: after so many tokens of a text it speaks in 1 - 1/e of the places.
  double learns = 0;
  bool one_shot = false;  ///< it proposes branches, of up to kBranch tokens
  static constexpr int kBranch = 8;
  int chain = -1;         ///< the policy: a chain of so many; < 0: `auto`
  bool siblings = false;  ///< it has more candidates, each right half as often as the one before
  std::uint64_t seed = 7;
  /// Has one candidate, which is right or wrong whatever the first drafter's are.
  struct Other {
    double draft_ms = 1;
    double right = 0.5;
    double claimed = -1;
    bool lookup = false;
    double says() const { return claimed > 0 ? claimed : right; }
  };
  std::optional<Other> other;
  /// Right of the sequences of a batch, one each; empty: one sequence, `right`.
  std::vector<double> batch;
  double promised_ms = 0;  ///< per token of the first of them
  /// A mixture of experts: every one that is woken beyond those of a row takes `ms`, and rows choose as if
  /// there were `pool`. The first measurement knows `ms` and takes rows to choose evenly.
  struct Experts {
    int count = 128;
    int active = 8;
    double pool = 128;
    double ms = 0.1;
  };
  std::optional<Experts> experts;

  double says() const { return claimed > 0 ? claimed : right; }
  double woken(double rows) const;
  double verify_ms(double rows) const {
    return step_ms + row_ms * (rows - 1) + (experts ? experts->ms * (woken(rows) - experts->active) : 0);
  }
  double root_ms(double behind) const { return draft_ms + catch_up_ms * (behind - 1); }
  /// Tokens per ms of a chain of fixed length.
  double chain_rate(int length) const;
  double best_chain_rate() const;
  /// Of trees: one drafted level at a time, from which the likeliest nodes are verified; by a fine grid.
  double best_tree_rate() const;
  /// Of the other drafter alone.
  double others_best_chain_rate() const;
  /// Of a batch: chains whose lengths are the best for one price, by a fine grid of prices and depths.
  double best_batch_rate() const;
};

class Text;
class FakeDrafter;

/// The real round with the real `auto`, over drafters, a target and a clock that are given.
class Simulation {
 public:
  explicit Simulation(const World& world);
  ~Simulation();

  struct Total {
    double tokens = 0;
    double ms = 0;
    double rate() const { return tokens / ms; }
  };
  /// Rounds until the batch has so many tokens more.
  Total run(double tokens);
  /// Texts of so many tokens, one after the other. What the engine has learned stays.
  Total run_texts(int texts, double tokens);
  void begin_texts();

  World& world() { return world_; }
  Chooser& chooser() { return *chooser_; }
  const CostModel& costs() const { return costs_; }
  /// Other texts, of which the engine remembers nothing else, have shown that the drafter is right as often
  /// as it says.
  void teach(int outcomes);
  /// What the first measurement said of the target: of few and of many rows so much more than is true, and of
  /// drafting.
  struct Spoilt {
    double one_row = 1;
    double many_rows = 1;
    double flat = 0;  ///< in steps: all rows alike; 0: as above
    double drafts = 1;
  };
  void spoil(const Spoilt& by);
  /// Measures everything as cost/cost_probe.h does. `busy`: beside programs that make whatever runs within
  /// their turns take up to four times as long.
  void measure(bool busy);
  /// Another process begins, here or where `kept` was: it knows what that one has kept.
  void begin_with(const CostModel& kept);
  /// Nodes of the i-th sequence that were verified, per round of its text.
  double verified(std::size_t sequence) const;
  /// Tokens per ms that its text has got since the beginning.
  double rate_of(std::size_t sequence) const;

 private:
  friend class FakeDrafter;
  struct Seat {
    const char* name;
    bool other;
  };
  std::vector<Seat> seats() const;
  double level_ms(bool other, int level, double rows) const;
  double measured_ms(double ms);
  double disturbed(double ms);
  void round(Total& total);

  World world_;
  CostModel costs_;
  testing_support::ClockedRound round_{costs_};
  std::shared_ptr<Chooser> chooser_ = std::make_shared<Chooser>();
  std::vector<std::unique_ptr<Text>> texts_;
  int rounds_ = 0;
  bool busy_ = false;    ///< other programs run
  double turn_ms_ = 0;   ///< left of what is going on
  bool theirs_ = false;  ///< it is another program's turn
  std::mt19937_64 random_;
};

}  // namespace augur::simulation
