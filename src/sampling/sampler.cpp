#include "sampling/sampler.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/elementary.h"
#include "base/error.h"
#include "sampling/gumbel.h"
#include "sampling/nucleus.h"

namespace augur {
namespace {

/// Keeps the noise of drafters' draws apart from the target's.
constexpr std::uint64_t kDraftStream = 0x6472616674657221u;

/// The nucleus is usually among so few candidates.
constexpr std::int64_t kFewCandidates = 64;

void resize_kept(SamplerScratch& s, std::size_t count) {
  s.kept.resize(count);
  s.kept_logits.resize(count);
}

/// The model's own logits are finite: what is minus infinity was made so.
[[noreturn]] void throw_unusable(float highest) {
  if (highest < 0)  // by biases and grammar together, which the request alone has
    throw Error(refused("logit_bias"), "logit_bias: every token that may come next is forbidden");
  throw Error(ErrorKind::Internal, "sampler: the highest logit is {}", highest);
}

}  // namespace

void SamplerScratch::reserve(const SamplingOptions& params, std::int64_t vocab) {
  const auto size = static_cast<std::size_t>(vocab);
  if (!params.logit_bias.empty() || penalises(params)) adjusted.reserve(size);
  if (penalises(params)) counts.resize(size);
  // How many candidates pass differs from token to token.
  if (!filters(params)) return;
  kept.reserve(size);
  kept_logits.reserve(size);
  weights.reserve(size);
  if (top_p_of(params) < 1.0f) nucleus.reserve(size);
  top_k.reserve(std::min(vocab, std::max<std::int64_t>(params.top_k, kFewCandidates)));
}

Sampler::Sampler(SamplingOptions params, std::int64_t vocab_size, int noise_rows)
    : params_(std::move(params)),
      vocab_size_(vocab_size),
      inverse_temperature_(greedy(params_) ? 1.0f : 1.0f / temperature_of(params_)),
      noise_(params_.seed, std::max<std::int64_t>(vocab_size, 1), noise_rows),
      draft_noise_(params_.seed ^ kDraftStream, std::max<std::int64_t>(vocab_size, 1), noise_rows) {
  if (vocab_size < 1 || vocab_size > std::numeric_limits<TokenId>::max()) {
    throw Error(ErrorKind::Internal, "sampler: a vocabulary of {} tokens is not possible", vocab_size);
  }
  validate(params_, vocab_size);
  scratch_.reserve(params_, vocab_size);
}

void Sampler::check(std::span<const float> logits) const {
  if (static_cast<std::int64_t>(logits.size()) != vocab_size_) {
    throw Error(ErrorKind::Internal, "sampler: expected {} logits, found {}", vocab_size_, logits.size());
  }
  if (const std::int64_t bad = first_invalid_logit(logits.data(), vocab_size_); bad >= 0) {
    throw Error(ErrorKind::Internal, "sampler: the logit of token {} is {}", bad,
                logits[static_cast<std::size_t>(bad)]);
  }
}

std::span<const float> Sampler::adjust(std::span<const float> logits, std::span<const TokenId> context,
                                       TokenMask mask, SamplerScratch& s) const {
  const bool counts = penalises(params_) && !context.empty();
  if (mask.empty() && params_.logit_bias.empty() && !counts) return logits;
  s.adjusted.assign(logits.begin(), logits.end());
  apply(mask, {}, s.adjusted);
  for (const auto& [token, bias] : params_.logit_bias) s.adjusted[static_cast<std::size_t>(token)] += bias;
  if (counts) penalise(context, s);
  return s.adjusted;
}

void Sampler::penalise(std::span<const TokenId> context, SamplerScratch& s) const {
  s.counts.resize(static_cast<std::size_t>(vocab_size_));
  if (params_.penalty_window > 0) {
    context = context.last(std::min(context.size(), static_cast<std::size_t>(params_.penalty_window)));
  }
  for (const TokenId token : context) {
    assert(token >= 0 && token < vocab_size_);
    ++s.counts[static_cast<std::size_t>(token)];
  }
  for (const TokenId token : context) {
    std::int32_t& count = s.counts[static_cast<std::size_t>(token)];
    if (count == 0) continue;  // done at its first occurrence
    float& logit = s.adjusted[static_cast<std::size_t>(token)];
    logit = penalised(params_, logit, count);
    count = 0;
  }
}

void Sampler::weigh_kept(float max, SamplerScratch& s) const {
  s.weights.resize(s.kept.size());
  exp_row(s.kept_logits.data(), static_cast<std::int64_t>(s.kept.size()), max, inverse_temperature_,
          s.weights.data());
}

void Sampler::keep_top(std::span<const float> logits, std::int64_t k, SamplerScratch& s) const {
  k = std::min(k, vocab_size_);
  resize_kept(s, static_cast<std::size_t>(k));
  top_k(logits, static_cast<int>(k), s.top_k, s.kept.data(), s.kept_logits.data());
}

void Sampler::keep_nucleus(std::span<const float> logits, float max, SamplerScratch& s) const {
  const bool limited = params_.top_k > 0 && params_.top_k < vocab_size_;
  double total = limited ? 0.0 : sum_exp(logits.data(), vocab_size_, max, inverse_temperature_);
  keep_top(logits, limited ? params_.top_k : std::min(kFewCandidates, vocab_size_), s);
  weigh_kept(max, s);
  if (limited) total = std::accumulate(s.weights.begin(), s.weights.end(), 0.0);
  const double target = static_cast<double>(top_p_of(params_)) * total;
  double sum = 0.0;
  for (std::size_t i = 0; i < s.kept.size(); ++i) {
    sum += s.weights[i];
    if (sum >= target) {
      resize_kept(s, i + 1);
      return;
    }
  }
  if (limited || s.kept.size() == logits.size()) return;  // short of top_p by rounding only

  // Tokens below the mean weight of what may be left out are left out: even all of them do not add up to it.
  const double left_out = (total - target) / static_cast<double>(vocab_size_);
  const double lowest =
      left_out > 0.0 ? elementary::log(left_out) - 1e-3 : -std::numeric_limits<double>::infinity();
  s.kept.clear();
  collect_at_least(logits, max + static_cast<float>(lowest / inverse_temperature_), s.kept);
  s.kept_logits.resize(s.kept.size());
  for (std::size_t i = 0; i < s.kept.size(); ++i)
    s.kept_logits[i] = logits[static_cast<std::size_t>(s.kept[i])];
  weigh_kept(max, s);
  s.nucleus.resize(s.kept.size());
  for (std::size_t i = 0; i < s.kept.size(); ++i) s.nucleus[i] = {s.kept_logits[i], s.weights[i], s.kept[i]};
  const std::size_t count = partition_nucleus(s.nucleus, target);
  resize_kept(s, count);
  for (std::size_t i = 0; i < count; ++i) {
    s.kept[i] = s.nucleus[i].token;
    s.kept_logits[i] = s.nucleus[i].logit;
  }
}

void Sampler::keep_min_p(float max, SamplerScratch& s) const {
  weigh_kept(max, s);
  std::size_t count = 0;
  for (std::size_t i = 0; i < s.kept.size(); ++i) {
    if (s.weights[i] < min_p_of(params_)) continue;
    s.kept[count] = s.kept[i];
    s.kept_logits[count++] = s.kept_logits[i];
  }
  resize_kept(s, count);
}

bool Sampler::filter(std::span<const float> logits, float max, SamplerScratch& s) const {
  const bool top_k_on = params_.top_k > 0 && params_.top_k < vocab_size_;
  if (top_p_of(params_) < 1.0f) {
    keep_nucleus(logits, max, s);
  } else if (top_k_on) {
    keep_top(logits, params_.top_k, s);
  } else if (min_p_of(params_) > 0.0f) {
    // A little below the threshold: keep_min_p() decides.
    s.kept.clear();
    collect_at_least(
        logits, max + (static_cast<float>(elementary::log(min_p_of(params_))) - 1e-3f) / inverse_temperature_,
        s.kept);
    s.kept_logits.resize(s.kept.size());
    for (std::size_t i = 0; i < s.kept.size(); ++i)
      s.kept_logits[i] = logits[static_cast<std::size_t>(s.kept[i])];
  } else {
    return false;
  }
  if (min_p_of(params_) > 0.0f) keep_min_p(max, s);
  return true;
}

TokenId Sampler::draw(std::span<const float> logits, std::span<const TokenId> context, std::int64_t position,
                      TokenMask mask) {
  SamplerScratch& s = scratch_;
  check(logits);
  logits = adjust(logits, context, mask, s);
  const std::int64_t best = argmax(logits.data(), vocab_size_);
  const float max = logits[static_cast<std::size_t>(best)];
  if (std::isinf(max)) throw_unusable(max);
  if (greedy(params_)) return static_cast<TokenId>(best);
  if (!filter(logits, max, s)) {
    return static_cast<TokenId>(
        argmax_with_noise(logits, max, inverse_temperature_, noise_.row(position).data()));
  }
  s.weights.resize(s.kept.size());
  noise_.at(position, s.kept, s.weights.data());
  TokenId winner = -1;
  float winning = 0.0f;
  for (std::size_t i = 0; i < s.kept.size(); ++i) {
    const float score = noisy_score(s.kept_logits[i], max, inverse_temperature_, s.weights[i]);
    if (winner < 0 || score > winning || (score == winning && s.kept[i] < winner)) {
      winner = s.kept[i];
      winning = score;
    }
  }
  return winner;
}

void Sampler::processed(std::span<const float> logits, std::span<const TokenId> context,
                        SparseDistribution& out, TokenMask mask) {
  check(logits);
  logits = adjust(logits, context, mask, scratch_);
  if (make_law(logits, scratch_, out)) return;
  throw_unusable(*std::max_element(logits.begin(), logits.end()));
}

bool Sampler::draft_law(std::span<const float> logits, SamplerScratch& scratch,
                        SparseDistribution& out) const {
  assert(std::ssize(logits) == vocab_size_);
  if (first_invalid_logit(logits.data(), vocab_size_) >= 0) return false;
  return make_law(adjust(logits, {}, {}, scratch), scratch, out);
}

bool Sampler::make_law(std::span<const float> logits, SamplerScratch& s, SparseDistribution& out) const {
  const std::int64_t best = argmax(logits.data(), vocab_size_);
  const float max = logits[static_cast<std::size_t>(best)];
  if (std::isinf(max)) return false;
  out.tokens.reserve(logits.size());
  out.probs.reserve(logits.size());
  if (greedy(params_)) {
    out.tokens.assign(1, static_cast<TokenId>(best));
    out.probs.assign(1, 1.0f);
    s.kept_logits.assign(1, max);
    return true;
  }
  if (filter(logits, max, s)) {
    out.tokens.assign(s.kept.begin(), s.kept.end());
    std::sort(out.tokens.begin(), out.tokens.end());
    s.kept_logits.resize(out.tokens.size());
    for (std::size_t i = 0; i < out.tokens.size(); ++i) {
      s.kept_logits[i] = logits[static_cast<std::size_t>(out.tokens[i])];
    }
  } else {
    out.tokens.resize(logits.size());
    std::iota(out.tokens.begin(), out.tokens.end(), 0);
    s.kept_logits.assign(logits.begin(), logits.end());
  }
  s.weights.resize(out.tokens.size());
  const auto count = static_cast<std::int64_t>(s.weights.size());
  exp_row(s.kept_logits.data(), count, max, inverse_temperature_, s.weights.data());
  const double total = std::accumulate(s.weights.begin(), s.weights.end(), 0.0);
  out.probs.resize(out.tokens.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < s.weights.size(); ++i) {
    if (s.weights[i] == 0.0f) continue;
    out.tokens[kept] = out.tokens[i];
    s.kept_logits[kept] = s.kept_logits[i];
    out.probs[kept++] = static_cast<float>(s.weights[i] / total);
  }
  out.tokens.resize(kept);
  out.probs.resize(kept);
  s.kept_logits.resize(kept);
  return true;
}

}  // namespace augur
