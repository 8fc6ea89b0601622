#pragma once
#include <fstream>
#include <string>

#include "policy/step_trace.h"

namespace augur::cli {

/// Every round of a comparison as a line of JSON: what was decided, expected and measured. Costs some
/// microseconds a round.
class RoundLog {
 public:
  /// An empty name: nothing is written. Error when the file cannot be made.
  explicit RoundLog(const std::string& file);

  /// Whose rounds follow.
  void begin(const std::string& suite, int prompt, const std::string& variant);
  void write(const StepTrace& trace);
  /// Error when not all could be written.
  void finish();

 private:
  std::string file_;
  std::ofstream out_;
  std::string run_;
  int round_ = 0;
};

}  // namespace augur::cli
