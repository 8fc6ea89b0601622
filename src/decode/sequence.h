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
#include "decode/round.h"
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
  Speculation speculation;       ///< what drafts; nothing: plain decoding
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
  const Clock* clock = &Clock::steady();  ///< what the sequence is timed by; outlives the sequence
};

/// One request being generated: its tokens, caches, drafters, noise and stop rules. Advanced by one Decoder.
/// Invariant between steps: the target's cache holds the text's beginning, and once it has been read all
/// tokens but the newest, which is the root of the next round's tree.
class Sequence {
 public:
  /// Error for an empty prompt, an id outside the vocabulary, or a prompt that leaves no room in the context.
  Sequence(Model& target, std::vector<TokenId> prompt, SequenceOptions options);

  std::span<const TokenId> tokens() const { return tokens_; }  ///< prompt and generated
  std::span<const TokenId> generated() const { return tokens().subspan(prompt_size_); }
  std::size_t prompt_size() const { return prompt_size_; }
  /// [i]: of the prompt's token i + 1, as far as it has been read, where the options ask for them.
  std::span<const TokenLogprobs> prompt_logprobs() const { return prompt_logprobs_; }

  bool finished() const { return finish_ != FinishReason::None; }
  FinishReason finish_reason() const { return finish_; }
  /// Why its reason is Error.
  std::exception_ptr failure() const { return failure_; }
  /// It ends at so many tokens, if not before. Error where the prompt leaves no room.
  void limit_length(std::int64_t tokens);
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
    for (const Speculator& s : draft_.speculation.drafters) {
      if (const SequenceRows* const rows = s.drafter->sequence_rows()) rows->cache().for_pools(call);
    }
  }
  /// Calls call(pool) for the memory of the rows that wait for its drafters, where they have features.
  template <class Call>
  void for_row_pools(const Call& call) const {
    for (const Speculator& s : draft_.speculation.drafters) {
      const SequenceRows* const rows = s.drafter->sequence_rows();
      if (rows != nullptr && rows->pool() != nullptr) call(*rows->pool());
    }
  }
  /// Calls call(address, bytes) for every page that its caches hold, as KvCache::for_pages(), and for every
  /// block of rows that wait.
  template <class Call>
  void for_blocks(const Call& call) const {
    cache_.for_pages(call);
    for (const Speculator& s : draft_.speculation.drafters) {
      if (const SequenceRows* const rows = s.drafter->sequence_rows()) rows->for_blocks(call);
    }
  }
  /// Drafts no more, and gives back what its drafters hold. The text goes on as it would have.
  void stop_drafting();
  /// What all texts share (a drafter's list of usual tokens) may learn from this one: any other can see it.
  bool teaches_all() const { return keep_text_ && owner_.empty(); }
  bool drafts() const { return !draft_.speculation.drafters.empty(); }
  /// It sits out steps until its text's mask has been made elsewhere (Decoder::make_masks_elsewhere).
  bool waits_for_mask() const { return dear_mask_ != nullptr && !dear_mask_->ended(); }
  /// Tokens of the text that the target has yet to run.
  std::int64_t tokens_to_run() const { return std::ssize(tokens_) - cache_.length(); }

  /// Of its rounds; `type` is whoever knows the drafters' to say. Times are its share of steps that it ran
  /// together with others: drafting in equal parts, verification by rows.
  const SpeculationStatistics& statistics() const { return statistics_; }
  /// Of the prompt, that were not run as a PrefixCache knew them.
  std::int64_t cached_tokens() const { return cached_tokens_; }
  double prompt_ms() const { return prompt_ms_; }  ///< wall time of the prompt
  double decode_ms() const { return decode_ms_; }  ///< wall time from there to the end

  // --- A step ----------------------------------------------------------------------------------------------
  // What a Decoder asks of its sequences, in this order. A sequence of which the prompt is still being read
  // has its rows run and takes them; one that is past it begins a round, has its tree verified, and takes the
  // verdict. Whatever throws fails the one sequence.

  bool reading() const { return unread() > 0; }
  /// Tokens of the text that the target has run.
  std::int64_t read() const { return cache_.length(); }
  /// Rows of the text, but for its newest token, that the target has to run before a round can begin.
  std::int64_t unread() const { return std::ssize(tokens_) - 1 - cache_.length(); }
  /// Whether a round can begin: the text's mask is there, or can be made in the step. Throws what making it
  /// elsewhere has thrown.
  bool mask_ready(const RunElsewhere& elsewhere);
  /// It may begin with what a PrefixCache knows: nothing of it has been run.
  bool may_resume() const { return reuse_prefix_ && cache_.length() == 0; }
  /// The text of `other`, which is being read in this step, has yet to be read by a page and more of what
  /// this one begins with, and it will be kept for it.
  bool waits_for(const Sequence& other) const;
  /// Takes over what is known of the text's beginning. At least one row is left to run: what drafters start
  /// from comes with it.
  void resume_from(PrefixCache& kept);
  /// Once, when it is known what is taken over.
  void tell_prefill_begins();

  /// Tells what drafts where the text stands, in a step in which so many others are being read. What is
  /// returned is the Round's until the step is over.
  SequenceDraft& begin_round(int reading, int prompt_rows);
  /// The round has been verified and taken: what the Round is to observe, a failure included.
  SequenceDraft& end_round();
  const SequenceDraft& draft() const { return draft_; }
  /// Rows of this round that drafting has run: the step's to go on with, or to drop.
  std::optional<EarlyRows>& early_rows() { return draft_.early; }
  /// Of its rows that wait for drafters those run which are more than may wait.
  void relieve(Round& round) { round.relieve(draft_); }

  /// How many of its prompt's rows the next step is to read, of `most` that it may. What a text leaves in
  /// states is known where a step ended alone: steps end at pages' borders then, one of them (if `kept`) a
  /// little before the end of a long prompt, since a next turn seldom goes on with its last few tokens.
  int prompt_rows(int most, bool kept) const;

  /// Room in the target's cache for what the step runs: its tree, or the next `rows` of its prompt.
  KvTxn open(int rows) { return cache_.reserve(rows, reading() ? rows : 1); }
  /// These, behind what is there already. Positions are those of the text, parents are rows.
  void append_rows(int rows, std::vector<TokenId>& tokens, std::vector<std::int32_t>& positions,
                   std::vector<std::int32_t>& parents) const;

  /// Chooses a path through the tree by its nodes' logits, [size, stride]. Touches nothing that other
  /// sequences' calls do: these may run at the same time.
  void verify(std::span<const float> logits, std::int64_t stride);
  const Verdict& verdict() const { return verdict_; }

  bool scores_prompt() const { return score_prompt_; }
  /// Makes room for the log-probabilities of prompt tokens behind the next `rows` that have none, at most
  /// `most` at a time; a text that is read again has some. How many: the last ones of prompt_logprobs().
  int open_scores(int rows, int most);
  /// That of the prompt's token `index` + 1, from the logits of token `index`. Of several at the same time.
  void score_prompt(std::size_t index, std::span<const float> logits);

  /// The tokens from `first` on, as drafters are told of them.
  AcceptedRows accepted_rows(std::int64_t first, int rows) const;
  /// The transaction of the prompt's rows has been committed, and the drafters have been told.
  void take_prompt();
  /// The same of the path: its tokens become text, and are handed out.
  void take_verdict();
  /// What the round has taken. Then whoever asked for rounds is told.
  void count_times(const StepTrace& step);
  void tell_step(const StepTrace& step);

  /// What is known of the first `tokens` tokens, which the target has run. Nothing where what they see is
  /// gone.
  void keep_in(PrefixCache& kept, std::int64_t tokens, PrefixCache::Keep what) const;
  /// Gives back its caches and the rows that wait, but for a spare block a head (SharedRows); the text is
  /// read anew when it goes on.
  void forget();

  bool failed() const { return failure_ != nullptr; }
  /// Ends it by FinishReason::Error. Also where it had ended well: what was thrown for it is not to be lost.
  void fail(std::exception_ptr why);

 private:
  class View;

  std::int64_t tokens_left() const { return limit_ - static_cast<std::int64_t>(generated().size()); }
  void score_path(std::span<const float> logits, std::int64_t stride);
  void choose_path(std::span<const float> logits, std::int64_t stride);
  void emit_path();
  bool emit(const EmittedToken& token);
  void finish(FinishReason reason);

  std::vector<TokenId> tokens_;
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
  SpeculationStatistics statistics_;
  std::int64_t cached_tokens_ = 0;
  double prompt_ms_ = 0;
  double decode_ms_ = 0;
  FinishReason finish_ = FinishReason::None;
  std::exception_ptr failure_;
};

}  // namespace augur
