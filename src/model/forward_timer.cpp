#include "model/forward_timer.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "model/prefill.h"

namespace augur {

std::vector<TokenId> some_tokens(std::int64_t tokens, std::int32_t vocab) {
  std::vector<TokenId> made;
  for (std::int64_t i = 0; i < tokens; ++i) made.push_back(static_cast<TokenId>((17 + i * 7919) % vocab));
  return made;
}

ForwardTimer::ForwardTimer(Model& target, std::int64_t capacity, int most_rows, const Clock& clock)
    : target_(target),
      clock_(clock),
      cache_(target.make_cache(capacity)),
      stride_((target.config().vocab + 15) / 16 * 16),
      logits_(static_cast<std::size_t>(stride_) * static_cast<std::size_t>(most_rows)),
      tokens_(some_tokens(std::max<std::int64_t>(capacity, most_rows), target.config().vocab)) {}

void ForwardTimer::grow(std::int64_t length, double until_ms) {
  constexpr std::int64_t kChunk = 64;
  while (cache_.length() < length && clock_.now_ms() < until_ms) {
    const auto rows = std::min(kChunk, length - cache_.length());
    prefill(target_, std::span(tokens_).first(static_cast<std::size_t>(rows)), cache_);
  }
}

ForwardTimer::Times ForwardTimer::time(int rows, ForwardProfile* profile) {
  const auto count = static_cast<std::size_t>(rows);
  positions_.resize(count);
  std::iota(positions_.begin(), positions_.end(), static_cast<std::int32_t>(cache_.length()));
  parents_.resize(count);
  std::iota(parents_.begin(), parents_.end(), -1);
  return forward(rows, std::span(tokens_).first(count), profile);
}

ForwardTimer::Times ForwardTimer::time_siblings(int rows, bool alike) {
  const auto count = static_cast<std::size_t>(rows);
  positions_.assign(count, static_cast<std::int32_t>(cache_.length()));
  parents_.assign(count, -1);
  same_.assign(count, tokens_.front());
  return forward(rows, alike ? std::span<const TokenId>(same_) : std::span(tokens_).first(count), nullptr);
}

ForwardTimer::Times ForwardTimer::forward(int rows, std::span<const TokenId> tokens,
                                          ForwardProfile* profile) {
  const auto count = static_cast<std::size_t>(rows);
  logit_rows_.resize(count);
  std::iota(logit_rows_.begin(), logit_rows_.end(), 0);
  KvTxn txn = cache_.reserve(rows);
  const TokenBatch::Sequence sequence{.kv = &txn, .first_row = 0, .rows = rows};
  Stopwatch watch(clock_);
  target_.forward(
      {.tokens = tokens, .positions = positions_, .parents = parents_, .sequences = {&sequence, 1}},
      {.profile = profile});
  Times times{.layers_ms = watch.restart(), .experts = static_cast<double>(target_.woken_experts())};
  target_.logits(logit_rows_, logits_.data(), stride_);
  times.logits_ms = watch.ms();
  return times;
}

}  // namespace augur
