#pragma once
#include <cstdint>
#include <vector>

namespace augur {

/// One thing that happens to the state of a sequence in a pass, when all that is committed is in it.
struct StateStep {
  enum Kind : std::uint8_t {
    Run,       ///< row `at` of the batch: the state, which is its parent's, becomes its own
    Replay,    ///< likewise by the record of slot `at`, which an earlier pass has left
    Fold,      ///< this is the state of KvTxn::fold_to() slots
    PutAside,  ///< as number `at` of those put aside
    Recall,    ///< number `at` again
  };
  Kind kind = Run;
  std::int64_t at = 0;

  friend bool operator==(const StateStep&, const StateStep&) = default;
};

/// The order in which a tree's rows are run through a recurrence: depth first, so that the state of a row's
/// parent is at hand, or was put aside where the tree branches. Each row is run once. Reused from pass to
/// pass.
class StateWalk {
 public:
  /// A row of a transaction, in an order in which parents come first.
  struct Row {
    std::int32_t parent = -1;  ///< of these; -1: the committed text
    StateStep step;            ///< Run, or Replay
    bool folds = false;        ///< Fold comes behind it
  };
  std::vector<Row> rows;  ///< what walk() goes through

  /// Appends the steps that run all rows with a step of Run, and replay what these follow. Returns how many
  /// states are put aside at once, at most.
  int walk(std::vector<StateStep>& steps);

 private:
  void find_children();

  std::vector<std::uint8_t> needed_;               ///< [rows] it, or one that follows it, is to be run
  std::vector<std::int32_t> first_, next_, last_;  ///< [rows + 1] the first child, the next sibling
  std::vector<std::int32_t> pending_;              ///< rows still to be visited, of open branchings
};

}  // namespace augur
