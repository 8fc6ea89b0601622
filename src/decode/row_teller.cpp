#include "decode/row_teller.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <numeric>

#include "kernels/ops.h"
#include "tree/usual_sizes.h"

namespace augur {
namespace {

bool asks(const Speculator& s, bool prompt) {
  return s.wants && (s.wants->prompts || !prompt);
}

}  // namespace

bool RowTeller::wanted(std::span<const Speculator> drafters, bool prompt) {
  return std::any_of(drafters.begin(), drafters.end(), [&](const Speculator& s) { return asks(s, prompt); });
}

bool RowTeller::wants_logits(std::span<const Speculator> drafters, bool prompt) {
  return std::any_of(drafters.begin(), drafters.end(), [&](const Speculator& s) {
    return asks(s, prompt) && (s.wants->logits || s.wants->top_k > 0);
  });
}

void RowTeller::tell(std::span<const Speculator> drafters, TargetRows rows, std::int64_t vocabulary,
                     const Tapped& tapped, std::size_t first_row, ThreadPool& pool) {
  int most = 0;
  for (const Speculator& s : drafters) {
    if (asks(s, rows.prompt)) most = std::max(most, s.wants->top_k);
  }
  assert(most <= TargetWants::kMostTop);
  if (most > 0) rank(rows, static_cast<int>(std::min<std::int64_t>(most, vocabulary)), vocabulary, pool);
  for (const Speculator& s : drafters) {
    if (!asks(s, rows.prompt)) continue;
    TargetRows mine = rows;
    if (s.wants->states && !s.tap_layers.empty()) {
      all_.reserve(kUsualRows);
      all_.resize(rows.tokens.size());
      std::iota(all_.begin(), all_.end(), static_cast<std::int32_t>(first_row));
      mine.states = states(s.tap_layers, all_, tapped);
    }
    if (!s.wants->logits) mine.logits = nullptr;
    if (s.wants->top_k == 0) {
      mine.top_tokens = nullptr;
      mine.top_logits = nullptr;
      mine.top_k = 0;
    }
    s.drafter->saw(mine);
  }
}

/// A row is ranked by one thread, whatever their number.
void RowTeller::rank(TargetRows& rows, int k, std::int64_t vocabulary, ThreadPool& pool) {
  const std::size_t count = rows.tokens.size();
  const auto width = static_cast<std::size_t>(k);
  top_tokens_.reserve(kUsualPath * width);
  top_logits_.reserve(kUsualPath * width);
  top_tokens_.resize(count * width);
  top_logits_.resize(count * width);
  std::atomic<std::size_t> next{0};
  pool.run([&](Team&) {
    for (std::size_t i; (i = next.fetch_add(1)) < count;) {
      const float* const row = rows.logits + static_cast<std::int64_t>(i) * rows.logits_stride;
      top_k(std::span(row, static_cast<std::size_t>(vocabulary)), k, top_tokens_.data() + i * width,
            top_logits_.data() + i * width);
    }
  });
  rows.top_tokens = top_tokens_.data();
  rows.top_logits = top_logits_.data();
  rows.top_k = k;
}

const float* RowTeller::states(std::span<const int> layers, std::span<const std::int32_t> rows,
                               const Tapped& tapped) {
  const auto hidden = static_cast<std::size_t>(tapped.hidden);
  states_.reserve(kUsualPath * layers.size() * hidden);
  states_.resize(rows.size() * layers.size() * hidden);
  float* out = states_.data();
  for (const std::int32_t row : rows) {
    const float* const from = tapped.rows + static_cast<std::int64_t>(row) * tapped.stride;
    for (const int layer : layers) {
      const auto column = static_cast<std::size_t>(
          std::lower_bound(tapped.layers.begin(), tapped.layers.end(), layer) - tapped.layers.begin());
      out = std::copy_n(from + column * hidden, hidden, out);
    }
  }
  return states_.data();
}

}  // namespace augur
