#pragma once
#include <functional>
#include <span>

#include "augur/sampling_options.h"

namespace augur {
inline namespace abi1 {

/// Changes the logits of one place of a text before the next token is drawn there.
///
/// `tokens`: the prompt, what has been generated, and the drafted tokens on the path to the place. `logits`:
/// [vocab] the model's, or what the processor before has made of them, to be changed in place; -infinity
/// forbids a token. A grammar's mask, logit bias, penalties, temperature and the filters come after. Both
/// spans are valid during the call.
///
/// It must be a pure function of its arguments. It is called for every place that verification looks at, in
/// plain decoding and in drafted trees, so the text is that of plain decoding whatever drafts. A place may be
/// asked for twice (a step that failed is repeated), or be one that the text does not reach (drafted tokens
/// after a stop string; never after an end-of-sequence token that ends the text). Drafters do not see what it
/// does: the more it changes, the fewer drafts are accepted.
///
/// Threads: the thread that decodes calls it (that of generate(), or the Session's own), for one place at a
/// time, in the host's environment. A slow one delays every request of the batch. What it throws ends its
/// request: generate() throws it, others have it in Result::error. A logit that is NaN or +infinity, or a row
/// that is all -infinity, is an Error with the field "logits_processors".
using LogitsProcessor = std::function<void(std::span<const TokenId> tokens, std::span<float> logits)>;

}  // namespace abi1
}  // namespace augur
