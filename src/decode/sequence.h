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
#include "augur/statistics.h"
#include "base/clock.h"
#include "decode/dear_mask.h"
#include "decode/prefix_cache.h"
#include "decode/processed_rows.h"
#include "decode/round.h"
#include "draft/common/mask_tree.h"
#include "model/model.h"
#include "sampling/logprobs.h"
#include "sampling/sampler.h"
#include "sampling/token_constraint.h"
#include "tree/node_wants.h"
#include "verify/verifier.h"

namespace augur {

/// A generated token, as it is passed to the callback.
struct EmittedToken {
  TokenId token = -1;
  ProposerId proposer = kTargetProposer;  ///< the drafter that proposed it; kTargetProposer: sampled from the
                                          ///< target
  int depth = 0;                          ///< in the drafted tree; 0: sampled from the target
  const TokenLogprobs* logprobs = nullptr;  ///< SequenceOptions::logprobs
};

enum class AfterToken { Continue, Stop, Cancel };

struct SequenceOptions {
  SamplingOptions sampling;
  /// Constrains the generated text; null: no constraint. Tokens are sampled among those that it allows.
  std::unique_ptr<TokenConstraint> constraint;
  std::vector<LogitsProcessor> logits_processors;  ///< called by verify(), as they are
  std::vector<TokenId> eos;      ///< sampling one of these ends the sequence (the token is kept)
  std::int64_t max_tokens = -1;  ///< < 0: as many as the context holds
  std::int64_t context = 0;      ///< most tokens of the sequence; 0: the model's context length
  Speculation speculation;       ///< drafters and policies; empty: plain decoding
  /// Cache slots beyond the text's own, for nodes that may be rejected. Near the end of the context (or of a
  /// short text's cache) trees are no larger than the slots that are left.
  std::int64_t tree_slots = 512;
  /// Most nodes besides the root that are verified in a round; it limits every policy.
  std::int64_t most_nodes = std::numeric_limits<std::int64_t>::max();
  Verification verification = Verification::Walk;
  /// Drafters rank their candidates by the noise that the target's draw will use (ExpandOptions::coupled)
  /// instead of by their own probabilities. Under Rejection candidates are drawn.
  bool coupling = true;
  int noise_rows = PositionNoise::kUsualPositions;  ///< positions whose noise is cached when sampling
  /// Promised milliseconds per token, for controllers that keep to it; 0: nothing is promised.
  double tpot_ms = 0;
  /// Start from what a PrefixCache holds of the text (Decoder::reuse_prefixes).
  bool reuse_prefix = true;
  /// What is computed or learnt of the text is kept for later texts of the same owner.
  bool keep_text = true;
  /// Owner of the text: kept texts are found and stored under this name. Empty: the common owner.
  std::string owner;
  /// Number of the most probable tokens that are reported with each generated token's log-probability; < 0:
  /// no log-probabilities.
  int logprobs = -1;
  bool sampled_logprobs = false;  ///< take log-probabilities from the distribution that tokens are sampled
                                  ///< from, not from the model's own
  bool prompt_logprobs = false;   ///< report them for the prompt's tokens, too
  /// Recorded about expanded nodes, in addition to what the policies ask for.
  NodeWants record;
  /// Called for every generated token in order; after Stop the rest of an accepted path is discarded.
  std::function<AfterToken(const EmittedToken&)> on_token;
  std::function<void(std::int64_t done, std::int64_t total)> on_prefill;
  std::function<void(const StepTrace&)> on_step;
  /// Called with a drafter's tree before it is pruned.
  std::function<void(const DraftTree&)> on_draft;
  const Clock* clock = &Clock::steady();  ///< measures the sequence; must outlive it
};

/// One request in generation: its tokens, caches, drafters, noise and stop rules. One Decoder advances it.
/// Between steps the target's cache holds a beginning of the text; once the prompt has been read, it holds
/// all tokens but the newest, which is the root of the next tree. For one thread at a time, except where
/// noted.
class Sequence {
 public:
  /// `target` must outlive the sequence. Throws Error for an empty prompt, an id outside the vocabulary, and
  /// a prompt that leaves no room in the context.
  Sequence(Model& target, std::vector<TokenId> prompt, SequenceOptions options);

  std::span<const TokenId> tokens() const { return tokens_; }  ///< prompt and generated
  std::span<const TokenId> generated() const { return tokens().subspan(prompt_size_); }
  std::size_t prompt_size() const { return prompt_size_; }
  /// [i] belongs to the prompt's token i + 1, as far as it has been read; empty unless the options ask for
  /// it.
  std::span<const TokenLogprobs> prompt_logprobs() const { return prompt_logprobs_; }

  bool finished() const { return finish_ != FinishReason::None; }
  FinishReason finish_reason() const { return finish_; }
  /// The exception, if finish_reason() is Error; else null.
  std::exception_ptr failure() const { return failure_; }
  /// Lowers the limit: the sequence ends when the text has `tokens` tokens, if not before. Throws Error if
  /// the prompt leaves no room.
  void limit_length(std::int64_t tokens);
  void cancel() { finish(FinishReason::Cancelled); }

