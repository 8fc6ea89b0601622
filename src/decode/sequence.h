#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "decode/statistics.h"
#include "draft/drafter.h"
#include "model/model.h"
#include "policy/policy.h"
#include "policy/round_controller.h"
#include "sampling/sampler.h"
#include "tree/node_wants.h"
#include "tree/rerank.h"
#include "verify/verifier.h"

namespace augur {

enum class FinishReason { None, Stop, Length, Cancelled, Failed };

enum class VerifyRule { Walk, Rejection };

/// One generated token, as it is handed out.
struct EmittedToken {
  TokenId token = -1;
  ProposerId proposer = kTargetProposer;  ///< who drafted it; kTargetProposer: the target's own draw
  int depth = 0;                          ///< in the drafted tree; 0: the target's own draw
};

enum class AfterToken { Continue, Stop, Cancel };

/// A drafter of a sequence and the policy that shapes its trees.
struct Speculator {
  std::unique_ptr<Drafter> drafter;
  std::unique_ptr<TreePolicy> policy;
  DraftTree tree = {};  ///< of this round, until it becomes part of the sequence's
  int behind = 1;       ///< tokens of the text since it last drafted, the root included
};

struct SequenceOptions {
  SamplingParams sampling;
  std::vector<TokenId> eos;      ///< drawing one of these ends the sequence (the token is kept)
  std::int64_t max_tokens = -1;  ///< < 0: as many as the context holds
  std::int64_t context = 0;      ///< tokens that the sequence may hold; 0: the model's
  /// Each drafts a tree of its own, as if it were alone; these are merged into one. Empty: plain.
  std::vector<Speculator> speculators;
  /// Cuts the merged tree and looks at the rounds as a whole; null: the best by score stay.
  std::unique_ptr<RoundController> controller;
  /// Nodes beside the root that a merged tree may have: the best by score stay. 0: all.
  int tree_nodes = 0;
  /// Cache slots beyond the text's own, for nodes that are rejected: near the end of the context, and of a
  /// short text's cache, trees are no larger than what is left.
  std::int64_t tree_slots = 512;
  VerifyRule verification = VerifyRule::Walk;
  /// Drafters rank their candidates by what the target is about to draw (ExpandOptions::coupled); otherwise
  /// by their own probabilities. Under Rejection they draw their candidates instead.
  bool coupling = true;
  /// Recorded in the trees about expanded nodes, beside what the policies ask for.
  NodeWants record;
  /// Called for every generated token in order; the tokens of a path that follow a Stop are discarded.
  std::function<AfterToken(const EmittedToken&)> on_token;
  std::function<void(std::int64_t done, std::int64_t total)> on_prefill;
  std::function<void(const StepTrace&)> on_step;
};

/// One text being generated: its tokens, caches, drafters, noise and stop rules. Advanced by a Decoder only.
/// Invariant between steps, once the prompt is in: the target's cache holds all tokens but the newest, which
/// is the root of the next round's tree.
class Sequence {
 public:
  /// Error for an empty prompt, an id outside the vocabulary, or a prompt that leaves no room in the context.
  Sequence(Model& target, std::vector<TokenId> prompt, SequenceOptions options);

  std::span<const TokenId> tokens() const { return text_; }  ///< prompt and generated
  std::span<const TokenId> generated() const { return tokens().subspan(prompt_size_); }
  std::size_t prompt_size() const { return prompt_size_; }

  bool finished() const { return finish_ != FinishReason::None; }
  FinishReason finish_reason() const { return finish_; }
  /// Why it is Failed.
  std::exception_ptr failure() const { return failure_; }
  void cancel() { finish(FinishReason::Cancelled); }

  const DecodeStatistics& statistics() const { return statistics_; }

 private:
  friend class Decoder;
  class View;

  bool prefilling() const { return cache_.length() + 1 < static_cast<std::int64_t>(prompt_size_); }
  std::int64_t tokens_left() const { return limit_ - static_cast<std::int64_t>(generated().size()); }
  RoundInfo round_info() const;
  /// Rejection sampling with a stored q is for one drafter: siblings of a merged tree come from several laws,
  /// or from none. Such a tree is verified by sequential rejection, which asks for no law.
  bool sampled_drafts() const {
    return verification_ == VerifyRule::Rejection && !sampler_.params().greedy() && speculators_.size() == 1;
  }
  /// Whether the drafters do have laws to draw from.
  bool draws_drafts() const {
    return sampled_drafts() && speculators_.front().drafter->traits().has_probabilities;
  }
  void merge_drafts();
  bool coupled_drafts() const { return coupling_ && verification_ == VerifyRule::Walk; }
  void verify(std::span<const float> logits, std::int64_t stride);
  void emit_verdict();
  bool emit(const EmittedToken& token);
  void finish(FinishReason reason);
  void fail(std::exception_ptr why);

  std::vector<TokenId> text_;
  std::size_t prompt_size_;
  std::vector<TokenId> eos_;
  std::int64_t limit_ = 0;  ///< generated tokens at most
  std::int32_t vocab_;
  KvCache cache_;
  Sampler sampler_;
  std::vector<Speculator> speculators_;
  std::unique_ptr<RoundController> controller_;
  int tree_nodes_;
  VerifyRule verification_;
  bool coupling_;
  NodeWants record_;
  std::function<AfterToken(const EmittedToken&)> on_token_;
  std::function<void(std::int64_t, std::int64_t)> on_prefill_;
  std::function<void(const StepTrace&)> on_step_;

  // The round in flight.
  struct Batch {
    const CostModel* costs = nullptr;
    int sequences = 1;
    int other_rows = 0;  ///< that the other sequences had in the last step
  } batch_;
  DraftTree tree_;
  Reranker reranker_;
  std::vector<std::int32_t> frontier_;
  std::optional<EarlyRows> early_;  ///< rows of the target that drafting has run
  std::int32_t size_before_level_ = 0;
  Verdict verdict_;
  SparseDistribution distribution_;
  RejectionScratch rejection_;
  StepTrace trace_;

  Stopwatch clock_;
  bool decoding_ = false;
  DecodeStatistics statistics_;
  FinishReason finish_ = FinishReason::None;
  std::exception_ptr failure_;
};

}  // namespace augur
