#include "sampling/sampler.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "sampling/gumbel.h"
#include "sampling/nucleus.h"

namespace augur {

Sampler::Sampler(SamplingParams params, std::int64_t vocab_size)
    : params_(std::move(params)),
      vocab_size_(vocab_size),
      inverse_temperature_(params_.greedy() ? 1.0f : 1.0f / params_.temperature),
      noise_(params_.seed, std::max<std::int64_t>(vocab_size, 1)) {
  if (vocab_size < 1 || vocab_size > std::numeric_limits<TokenId>::max()) {
    throw Error("sampler: a vocabulary of {} tokens is not possible", vocab_size);
  }
  params_.validate(vocab_size);
  if (!params_.logit_bias.empty() || params_.penalises())
    adjusted_.resize(static_cast<std::size_t>(vocab_size));
  if (params_.penalises()) counts_.resize(static_cast<std::size_t>(vocab_size));
  // How many candidates pass differs from token to token.
  if (params_.filters()) {
    kept_.reserve(static_cast<std::size_t>(vocab_size));
    kept_logits_.reserve(static_cast<std::size_t>(vocab_size));
    weights_.reserve(static_cast<std::size_t>(vocab_size));
    if (params_.top_p < 1.0f) nucleus_.reserve(static_cast<std::size_t>(vocab_size));
  }
}

std::span<const float> Sampler::adjust(std::span<const float> logits, std::span<const TokenId> context) {
  if (static_cast<std::int64_t>(logits.size()) != vocab_size_) {
    throw Error("sampler: expected {} logits, found {}", vocab_size_, logits.size());
  }
  if (const std::int64_t bad = first_invalid_logit(logits.data(), vocab_size_); bad >= 0) {
    throw Error("sampler: the logit of token {} is {}", bad, logits[static_cast<std::size_t>(bad)]);
  }
  if (adjusted_.empty()) return logits;
  std::copy(logits.begin(), logits.end(), adjusted_.begin());
  for (const auto& [token, bias] : params_.logit_bias) adjusted_[static_cast<std::size_t>(token)] += bias;
  if (params_.penalises()) penalise(context);
  return adjusted_;
}

void Sampler::penalise(std::span<const TokenId> context) {
  if (params_.repeat_last_n > 0) {
    context = context.last(std::min(context.size(), static_cast<std::size_t>(params_.repeat_last_n)));
  }
  for (const TokenId token : context) {
    assert(token >= 0 && token < vocab_size_);
    ++counts_[static_cast<std::size_t>(token)];
  }
  for (const TokenId token : context) {
    std::int32_t& count = counts_[static_cast<std::size_t>(token)];
    if (count == 0) continue;  // done at its first occurrence
    float& logit = adjusted_[static_cast<std::size_t>(token)];
    logit = params_.penalised(logit, count);
    count = 0;
  }
}

void Sampler::resize_kept(std::size_t count) {
  kept_.resize(count);
  kept_logits_.resize(count);
}

void Sampler::weigh_kept(float max) {
  weights_.resize(kept_.size());
  exp_row(kept_logits_.data(), static_cast<std::int64_t>(kept_.size()), max, inverse_temperature_,
          weights_.data());
}

void Sampler::keep_top(std::span<const float> logits, std::int64_t k) {
  k = std::min(k, vocab_size_);
  resize_kept(static_cast<std::size_t>(k));
  top_k(logits, static_cast<int>(k), top_k_, kept_.data(), kept_logits_.data());
}

void Sampler::keep_nucleus(std::span<const float> logits, float max) {
  const bool limited = params_.top_k > 0 && params_.top_k < vocab_size_;
  double total = limited ? 0.0 : sum_exp(logits.data(), vocab_size_, max, inverse_temperature_);
  // The nucleus is usually among few candidates.
  constexpr std::int64_t kFew = 64;
  keep_top(logits, limited ? params_.top_k : std::min(kFew, vocab_size_));
  weigh_kept(max);
  if (limited) total = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  const double target = static_cast<double>(params_.top_p) * total;
  double sum = 0.0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    sum += weights_[i];
    if (sum >= target) {
      resize_kept(i + 1);
      return;
    }
  }
  if (limited || kept_.size() == logits.size()) return;  // short of top_p by rounding only

