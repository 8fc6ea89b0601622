#pragma once
#include <cstdint>
#include <span>

#include "base/types.h"

namespace augur {

/// What a drafter wants to know about the rows that the target runs for its sequence, beside their tokens.
/// Only what a drafter asks for is computed and copied. It costs time in every step, even if the drafter does
/// not draft in it, and counts as a part of the step's other time.
struct TargetWants {
  static constexpr int kMostTop = 128;

  /// Number of largest logits of every row, at most kMostTop. Costs two passes over the row at memory speed,
  /// with rows divided among the threads.
  int top_k = 0;
  /// Whole rows of logits. They are passed without a copy and cost nothing.
  bool logits = false;
  /// The states that enter the drafter's tap_layers(), of all rows and not only of those that become text.
  /// Costs a copy of layers * hidden floats for each row.
  bool states = false;
  /// Also the rows of the prompt. With `top_k` or `logits` the target's last projection then runs for each of
  /// them, which it otherwise does not; it is a fifth of the weights of SmolLM2-135M, and less of larger
  /// models.
  bool prompts = false;
};

/// Rows that the target has run for a sequence: a round's verified tree, including rejected nodes, or a piece
/// of the prompt. Fields that the drafter did not ask for are null or 0. All pointers are valid during the
/// call. A drafter that does not ask for prompts gets none, even if other drafters do.
struct TargetRows {
  std::span<const TokenId> tokens;  ///< [rows]; for a tree its nodes, the root first
  std::span<const std::int32_t>
      parents;  ///< [rows] rows, each before its children; -1: the text before row 0, known from sync()
  std::span<const std::int32_t> positions;  ///< [rows] absolute
  /// Rows that become text, ascending: the accepted path, or all rows of a prompt. The next sync() has them.
  std::span<const std::int32_t> kept;
  bool prompt = false;
  /// As AcceptedRows::teaches_all.
  bool teaches_all = true;

  /// [rows, tap_layers * hidden], as AcceptedRows::features.
  const float* states = nullptr;
  /// [rows, logits_stride], of which the first `vocabulary` of a row are used: the target's logits for the
  /// token after the row, before penalties, masks and temperature.
  const float* logits = nullptr;
  std::int64_t logits_stride = 0;
  /// [rows, top_k] the largest logits, in falling order, equal ones by ascending token. `top_k` is at least
  /// the number that was asked for.
  const TokenId* top_tokens = nullptr;
  const float* top_logits = nullptr;
  int top_k = 0;
};

}  // namespace augur
