#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "base/types.h"
#include "decode/round.h"
#include "draft/target_rows.h"

namespace augur {

/// Shows drafters the target's rows as they have asked (Drafter::target_wants): ranks logits, and gathers the
/// states of a drafter's layers. Where nobody asks nothing is done. One thread at a time; buffers stay from
/// call to call.
class RowTeller {
 public:
  /// The target's states of a step's rows: [rows, stride], `hidden` wide each, of ascending `layers` side by
  /// side. The spans outlive the calls that read them.
  struct Tapped {
    const float* rows = nullptr;
    std::int64_t stride = 0;
    std::int64_t hidden = 0;
    std::span<const int> layers;
  };

  /// Whether any of the drafters asks for such rows.
  static bool wanted(std::span<const Speculator> drafters, bool prompt);
  /// Whether any of them asks for what has to be computed of their logits.
  static bool wants_logits(std::span<const Speculator> drafters, bool prompt);

  /// Shows `rows`, of which logits, tokens, parents, positions, kept, prompt and teaches_all are set, to the
  /// drafters that ask. The step's row of the first is `first_row`; `vocabulary` logits of a row count.
  /// Throws what a drafter throws.
  void tell(std::span<const Speculator> drafters, TargetRows rows, std::int64_t vocabulary,
            const Tapped& tapped, std::size_t first_row, ThreadPool& pool);

  /// The states of some of the step's rows for a drafter of `layers`: [rows, layers * hidden], valid until
  /// the next call.
  const float* states(std::span<const int> layers, std::span<const std::int32_t> rows, const Tapped& tapped);

 private:
  void rank(TargetRows& rows, int k, std::int64_t vocabulary, ThreadPool& pool);

  std::vector<TokenId> top_tokens_;
  std::vector<float> top_logits_;
  std::vector<float> states_;
  std::vector<std::int32_t> all_;  ///< the step's numbers of the rows that are told
};

}  // namespace augur
