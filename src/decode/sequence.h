#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "augur/enums.h"
#include "base/clock.h"
#include "decode/dear_mask.h"
#include "decode/prefix_cache.h"
#include "decode/round.h"
#include "decode/statistics.h"
#include "draft/common/mask_tree.h"
#include "model/model.h"
#include "sampling/logprobs.h"
#include "sampling/sampler.h"
#include "sampling/token_constraint.h"
#include "tree/node_wants.h"
#include "verify/verifier.h"

namespace augur {

/// One generated token, as it is handed out.
struct EmittedToken {
  TokenId token = -1;
  ProposerId proposer = kTargetProposer;    ///< who drafted it; kTargetProposer: the target's own draw
  int depth = 0;                            ///< in the drafted tree; 0: the target's own draw
  const TokenLogprobs* logprobs = nullptr;  ///< SequenceOptions::logprobs
};

enum class AfterToken { Continue, Stop, Cancel };

struct SequenceOptions {
  SamplingOptions sampling;
  /// What the generated text must be; null: anything. Tokens are drawn among those that it allows.
  std::unique_ptr<TokenConstraint> constraint;
  std::vector<TokenId> eos;      ///< drawing one of these ends the sequence (the token is kept)
  std::int64_t max_tokens = -1;  ///< < 0: as many as the context holds
  std::int64_t context = 0;      ///< tokens that the sequence may hold; 0: the model's
  /// Each drafts a tree of its own, as if it were alone; these are merged into one. Empty: plain.
  std::vector<Speculator> speculators;
  /// Decides for the whole batch, and what it keeps of this sequence; null: the best by score stay.
  std::shared_ptr<RoundController> controller;
  std::unique_ptr<ControlledText> controlled;
  /// Nodes beside the root that a merged tree may have: the best by score stay. 0: all.
  int tree_nodes = 0;
  /// Cache slots beyond the text's own, for nodes that are rejected: near the end of the context, and of a
  /// short text's cache, trees are no larger than what is left.
  std::int64_t tree_slots = 512;
  /// Nodes beside the root that are verified in a round, whatever drafts and whatever the policy: all
  /// policies draft for so many at most.
  std::int64_t most_nodes = std::numeric_limits<std::int64_t>::max();
  Verification verification = Verification::Walk;
  /// Drafters rank their candidates by what the target is about to draw (ExpandOptions::coupled); otherwise
  /// by their own probabilities. Under Rejection they draw their candidates instead.
  bool coupling = true;
  int noise_rows = PositionNoise::kUsualPositions;  ///< positions whose noise is kept, if it is sampled
  /// Promised time per token, for controllers that see to it; 0: nothing is promised.
  double tpot_ms = 0;
  /// Take over what a PrefixCache knows of the text (Decoder::reuse_prefixes).
  bool reuse_prefix = true;
  /// Something of the text stays for later ones of the same owner.
  bool keep_text = true;
  /// Whose the text is: what is kept of it, and taken over, is of this owner's texts. Empty: the common one.
  std::string owner;
  /// So many of the most probable tokens in a generated token's place are told with its log-probability; < 0:
  /// nothing is.
  int logprobs = -1;
  bool sampled_logprobs = false;  ///< in the distribution that the token is drawn from, not the model's own
  bool prompt_logprobs = false;   ///< the same for the prompt
  /// Recorded in the trees about expanded nodes, beside what the policies ask for.
  NodeWants record;
  /// Called for every generated token in order; the tokens of a path that follow a Stop are discarded.
  std::function<AfterToken(const EmittedToken&)> on_token;
  std::function<void(std::int64_t done, std::int64_t total)> on_prefill;
  std::function<void(const StepTrace&)> on_step;
  /// What a drafter has proposed, before anything of it is cut.
  std::function<void(const DraftTree&)> on_draft;
  const Clock* clock = &Clock::steady();  ///< what DecodeStatistics times by; outlives the sequence
};

/// One text being generated: its tokens, caches, drafters, noise and stop rules. Advanced by a Decoder only.
/// Invariant between steps: the target's cache holds the text's beginning, and once it has been read all
/// tokens but the newest, which is the root of the next round's tree.
class Sequence {
 public:
  /// Error for an empty prompt, an id outside the vocabulary, or a prompt that leaves no room in the context.
  Sequence(Model& target, std::vector<TokenId> prompt, SequenceOptions options);

