#include "model/rope_cache.h"

#include <algorithm>
#include <cassert>

#include "base/circular.h"

namespace augur {

void RopeCache::ensure(std::int64_t positions) {
  assert(positions <= context_);
  if (positions <= ready_) return;
  constexpr std::int64_t kFirst = 256;
  const std::int64_t target = std::min(context_, std::max({positions, 2 * ready_, kFirst}));
  rows_.resize(static_cast<std::size_t>(target * 2 * half()));
  for (std::int64_t p = ready_; p < target; ++p) {
    float* out = rows_.data() + p * 2 * half();
    for (std::int64_t i = 0; i < half(); ++i) {
      const float angle = static_cast<float>(p) * table_.inverse_frequencies[static_cast<std::size_t>(i)];
      const Circular at = circular(static_cast<double>(angle));
      out[i] = static_cast<float>(at.cos) * table_.magnitude;
      out[half() + i] = static_cast<float>(at.sin) * table_.magnitude;
    }
  }
  ready_ = target;
}

}  // namespace augur
