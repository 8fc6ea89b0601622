#include "base/elementary.h"
#include "model/layer_spec.h"

namespace augur {

float QueryGrowth::at(std::int64_t position) const {
  if (beta == 0 || position < step) return 1.0f;  // ln 1
  const std::int64_t steps = 1 + position / step;
  const auto logarithm = static_cast<float>(elementary::log(static_cast<double>(steps)));
  return 1.0f + static_cast<float>(beta) * logarithm;
}

}  // namespace augur
