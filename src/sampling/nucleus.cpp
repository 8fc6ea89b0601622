#include "sampling/nucleus.h"

#include <algorithm>

namespace augur {

namespace {

bool before(const NucleusEntry& a, const NucleusEntry& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

}  // namespace

std::size_t partition_nucleus(std::span<NucleusEntry> entries, double target) {
  constexpr std::size_t kFew = 64;
  // The nucleus ends in [begin, end); `sum` is the weight before begin.
  std::size_t begin = 0;
  std::size_t end = entries.size();
  double sum = 0.0;
  while (end - begin > kFew) {
    // A pivot from the middle of a small sample; the halves are strictly smaller, for no two entries are
    // equal.
    const std::size_t step = (end - begin) / 9;
    NucleusEntry sample[9];
    for (std::size_t i = 0; i < 9; ++i) sample[i] = entries[begin + i * step];
    std::nth_element(sample, sample + 4, sample + 9, before);
    const NucleusEntry pivot = sample[4];
    double front = 0.0;
    const auto middle =
        std::partition(entries.begin() + static_cast<std::ptrdiff_t>(begin),
                       entries.begin() + static_cast<std::ptrdiff_t>(end), [&](const auto& e) {
                         const bool in_front = before(e, pivot);
                         if (in_front) front += e.weight;
                         return in_front;
                       });
    const auto split = static_cast<std::size_t>(middle - entries.begin());
    if (sum + front >= target) {
      end = split;
    } else {
      sum += front;
      begin = split;
    }
  }
  std::sort(entries.begin() + static_cast<std::ptrdiff_t>(begin),
            entries.begin() + static_cast<std::ptrdiff_t>(end), before);
  for (std::size_t i = begin; i < end; ++i) {
    sum += entries[i].weight;
    if (sum >= target) return i + 1;
  }
  return end;
}

}  // namespace augur
