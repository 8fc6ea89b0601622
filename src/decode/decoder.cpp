#include "decode/decoder.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "draft/usual_sizes.h"

namespace augur {
namespace {

constexpr std::size_t kUsualRows = 512;

}  // namespace

Decoder::Decoder(Model& target, const Options& options)
    : target_(target), options_(options), logits_stride_((target.config().vocab + 15) / 16 * 16) {
  // Paths and trees of a size that a later round may well have, so that it need not allocate.
  path_tokens_.reserve(kUsualPath);
  path_rows_.reserve(kUsualPath);
  path_slots_.reserve(kUsualPath);
  tokens_.reserve(kUsualRows);
  positions_.reserve(kUsualRows);
  parents_.reserve(kUsualRows);
  logit_rows_.reserve(kUsualRows);
}

void Decoder::step(std::span<Sequence* const> sequences) {
  const Stopwatch total;
  struct RollBack {
    Decoder& decoder;
    ~RollBack() {
      decoder.txns_.clear();
      for (Sequence* s : decoder.drafting_) s->early_.reset();
    }
  } roll_back{*this};
  drafting_.clear();
  parts_.clear();
  for (Sequence* s : sequences) {
    if (!s->finished() && !s->prefilling()) drafting_.push_back(s);
  }
  for (Sequence* s : drafting_) {
    if (s->decoding_) continue;
    s->decoding_ = true;
    s->statistics_.prompt_ms = s->clock_.restart();
  }
  Stopwatch watch;
  draft();
  const double draft_ms = watch.restart();

  for (Sequence* s : drafting_) parts_.push_back({.sequence = s, .rows = s->tree_.size()});
  int prompt_rows = options_.prefill_rows;
  for (Sequence* s : sequences) {
    if (s->finished() || !s->prefilling() || prompt_rows == 0) continue;
    const std::int64_t left = static_cast<std::int64_t>(s->prompt_size_) - 1 - s->cache_.length();
    const auto rows = static_cast<int>(std::min<std::int64_t>(left, prompt_rows));
    parts_.push_back({.sequence = s, .rows = rows, .prompt = true});
    prompt_rows -= rows;
  }
  if (parts_.empty()) return;
  collect_tap_layers();
  build_batch();
  collect_taps();
  watch.restart();
  run_target();
  verify_trees();
  const double verify_ms = watch.ms();
  commit();
  account(draft_ms, verify_ms, total.ms());
}

// --- Drafting ------------------------------------------------------------------------------------------

/// Tells every sequence about the batch that its round is part of.
void Decoder::begin_rounds() {
  int rows = 0;  // of the last step, or one where there was none
  for (const Sequence* s : drafting_) rows += std::max(1, s->tree_.size());
  const auto count = static_cast<int>(drafting_.size());
  for (Sequence* s : drafting_) {
    s->batch_ = {.costs = &costs_, .sequences = count, .other_rows = rows - std::max(1, s->tree_.size())};
    s->trace_.forecast = {};
  }
  for (Sequence* s : drafting_) {
    if (s->controller_) s->controller_->begin_round(s->round_info(), s->draws_drafts());
  }
}

void Decoder::draft() {
  begin_rounds();
  std::size_t most = 0;
  for (Sequence* s : drafting_) {
    s->tree_.reset(s->text_.back(), s->cache_.length());
    s->trace_.drafted = 0;
    most = std::max(most, s->speculators_.size());
  }
  for (std::size_t i = 0; i < most; ++i) draft_with(i);
  for (Sequence* s : drafting_) s->merge_drafts();
}

/// Grows the trees of every sequence's i-th speculator.
void Decoder::draft_with(std::size_t speculator) {
  active_.clear();
  for (Sequence* s : drafting_) {
    if (speculator >= s->speculators_.size()) continue;
    Speculator& with = s->speculators_[speculator];
    with.tree.reset(s->text_.back(), s->cache_.length());
    RoundInfo round = s->round_info();
    if (round.room < 1 || round.max_depth < 1) continue;
    round.drafter = with.drafter->traits();
    round.behind = with.behind;
    round.draft_costs = &costs_.drafter(with.drafter->name());
    if (s->sampled_drafts() && round.drafter.has_probabilities) with.tree.set_sampled(s->vocab_);
    with.policy->begin(round);
    active_.push_back(s);
  }
  growing_ = active_;
  for (int level = 0; !growing_.empty(); ++level) grow_level(speculator, level);
  for (Sequence* s : active_) {
    Speculator& with = s->speculators_[speculator];
    const RoundInfo round = s->round_info();
    s->trace_.drafted += with.tree.size() - 1;
    with.policy->prune(with.tree);
    with.tree.limit_depth(round.max_depth);
    if (with.tree.size() > round.room + 1) with.tree.truncate(round.room + 1);
    if (auto early = with.drafter->take_early_rows()) s->early_.emplace(std::move(*early));
    with.drafter->end_round();
  }
}

void Decoder::grow_level(std::size_t speculator, int level) {
  jobs_.clear();
  for (Sequence* s : growing_) {
    Speculator& with = s->speculators_[speculator];
    with.policy->next_frontier(with.tree, s->frontier_);
    s->size_before_level_ = with.tree.size();
    if (s->frontier_.empty()) continue;
    const int width = with.policy->width();
    jobs_.push_back({.drafter = with.drafter.get(),
                     .tree = &with.tree,
                     .frontier = s->frontier_,
                     .options = {.top_k = width,
                                 .max_nodes = width * static_cast<int>(s->frontier_.size()),
                                 .branching = with.policy->branches(),
                                 .least_confidence = with.policy->least_confidence(),
                                 .proposer = static_cast<ProposerId>(speculator + 1),
                                 .wants = with.policy->wants() | s->record_,
                                 .sample = with.tree.law() == ProposalLaw::Sampled,
                                 .coupled = s->coupled_drafts(),
                                 .sampler = &s->sampler_,
                                 .text = s->text_,
                                 .target_cache = &s->cache_}});
  }
  // Drafters that share weights run as one batch.
  std::sort(jobs_.begin(), jobs_.end(), [](const ExpandJob& a, const ExpandJob& b) {
    return std::less<>{}(a.drafter->group(), b.drafter->group());
  });
  for (std::size_t begin = 0; begin < jobs_.size();) {
    std::size_t end = begin + 1;
    while (end < jobs_.size() && jobs_[end].drafter->group() == jobs_[begin].drafter->group()) ++end;
    const std::span<ExpandJob> group = std::span(jobs_).subspan(begin, end - begin);
    int rows = 0;
    if (level == 0) {
      rows = catch_up(speculator, group.front().drafter->group());
    } else {
      for (const ExpandJob& job : group) rows += static_cast<int>(job.frontier.size());
    }
    expand(group, level, rows);
    begin = end;
  }
  // Who added nothing has nothing more to say.
  std::erase_if(growing_, [&](const Sequence* s) {
    return s->speculators_[speculator].tree.size() == s->size_before_level_;
  });
}

/// Tokens of text that the group's drafters catch up with as they expand their roots.
int Decoder::catch_up(std::size_t speculator, const void* group) {
  int tokens = 0;
  for (Sequence* s : growing_) {
    Speculator& with = s->speculators_[speculator];
    if (s->frontier_.empty() || with.drafter->group() != group) continue;
    tokens += std::exchange(with.behind, 0);
  }
  return tokens;
}

/// Jobs of one group; what they take is the cost of `rows` rows at the level.
void Decoder::expand(std::span<ExpandJob> jobs, int level, int rows) {
  const Stopwatch watch;
  jobs.front().drafter->expand_many(jobs);
  costs_.drafter(jobs.front().drafter->name()).observe(level, rows, watch.ms());
}

// --- The target's forward ------------------------------------------------------------------------------

void Decoder::build_batch() {
  tokens_.clear();
  positions_.clear();
  parents_.clear();
  batch_sequences_.clear();
  txns_.reserve(parts_.size());
  forward_.begin(tap_layers_.empty() ? target_.config().layers : tap_layers_.front());
  for (Part& part : parts_) {
    Sequence& s = *part.sequence;
    part.first_row = static_cast<int>(tokens_.size());
    if (!part.prompt) {
      if (forward_.add_tree(s.tree_, s.early_ ? &*s.early_ : nullptr)) {
        txns_.push_back(std::move(s.early_->txn));
      } else {
        s.early_.reset();
        txns_.push_back(s.cache_.reserve(part.rows));
      }
      s.tree_.append_rows(tokens_, positions_, parents_);
    } else {
      forward_.add_rows(part.rows);
      txns_.push_back(s.cache_.reserve(part.rows));
      for (int i = 0; i < part.rows; ++i) {
        const std::int64_t position = s.cache_.length() + i;
        tokens_.push_back(s.text_[static_cast<std::size_t>(position)]);
        positions_.push_back(static_cast<std::int32_t>(position));
        parents_.push_back(i == 0 ? -1 : part.first_row + i - 1);
      }
    }
    batch_sequences_.push_back({.kv = &txns_.back(), .first_row = part.first_row, .rows = part.rows});
  }
}

void Decoder::collect_tap_layers() {
  tap_layers_.clear();
  for (const Part& part : parts_) {
    for (const Speculator& speculator : part.sequence->speculators_) {
      const std::span<const int> layers = speculator.drafter->tap_layers();
      tap_layers_.insert(tap_layers_.end(), layers.begin(), layers.end());
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

void Decoder::verify_trees() {
  for (std::size_t begin = 0; begin < parts_.size() && !parts_[begin].prompt;) {
    // As many trees as the logits' buffer is meant for.
    logit_rows_.clear();
    std::size_t end = begin;
    while (end < parts_.size() && !parts_[end].prompt) {
      const Part& part = parts_[end];
      if (end > begin && static_cast<int>(logit_rows_.size()) + part.rows > options_.logit_rows) break;
      for (int i = 0; i < part.rows; ++i) logit_rows_.push_back(part.first_row + i);
      ++end;
    }
    const std::size_t size = logit_rows_.size() * static_cast<std::size_t>(logits_stride_);
    if (logits_.size() < size) logits_ = Buffer<float>(size);
    target_.logits(logit_rows_, logits_.data(), logits_stride_);

    std::atomic<std::size_t> next{begin};
    const int first_row = parts_[begin].first_row;
    const auto verify_some = [&](Team&) {
      for (std::size_t i; (i = next.fetch_add(1)) < end;) {
        const Part& part = parts_[i];
        const auto offset = static_cast<std::size_t>((part.first_row - first_row) * logits_stride_);
        const auto count = static_cast<std::size_t>(part.rows * logits_stride_);
        try {
          part.sequence->verify(logits_.span().subspan(offset, count), logits_stride_);
        } catch (...) {
          part.sequence->fail(std::current_exception());
        }
      }
    };
    target_.backend().pool.run(verify_some);
    begin = end;
  }
}

// --- After verification ----------------------------------------------------------------------------------

void Decoder::commit() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].sequence->finish_ == FinishReason::Failed) continue;
    try {
      if (parts_[i].prompt) {
        commit_prompt(parts_[i], txns_[i]);
      } else {
        commit_tree(parts_[i], txns_[i]);
      }
    } catch (...) {
      parts_[i].sequence->fail(std::current_exception());
    }
  }
}

