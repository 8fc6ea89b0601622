#include "decode/decoder.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <new>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/index.h"
#include "tree/usual_sizes.h"

namespace augur {
namespace {

constexpr int kLeastPromptRows = 8;  ///< half a kernel's tile: next to free beside others

bool reads(const Sequence* s) {
  return !s->finished() && s->reading();
}

}  // namespace

Decoder::Decoder(Model& target, const Options& options)
    : target_(target),
      options_(options),
      costs_(ExpertDemand::of(target.config())),
      logits_stride_((target.config().vocab + 15) / 16 * 16) {
  // Paths and trees of a size that a later round may well have, so that it need not allocate.
  path_tokens_.reserve(kUsualPath);
  path_rows_.reserve(kUsualPath);
  path_slots_.reserve(kUsualPath);
  tokens_.reserve(kUsualRows);
  positions_.reserve(kUsualRows);
  parents_.reserve(kUsualRows);
  logit_rows_.reserve(kUsualRows);
}

/// What a step has opened and not committed is given back when it ends, however it does.
struct Decoder::RollBack {
  Decoder& decoder;
  ~RollBack() {
    decoder.txns_.clear();
    for (Sequence* s : decoder.drafting_) s->early_rows().reset();
  }
};

void Decoder::step(std::span<Sequence* const> sequences) {
  target_.backend().pool.make_way();
  const Stopwatch total(*options_.clock);
  const RollBack roll_back{*this};
  choose_drafting(sequences);
  Stopwatch watch(*options_.clock);
  relieve(sequences);
  draft(sequences);
  const double draft_ms = watch.restart();
  add_segments(sequences);
  collect_tap_layers();
  build_batch();
  if (segments_.empty()) return;
  collect_taps();
  watch.restart();
  run_target();
  StepTimes::Measured times{.forward_ms = watch.restart()};
  verify_trees();
  score_prompts();
  times.logits_ms = std::max(0.0, watch.ms() - aside_ms_);
  commit();
  times.other_ms = std::max(0.0, total.ms() - draft_ms - times.forward_ms - times.logits_ms);
  account(draft_ms, times);
}

/// Those past their prompt, of which a round can begin.
void Decoder::choose_drafting(std::span<Sequence* const> sequences) {
  drafting_.clear();
  reserve(sequences.size());
  for (Sequence* s : sequences) {
    if (s->finished() || s->reading()) continue;
    bool ready = false;
    guarded(*s, [&] { ready = s->mask_ready(elsewhere_); });
    if (ready) drafting_.push_back(s);
  }
}

/// What all sequences share is allocated before the first of them is touched, and what the rows need, in
/// build_batch(), before the first of them is added: an allocation that fails must not leave a segment
/// without its transaction.
void Decoder::reserve(std::size_t sequences) {
  drafting_.reserve(sequences);
  drafts_.reserve(sequences);
  traces_.reserve(sequences);
  segments_.reserve(sequences);
  txns_.reserve(sequences);
  batch_sequences_.reserve(sequences);
  failures_.resize(sequences);
}

/// Of a step that has committed nothing yet.
void Decoder::fail(Sequence& s, const std::exception_ptr& why) const {
  if (throws_for_memory_ && is_want_of_memory(why)) std::rethrow_exception(why);
  s.fail(why);
}

/// What is thrown for a sequence fails it, and no other. True: nothing was.
template <class Call>
bool Decoder::guarded(Sequence& s, Call&& call) {
  try {
    call();
    return true;
  } catch (...) {
    s.fail(std::current_exception());
    return false;
  }
}

// --- Drafting ------------------------------------------------------------------------------------------

/// Rows that wait for a drafter do not pile up, whether anybody asks it or not.
void Decoder::relieve(std::span<Sequence* const> sequences) {
  for (Sequence* s : sequences) {
    if (s->finished()) continue;
    try {
      s->relieve(round_);
    } catch (...) {
      fail(*s, std::current_exception());
    }
  }
  drop_finished();
}

void Decoder::draft(std::span<Sequence* const> sequences) {
  drafts_.clear();
  const auto reading = static_cast<int>(std::count_if(sequences.begin(), sequences.end(), reads));
  const int prompts = coming_prompt_rows(sequences);
  for (Sequence* s : drafting_) drafts_.push_back(&s->begin_round(reading, prompts));
  round_.draft(drafts_);
  for (Sequence* s : drafting_) {
    if (s->draft().failure) fail(*s, s->draft().failure);
  }
  drop_finished();
}

/// Of those that were drafting.
void Decoder::drop_finished() {
  std::erase_if(drafting_, [](const Sequence* s) { return s->finished(); });
}

/// As many as fit beside trees like the last ones.
int Decoder::coming_prompt_rows(std::span<Sequence* const> sequences) const {
  std::int64_t unread = 0;
  std::int64_t read = 0;
  for (const Sequence* s : sequences) {
    if (!reads(s)) continue;
    if (unread == 0) read = s->read();
    unread += s->unread();
  }
  return unread == 0 ? 0 : static_cast<int>(std::min<std::int64_t>(unread, prompt_rows(read)));
}

int Decoder::prompt_rows(std::int64_t read) const {
  if (drafting_.empty() || !costs_.measured()) return options_.prefill_rows;
  double rows = 0;
  double contexts = 0;  // of all rows
  for (const Sequence* s : drafting_) {
    const SequenceDraft& draft = s->draft();
    rows += draft.tree.size();
    contexts += static_cast<double>(draft.info.context) * draft.tree.size();
  }
  const auto step_ms = [&](double more) {
    const double of_prompt = more * (static_cast<double>(read) + more / 2);
    return costs_.verify_ms(rows + more, (contexts + of_prompt) / (rows + more));
  };
  const double most_ms = (1 + prompt_share_) * step_ms(0);
  int affordable = std::min(kLeastPromptRows, options_.prefill_rows);
  for (int too_many = options_.prefill_rows + 1; affordable + 1 < too_many;) {
    const int middle = (affordable + too_many) / 2;
    (step_ms(middle) <= most_ms ? affordable : too_many) = middle;
  }
  return affordable;
}

/// What the step runs: the drafted trees, then as much of the prompts as it has room for.
void Decoder::add_segments(std::span<Sequence* const> sequences) {
  segments_.clear();
  for (Sequence* s : drafting_) segments_.push_back({.sequence = s, .rows = s->draft().tree.size()});
  const auto first = std::find_if(sequences.begin(), sequences.end(), reads);
  int left_over = first != sequences.end() ? prompt_rows((*first)->read()) : 0;
  for (Sequence* s : sequences) {
    if (!reads(s) || left_over == 0) continue;
    if (kept_ != nullptr && s->may_resume()) {
      const auto first_reads_it = [&](const Segment& segment) {
        return segment.prompt && s->waits_for(*segment.sequence);
      };
      if (std::any_of(segments_.begin(), segments_.end(), first_reads_it)) continue;
      if (!guarded(*s, [&] { s->resume_from(*kept_); })) continue;
    }
    if (!guarded(*s, [&] { s->tell_prefill_begins(); })) continue;
    const int rows = s->prompt_rows(left_over, kept_ != nullptr);
    segments_.push_back({.sequence = s, .rows = rows, .prompt = true});
    left_over -= rows;
  }
}

// --- The target's forward ------------------------------------------------------------------------------

void Decoder::build_batch() {
  tokens_.clear();
  positions_.clear();
  parents_.clear();
  batch_sequences_.clear();
  std::size_t rows = 0;
  for (const Segment& segment : segments_) rows += static_cast<std::size_t>(segment.rows);
  for (auto* by_row : {&tokens_, &positions_, &parents_, &path_slots_, &path_rows_, &path_tokens_}) {
    by_row->reserve(rows);
  }
  forward_.begin(tap_layers_.empty() ? target_.config().layers : tap_layers_.front(), segments_.size(), rows);
  std::size_t kept = 0;
  for (Segment& segment : segments_) {
    try {
      open(segment);
    } catch (...) {
      fail(*segment.sequence, std::current_exception());
      continue;
    }
    add_rows(segment);
    segments_[kept++] = segment;
  }
  segments_.resize(kept);
}

/// Opens the segment's transaction, and tells the forward which of its rows have been run.
void Decoder::open(const Segment& segment) {
  std::optional<EarlyRows>& early = segment.sequence->early_rows();
  if (!segment.prompt && early && forward_.add_tree(segment.sequence->draft().tree, *early)) {
    txns_.push_back(std::move(early->txn));
    return;
  }
  early.reset();
  txns_.push_back(segment.sequence->open(segment.rows));
  forward_.add_rows(segment.rows);
}

void Decoder::add_rows(Segment& segment) {
  segment.first_row = static_cast<int>(tokens_.size());
  segment.sequence->append_rows(segment.rows, tokens_, positions_, parents_);
  batch_sequences_.push_back({.kv = &txns_.back(), .first_row = segment.first_row, .rows = segment.rows});
}

void Decoder::collect_tap_layers() {
  tap_layers_.clear();
  for (const Segment& segment : segments_) {
    for (const Speculator& speculator : segment.sequence->draft().speculation.drafters) {
      tap_layers_.insert(tap_layers_.end(), speculator.tap_layers.begin(), speculator.tap_layers.end());
    }
  }
  std::sort(tap_layers_.begin(), tap_layers_.end());
  tap_layers_.erase(std::unique(tap_layers_.begin(), tap_layers_.end()), tap_layers_.end());
}

void Decoder::collect_taps() {
  taps_.clear();
  const auto hidden = static_cast<std::size_t>(target_.config().hidden);
  const std::size_t stride = tap_layers_.size() * hidden;
  if (tapped_.size() < tokens_.size() * stride) tapped_ = Buffer<float>(tokens_.size() * stride);
  for (std::size_t i = 0; i < tap_layers_.size(); ++i) {
    taps_.push_back({.layer = tap_layers_[i],
                     .out = tapped_.data() + i * hidden,
                     .out_stride = static_cast<std::int64_t>(stride)});
  }
}

void Decoder::run_target() {
  forward_.run(
      target_,
      {.tokens = tokens_, .positions = positions_, .parents = parents_, .sequences = batch_sequences_},
      taps_);
}

/// Verifies the trees that take the host's code for it, which is called on this thread alone. Its time is not
/// the target's.
template <class Verify>
void Decoder::verify_processed(std::size_t begin, std::size_t end, const Verify& verify) {
  const auto processes = [&](std::size_t i) { return segments_[i].sequence->processes_logits(); };
  std::size_t next = begin;
  while (next < end && !processes(next)) ++next;
  if (next == end) return;
  const Stopwatch watch(*options_.clock);
  for (; next < end; ++next) {
    if (processes(next)) verify(next);
  }
  aside_ms_ += watch.ms();
}

void Decoder::verify_trees() {
  aside_ms_ = 0;
  std::fill(failures_.begin(), failures_.end(), nullptr);
  for (std::size_t begin = 0; begin < segments_.size() && !segments_[begin].prompt;) {
    // As many trees as the logits' buffer is meant for.
    logit_rows_.clear();
    std::size_t end = begin;
    while (end < segments_.size() && !segments_[end].prompt) {
      const Segment& segment = segments_[end];
      if (end > begin && static_cast<int>(logit_rows_.size()) + segment.rows > options_.logit_rows) break;
      for (int i = 0; i < segment.rows; ++i) logit_rows_.push_back(segment.first_row + i);
      ++end;
    }
    compute_logits();
    const int first_row = segments_[begin].first_row;
    const auto verify = [&](std::size_t i) {
      const Segment& segment = segments_[i];
      const auto offset = static_cast<std::size_t>((segment.first_row - first_row) * logits_stride_);
      const auto count = static_cast<std::size_t>(segment.rows * logits_stride_);
      try {
        segment.sequence->verify(logits_.span().subspan(offset, count), logits_stride_);
      } catch (...) {
        failures_[i] = std::current_exception();
      }
    };
    std::atomic<std::size_t> next{begin};
    target_.backend().pool.run([&](Team&) {
      for (std::size_t i; (i = next.fetch_add(1)) < end;) {
        if (!segments_[i].sequence->processes_logits()) verify(i);
      }
    });
    verify_processed(begin, end, verify);
    tell_trees(begin, end);
    begin = end;
  }
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (failures_[i]) fail(*segments_[i].sequence, failures_[i]);
  }
}

