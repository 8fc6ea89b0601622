#include "base/similar_word.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace augur {
namespace {

/// Letters to put in, leave out, replace or swap with their neighbour to make one word of the other.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view similar_word(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kMostEdits = 2;
  std::string_view best;
  std::size_t fewest = kMostEdits + 1;
  for (const std::string_view one : known) {
    if (std::max(word.size(), one.size()) - std::min(word.size(), one.size()) > kMostEdits) continue;
    const std::size_t distance = edits(word, one);
    if (distance < fewest && 2 * distance < one.size()) {
      fewest = distance;
      best = one;
    }
  }
  return best;
}

}  // namespace augur