void Decoder::commit_prompt(const Part& part, KvTxn& txn) {
  Sequence& s = *part.sequence;
  const std::int64_t first = txn.base();
  txn.commit_all();
  path_rows_.resize(static_cast<std::size_t>(part.rows));
  for (int i = 0; i < part.rows; ++i) path_rows_[static_cast<std::size_t>(i)] = part.first_row + i;
  const auto begin = static_cast<std::size_t>(first);
  const auto count = static_cast<std::size_t>(part.rows);
  sync_drafters(s,
                {.tokens = std::span(s.text_).subspan(begin, count),
                 .first_position = first,
                 .next = s.text_[begin + count]},
                path_rows_);
  if (s.on_prefill_) s.on_prefill_(s.cache_.length(), static_cast<std::int64_t>(s.prompt_size_));
}

void Decoder::commit_tree(const Part& part, KvTxn& txn) {
  Sequence& s = *part.sequence;
  const std::int64_t first = txn.base();
  s.trace_.context = first;
  path_rows_.clear();
  path_tokens_.clear();
  path_slots_.clear();
  for (const std::int32_t node : s.verdict_.path) {
    path_slots_.push_back(forward_.offsets()[static_cast<std::size_t>(part.first_row + node)]);
    path_rows_.push_back(part.first_row + node);
    path_tokens_.push_back(s.tree_.tokens()[static_cast<std::size_t>(node)]);
  }
  txn.commit(path_slots_);
  sync_drafters(s, {.tokens = path_tokens_, .first_position = first, .next = s.verdict_.next}, path_rows_);
  ++s.statistics_.calls;
  s.statistics_.verified_tokens += part.rows;
  s.statistics_.drafted_tokens += s.trace_.drafted;
  s.emit_verdict();
}