/// Of trees whose logits are at hand: what the target thinks of their nodes, for drafters that ask.
void Decoder::tell_trees(std::size_t begin, std::size_t end) {
  const auto asked = [](const Segment& segment) {
    return RowTeller::wanted(segment.sequence->draft().speculation.drafters, false);
  };
  if (std::none_of(segments_.begin() + static_cast<std::ptrdiff_t>(begin),
                   segments_.begin() + static_cast<std::ptrdiff_t>(end), asked)) {
    return;
  }
  const Stopwatch watch(*options_.clock);
  const int first_row = segments_[begin].first_row;
  for (std::size_t i = begin; i < end; ++i) {
    const Segment& segment = segments_[i];
    if (failures_[i] || !asked(segment)) continue;
    try {
      tell(segment, 0, segment.rows, logits_.data() + (segment.first_row - first_row) * logits_stride_,
           segment.sequence->verdict().path);
    } catch (...) {
      failures_[i] = std::current_exception();
    }
  }
  aside_ms_ += watch.ms();
}

/// The same of a prompt's rows, as many at a time as the logits' buffer is meant for. Without logits they are
/// not computed.
void Decoder::tell_prompt(const Segment& segment) {
  const Stopwatch watch(*options_.clock);
  const bool logits = RowTeller::wants_logits(segment.sequence->draft().speculation.drafters, true);
  for (int from = 0; from < segment.rows; from += options_.logit_rows) {
    const int rows = std::min(segment.rows - from, options_.logit_rows);
    logit_rows_.resize(static_cast<std::size_t>(rows));
    std::iota(logit_rows_.begin(), logit_rows_.end(), segment.first_row + from);
    if (logits) compute_logits();
    told_kept_.resize(static_cast<std::size_t>(rows));
    std::iota(told_kept_.begin(), told_kept_.end(), 0);
    if (!guarded(*segment.sequence,
                 [&] { tell(segment, from, rows, logits ? logits_.data() : nullptr, told_kept_); })) {
      break;
    }
  }
  aside_ms_ += watch.ms();
}

