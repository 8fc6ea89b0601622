#pragma once
#include <string_view>

namespace augur::cli {

/// Standard output, unbuffered beyond one call, so that text appears as it is accepted. Remembers the first
/// failure (the reader went away, the disk is full) instead of throwing, because it is written to from
/// callbacks; the command ends with finish().
class Output {
 public:
  /// False when this or an earlier write failed: stop producing.
  bool write(std::string_view text);
  bool line(std::string_view text);
  bool ok() const { return error_ == 0; }
  /// Throws Error when a write failed.
  void finish() const;

 private:
  int error_ = 0;  // errno of the first failure
};

bool stdout_is_terminal();
bool stderr_is_terminal();

}  // namespace augur::cli
