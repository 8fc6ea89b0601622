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
  /// Whether state that all sequences of a drafter share may learn from these tokens (VocabularyHead::saw),
  /// so that every other sequence can see it.
  bool teaches_all = true;
};

/// How the nodes of one frontier are to be expanded.
struct ExpandOptions {
  int top_k = 1;          ///< children per node; for a one-shot drafter: tokens of a branch
  int max_nodes = 0;      ///< nodes that may still be added
  bool branching = true;  ///< false: the policy wants a chain
  /// Nodes whose predicted chance of acceptance (DrafterTraits::has_confidence) is below this value get no
  /// children.
  double least_confidence = 0.0;
  ProposerId proposer = 1;
  /// What to record in the tree about the nodes of the frontier; ChildChooser does it. A drafter without a
  /// distribution, or without a hidden state, records nothing.
  NodeWants wants;
  /// Draw the children from the drafter's own distribution and store it (DraftTree::make_q), for verification
  /// by rejection. A drafter without a distribution ignores it. The tree has been declared Sampled.
  bool sample = false;
  /// Rank candidates by the probability that the target's draw, whose noise and parameters are known, will
  /// give them, and store that probability's logarithm as log_prob (coupled_ranking.h); otherwise candidates
  /// are ranked by the drafter's own distribution, as in the papers. Done by ChildChooser; a drafter without
  /// a distribution ignores it. Not together with `sample`.
  bool coupled = false;
  /// The sequence's own sampler: its parameters and its noise, for drafters that propose what the target is
  /// about to draw or that sample. Never null inside a decoding step.
  Sampler* sampler = nullptr;
  /// The sequence's constraint; null: none. ChildChooser leaves out candidates that it does not allow; nodes
  /// that other drafters add in spite of it are removed.
  MaskTree* masks = nullptr;
  /// The sequence so far, the root included; penalties look at it. Valid during the call.
  std::span<const TokenId> tokens;
  /// The target's cache, without an open transaction, for drafters that are part of the target (early exit).
  /// A drafter that opens a transaction closes it in end_round().
  KvCache* target_cache = nullptr;
};

/// Rows that a drafter has run through the target's own first layers, so that verification need not run them
/// there again.
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
/// index over the text) belongs to the sequence. Proposals never change the output, so they may be wrong or
/// missing; but ids must be below the target's vocabulary size, and log-probabilities finite. For one thread
/// at a time.
///
/// Per round: expand (several times, level by level); end_round; then, with what the target has run: saw, for
/// drafters that ask for it; sync. A frontier is the root alone, or nodes that this drafter has added in this
/// round, each once. A failed round may be drafted again from the same root without a sync, and after an
/// exception without an end_round. All calls come from the decoder's thread, however many threads the target
/// uses.
class Drafter {
 public:
  virtual ~Drafter() = default;

  virtual std::string_view name() const = 0;
  virtual DrafterTraits traits() const { return {}; }
  /// Layers whose input (the residual stream entering them) sync() needs; see Tap in model/model.h.
  virtual std::span<const int> tap_layers() const { return {}; }

  /// What saw() is to be shown; none: saw() is not called. Asked once, when the sequence is made.
  virtual std::optional<TargetWants> target_wants() const { return std::nullopt; }

  /// Forgets the sequence.
  virtual void reset() = 0;
  /// The drafter's own cache over the sequence; null if it has none. Besides the tokens it is the drafter's
  /// only state, so a text with the same beginning as an earlier one of the same group may be started by
  /// SequenceRows::resume() and a sync() of those rows without features; at least one more row follows before
  /// the first expand.
  virtual SequenceRows* sequence_rows() { return nullptr; }
  /// Rows that the next expand() of a root will run: those of the text that wait, and the root's own if it is
  /// run as a further row.
  virtual std::int64_t root_rows() const { return 1; }
  /// Runs the first SequenceRows::kChunk waiting rows ahead of expand(), which would otherwise run them.
  /// Returns false and does nothing if no more than kChunk rows wait, or if they cannot be run. To be called
  /// between rounds, or before a round's first expand().
  virtual bool run_chunk() { return false; }
  /// Shows rows that the target has run, rejected nodes among them, after it is known which of them become
  /// text. Called only for drafters that ask (target_wants()). The rows tell what the target predicts, not
  /// what the text is: state that depends on the text (the drafter's own cache, the place of the next root)
  /// must wait for the sync() that follows. If a step fails in between it is repeated, and the same rows may
  /// be shown twice. Rows taken over from a kept text are not shown. As in sync(), anything slower than
  /// copying should be postponed.
  virtual void saw(const TargetRows& /*rows*/) {}
  /// Records accepted rows. Work that takes longer than copying them should wait until the first expand.
  virtual void sync(const AcceptedRows& rows) = 0;
  /// Adds up to top_k children to every node of the frontier, best first; it may add fewer or none.
  virtual void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                      const ExpandOptions& options) = 0;
  /// The rows of this round that drafting computed exactly as the target would have. Called once, when
  /// drafting is over; the transaction then belongs to the caller. The spans are valid until the next
  /// expand().
  virtual std::optional<EarlyRows> take_early_rows() { return std::nullopt; }
  /// Ends the round for this drafter: rolls back open transactions.
  virtual void end_round() {}

  /// Drafters with the same group (their shared weights) expand together: one forward for a whole batch.
  virtual const void* group() const { return this; }
  /// Expands the jobs; the drafters of all of them are of this drafter's group.
  virtual void expand_many(std::span<const ExpandJob> jobs) {
    for (const ExpandJob& job : jobs) job.drafter->expand(*job.tree, job.frontier, job.options);
  }
};

}  // namespace augur
