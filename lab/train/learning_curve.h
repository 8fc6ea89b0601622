#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lab/train/learner.h"

namespace augur {

/// What held-out sequences said at each evaluation of a run: a table in a file (tab-separated, one line an
/// evaluation), which is replaced as a whole, so that it is never half a table.
class LearningCurve {
 public:
  struct Point {
    std::int64_t tokens = 0;
    double loss = 0;
    double chain_length = 0;
    std::vector<double> agreement;  ///< by draft depth
  };

  /// Reads what an earlier run wrote, up to `tokens`: what came after the checkpoint is done again. Error
  /// naming file and line for a table that is not one.
  LearningCurve(std::filesystem::path file, std::int64_t tokens);

  void add(std::int64_t tokens, const Grade& held_out);
  const std::vector<Point>& points() const { return points_; }

 private:
  std::filesystem::path file_;
  std::vector<Point> points_;
};

}  // namespace augur