/// `rows` of the segment's, from `from` on, whose logits begin at `logits`.
void Decoder::tell(const Segment& segment, int from, int rows, const float* logits,
                   std::span<const std::int32_t> kept) {
  const Sequence& s = *segment.sequence;
  const std::size_t first = at(segment.first_row) + at(from);
  const auto count = static_cast<std::size_t>(rows);
  told_parents_.resize(count);
  std::transform(
      parents_.begin() + static_cast<std::ptrdiff_t>(first),
      parents_.begin() + static_cast<std::ptrdiff_t>(first + count), told_parents_.begin(),
      [&](std::int32_t parent) { return std::max(parent - static_cast<std::int32_t>(first), -1); });
  teller_.tell(s.draft().speculation.drafters,
               {.tokens = std::span(tokens_).subspan(first, count),
                .parents = told_parents_,
                .positions = std::span(positions_).subspan(first, count),
                .kept = kept,
                .prompt = segment.prompt,
                .teaches_all = s.teaches_all(),
                .logits = logits,
                .logits_stride = logits_stride_},
               target_.config().vocab, tapped(), first, target_.backend().pool);
}

/// What is asked of the prompts' logits.
void Decoder::score_prompts() {
  for (const Segment& segment : segments_) {
    if (segment.prompt && segment.sequence->scores_prompt()) score_prompt(segment);
  }
  for (const Segment& segment : segments_) {
    if (segment.prompt && RowTeller::wanted(segment.sequence->draft().speculation.drafters, true))
      tell_prompt(segment);
  }
}