  std::span<const TokenId> tokens() const { return text_; }  ///< prompt and generated
  std::span<const TokenId> generated() const { return tokens().subspan(prompt_size_); }
  std::size_t prompt_size() const { return prompt_size_; }
  /// [i]: of the prompt's token i + 1, as far as it has been read, where the options ask for them.
  std::span<const TokenLogprobs> prompt_logprobs() const { return prompt_logprobs_; }

  bool finished() const { return finish_ != FinishReason::None; }
  FinishReason finish_reason() const { return finish_; }
  /// Why its reason is Error.
  std::exception_ptr failure() const { return failure_; }
  /// The text ends at so many tokens, if not before. Error where the prompt leaves no room.
  void limit_text(std::int64_t tokens);
  void cancel() { finish(FinishReason::Cancelled); }

  /// Where the pages of the target's cache come from, as KvCache::for_pools().
  template <class Call>
  void for_target_pools(const Call& call) const {
    cache_.for_pools(call);
  }
  /// The same, then those of its drafters' caches.
  template <class Call>
  void for_page_pools(const Call& call) const {
    for_target_pools(call);
    for (const Speculator& s : draft_.speculators) {
      if (const TextRows* const rows = s.drafter->text_rows()) rows->cache().for_pools(call);
    }
  }
  /// Calls call(address, bytes) for every page that its caches hold, as KvCache::for_pages().
  template <class Call>
  void for_pages(const Call& call) const {
    cache_.for_pages(call);
    for (const Speculator& s : draft_.speculators) {
      if (const TextRows* const rows = s.drafter->text_rows()) rows->cache().for_pages(call);
    }
  }
  /// Drafts no more, and gives back what its drafters hold. The text goes on as it would have.
  void stop_drafting();
  /// What all texts share (a drafter's list of usual tokens) may learn from this one: any other can see it.
  bool teaches_all() const { return keep_text_ && owner_.empty(); }
  bool drafts() const { return !draft_.speculators.empty(); }
  /// It sits out steps until its text's mask has been made elsewhere (Decoder::make_masks_elsewhere).
  bool waits_for_mask() const { return dear_mask_ != nullptr && !dear_mask_->ended(); }
  /// Tokens of the text that the target has yet to run.
  std::int64_t tokens_to_run() const { return std::ssize(text_) - cache_.length(); }

  const DecodeStatistics& statistics() const { return statistics_; }

 private:
  friend class Decoder;
  class View;

  /// Rows of the text, but for its newest token, that the target has to run before a round can begin.
  std::int64_t unread() const { return std::ssize(text_) - 1 - cache_.length(); }
  bool reading() const { return unread() > 0; }
  std::int64_t tokens_left() const { return limit_ - static_cast<std::int64_t>(generated().size()); }
  /// Whether a round can begin: the text's mask is there, or can be made in the step. Throws what making it
  /// elsewhere has thrown.
  bool mask_ready(const RunElsewhere& elsewhere);
  void resume_from(PrefixCache& kept);
  /// Once, when it is known what is taken over.
  void tell_prefill_begins();
  void keep_in(PrefixCache& kept, std::int64_t tokens) const;
  void forget();
  void score_path(std::span<const float> logits, std::int64_t stride);
  void begin_round();
  void verify(std::span<const float> logits, std::int64_t stride);
  void choose_path(std::span<const float> logits, std::int64_t stride);
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
  std::shared_ptr<MaskTree> masks_;      ///< of the constraint; null: there is none
  std::unique_ptr<DearMask> dear_mask_;  ///< nobody touches masks_ while it lives
  Verification verification_;
  bool reuse_prefix_;
  bool keep_text_;
  std::string owner_;
  std::int64_t most_nodes_;
  double tpot_ms_;
  int logprobs_;
  bool sampled_logprobs_;
  bool score_prompt_;  ///< the prompt's, too
  std::vector<TokenLogprobs> prompt_logprobs_;
  SequenceDraft draft_;
  std::function<AfterToken(const EmittedToken&)> on_token_;
  std::function<void(std::int64_t, std::int64_t)> on_prefill_;
  bool prefill_begun_ = false;
  std::function<void(const StepTrace&)> on_step_;

  // The round in flight.
  Verdict verdict_;
  std::vector<TokenLogprobs> path_logprobs_;  ///< [i]: of the token behind the path's node i
  SparseDistribution distribution_;
  RejectionScratch rejection_;

  Stopwatch watch_;
  bool looked_up_ = false;  ///< among kept texts, before anything was read
  bool decoding_ = false;
  DecodeStatistics statistics_;
  FinishReason finish_ = FinishReason::None;
  std::exception_ptr failure_;
};

}  // namespace augur