  /// Calls call(pool, span) for the pools of the target's cache, as KvCache::for_pools().
  template <class Call>
  void for_target_pools(const Call& call) const {
    cache_.for_pools(call);
  }
  /// The same, then for those of its drafters' caches.
  template <class Call>
  void for_page_pools(const Call& call) const {
    for_target_pools(call);
    for (const Speculator& s : draft_.speculation.drafters) {
      if (const SequenceRows* const rows = s.drafter->sequence_rows()) rows->cache().for_pools(call);
    }
  }
  /// Calls call(pool) for the memory pools of the rows that wait for its drafters, where these have features.
  template <class Call>
  void for_row_pools(const Call& call) const {
    for (const Speculator& s : draft_.speculation.drafters) {
      const SequenceRows* const rows = s.drafter->sequence_rows();
      if (rows != nullptr && rows->pool() != nullptr) call(*rows->pool());
    }
  }
  /// Calls call(address, bytes) for every page that its caches hold, as KvCache::for_pages(), and for every
  /// block of waiting rows.
  template <class Call>
  void for_blocks(const Call& call) const {
    cache_.for_pages(call);
    for (const Speculator& s : draft_.speculation.drafters) {
      if (const SequenceRows* const rows = s.drafter->sequence_rows()) rows->for_blocks(call);
    }
  }
  /// Decodes plainly from here on and frees what its drafters hold. The tokens are the same.
  void stop_drafting();
  /// Whether state that all texts share (such as a drafter's list of usual tokens) may learn from this text,
  /// so that any other text can see it.
  bool teaches_all() const { return keep_text_ && owner_.empty(); }
  bool drafts() const { return !draft_.speculation.drafters.empty(); }
  /// Whether it takes part in no step until its mask has been made (Decoder::make_masks_elsewhere).
  bool waits_for_mask() const { return dear_mask_ != nullptr && !dear_mask_->ended(); }
  /// Tokens of the text that the target has yet to run.
  std::int64_t tokens_to_run() const { return std::ssize(tokens_) - cache_.length(); }

  /// Statistics of its rounds; whoever knows the drafters sets `type`. Times are its share of the steps that
  /// it had in common with other sequences: equal parts of drafting, verification by rows.
  const SpeculationStatistics& statistics() const { return statistics_; }
  /// Tokens of the prompt that were taken from a PrefixCache instead of being run.
  std::int64_t cached_tokens() const { return cached_tokens_; }
  double prompt_ms() const { return prompt_ms_; }  // wall time from the start to the end of the prompt
  double decode_ms() const { return decode_ms_; }  // wall time from there to the end of the text

  // --- A step ----------------------------------------------------------------------------------------------
  // What a Decoder calls, in this order. While the prompt is being read, the decoder runs its next rows and
  // calls take_prompt(). After that it begins a round, has the tree verified, and calls take_verdict(). An
  // exception from any of these fails this sequence only.

  bool reading() const { return unread() > 0; }
  /// Tokens of the text that the target has run.
  std::int64_t read() const { return cache_.length(); }
  /// Rows of the text, without its newest token, that the target has to run before a round can begin.
  std::int64_t unread() const { return std::ssize(tokens_) - 1 - cache_.length(); }
  /// Whether a round can begin: the mask is ready, or can be made in the step. Throws what the job that made
  /// it elsewhere threw.
  bool mask_ready(const RunElsewhere& elsewhere);
  /// Whether it may start from what a PrefixCache holds: nothing of it has been run.
  bool may_resume() const { return reuse_prefix_ && cache_.length() == 0; }
  /// Whether to wait for `other`, whose prompt is being read in this step: at least a page of what `other`
  /// has yet to read is also the beginning of this text, and it will be kept for this one.
  bool waits_for(const Sequence& other) const;
  /// Takes over what is kept of the text's beginning. At least one row is left to run, because drafters need
  /// its hidden state.
  void resume_from(PrefixCache& kept);
  /// To be called once, when the number of tokens taken over is known.
  void tell_prefill_begins();

  /// Prepares the round: tells what drafts the text and its state, in a step in which `reading` other
  /// sequences read `prompt_rows` rows of prompts. The Round uses the result until the step is over.
  SequenceDraft& begin_round(int reading, int prompt_rows);
  /// To be called after the round has been verified and taken; returns what the Round observes, a failure
  /// included.
  SequenceDraft& end_round();
  const SequenceDraft& draft() const { return draft_; }
  /// Rows of this round that drafting has run through the first layers; the step continues or drops them.
  std::optional<EarlyRows>& early_rows() { return draft_.early; }
  /// Runs waiting rows of drafters, as far as more wait than may (Round::relieve).
  void relieve(Round& round) { round.relieve(draft_); }

