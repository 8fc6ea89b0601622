#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/bpe_tokenizer.h"

namespace augur {

/// The character that stands for a space in SentencePiece's vocabularies, U+2581.
inline constexpr std::string_view kSpmSpace = "\xE2\x96\x81";

struct ScoredPiece {
  std::string_view text;  ///< outlives the definition
  float score = 0;        ///< not NaN
  bool mergeable = true;  ///< ordinary text may become it
};

/// SentencePiece's BPE joins any two neighbours whose concatenation is a piece, the best score first, the
/// leftmost of equals. As merge rules: every way to cut a piece into two symbols, ranked by the piece's
/// score. Error, prefixed with `where`, for a piece too long to be true.
void add_score_merges(const std::vector<ScoredPiece>& pieces, const std::string& where, BpeDefinition& out);

/// What all SentencePiece vocabularies share: spaces as kSpmSpace, bytes as fallback, a space in front of the
/// text (`prefix`), where wanted only of the first stretch and not behind every added token.
void set_spm_conventions(bool prefix, bool prefix_everywhere, BpeDefinition& out);

}  // namespace augur