/// Log-probabilities of the tokens behind the segment's rows, as many as the logits' buffer is meant for at a
/// time.
void Decoder::score_prompt(const Segment& segment) {
  Sequence& s = *segment.sequence;
  while (const int count = s.open_scores(segment.rows, options_.logit_rows)) {
    const auto rows = static_cast<std::size_t>(count);
    const std::size_t begin = s.prompt_logprobs().size() - rows;
    logit_rows_.resize(rows);
    std::iota(logit_rows_.begin(), logit_rows_.end(),
              segment.first_row + static_cast<std::int32_t>(static_cast<std::int64_t>(begin) - s.read()));
    compute_logits();
    std::atomic<std::size_t> next{0};
    std::atomic<bool> failed{false};
    target_.backend().pool.run([&](Team&) {
      for (std::size_t i; (i = next.fetch_add(1)) < rows;) {
        try {
          s.score_prompt(begin + i, logits_.span().subspan(i * static_cast<std::size_t>(logits_stride_),
                                                           static_cast<std::size_t>(target_.config().vocab)));
        } catch (...) {
          if (!failed.exchange(true)) s.fail(std::current_exception());
        }
      }
    });
  }
}

/// Of logit_rows_, in their order.
void Decoder::compute_logits() {
  const std::size_t size = logit_rows_.size() * static_cast<std::size_t>(logits_stride_);
  if (logits_.size() < size) logits_ = Buffer<float>(size);
  target_.logits(logit_rows_, logits_.data(), logits_stride_);
}

