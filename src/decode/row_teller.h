#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "base/types.h"
#include "decode/round.h"
#include "draft/target_rows.h"

namespace augur {

/// Shows the target's rows to the drafters that asked for them (Drafter::target_wants): the highest logits
/// and the hidden states of the drafters' layers. If no drafter asked, nothing is computed. For one thread at
/// a time; buffers are reused from call to call.
class RowTeller {
 public:
  /// The hidden states of a step's rows: [rows, stride] floats; a row has the states of `layers` (ascending)
  /// side by side, `hidden` floats each. The data must outlive the calls that read it.
  struct Tapped {
    const float* rows = nullptr;
    std::int64_t stride = 0;
    std::int64_t hidden = 0;
    std::span<const int> layers;
  };

  /// Whether any of the drafters asked for rows of this kind (a prompt's, or a tree's).
  static bool wanted(std::span<const Speculator> drafters, bool prompt);
  /// Whether any of them asked for something that is computed from the rows' logits.
  static bool wants_logits(std::span<const Speculator> drafters, bool prompt);

  /// Shows `rows` to the drafters that asked. Its logits, tokens, parents, positions, kept, prompt and
  /// teaches_all are set. Its first row is row `first_row` of the step; the first `vocabulary` logits of a
  /// row count. Throws what a drafter throws.
  void tell(std::span<const Speculator> drafters, TargetRows rows, std::int64_t vocabulary,
            const Tapped& tapped, std::size_t first_row, ThreadPool& pool);

  /// Copies the states of `layers` for the given rows of the step: [rows, layers * hidden], valid until the
  /// next call.
  const float* states(std::span<const int> layers, std::span<const std::int32_t> rows, const Tapped& tapped);

 private:
  void rank(TargetRows& rows, int k, std::int64_t vocabulary, ThreadPool& pool);

  std::vector<TokenId> top_tokens_;
  std::vector<float> top_logits_;
  std::vector<float> states_;
  std::vector<std::int32_t> all_;  ///< the step's row numbers of the rows that are shown
};

}  // namespace augur
