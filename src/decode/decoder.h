#pragma once
#include <cstdint>
#include <exception>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "cost/step_times.h"
#include "decode/prefix_cache.h"
#include "decode/resumed_forward.h"
#include "decode/round.h"
#include "decode/row_teller.h"
#include "decode/sequence.h"
#include "model/model.h"

namespace augur {

/// Advances sequences of one target model, all in one batch: a step drafts a tree for every sequence, runs
/// one target forward over all trees and over the next chunk of unfinished prompts, verifies, and commits.
/// Plain decoding is the same step with trees of one node. Who shares a step with whom never changes a
/// sequence's tokens. One thread at a time.
class Decoder {
 public:
  struct Options {
    int prefill_rows = 256;                 ///< prompt rows in one step, over all sequences
    int logit_rows = 256;                   ///< rows whose logits are held at once (one tree may exceed it)
    const Clock* clock = &Clock::steady();  ///< what steps are timed by; outlives the decoder
  };
  explicit Decoder(Model& target) : Decoder(target, Options{}) {}
  Decoder(Model& target, const Options& options);

  /// One step. Finished sequences are left alone. Whatever is thrown for one sequence (by a callback, a
  /// drafter, a policy, the sampler, an allocation) ends that one by FinishReason::Error and does not disturb
  /// the others; a controller's exception ends its sequences (see Round). Throws what makes all going on
  /// impossible (the target's forward failed, there is no memory for the batch) before anything is committed:
  /// the step may be tried again, and the tokens are those that it would have given.
  void step(std::span<Sequence* const> sequences);

  /// From now on prompts lengthen a step in which texts are being written by no more than this share of it,
  /// as the costs say (no less than a few rows, so that they get on). Without it they take all of
  /// prefill_rows.
  void limit_prompts(double share) { prompt_share_ = share; }
  /// What there is no memory for before anything is committed makes step() throw, as others may have some to
  /// give. Otherwise it ends the sequence that needs it.
  void throw_for_memory(bool throws) { throws_for_memory_ = throws; }

  /// From now on texts begin with what `kept` knows of them, and are kept in it as far as they have been run.
  /// It outlives the decoder; null: none any more.
  void reuse_prefixes(PrefixCache* kept) { kept_ = kept; }
  /// From now on a text's mask that takes more than a round's share of work is made by a job of `elsewhere`;
  /// until it is there, the sequence sits out steps. The choice goes by counted work and changes no tokens.
  /// None: masks are made in the step, whatever they take.
  void make_masks_elsewhere(RunElsewhere elsewhere) { elsewhere_ = std::move(elsewhere); }
  /// The sequence will not be stepped again, or not soon: what was computed for it is kept.
  void retire(const Sequence& sequence);
  /// Gives back the memory of a sequence that waits; it goes on with the same tokens when it is stepped
  /// again.
  static void suspend(Sequence& sequence);

  /// What the target and the drafters cost here. Every step is observed; policies read it.
  CostModel& costs() { return costs_; }

 private:
  /// A sequence's rows in the step.
  struct Segment {
    Sequence* sequence = nullptr;
    int first_row = 0;
    int rows = 0;
    bool prompt = false;
  };

  struct RollBack;

  template <class Call>
  static bool guarded(Sequence& sequence, Call&& call);
  void reserve(std::size_t sequences);
  void fail(Sequence& sequence, const std::exception_ptr& why) const;
  void choose_drafting(std::span<Sequence* const> sequences);
  void relieve(std::span<Sequence* const> sequences);
  void draft(std::span<Sequence* const> sequences);
  void drop_finished();
  int coming_prompt_rows(std::span<Sequence* const> sequences) const;
  int prompt_rows(std::int64_t read) const;  ///< for one of which so much is read
  void add_segments(std::span<Sequence* const> sequences);
  void keep(const Sequence& sequence, std::int64_t tokens, PrefixCache::Keep what);
  void build_batch();
  void open(const Segment& segment);
  void add_rows(Segment& segment);
  void collect_tap_layers();
  void collect_taps();
  void run_target();
  void verify_trees();
  void score_prompts();
  void score_prompt(const Segment& segment);
  void tell_trees(std::size_t begin, std::size_t end);
  void tell_prompt(const Segment& segment);
  void tell(const Segment& segment, int from, int rows, const float* logits,
            std::span<const std::int32_t> kept);
  void compute_logits();
  void commit();
  void commit_prompt(const Segment& segment, KvTxn& txn);
  void commit_tree(const Segment& segment, KvTxn& txn);
  RowTeller::Tapped tapped() const;
  void sync_drafters(const Sequence& s, const AcceptedRows& rows, std::span<const std::int32_t> batch_rows);
  StepRows count_rows() const;
  void account(double draft_ms, StepTimes::Measured step);

  Model& target_;
  Options options_;
  PrefixCache* kept_ = nullptr;
  RunElsewhere elsewhere_;
  double prompt_share_ = std::numeric_limits<double>::infinity();
  bool throws_for_memory_ = false;
  CostModel costs_;
  Round round_{costs_, *options_.clock};
  StepTimes times_{costs_};

  // The step in flight.
  std::vector<Sequence*> drafting_;  ///< sequences past their prompt
  std::vector<SequenceDraft*> drafts_;
  std::vector<StepTrace> traces_;
  std::vector<Segment> segments_;
  std::vector<KvTxn> txns_;                   ///< by segment; rolled back if the step throws
  std::vector<std::exception_ptr> failures_;  ///< of the segments' verification
  std::vector<TokenId> tokens_;
  std::vector<std::int32_t> positions_;
  std::vector<std::int32_t> parents_;
  std::vector<TokenBatch::Sequence> batch_sequences_;
  std::vector<std::int32_t> logit_rows_;
  Buffer<float> logits_;
  std::int64_t logits_stride_;
  ResumedForward forward_;
  std::vector<std::int32_t> path_slots_;  ///< of the accepted path, as offsets into its transaction
  std::vector<std::int32_t> path_rows_;
  std::vector<TokenId> path_tokens_;

  std::vector<int> tap_layers_;  ///< union over all drafters, ascending
  std::vector<Tap> taps_;
  Buffer<float> tapped_;  ///< [rows, tap_layers_ * hidden]
  RowTeller teller_;
  double told_ms_ = 0;                   ///< what telling drafters has taken
  std::vector<std::int32_t> told_kept_;  ///< of a piece of a prompt
  std::vector<std::int32_t> told_parents_;
};

}  // namespace augur
