#pragma once
#include <cstdint>
#include <span>

#include "base/types.h"

namespace augur {

/// What a drafter asks to be told of the rows that the target runs for its sequence, beside their tokens.
/// What nobody asks for is neither computed nor copied. What is asked for is paid in every step, whether the
/// drafter drafts in it or not, and counts as what a step takes beside its forward.
struct TargetWants {
  static constexpr int kMostTop = 128;

  /// The largest logits of every row, so many, kMostTop at most: two passes over the row at memory speed, the
  /// rows shared out among the threads.
  int top_k = 0;
  /// Whole rows of logits. They are shown where they lie and cost nothing.
  bool logits = false;
  /// The states that enter the drafter's tap_layers(), of all rows rather than of those that become text: a
  /// copy of layers * hidden floats a row.
  bool states = false;
  /// The prompt's rows, too. They have no logits otherwise: with `top_k` or `logits` the target's last
  /// projection runs for each of them, which is a fifth of the weights of SmolLM2-135M, less of larger
  /// models.
  bool prompts = false;
};

/// Rows that the target has run for a sequence: a round's verified tree, what was rejected of it included, or
/// a piece of the prompt. What is not asked for is null or 0. All of it is valid during the call that shows
/// it. A drafter that does not ask for prompts is shown none, whatever others ask for.
struct TargetRows {
  std::span<const TokenId> tokens;  ///< [rows]; of a tree its nodes, the root first
  std::span<const std::int32_t>
      parents;  ///< [rows] rows, each before its children; -1: the text before row 0, known from sync()
  std::span<const std::int32_t> positions;  ///< [rows] absolute
  /// Rows that become text, ascending: the accepted path, or all of a prompt's. sync() brings them next.
  std::span<const std::int32_t> kept;
  bool prompt = false;
  /// As AcceptedRows::teaches_all.
  bool teaches_all = true;

  /// [rows, tap_layers * hidden], as AcceptedRows::features.
  const float* states = nullptr;
  /// [rows, logits_stride], of which the first `vocabulary` of a row count: of the token that follows the
  /// row, as the target gives them, before penalties, masks and temperature.
  const float* logits = nullptr;
  std::int64_t logits_stride = 0;
  /// [rows, top_k] the largest of them, by falling logit, equals by ascending token. As many as were asked
  /// for, or more.
  const TokenId* top_tokens = nullptr;
  const float* top_logits = nullptr;
  int top_k = 0;
};

}  // namespace augur