void Decoder::sync_drafters(Sequence& s, const AcceptedRows& rows, std::span<const std::int32_t> batch_rows) {
  const auto hidden = static_cast<std::size_t>(target_.config().hidden);
  const std::size_t stride = tap_layers_.size() * hidden;
  for (Speculator& speculator : s.speculators_) {
    speculator.behind += static_cast<int>(rows.tokens.size());
    AcceptedRows mine = rows;
    const std::span<const int> layers = speculator.drafter->tap_layers();
    if (!layers.empty()) {
      features_.reserve(kUsualPath * layers.size() * hidden);
      features_.resize(batch_rows.size() * layers.size() * hidden);
      float* out = features_.data();
      for (const std::int32_t row : batch_rows) {
        for (const int layer : layers) {
          const auto column = static_cast<std::size_t>(
              std::lower_bound(tap_layers_.begin(), tap_layers_.end(), layer) - tap_layers_.begin());
          out = std::copy_n(tapped_.data() + static_cast<std::size_t>(row) * stride + column * hidden, hidden,
                            out);
        }
      }
      mine.features = features_.data();
    }
    speculator.drafter->sync(mine);
  }
}

void Decoder::account(double draft_ms, double verify_ms, double total_ms) {
  const double batch_rows = static_cast<double>(tokens_.size());
  const double other_ms = std::max(0.0, total_ms - draft_ms - verify_ms);
  observe_costs(verify_ms, other_ms);
  std::int64_t drafters = 0;
  for (const Sequence* s : drafting_) drafters += s->speculators_.empty() ? 0 : 1;
  for (const Part& part : parts_) {
    if (part.prompt) continue;
    Sequence& s = *part.sequence;
    StepTrace& trace = s.trace_;
    trace.tree = &s.tree_;
    trace.path = s.verdict_.path;
    trace.next = s.verdict_.next;
    trace.batch_rows = static_cast<std::int32_t>(tokens_.size());
    trace.draft_ms = s.speculators_.empty() ? 0.0 : draft_ms / static_cast<double>(drafters);
    trace.verify_ms = verify_ms * static_cast<double>(part.rows) / batch_rows;
    trace.other_ms = other_ms / static_cast<double>(parts_.size());
    s.statistics_.draft_ms += trace.draft_ms;
    s.statistics_.verify_ms += trace.verify_ms;
    s.statistics_.other_ms += trace.other_ms;
    if (s.finish_ == FinishReason::Failed) continue;
    for (Speculator& with : s.speculators_) with.policy->observe(trace);
    if (s.controller_) s.controller_->observe(trace);
    if (s.on_step_) s.on_step_(trace);
  }
}

/// Steps that ran prompts, or rows that drafting had begun, say nothing about those that do not.
void Decoder::observe_costs(double verify_ms, double other_ms) {
  double context = 0;
  for (const Part& part : parts_) {
    if (part.prompt || part.sequence->early_) return;
    context += static_cast<double>(part.sequence->trace_.context);
  }
  costs_.observe_step(static_cast<double>(tokens_.size()), context / static_cast<double>(parts_.size()),
                      verify_ms, other_ms);
}

}  // namespace augur