// --- After verification ----------------------------------------------------------------------------------

void Decoder::commit() {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].sequence->failed()) continue;
    guarded(*segments_[i].sequence, [&] {
      if (segments_[i].prompt) {
        commit_prompt(segments_[i], txns_[i]);
      } else {
        commit_tree(segments_[i], txns_[i]);
      }
    });
  }
}

void Decoder::commit_prompt(const Segment& segment, KvTxn& txn) {
  Sequence& s = *segment.sequence;
  const std::int64_t first = txn.base();
  txn.commit_all();
  path_rows_.resize(static_cast<std::size_t>(segment.rows));
  std::iota(path_rows_.begin(), path_rows_.end(), segment.first_row);
  sync_drafters(s, s.accepted_rows(first, segment.rows), path_rows_);
  // Whole pages, which need not be copied when the text goes on.
  const auto pages = [](std::int64_t tokens) { return tokens / kKvPageSlots * kKvPageSlots; };
  if (pages(s.read()) > pages(first)) keep(s, pages(s.read()), PrefixCache::Keep::Beginning);
  s.take_prompt();
}

void Decoder::commit_tree(const Segment& segment, KvTxn& txn) {
  Sequence& s = *segment.sequence;
  const std::int64_t first = txn.base();
  path_rows_.clear();
  path_tokens_.clear();
  path_slots_.clear();
  for (const std::int32_t node : s.verdict().path) {
    const std::int32_t row = segment.first_row + node;
    path_slots_.push_back(forward_.offsets()[static_cast<std::size_t>(row)]);
    path_rows_.push_back(row);
    path_tokens_.push_back(tokens_[static_cast<std::size_t>(row)]);
  }
  txn.commit(path_slots_);
  sync_drafters(s, {.tokens = path_tokens_, .first_position = first, .next = s.verdict().next}, path_rows_);
  s.take_verdict();
}

void Decoder::retire(const Sequence& s) {
  if (!s.failed()) keep(s, std::min(s.read(), std::ssize(s.tokens())), PrefixCache::Keep::Text);
}

void Decoder::suspend(Sequence& s) {
  guarded(s, [&] { s.forget(); });
}

