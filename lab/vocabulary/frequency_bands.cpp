#include "lab/vocabulary/frequency_bands.h"

#include <algorithm>
#include <cmath>

namespace augur {

std::vector<Band> frequency_bands(const HeadWeights& weights, std::span<const std::int64_t> rank,
                                  std::int64_t core, std::int64_t clusters, bool banded) {
  std::vector<Band> bands(1);
  for (std::int64_t e = 0; e < weights.usable; ++e) {
    const std::int64_t place = rank[static_cast<std::size_t>(weights.target_id(e))];
    if (place < core) continue;
    std::size_t band = 0;
    for (std::int64_t end = 4 * core; banded && core > 0 && place >= end; end *= 4) ++band;
    if (bands.size() <= band) bands.resize(band + 1);
    bands[band].entries.push_back(static_cast<std::int32_t>(e));
  }
  std::erase_if(bands, [](const Band& b) { return b.entries.empty(); });
  double roots = 0;
  for (const Band& b : bands) roots += std::sqrt(static_cast<double>(b.entries.size()));
  double before = 0;
  std::int64_t given = 0;
  for (Band& b : bands) {
    before += std::sqrt(static_cast<double>(b.entries.size()));
    b.clusters = std::clamp<std::int64_t>(
        std::llround(before / roots * static_cast<double>(clusters)) - given, 1, std::ssize(b.entries));
    given += b.clusters;
  }
  return bands;
}

}  // namespace augur
