#pragma once
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "policy/step_trace.h"

namespace augur {

/// Every round of a run as a line of JSON: what was decided, expected and measured (`augur bench rounds`
/// prices them). Costs some microseconds a round.
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

/// A line of such a file, without what was expected.
struct LoggedRound {
  std::string suite;
  int prompt = 0;
  std::string variant;  ///< the method's text
  int round = 0;        ///< of its text, from 0 on
  std::string mode;     ///< "fixed", or what a controller decided
  int drafted = 0;      ///< candidates that drafters made
  int rows = 0;         ///< that were verified, the newest token included
  int tokens = 0;
  double draft_ms = 0;
  double verify_ms = 0;
  double other_ms = 0;

  double ms() const { return draft_ms + verify_ms + other_ms; }
};

/// The rounds of a file that RoundLog wrote, in its order. Error naming file, line and field for anything
/// else, and for a file without rounds.
std::vector<LoggedRound> read_round_log(const std::filesystem::path& file);

}  // namespace augur