  // Tokens below the mean weight of what may be left out are left out: even all of them do not add up to it.
  const double left_out = (total - target) / static_cast<double>(vocab_size_);
  const double lowest = left_out > 0.0 ? std::log(left_out) - 1e-3 : -std::numeric_limits<double>::infinity();
  kept_.clear();
  collect_at_least(logits, max + static_cast<float>(lowest / inverse_temperature_), kept_);
  kept_logits_.resize(kept_.size());
  for (std::size_t i = 0; i < kept_.size(); ++i) kept_logits_[i] = logits[static_cast<std::size_t>(kept_[i])];
  weigh_kept(max);
  nucleus_.resize(kept_.size());
  for (std::size_t i = 0; i < kept_.size(); ++i) nucleus_[i] = {kept_logits_[i], weights_[i], kept_[i]};
  const std::size_t count = partition_nucleus(nucleus_, target);
  resize_kept(count);
  for (std::size_t i = 0; i < count; ++i) {
    kept_[i] = nucleus_[i].token;
    kept_logits_[i] = nucleus_[i].logit;
  }
}

void Sampler::keep_min_p(float max) {
  weigh_kept(max);
  std::size_t count = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (weights_[i] < params_.min_p) continue;
    kept_[count] = kept_[i];
    kept_logits_[count++] = kept_logits_[i];
  }
  resize_kept(count);
}

bool Sampler::filter(std::span<const float> logits, float max) {
  const bool top_k_on = params_.top_k > 0 && params_.top_k < vocab_size_;
  if (params_.top_p < 1.0f) {
    keep_nucleus(logits, max);
  } else if (top_k_on) {
    keep_top(logits, params_.top_k);
  } else if (params_.min_p > 0.0f) {
    // A little below the threshold: keep_min_p() decides.
    kept_.clear();
    collect_at_least(logits, max + (std::log(params_.min_p) - 1e-3f) / inverse_temperature_, kept_);
    kept_logits_.resize(kept_.size());
    for (std::size_t i = 0; i < kept_.size(); ++i)
      kept_logits_[i] = logits[static_cast<std::size_t>(kept_[i])];
  } else {
    return false;
  }
  if (params_.min_p > 0.0f) keep_min_p(max);
  return true;
}

TokenId Sampler::draw(std::span<const float> logits, std::span<const TokenId> context,
                      std::int64_t position) {
  logits = adjust(logits, context);
  const std::int64_t best = argmax(logits.data(), vocab_size_);
  const float max = logits[static_cast<std::size_t>(best)];
  if (std::isinf(max)) throw Error("sampler: every logit is {}: no token is allowed", max);
  if (params_.greedy()) return static_cast<TokenId>(best);
  if (!filter(logits, max)) {
    return static_cast<TokenId>(
        argmax_with_noise(logits, max, inverse_temperature_, noise_.row(position).data()));
  }
  weights_.resize(kept_.size());
  noise_.at(position, kept_, weights_.data());
  TokenId winner = -1;
  float winning = 0.0f;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const float score = noisy_score(kept_logits_[i], max, inverse_temperature_, weights_[i]);
    if (winner < 0 || score > winning || (score == winning && kept_[i] < winner)) {
      winner = kept_[i];
      winning = score;
    }
  }
  return winner;
}

void Sampler::processed(std::span<const float> logits, std::span<const TokenId> context,
                        SparseDistribution& out) {
  logits = adjust(logits, context);
  const std::int64_t best = argmax(logits.data(), vocab_size_);
  const float max = logits[static_cast<std::size_t>(best)];
  if (std::isinf(max)) throw Error("sampler: every logit is {}: no token is allowed", max);
  out.tokens.clear();
  out.probs.clear();
  out.tokens.reserve(logits.size());
  out.probs.reserve(logits.size());
  if (params_.greedy()) {
    out.tokens.push_back(static_cast<TokenId>(best));
    out.probs.push_back(1.0f);
    return;
  }
  if (filter(logits, max)) {
    out.tokens.assign(kept_.begin(), kept_.end());
    std::sort(out.tokens.begin(), out.tokens.end());
  } else {
    out.tokens.resize(logits.size());
    std::iota(out.tokens.begin(), out.tokens.end(), 0);
  }
  weights_.resize(out.tokens.size());
  for (std::size_t i = 0; i < out.tokens.size(); ++i) {
    weights_[i] = logits[static_cast<std::size_t>(out.tokens[i])];
  }
  const auto count = static_cast<std::int64_t>(weights_.size());
  exp_row(weights_.data(), count, max, inverse_temperature_, weights_.data());
  const double total = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] == 0.0f) continue;
    out.tokens[kept++] = out.tokens[i];
    out.probs.push_back(static_cast<float>(weights_[i] / total));
  }
  out.tokens.resize(kept);
}

}  // namespace augur
