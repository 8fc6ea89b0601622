#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/types.h"
#include "draft/target_rows.h"
#include "model/kv_cache.h"
#include "tree/draft_tree.h"
#include "tree/drafter_traits.h"
#include "tree/node_wants.h"

namespace augur {

class MaskTree;
class Sampler;
class SequenceRows;

/// What the target has run and the text has kept since the last sync: a chunk of the prompt, or the accepted
/// path of a round. Consecutive calls are contiguous.
struct AcceptedRows {
  std::span<const TokenId> tokens;
  std::int64_t first_position = 0;  ///< of tokens[0]
  /// [tokens, tap_layers * hidden]: for each token the target's residual stream entering the drafter's
  /// tap_layers(), side by side in that order. Null when it has none. Valid during the call.
  const float* features = nullptr;
  /// The newest token, which the target has not run: the next root, at first_position + tokens.size().
  TokenId next = -1;
  /// What all sequences of a drafter share may learn from these tokens (VocabularyHead::saw): every other
  /// sequence can see it.
  bool teaches_all = true;
};

/// How the nodes of one frontier are to be expanded.
struct ExpandOptions {
  int top_k = 1;          ///< children per node; for a one-shot drafter: tokens of a branch
  int max_nodes = 0;      ///< nodes that may still be added
  bool branching = true;  ///< false: the policy wants a chain
  /// Nodes whose predicted chance of acceptance (DrafterTraits::has_confidence) is below this get no
  /// children.
  double least_confidence = 0.0;
  ProposerId proposer = 1;
  /// What to record in the tree about the nodes of the frontier; ChildChooser does it. A drafter without a
  /// distribution, or without a hidden state, records nothing.
  NodeWants wants;
  /// Draw the children from the drafter's own distribution and store it (DraftTree::make_q), for verification
  /// by rejection. A drafter without a distribution ignores it. The tree has been declared Sampled.
  bool sample = false;
  /// Rank candidates by what the target is about to draw, knowing its noise and parameters, and let log_prob
  /// be the probability of that (coupled_ranking.h); otherwise by the drafter's own distribution, as the
  /// papers do. ChildChooser does it. A drafter without a distribution ignores it. Not together with
  /// `sample`.
  bool coupled = false;
  /// The sequence's own sampler: its parameters and its noise, for drafters that propose what the target is
  /// about to draw or that sample. Never null inside a decoding step.
  Sampler* sampler = nullptr;
  /// What the sequence's text must be; null: anything. Candidates that it does not allow are none:
  /// ChildChooser leaves them out. What other drafters add in spite of it is dropped.
  MaskTree* masks = nullptr;
  /// The sequence so far, the root included: what penalties look at. Valid during the call.
  std::span<const TokenId> tokens;
  /// The target's cache, without an open transaction, for drafters that are part of the target (early exit).
  /// They close what they open in end_round().
  KvCache* target_cache = nullptr;
};

/// Rows that a drafter ran through the target's own first layers: verification need not run them again.
struct EarlyRows {
  KvTxn txn;  ///< over the target's cache: row i lies in slot txn.base() + i of the first `layers` layers
  int layers = 0;                         ///< that were run
  std::span<const TokenId> tokens;        ///< by row; row 0 is the root
  std::span<const std::int32_t> parents;  ///< rows, -1 for row 0; a parent precedes its children
  const float* hidden = nullptr;          ///< [rows, hidden] the residual stream entering layer `layers`
};

class Drafter;

/// One sequence's part of a batched expansion.
struct ExpandJob {
  Drafter* drafter = nullptr;
  DraftTree* tree = nullptr;
  std::span<const std::int32_t> frontier;
  ExpandOptions options;
};

/// Proposes continuations of one sequence. Weights are shared behind a DrafterModel; state (a draft cache, an
/// index over the text) is the sequence's own. Proposals never change the output, so a drafter may be wrong,
/// late, or silent; it must only propose ids below the target's vocabulary size, with log-probabilities that
/// are finite. One thread at a time.
///
/// Per round: expand (several times, level by level); end_round; then, of what the target has run: saw, for
/// drafters that ask; sync. A frontier is the root alone, or nodes that this drafter has added in this round,
/// each once. A round that came to nothing may be drafted again from the same root, without a sync, and after
/// an exception without an end_round. All calls come on the decoder's thread, whatever threads the target
/// uses.
class Drafter {
 public:
  virtual ~Drafter() = default;

  virtual std::string_view name() const = 0;
  virtual DrafterTraits traits() const { return {}; }
  /// Layers whose entering residual stream sync() wants (see Tap in model/model.h).
  virtual std::span<const int> tap_layers() const { return {}; }

  /// What saw() is to be told; nothing: it is not called. Asked for when the sequence is made.
  virtual std::optional<TargetWants> target_wants() const { return std::nullopt; }

  /// Forgets the sequence.
  virtual void reset() = 0;
  /// Its own cache over the sequence, for drafters that have one: what it holds is all that they know of it
  /// beside its tokens. One that begins like an earlier one of the same group may be begun with
  /// SequenceRows::resume() and a sync() of those rows without features; at least one row follows before the
  /// first expand.
  virtual SequenceRows* sequence_rows() { return nullptr; }
  /// Rows that the next expand() of a root runs: the text's that wait, and the root's where it is one more.
  virtual std::int64_t root_rows() const { return 1; }
  /// Runs the first SequenceRows::kChunk rows that wait, ahead of an expand(), which does the
  /// same of itself. False, and nothing is done: no more than that wait, or they cannot be run. Between
  /// rounds or before a round's first expand().
  virtual bool run_chunk() { return false; }
  /// Is shown rows that the target has run, verified nodes that it rejected among them, once it is known
  /// which become text; for drafters that ask (target_wants()). Shows what the target thinks, not what the
  /// text is: what depends on that (its own cache, where the next root is) waits for the sync() that follows.
  /// A step that fails in between is done again, and the same rows may be shown twice. Rows that are taken
  /// over from a kept text are not shown. As with sync(), what takes more time than copying is put off.
  virtual void saw(const TargetRows& /*rows*/) {}
  /// Takes note of accepted rows. What takes more time than copying is put off until the first expand.
  virtual void sync(const AcceptedRows& rows) = 0;
  /// Adds up to top_k children to every node of the frontier, best first; adds fewer, or none, when it has
  /// nothing to say.
  virtual void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                      const ExpandOptions& options) = 0;
  /// The rows of this round that drafting computed as the target would have. Asked for once, when drafting is
  /// over; then the transaction is the caller's. What the spans show is valid until the next expand().
  virtual std::optional<EarlyRows> take_early_rows() { return std::nullopt; }
  /// The round is over for this drafter: open transactions are rolled back.
  virtual void end_round() {}

  /// Drafters with the same group (their shared weights) expand together: one forward for a whole batch.
  virtual const void* group() const { return this; }
  /// Expands the jobs, whose drafters all are of this drafter's group.
  virtual void expand_many(std::span<const ExpandJob> jobs) {
    for (const ExpandJob& job : jobs) job.drafter->expand(*job.tree, job.frontier, job.options);
  }
};

}  // namespace augur
