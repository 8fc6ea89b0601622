#pragma once
#include <string>
#include <string_view>

#include "base/clock.h"

namespace augur::cli {

/// One line on a terminal's standard error that says how far a slow step is ("loading model  42%"). Writes
/// nothing when standard error is no terminal, nothing for steps that end within a moment, and wipes its line
/// when the step is done.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress() { done(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(double fraction, std::string_view detail = {});  ///< fraction in 0..1
  void done();

 private:
  std::string what_;
  bool enabled_;
  bool visible_ = false;
  Stopwatch since_start_;
  double last_ms_ = 0;
};

}  // namespace augur::cli
