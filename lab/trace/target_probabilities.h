#pragma once
#include "lab/trace/trace.h"
#include "model/model.h"

namespace augur {

/// Fills TraceRound::target_log_probs of all rounds: one forward pass of the target over the text, its logits
/// as they are (temperature 1), as the drafter's log-probabilities are. Works in a cache of its own. Error
/// where the text is longer than the model's context.
void add_target_probabilities(Model& model, TraceSequence& sequence);

}  // namespace augur
