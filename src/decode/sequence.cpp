#include "decode/sequence.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "base/error.h"
#include "draft/usual_sizes.h"
#include "verify/chance.h"

namespace augur {
namespace {

std::int64_t context_of(const Model& target, const SequenceOptions& options) {
  return options.context > 0 ? std::min(options.context, target.context()) : target.context();
}

std::int64_t generation_limit(std::int64_t prompt, std::int64_t context, std::int64_t max_tokens) {
  const std::int64_t room = context - prompt;
  if (room < 1) {
    throw Error("the prompt has {} tokens, but the context holds {}: expected at most {}", prompt, context,
                context - 1);
  }
  return max_tokens < 0 ? room : std::min(room, max_tokens);
}

}  // namespace

Sequence::Sequence(Model& target, std::vector<TokenId> prompt, SequenceOptions options)
    : text_(std::move(prompt)),
      prompt_size_(text_.size()),
      eos_(std::move(options.eos)),
      limit_(generation_limit(std::ssize(text_), context_of(target, options), options.max_tokens)),
      vocab_(target.config().vocab),
      cache_(target.make_cache(std::min(target.context(), std::ssize(text_) + limit_ + options.tree_slots))),
      sampler_(std::move(options.sampling), target.config().vocab),
      speculators_(std::move(options.speculators)),
      controller_(std::move(options.controller)),
      tree_nodes_(options.tree_nodes),
      verification_(options.verification),
      coupling_(options.coupling),
      record_(options.record),
      on_token_(std::move(options.on_token)),
      on_prefill_(std::move(options.on_prefill)),
      on_step_(std::move(options.on_step)) {
  if (text_.empty()) throw Error("the prompt is empty, and this model's tokenizer adds no BOS");
  for (const TokenId token : text_) {
    if (token < 0 || token >= vocab_) {
      throw Error("token {} of the prompt is outside the vocabulary of {}", token, vocab_);
    }
  }
  if (speculators_.size() > kMaxProposer) {
    throw Error("{} drafters for one sequence: expected at most {}", speculators_.size(), kMaxProposer);
  }
  // Room for the whole text and for the path that is laid over its end while penalties look at it.
  text_.reserve(text_.size() + static_cast<std::size_t>(limit_ + options.tree_slots));
  for (Speculator& s : speculators_) s.drafter->reset();
  // Longer paths than before should not have to allocate.
  verdict_.path.reserve(kUsualPath);
  statistics_.accepted_per_position.reserve(kUsualPath);
  if (limit_ == 0) finish(FinishReason::Length);
}

RoundInfo Sequence::round_info() const {
  const std::int64_t room = cache_.room() - 1;
  const std::int64_t depth = tokens_left() - 1;
  constexpr std::int64_t kMax = std::numeric_limits<int>::max();
  return {.context = cache_.length(),
          .room = static_cast<int>(std::min(room, kMax)),
          .max_depth = static_cast<int>(std::min(depth, kMax)),
          .sequences = batch_.sequences,
          .other_rows = batch_.other_rows,
          .costs = batch_.costs};
}

/// Makes one tree of what the speculators drafted for the round.
void Sequence::merge_drafts() {
  if (speculators_.empty()) return;
  std::swap(tree_, speculators_.front().tree);
  for (std::size_t i = 1; i < speculators_.size(); ++i) tree_.graft(speculators_[i].tree);
  int nodes = round_info().room;
  if (controller_) {
    controller_->cut(tree_);
    trace_.forecast = controller_->forecast();
  }
  if (tree_nodes_ > 0 && speculators_.size() > 1) nodes = std::min(nodes, tree_nodes_);
  reranker_.keep_best(tree_, static_cast<std::size_t>(nodes));
}

/// The target's answers about the nodes of this round's tree. The walk visits a node right after its parent,
/// so the path lies over the end of the text while it is needed as context.
class Sequence::View final : public TargetView {
 public:
  View(Sequence& sequence, std::span<const float> logits, std::int64_t stride)
      : s_(sequence), logits_(logits), stride_(stride), text_size_(sequence.text_.size()) {}
  ~View() override { s_.text_.resize(text_size_); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  TokenId draw(std::int32_t node) override {
    enter(node);
    return s_.sampler_.draw(row(node), s_.text_, s_.tree_.root_position() + depth(node) + 1);
  }
  const SparseDistribution& distribution(std::int32_t node) override {
    enter(node);
    s_.sampler_.processed(row(node), s_.text_, s_.distribution_);
    return s_.distribution_;
  }

 private:
  int depth(std::int32_t node) const { return s_.tree_.depths()[static_cast<std::size_t>(node)]; }
  std::span<const float> row(std::int32_t node) const {
    return logits_.subspan(static_cast<std::size_t>(node * stride_), static_cast<std::size_t>(s_.vocab_));
  }
  void enter(std::int32_t node) {
    if (node == DraftTree::kRoot) return;
    const std::size_t before = text_size_ + static_cast<std::size_t>(depth(node)) - 1;
    assert(s_.text_.size() >= before);
    s_.text_.resize(before);
    s_.text_.push_back(s_.tree_.tokens()[static_cast<std::size_t>(node)]);
  }

  Sequence& s_;
  std::span<const float> logits_;
  std::int64_t stride_;
  std::size_t text_size_;
};

void Sequence::verify(std::span<const float> logits, std::int64_t stride) {
  View view(*this, logits, stride);
  if (verification_ == VerifyRule::Walk) {
    verify_walk(tree_, view, verdict_);
    return;
  }
  KeyedChance chance(sampler_.params().seed, tree_.root_position());
  if (tree_.law() == ProposalLaw::Sampled) {
    verify_rejection(tree_, view, chance, rejection_, verdict_);
  } else {
    verify_sequential(tree_, view, chance, rejection_, verdict_);
  }
}

void Sequence::emit_verdict() {
  for (std::size_t i = 1; i < verdict_.path.size(); ++i) {
    const auto node = static_cast<std::size_t>(verdict_.path[i]);
    ++statistics_.accepted_tokens;
    if (statistics_.accepted_per_position.size() < i) statistics_.accepted_per_position.resize(i);
    ++statistics_.accepted_per_position[i - 1];
    if (!emit({tree_.tokens()[node], tree_.proposers()[node], tree_.depths()[node]})) return;
  }
  emit({verdict_.next, kTargetProposer, 0});
}

/// False when the sequence ends with this token.
bool Sequence::emit(const EmittedToken& token) {
  text_.push_back(token.token);
  ++statistics_.generated_tokens;
  const AfterToken after = on_token_ ? on_token_(token) : AfterToken::Continue;
  const bool eos = std::find(eos_.begin(), eos_.end(), token.token) != eos_.end();
  if (after == AfterToken::Stop || eos) {
    finish(FinishReason::Stop);
  } else if (after == AfterToken::Cancel) {
    finish(FinishReason::Cancelled);
  } else if (tokens_left() == 0) {
    finish(FinishReason::Length);
  }
  return !finished();
}

void Sequence::finish(FinishReason reason) {
  if (finished()) return;
  finish_ = reason;
  (decoding_ ? statistics_.decode_ms : statistics_.prompt_ms) = clock_.ms();
}

void Sequence::fail(std::exception_ptr why) {
  failure_ = std::move(why);
  finish(FinishReason::Failed);
}

}  // namespace augur