  /// How many rows of the prompt to read in the next step, at most `most`. The states of a text are known
  /// only where a step ended, so steps end at page borders; with `kept`, one of them ends a little before the
  /// end of a long prompt, since a next turn seldom continues with its last few tokens.
  int prompt_rows(int most, bool kept) const;

  /// Reserves slots in the target's cache for what the step runs: the tree, or the next `rows` rows of the
  /// prompt.
  KvTxn open(int rows) { return cache_.reserve(rows, reading() ? rows : 1); }
  /// Appends the next `rows` rows of the text. Positions are those in the text, parents are rows.
  void append_rows(int rows, std::vector<TokenId>& tokens, std::vector<std::int32_t>& positions,
                   std::vector<std::int32_t>& parents) const;

  /// Chooses a path through the tree from its nodes' logits, [size, stride]. May run at the same time as the
  /// same call of other sequences, unless it processes logits.
  void verify(std::span<const float> logits, std::int64_t stride);
  /// Whether verify() calls the host's code (SequenceOptions::logits_processors).
  bool processes_logits() const { return !processed_.none(); }
  const Verdict& verdict() const { return verdict_; }

  bool scores_prompt() const { return score_prompt_; }
  /// Makes room for the log-probabilities of those prompt tokens after the next `rows` rows that have none
  /// yet, at most `most` of them (a text that is read again has some). Returns their number: they are the
  /// last ones of prompt_logprobs().
  int open_scores(int rows, int most);
  /// Sets the log-probability of the prompt's token `index` + 1 from the logits of token `index`. Several may
  /// be set at the same time.
  void score_prompt(std::size_t index, std::span<const float> logits);

  /// The tokens from `first` on, in the form in which drafters are told of them.
  AcceptedRows accepted_rows(std::int64_t first, int rows) const;
  /// To be called after the prompt's rows have been committed and the drafters told.
  void take_prompt();
  /// To be called after the path has been committed and the drafters told: appends its tokens to the text and
  /// passes them to on_token.
  void take_verdict();
  /// Counts the times of the round.
  void count_times(const StepTrace& step);
  void tell_step(const StepTrace& step);

  /// Stores in `kept` what is known of the first `tokens` tokens, which the target has run. Does nothing if
  /// the cache no longer holds what attention to them needs.
  void keep_in(PrefixCache& kept, std::int64_t tokens, PrefixCache::Keep what) const;
  /// Frees its caches and the waiting rows, except one spare block per head (SharedRows); the text is read
  /// anew when the sequence goes on.
  void forget();

  bool failed() const { return failure_ != nullptr; }
  /// Ends it with FinishReason::Error, even if it had already ended otherwise, so that the exception is not
  /// lost.
  void fail(std::exception_ptr why);

 private:
  class View;

  std::int64_t tokens_left() const { return limit_ - static_cast<std::int64_t>(generated().size()); }
  void score_path(std::span<const float> logits, std::int64_t stride);
  void choose_path(std::span<const float> logits, std::int64_t stride);
  void emit_path();
  bool emit(const EmittedToken& token);
  bool ends_text(TokenId token) const;
  void finish(FinishReason reason);

  std::vector<TokenId> tokens_;
  std::size_t prompt_size_;
  std::vector<TokenId> eos_;
  std::int64_t limit_ = 0;  ///< most generated tokens
  std::int32_t vocab_;
  KvCache cache_;
  Sampler sampler_;
  std::shared_ptr<MaskTree> masks_;  ///< of the constraint; null: none
  ProcessedRows processed_;
  std::unique_ptr<DearMask> dear_mask_;  ///< while it exists, nothing else may use masks_
  Verification verification_;
  bool reuse_prefix_;
  bool keep_text_;
  std::string owner_;
  std::int64_t most_nodes_;
  double tpot_ms_;
  int logprobs_;
  bool sampled_logprobs_;
  bool score_prompt_;  ///< log-probabilities of the prompt, too
  std::vector<TokenLogprobs> prompt_logprobs_;
  SequenceDraft draft_;
  std::function<AfterToken(const EmittedToken&)> on_token_;
  std::function<void(std::int64_t, std::int64_t)> on_prefill_;
  bool prefill_begun_ = false;
  std::function<void(const StepTrace&)> on_step_;

  // The round in flight.
  Verdict verdict_;
  std::vector<TokenLogprobs> path_logprobs_;  ///< [i]: of the token that follows the path's node i
  SparseDistribution distribution_;
  RejectionScratch rejection_;

  Stopwatch watch_;
  bool looked_up_ = false;  ///< in the PrefixCache, before anything was read
  bool decoding_ = false;
  SpeculationStatistics statistics_;
  std::int64_t cached_tokens_ = 0;
  double prompt_ms_ = 0;
  double decode_ms_ = 0;
  FinishReason finish_ = FinishReason::None;
  std::exception_ptr failure_;
};

}  // namespace augur
