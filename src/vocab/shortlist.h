#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/panel_runs.h"
#include "model/workspace.h"
#include "vocab/head_row.h"
#include "vocab/token_order.h"

namespace augur {

struct ClusterPart;

/// The columns of one product.
struct Selection {
  std::vector<PanelRun> runs;        ///< ascending
  std::int64_t columns = 0;          ///< of the runs, without the padding of the matrix
  std::vector<std::int64_t> by_row;  ///< the first so many are the row's own
};

/// Which part of a drafter's vocabulary the rows of a call get. The head packs its rows in order(), so that
/// what is chosen together lies together. One thread at a time.
class Shortlist {
 public:
  virtual ~Shortlist() = default;

  /// Entries of the whole head in the order of packing; those left out are never proposed.
  std::span<const std::int32_t> order() const { return order_; }
  virtual void select(std::span<const HeadRow> rows, Selection& out) = 0;

  struct Swap {
    std::int64_t position;  ///< in order()
    std::int32_t entry;     ///< that now stands there
  };
  /// Whether saw() ever changes order().
  virtual bool changes() const { return false; }
  /// Tokens that became text. Returns what changed in order(), valid until the next call.
  virtual std::span<const Swap> saw(std::span<const TokenId>) { return {}; }
  /// Goes back to what it was before it saw anything. Returns as saw().
  virtual std::span<const Swap> forget() { return {}; }

 protected:
  std::vector<std::int32_t> order_;
};

/// The first `size` of the order's tokens that the drafter has, as entries of its head. Error when there is
/// none.
std::vector<std::int32_t> frequent_entries(const HeadWeights& weights, const TokenOrder& order,
                                           std::int64_t size);

/// FR-Spec: the `size` most frequent tokens. `position_aware`: so many at steps 0 and 1, size / (t + 1) at
/// step t after, as a prefix of the same rows (DynaSpec's appendix A.3).
std::unique_ptr<Shortlist> make_frequent_shortlist(const HeadWeights& weights, const TokenOrder& order,
                                                   std::int64_t size, bool position_aware);

/// DynaSpec: rows packed by cluster. The rows of a sequence have one budget of clusters together: those that
/// its router likes best for them all, each row's opinion weighed by the probability that the text gets
/// there; or every row has a budget for itself (ClusterBudget::by_row). Every row of a call gets what any
/// has. A panel that two clusters share counts for both, so that some tokens come as a gift. Error with what
/// cluster_obstacle() says.
std::unique_ptr<Shortlist> make_cluster_shortlist(const HeadWeights& weights, const ClusterPart& part);
/// Why a drafter cannot use the part, naming its file; empty: it can.
std::string cluster_obstacle(const HeadWeights& weights, const ClusterPart& part);

}  // namespace augur
