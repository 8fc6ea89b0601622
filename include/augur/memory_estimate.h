#pragma once
#include <cstdint>

#include "augur/options.h"
#include "augur/session.h"

namespace augur {
inline namespace abi1 {

/// Bytes of memory that an engine takes. Figures are of this process alone, unless they say something else.
struct MemoryEstimate {
  /// Files that are mapped and read while they are loaded. The system may drop their pages at any time; all
  /// processes and engines share them.
  std::int64_t mapped = 0;
  std::int64_t weights = 0;  ///< the model's packed matrices, which engines of one file share
  std::int64_t draft_weights =
      0;  ///< the same of draft models and heads; with DraftWeightFormat::Auto at most
  /// What a forward pass works in, the tokenizer, and what does not depend on the texts. Each engine has its
  /// own.
  std::int64_t workspace = 0;
  std::int64_t token = 0;  ///< each token of a text: in the model's cache and its drafters'
  std::int64_t text = 0;   ///< a text of the whole context
  std::int64_t texts = 0;  ///< as many of them as run at once, at most
  std::int64_t kept = 0;   ///< texts that a Session keeps, at most

  /// What the system must have free for an engine to be loaded, without texts.
  std::int64_t loaded() const { return weights + draft_weights + workspace; }
  /// What it must have for the engine to hold all texts that it may.
  std::int64_t most() const { return loaded() + texts + kept; }
};

/// What Engine(options) would take, with `parallel` texts at once. Reads headers and configurations, no
/// weights, and starts no threads; takes milliseconds. Errors are those of the engine, as far as these tell
/// them. An estimate: workspaces grow with use, the sizes of heads follow from their tensors, and drafters
/// that only look up learn from texts (at most some MiB, or what a Session grants them). Any thread.
MemoryEstimate estimate_memory(const EngineOptions& options, int parallel = 1);
/// The same with a Session. `texts` and `kept` together are at most SessionOptions::memory, where that is
/// set.
MemoryEstimate estimate_memory(const EngineOptions& options, const SessionOptions& session);

}  // namespace abi1
}  // namespace augur
