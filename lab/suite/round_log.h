#pragma once
#include <fstream>
#include <string>

#include "policy/step_trace.h"

namespace augur {

/// Every round of a run as a line of JSON: what was decided, expected and measured (scripts/price_rounds.py
/// reads it). Costs some microseconds a round.
class RoundLog {
 public:
  /// An empty name: nothing is written. `append`: behind what an earlier run left there. Error when the file
  /// cannot be made.
  RoundLog(const std::string& file, bool append);

  /// Whose rounds follow: `prompt` is the place in the suite.
  void begin(const std::string& suite, int prompt, const std::string& method);
  void write(const StepTrace& trace);
  /// Error when not all could be written.
  void finish();

 private:
  std::string file_;
  std::ofstream out_;
  std::string run_;
  int round_ = 0;
};

}  // namespace augur
