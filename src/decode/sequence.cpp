#include "decode/sequence.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "base/error.h"
#include "draft/common/sequence_rows.h"
#include "tree/usual_sizes.h"
#include "verify/chance.h"

namespace augur {
namespace {

std::int64_t context_of(const Model& target, const SequenceOptions& options) {
  return options.context > 0 ? std::min(options.context, target.context()) : target.context();
}

std::int64_t generation_limit(std::int64_t prompt, std::int64_t context, std::int64_t max_tokens) {
  const std::int64_t room = context - prompt;
  if (room < 1) {
    throw Error(ErrorKind::ContextFull,
                "the prompt has {} tokens, but the context holds {}: expected at most {}", prompt, context,
                context - 1);
  }
  return max_tokens < 0 ? room : std::min(room, max_tokens);
}

}  // namespace

Sequence::Sequence(Model& target, std::vector<TokenId> prompt, SequenceOptions options)
    : tokens_(std::move(prompt)),
      prompt_size_(tokens_.size()),
      eos_(std::move(options.eos)),
      limit_(generation_limit(std::ssize(tokens_), context_of(target, options), options.max_tokens)),
      vocab_(target.config().vocab),
      cache_(
          target.make_cache(std::min(target.context(), std::ssize(tokens_) + limit_ + options.tree_slots))),
      sampler_(std::move(options.sampling), target.config().vocab, options.noise_rows),
      processed_(std::move(options.logits_processors)),
      verification_(options.verification),
      reuse_prefix_(options.reuse_prefix && !options.prompt_logprobs),
      keep_text_(options.keep_text),
      owner_(std::move(options.owner)),
      most_nodes_(options.most_nodes),
      tpot_ms_(options.tpot_ms),
      logprobs_(options.logprobs),
      sampled_logprobs_(options.sampled_logprobs),
      score_prompt_(options.prompt_logprobs),
      on_token_(std::move(options.on_token)),
      on_prefill_(std::move(options.on_prefill)),
      on_step_(std::move(options.on_step)),
      watch_(*options.clock) {
  if (tokens_.empty())
    throw Error(refused("prompt"), "the prompt is empty, and this model's tokenizer adds no BOS");
  for (const TokenId token : tokens_) {
    if (token < 0 || token >= vocab_) {
      throw Error(refused("prompt"), "token {} of the prompt is outside the vocabulary of {}", token, vocab_);
    }
  }
  if (options.speculation.drafters.size() > kMaxProposer) {
    throw Error(refused("speculative"), "{} drafters for one sequence: expected at most {}",
                options.speculation.drafters.size(), kMaxProposer);
  }
  draft_.speculation = std::move(options.speculation);
  draft_.record = options.record;
  draft_.on_draft = std::move(options.on_draft);
  draft_.coupled = options.coupling && verification_ == Verification::Walk;
  // Rejection sampling with a stored q is for one drafter: siblings of a merged tree come from several laws,
  // or from none. Such a tree is verified by sequential rejection, which asks for no law.
  draft_.sampled = verification_ == Verification::Rejection && !greedy(sampler_.params()) &&
                   draft_.speculation.drafters.size() == 1;
  draft_.vocab = vocab_;
  draft_.sampler = &sampler_;
  if (options.constraint) {
    masks_ = std::make_shared<MaskTree>(std::move(options.constraint), vocab_);
    draft_.masks = masks_.get();
  }
  draft_.target_cache = &cache_;
  // Room for the whole text and for the path that is laid over its end while penalties look at it.
  tokens_.reserve(tokens_.size() + static_cast<std::size_t>(limit_ + options.tree_slots));
  for (Speculator& s : draft_.speculation.drafters) {
    s.drafter->reset();
    s.tap_layers = s.drafter->tap_layers();
    s.wants = s.drafter->target_wants();
  }
  // Longer paths than before should not have to allocate.
  verdict_.path.reserve(kUsualPath);
  statistics_.accepted_per_position.reserve(kUsualPath);
  if (score_prompt_) prompt_logprobs_.reserve(tokens_.size());
  if (limit_ == 0 && !(score_prompt_ && reading())) finish(FinishReason::Length);
}

void Sequence::resume_from(PrefixCache& kept) {
  std::vector<const void*> groups;
  for (const Speculator& s : draft_.speculation.drafters) {
    // Rows of tokens alone can be run anew by the one drafter; features come from the target, which is not to
    // read what it knows.
    const SequenceRows* const rows = s.drafter->sequence_rows();
    if (rows != nullptr && rows->width() > 0) groups.push_back(s.drafter->group());
  }
  const auto hit = kept.find(owner_, std::span(tokens_).first(tokens_.size() - 1), groups, !looked_up_);
  if (!std::exchange(looked_up_, true)) cached_tokens_ = hit.tokens;
  if (hit.tokens == 0) return;
  for (Speculator& s : draft_.speculation.drafters) {
    SequenceRows* const rows = s.drafter->sequence_rows();
    const PrefixCache::Drafted* const drafted = hit.entry->drafted_by(s.drafter->group());
    if (rows != nullptr && drafted != nullptr) {
      const std::int64_t known = std::min(hit.tokens, drafted->rows.length());
      if (drafted->rows.holds(known)) rows->resume(drafted->rows, known);
    }
    const auto count = static_cast<std::size_t>(hit.tokens);
    s.drafter->sync(
        {.tokens = std::span(tokens_).first(count), .next = tokens_[count], .teaches_all = teaches_all()});
  }
  cache_.share(hit.entry->target, hit.tokens);
}

void Sequence::tell_prefill_begins() {
  if (std::exchange(prefill_begun_, true) || !on_prefill_) return;
  on_prefill_(cache_.length(), static_cast<std::int64_t>(prompt_size_));
}

void Sequence::keep_in(PrefixCache& kept, std::int64_t tokens, PrefixCache::Keep what) const {
  if (!keep_text_ || !cache_.holds(tokens)) return;
  PrefixCache::Entry entry{.target = cache_};
  entry.target.truncate(tokens);
  for (const Speculator& s : draft_.speculation.drafters) {
    const SequenceRows* const rows = s.drafter->sequence_rows();
    if (rows == nullptr || !rows->holds(std::min(tokens, rows->length()))) continue;
    entry.drafters.push_back(
        {.group = s.drafter->group(), .rows = rows->keep(std::min(tokens, rows->length()))});
  }
  kept.keep(owner_, std::span(tokens_).first(static_cast<std::size_t>(tokens)), std::move(entry), what);
}

void Sequence::forget() {
  cache_.truncate(0);
  for (Speculator& s : draft_.speculation.drafters) s.drafter->reset();
}

void Sequence::stop_drafting() {
  draft_.speculation = {};
  draft_.sampled = false;
}

void Sequence::limit_length(std::int64_t tokens) {
  limit_ = generation_limit(static_cast<std::int64_t>(prompt_size_), tokens, limit_);
}

bool Sequence::mask_ready(const RunElsewhere& elsewhere) {
  if (!masks_) return true;
  if (dear_mask_) {
    if (!dear_mask_->made()) return false;
    dear_mask_.reset();
    return true;
  }
  if (!elsewhere || masks_->try_root_mask()) return true;
  dear_mask_ = std::make_unique<DearMask>(masks_, elsewhere);
  return false;
}

bool Sequence::waits_for(const Sequence& other) const {
  if (!other.keep_text_ || other.owner_ != owner_) return false;
  const auto end =
      std::mismatch(other.tokens_.begin(), other.tokens_.end(), tokens_.begin(), tokens_.end()).first;
  return end - other.tokens_.begin() > other.read() + kKvPageSlots;
}

int Sequence::prompt_rows(int most, bool kept) const {
  const auto rows = std::min<std::int64_t>(unread(), most);
  if (!kept || !cache_.keeps_states()) return static_cast<int>(rows);
  constexpr std::int64_t kTurn = 16;   // tokens that a template puts behind a turn, and takes back
  constexpr std::int64_t kLong = 512;  // of a shorter prompt a step more costs more than it saves
  const auto border = [](std::int64_t tokens) { return tokens / kKvPageSlots * kKvPageSlots; };
  const std::int64_t last = border(static_cast<std::int64_t>(prompt_size_) - kTurn);
  std::int64_t end = read() + rows;
  if (static_cast<std::int64_t>(prompt_size_) >= kLong && read() < last && end > last) {
    end = last;
  } else if (rows < unread() && border(end) > read()) {
    end = border(end);
  }
  return static_cast<int>(end - read());
}

SequenceDraft& Sequence::begin_round(int reading, int prompt_rows) {
  if (!std::exchange(decoding_, true)) prompt_ms_ = watch_.restart();
  const auto limited = [](std::int64_t n) {
    return static_cast<int>(std::min<std::int64_t>(n, std::numeric_limits<int>::max()));
  };
  draft_.tokens = tokens_;
  draft_.info = {.context = cache_.length(),
                 .room = limited(std::min(cache_.room() - 1, most_nodes_)),
                 .max_depth = limited(tokens_left() - 1),
                 .reading = reading,
                 .prompt_rows = prompt_rows,
                 .tpot_ms = tpot_ms_};
  if (tpot_ms_ > 0) {
    draft_.info.late_ms = watch_.ms() - tpot_ms_ * static_cast<double>(generated().size());
  }
  return draft_;
}

SequenceDraft& Sequence::end_round() {
  draft_.failure = failure_;
  return draft_;
}

void Sequence::append_rows(int rows, std::vector<TokenId>& tokens, std::vector<std::int32_t>& positions,
                           std::vector<std::int32_t>& parents) const {
  if (!reading()) return draft_.tree.append_rows(tokens, positions, parents);
  const auto first_row = static_cast<std::int32_t>(tokens.size());
  for (std::int32_t i = 0; i < rows; ++i) {
    const std::int64_t position = read() + i;
    tokens.push_back(tokens_[static_cast<std::size_t>(position)]);
    positions.push_back(static_cast<std::int32_t>(position));
    parents.push_back(i == 0 ? -1 : first_row + i - 1);
  }
}

/// The target's answers about the nodes of this round's tree. The walk visits a node right after its parent,
/// so the path lies over the end of the text while it is needed as context.
class Sequence::View final : public TargetView {
 public:
  View(Sequence& sequence, std::span<const float> logits, std::int64_t stride)
      : s_(sequence), logits_(logits), stride_(stride), size_(sequence.tokens_.size()) {}
  ~View() override { s_.tokens_.resize(size_); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  bool can_enter(std::int32_t node) override {
    // Behind the text's end a processor is not asked: plain decoding does not, either.
    if (s_.processes_logits() && s_.ends_text(s_.draft_.tree.tokens()[static_cast<std::size_t>(node)]))
      return false;
    if (!s_.masks_) return true;
    const std::int32_t state = s_.masks_->at(s_.draft_.tree, node);
    return state != MaskTree::kIllegal && s_.masks_->knows(state);
  }
  TokenId draw(std::int32_t node) override {
    enter(node);
    return s_.sampler_.draw(processed(node), s_.tokens_, s_.draft_.tree.root_position() + depth(node) + 1,
                            allowed(node));
  }
  const SparseDistribution& distribution(std::int32_t node) override {
    enter(node);
    s_.sampler_.processed(processed(node), s_.tokens_, s_.distribution_, allowed(node));
    return s_.distribution_;
  }
  std::span<const float> row(std::int32_t node) const {
    return logits_.subspan(static_cast<std::size_t>(node * stride_), static_cast<std::size_t>(s_.vocab_));
  }

 private:
  std::span<const float> processed(std::int32_t node) {
    return s_.processes_logits() ? s_.processed_.of(node, row(node), s_.tokens_) : row(node);
  }
  int depth(std::int32_t node) const { return s_.draft_.tree.depths()[static_cast<std::size_t>(node)]; }
  TokenMask allowed(std::int32_t node) {
    return s_.masks_ ? s_.masks_->allowed(s_.masks_->at(s_.draft_.tree, node)) : TokenMask();
  }
  void enter(std::int32_t node) {
    if (node == DraftTree::kRoot) return;
    const std::size_t before = size_ + static_cast<std::size_t>(depth(node)) - 1;
    assert(s_.tokens_.size() >= before);
    s_.tokens_.resize(before);
    s_.tokens_.push_back(s_.draft_.tree.tokens()[static_cast<std::size_t>(node)]);
  }

  Sequence& s_;
  std::span<const float> logits_;
  std::int64_t stride_;
  std::size_t size_;
};

void Sequence::verify(std::span<const float> logits, std::int64_t stride) {
  processed_.begin_round();
  try {
    choose_path(logits, stride);
  } catch (const Error& error) {
    // The sampler knows of biases and grammar only.
    if (!processes_logits() || error.field() != "logit_bias") throw;
    throw Error(
        refused("logits_processors"),
        "logits_processors: with logit_bias and the grammar they forbid every token that may come next");
  }
  if (logprobs_ >= 0) score_path(logits, stride);
}

void Sequence::choose_path(std::span<const float> logits, std::int64_t stride) {
  View view(*this, logits, stride);
  if (verification_ == Verification::Walk) {
    verify_walk(draft_.tree, view, verdict_);
    return;
  }
  KeyedChance chance(sampler_.params().seed, draft_.tree.root_position());
  if (draft_.tree.law() == ProposalLaw::Sampled) {
    verify_rejection(draft_.tree, view, chance, rejection_, verdict_);
  } else {
    verify_sequential(draft_.tree, view, chance, rejection_, verdict_);
  }
}

void Sequence::score_path(std::span<const float> logits, std::int64_t stride) {
  path_logprobs_.clear();
  View view(*this, logits, stride);
  for (std::size_t i = 0; i < verdict_.path.size(); ++i) {
    const bool last = i + 1 == verdict_.path.size();
    const TokenId token =
        last ? verdict_.next : draft_.tree.tokens()[static_cast<std::size_t>(verdict_.path[i + 1])];
    path_logprobs_.push_back(sampled_logprobs_
                                 ? logprobs(view.distribution(verdict_.path[i]), token, logprobs_)
                                 : logprobs(view.row(verdict_.path[i]), token, logprobs_));
  }
}

int Sequence::open_scores(int rows, int most) {
  const std::int64_t end = std::min(read() + rows, static_cast<std::int64_t>(prompt_size_) - 1);
  const std::int64_t count = std::clamp<std::int64_t>(end - std::ssize(prompt_logprobs_), 0, most);
  prompt_logprobs_.resize(prompt_logprobs_.size() + static_cast<std::size_t>(count));
  return static_cast<int>(count);
}

void Sequence::score_prompt(std::size_t index, std::span<const float> logits) {
  prompt_logprobs_[index] = logprobs(logits, tokens_[index + 1], logprobs_);
}

AcceptedRows Sequence::accepted_rows(std::int64_t first, int rows) const {
  const auto begin = static_cast<std::size_t>(first);
  const auto count = static_cast<std::size_t>(rows);
  return {.tokens = std::span(tokens_).subspan(begin, count),
          .first_position = first,
          .next = tokens_[begin + count]};
}

void Sequence::take_prompt() {
  if (on_prefill_ && !decoding_) on_prefill_(read(), static_cast<std::int64_t>(prompt_size_));
  if (limit_ == 0 && !reading()) finish(FinishReason::Length);
}

void Sequence::take_verdict() {
  ++statistics_.calls;
  statistics_.verified_tokens += draft_.tree.size();
  statistics_.drafted_tokens += draft_.drafted;
  emit_path();
}

void Sequence::count_times(const StepTrace& step) {
  statistics_.draft_ms += step.draft_ms;
  statistics_.classify_ms += step.classify_ms;
  statistics_.verify_ms += step.verify_ms;
  statistics_.other_ms += step.other_ms;
}

void Sequence::tell_step(const StepTrace& step) {
  if (on_step_) on_step_(step);
}

void Sequence::emit_path() {
  const auto scored = [&](std::size_t i) { return logprobs_ < 0 ? nullptr : &path_logprobs_[i]; };
  const DraftTree& tree = draft_.tree;
  for (std::size_t i = 1; i < verdict_.path.size(); ++i) {
    const auto node = static_cast<std::size_t>(verdict_.path[i]);
    ++statistics_.accepted_tokens;
    if (statistics_.accepted_per_position.size() < i) statistics_.accepted_per_position.resize(i);
    ++statistics_.accepted_per_position[i - 1];
    if (!emit({tree.tokens()[node], tree.proposers()[node], tree.depths()[node], scored(i - 1)})) return;
  }
  emit({verdict_.next, kTargetProposer, 0, scored(verdict_.path.size() - 1)});
}

/// False when the sequence ends with this token.
bool Sequence::emit(const EmittedToken& token) {
  tokens_.push_back(token.token);
  if (masks_) masks_->advance(token.token);
  statistics_.mean_accepted_length =
      static_cast<double>(generated().size()) / static_cast<double>(statistics_.calls);
  const AfterToken after = on_token_ ? on_token_(token) : AfterToken::Continue;
  if (after == AfterToken::Stop || ends_text(token.token)) {
    finish(FinishReason::Stop);
  } else if (after == AfterToken::Cancel) {
    finish(FinishReason::Cancelled);
  } else if (tokens_left() == 0) {
    finish(FinishReason::Length);
  }
  return !finished();
}

bool Sequence::ends_text(TokenId token) const {
  return std::find(eos_.begin(), eos_.end(), token) != eos_.end();
}

void Sequence::finish(FinishReason reason) {
  if (finished()) return;
  finish_ = reason;
  (decoding_ ? decode_ms_ : prompt_ms_) = watch_.ms();
}

void Sequence::fail(std::exception_ptr why) {
  if (failure_) return;
  finish(FinishReason::Error);
  finish_ = FinishReason::Error;
  failure_ = std::move(why);
}

}  // namespace augur
