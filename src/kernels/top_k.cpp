#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "base/elementary.h"
#include "kernels/ops.h"

// clang-format off: the order matters
#include "kernels/ops_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/top_k.cpp"
#include "hwy/foreach_target.h"
#include "kernels/simd_math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace augur {
namespace HWY_NAMESPACE {

/// maxima[g] = the largest x[i] with i % groups == g (NaN passed over), i below the last whole multiple of
/// groups. groups is a multiple of 128.
void GroupMaxima(const float* x, std::int64_t n, std::int64_t groups, float* maxima) {
  const DF d;
  constexpr std::int64_t kVectors = 8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t g = 0; g < groups; g += kVectors * lanes) {
    hn::Vec<DF> best[kVectors];
    for (auto& b : best) b = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (std::int64_t i = g; i - g + groups <= n; i += groups) {
      for (std::int64_t j = 0; j < kVectors; ++j) {
        const auto v = hn::LoadU(d, x + i + j * lanes);
        best[j] = hn::IfThenElse(hn::Lt(best[j], v), v, best[j]);
      }
    }
    for (std::int64_t j = 0; j < kVectors; ++j) hn::StoreU(best[j], d, maxima + g + j * lanes);
  }
}

/// Appends the elements from `begin` on that pass the threshold to `out`, in order, until `room` of them are
/// found or x ends. They pass when x > threshold, or without `strict` when not x < threshold, so that NaN
/// passes too (as -infinity). Returns where to go on; `found` counts.
std::int64_t Collect(const float* x, std::int64_t begin, std::int64_t n, float threshold, bool strict,
                     TopKScratch::Entry* out, std::int64_t room, std::int64_t& found) {
  const DF d;
  constexpr std::int64_t kVectors = 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t step = kVectors * lanes;
  const auto limit = hn::Set(d, threshold);
  found = 0;
  std::int64_t i = begin;
  while (i < n) {
    if (i + step <= n) {
      if (strict) {
        auto any = hn::Lt(limit, hn::LoadU(d, x + i));
        for (std::int64_t j = 1; j < kVectors; ++j) {
          any = hn::Or(any, hn::Lt(limit, hn::LoadU(d, x + i + j * lanes)));
        }
        if (hn::AllFalse(d, any)) {
          i += step;
          continue;
        }
      } else {
        auto all = hn::Lt(hn::LoadU(d, x + i), limit);
        for (std::int64_t j = 1; j < kVectors; ++j) {
          all = hn::And(all, hn::Lt(hn::LoadU(d, x + i + j * lanes), limit));
        }
        if (hn::AllTrue(d, all)) {
          i += step;
          continue;
        }
      }
    }
    for (const std::int64_t end = std::min(i + step, n); i < end; ++i) {
      if (strict ? !(x[i] > threshold) : x[i] < threshold) continue;
      if (found == room) return i;
      const float value = std::isnan(x[i]) ? -std::numeric_limits<float>::infinity() : x[i];
      out[found++] = {value, static_cast<std::int32_t>(i)};
    }
  }
  return n;
}

}  // namespace HWY_NAMESPACE
}  // namespace augur
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace augur {

HWY_EXPORT(GroupMaxima);
HWY_EXPORT(Collect);

namespace {

using Entry = TopKScratch::Entry;

bool before(const Entry& a, const Entry& b) {
  return a.value > b.value || (a.value == b.value && a.index < b.index);
}

std::int64_t groups_for(std::int64_t k) {
  return (2 * k + 127) / 128 * 128;
}

/// Leaves entries that contain the k first by before(), in the order of their index unless there were so many
/// that they had to be thinned out, and returns their number. k <= n; the spans hold groups_for(k) floats and
/// more than k entries.
///
/// The k-th largest of 2k or more maxima over interleaved groups bounds the k-th largest element from below,
/// and few elements lie above the bound when large elements fall into groups at random.
std::int64_t select(std::span<const float> x, std::int64_t k, std::span<float> maxima,
                    std::span<Entry> entries) {
  const auto n = static_cast<std::int64_t>(x.size());
  const std::int64_t groups = groups_for(k);
  float threshold = -std::numeric_limits<float>::infinity();
  if (n > static_cast<std::int64_t>(entries.size()) && n >= groups) {
    HWY_DYNAMIC_DISPATCH(GroupMaxima)(x.data(), n, groups, maxima.data());
    std::nth_element(maxima.begin(), maxima.begin() + (k - 1), maxima.begin() + groups, std::greater<>());
    threshold = maxima[static_cast<std::size_t>(k - 1)];
  }
  const auto room = static_cast<std::int64_t>(entries.size());
  std::int64_t count = 0;
  bool strict = false;
  for (std::int64_t next = 0;;) {
    std::int64_t found = 0;
    next = HWY_DYNAMIC_DISPATCH(Collect)(x.data(), next, n, threshold, strict, entries.data() + count,
                                         room - count, found);
    count += found;
    if (next >= n) return count;
    // Full. Whatever comes later has larger indices, so it must exceed the k-th so far.
    std::nth_element(entries.begin(), entries.begin() + (k - 1), entries.end(), before);
    count = k;
    threshold = entries[static_cast<std::size_t>(k - 1)].value;
    strict = true;
  }
}

void select_sorted(std::span<const float> x, std::int64_t k, std::span<float> maxima,
                   std::span<Entry> entries, std::int32_t* indices, float* values) {
  const std::int64_t count = select(x, k, maxima, entries);
  if (count > k)
    std::nth_element(entries.begin(), entries.begin() + (k - 1), entries.begin() + count, before);
  std::sort(entries.begin(), entries.begin() + k, before);
  for (std::int64_t i = 0; i < k; ++i) {
    indices[i] = entries[static_cast<std::size_t>(i)].index;
    values[i] = entries[static_cast<std::size_t>(i)].value;
  }
}

std::size_t entries_for(std::int64_t k) {
  return static_cast<std::size_t>(std::max<std::int64_t>(512, 4 * k));
}

}  // namespace

void TopKScratch::reserve(std::int64_t k) {
  const auto groups = static_cast<std::size_t>(groups_for(k));
  if (maxima.size() < groups) maxima.resize(groups);
  if (entries.size() < entries_for(k)) entries.resize(entries_for(k));
}

void top_k(std::span<const float> x, int k, TopKScratch& scratch, std::int32_t* indices, float* values) {
  const std::int64_t kept = std::min<std::int64_t>(k, static_cast<std::int64_t>(x.size()));
  if (kept < 1) return;
  scratch.reserve(kept);
  select_sorted(x, kept, scratch.maxima, std::span(scratch.entries).first(entries_for(kept)), indices,
                values);
}

void top_k(std::span<const float> x, int k, std::int32_t* indices, float* values) {
  constexpr std::int64_t kInline = 128;
  const std::int64_t kept = std::min<std::int64_t>(k, static_cast<std::int64_t>(x.size()));
  if (kept > kInline) {
    TopKScratch scratch;
    top_k(x, k, scratch, indices, values);
  } else if (kept >= 1) {
    std::array<float, 2 * kInline> maxima;  // groups_for(kInline)
    std::array<Entry, 4 * kInline> entries;
    select_sorted(x, kept, maxima, entries, indices, values);
  }
}

void collect_at_least(std::span<const float> x, float threshold, std::vector<std::int32_t>& out) {
  std::array<Entry, 256> entries;
  const auto n = static_cast<std::int64_t>(x.size());
  for (std::int64_t next = 0; next < n;) {
    std::int64_t found = 0;
    next = HWY_DYNAMIC_DISPATCH(Collect)(x.data(), next, n, threshold, false, entries.data(),
                                         static_cast<std::int64_t>(entries.size()), found);
    for (std::int64_t i = 0; i < found; ++i) {
      const Entry& entry = entries[static_cast<std::size_t>(i)];
      if (entry.value >= threshold) out.push_back(entry.index);
    }
  }
}

float top_entropy(std::span<const float> logits, int k, TopKScratch& scratch) {
  assert(k >= 1 && !logits.empty());
  const auto kept = std::min<std::int64_t>(k, static_cast<std::int64_t>(logits.size()));
  scratch.reserve(kept);
  const std::span<Entry> entries = std::span(scratch.entries).first(entries_for(kept));
  const std::int64_t count = select(logits, kept, scratch.maxima, entries);
  if (count > kept) {
    std::nth_element(entries.begin(), entries.begin() + (kept - 1), entries.begin() + count, before);
  }
  // By index, so that the sums have one order however the selection left them.
  const auto chosen = entries.first(static_cast<std::size_t>(kept));
  std::sort(chosen.begin(), chosen.end(), [](const Entry& a, const Entry& b) { return a.index < b.index; });
  float max = -std::numeric_limits<float>::infinity();
  for (const Entry& entry : chosen) max = std::max(max, entry.value);
  if (std::isinf(max)) return 0.0f;
  // H = log Z - sum p (x - max), Z = sum exp(x - max).
  double z = 0.0;
  double weighted = 0.0;
  std::array<float, 256> values;
  std::array<float, values.size()> weights;
  for (std::size_t begin = 0; begin < chosen.size(); begin += values.size()) {
    const auto part = chosen.subspan(begin, std::min(values.size(), chosen.size() - begin));
    for (std::size_t i = 0; i < part.size(); ++i) values[i] = part[i].value;
    exp_row(values.data(), std::ssize(part), max, 1.0f, weights.data());
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (weights[i] == 0) continue;  // also of -infinity, whose term is 0
      z += weights[i];
      weighted += weights[i] * (static_cast<double>(values[i]) - max);
    }
  }
  return static_cast<float>(elementary::log(z) - weighted / z);
}

}  // namespace augur
#endif  // HWY_ONCE
