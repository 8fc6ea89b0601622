#pragma once
#include <cstdint>
#include <vector>

#include "model/layer_spec.h"

namespace augur {

/// cos and sin of every rotation up to the positions in use, in float32 as Hugging Face computes them:
/// the angle is rounded to float32, then the function. Grows by ensure(), which moves the rows.
class RopeCache {
 public:
  RopeCache(const RopeTable& table, std::int64_t context) : table_(table), context_(context) {}

  /// Leading dimensions of a head that are rotated; 0: none.
  std::int64_t dims() const { return 2 * half(); }
  /// Makes positions [0, positions) available; positions <= context.
  void ensure(std::int64_t positions);
  const float* cos(std::int64_t position) const { return row(position); }
  const float* sin(std::int64_t position) const { return row(position) + half(); }

 private:
  std::int64_t half() const { return static_cast<std::int64_t>(table_.inverse_frequencies.size()); }
  const float* row(std::int64_t position) const { return rows_.data() + position * 2 * half(); }

  RopeTable table_;
  std::int64_t context_;
  std::int64_t ready_ = 0;
  std::vector<float> rows_;  ///< [ready][2][dims / 2]: cos, then sin
};

}  // namespace augur
