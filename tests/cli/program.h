#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace augur::test {

struct Outcome {
  int code = -1;    ///< exit code; -1 when a signal ended it
  int signal = 0;   ///< that signal
  std::string out;  ///< stdout
  std::string err;  ///< stderr
};

struct ProgramOptions {
  std::string input;                     ///< stdin
  std::vector<std::string> environment;  ///< "NAME=value", added to this process's
  std::string stdout_path;               ///< goes there instead of into Outcome::out
  std::string stderr_path = {};          ///< likewise
  int signal = 0;                        ///< sent once stdout has `signal_after_bytes` bytes; 0: none
  int signal_after_bytes = 0;
  std::size_t memory = 0;             ///< bytes of address space that it gets; 0: no limit
  std::optional<rlimit> descriptors;  ///< that it may have open
  bool unread = false;                ///< the reading end of stdout is closed when it begins
};

/// Runs the program under test to its end.
Outcome run_augur(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

/// The program under test while it runs. Killed at the end, if it has not ended.
class RunningAugur {
 public:
  /// `terminal`: a terminal that becomes its own; -1: it has none.
  explicit RunningAugur(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment = {}, int terminal = -1);
  ~RunningAugur();
  RunningAugur(const RunningAugur&) = delete;
  RunningAugur& operator=(const RunningAugur&) = delete;

  pid_t pid() const { return pid_; }
  /// The port in "… is served at http://ADDRESS:PORT", when it has been said; 0 where the program ends
  /// before.
  std::uint16_t port();
  void signal(int number) const;
  /// What it has written to stderr so far.
  std::string err() const;
  /// Waits until it ends; Outcome::out has nothing.
  Outcome wait();

 private:
  std::filesystem::path err_;
  int out_ = -1;
  pid_t pid_ = -1;
};

/// The tiny model that ships with the project.
std::string stories260k();

/// A file of its own for the running test.
std::filesystem::path temporary_file(const std::string& name, const std::string& content = {});

}  // namespace augur::test