void Decoder::keep(const Sequence& s, std::int64_t tokens, PrefixCache::Keep what) {
  if (kept_ == nullptr) return;
  try {
    s.keep_in(*kept_, tokens, what);
  } catch (const std::bad_alloc&) {  // then it is not kept
  }
}

void Decoder::sync_drafters(const Sequence& s, const AcceptedRows& rows,
                            std::span<const std::int32_t> batch_rows) {
  for (const Speculator& speculator : s.draft().speculation.drafters) {
    AcceptedRows mine = rows;
    mine.teaches_all = s.teaches_all();
    const std::span<const int> layers = speculator.tap_layers;
    if (!layers.empty()) mine.features = teller_.states(layers, batch_rows, tapped());
    speculator.drafter->sync(mine);
  }
}

/// The states of the step's rows.
RowTeller::Tapped Decoder::tapped() const {
  const std::int64_t hidden = target_.config().hidden;
  return {.rows = tapped_.data(),
          .stride = std::ssize(tap_layers_) * hidden,
          .hidden = hidden,
          .layers = tap_layers_};
}

StepRows Decoder::count_rows() const {
  StepRows rows;
  for (const Segment& segment : segments_) {
    const double count = segment.rows;
    if (segment.prompt) {
      const auto end = static_cast<double>(segment.sequence->read());
      rows.prompts += count;
      rows.prompt_context += count * (end - count / 2);
    } else {
      rows.trees += count;
      rows.tree_context += count * static_cast<double>(segment.sequence->draft().info.context);
    }
  }
  if (rows.trees > 0) rows.tree_context /= rows.trees;
  if (rows.prompts > 0) rows.prompt_context /= rows.prompts;
  return rows;
}

void Decoder::account(double draft_ms, StepTimes::Measured step) {
  const StepRows rows = count_rows();
  const double verify_ms = times_.trees_ms(rows, step);
  step.experts = static_cast<double>(target_.woken_experts());
  // Rows that drafting had begun, and prompts whose logits were asked for, say nothing about those of others.
  const bool usual = std::none_of(segments_.begin(), segments_.end(), [](const Segment& segment) {
    if (!segment.prompt) return segment.sequence->draft().early.has_value();
    return segment.sequence->scores_prompt() ||
           RowTeller::wants_logits(segment.sequence->draft().speculation.drafters, true);
  });
  double other_ms = step.other_ms / static_cast<double>(segments_.size());
  if (rows.prompts > 0) other_ms = std::min(other_ms, costs_.other_ms());  // the prompts' is much of it
  if (usual) times_.observe(rows, step);
  std::int64_t drafters = 0;
  for (const Sequence* s : drafting_) drafters += s->drafts() ? 1 : 0;
  drafts_.clear();
  traces_.clear();
  for (const Segment& segment : segments_) {
    if (segment.prompt) continue;
    Sequence& s = *segment.sequence;
    const SequenceDraft& draft = s.draft();
    StepTrace& trace = traces_.emplace_back();
    trace.next = s.verdict().next;
    trace.drafted = draft.drafted;
    trace.batch_rows = std::ssize(tokens_);
    trace.draft_ms = s.drafts() ? draft_ms / static_cast<double>(drafters) : 0.0;
    trace.verify_ms = verify_ms * static_cast<double>(segment.rows) / rows.trees;
    trace.other_ms = other_ms;
    trace.tree = &draft.tree;
    trace.path = s.verdict().path;
    trace.context = draft.info.context;
    trace.classify_ms = draft.classify_ms;
    trace.step_ms = step.forward_ms + step.logits_ms;
    trace.forecast = draft.forecast;
    s.count_times(trace);
    drafts_.push_back(&s.end_round());
  }
  round_.observe(drafts_, traces_);
  std::size_t at = 0;
  for (const Segment& segment : segments_) {
    if (segment.prompt) continue;
    Sequence& s = *segment.sequence;
    const StepTrace& trace = traces_[at++];
    if (s.draft().failure) s.fail(s.draft().failure);
    if (!s.failed()) guarded(s, [&] { s.tell_step(trace); });
  }
}

}  // namespace augur
