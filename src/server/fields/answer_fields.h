#pragma once
#include "server/fields/field_table.h"

namespace augur {

/// What llama.cpp's clients ask of an answer beside its text.
struct AnswerWishes {
  bool timings = false;   ///< with every chunk of a stream
  bool progress = false;  ///< a stream tells how far the prompt is read
  bool verbose = false;   ///< the prompt and the settings beside the answer
  int slot = -1;          ///< the place that the first choice is to get, where it is free; -1: any
};

/// `timings_per_token`, `return_progress`.
const FieldTable<AnswerWishes>& stream_fields();
/// These, `verbose` and `id_slot`.
const FieldTable<AnswerWishes>& answer_fields();

}  // namespace augur
