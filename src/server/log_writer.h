#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace augur {

/// Where a log's bytes go: a file, or standard error. Never waits for whoever reads them. One thread at a
/// time.
class LogTarget {
 public:
  /// `file` is created if it does not exist (mode 0640), and appended to; empty: standard error. Error naming
  /// the file if it cannot be opened.
  explicit LogTarget(const std::string& file);
  ~LogTarget();
  LogTarget(LogTarget&& other) noexcept;
  LogTarget& operator=(LogTarget&& other) noexcept;

  /// Number of bytes written; 0: none can be written now; below 0: the negative errno.
  std::ptrdiff_t write_some(std::string_view text) const;
  /// Waits until bytes can be written, at most for this time.
  void wait(int milliseconds) const;

 private:
  int descriptor_;
  bool owned_;
  bool is_socket_;
};

/// Writes lines on a separate thread, so that nothing waits for a slow reader or disk. A line is dropped and
/// counted if kQueueBytes are already waiting, or if it cannot be written (the disk is full); the log says
/// how many were dropped when it continues. Thread-safe.
class LogWriter {
 public:
  static constexpr std::size_t kQueueBytes = std::size_t{1} << 20;

  /// `file` as for LogTarget. `report` is called on the writer's thread for problems of the log itself; it
  /// may write a line, and must not throw.
  LogWriter(const std::string& file, std::function<void(const std::string&)> report);
  /// Writes the waiting lines. Gives up if nothing can be written for a second.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// `line` has its line break.
  void write(std::string_view line) noexcept;
  /// Counts a line that could not be composed.
  void drop() noexcept { ++dropped_; }
  /// Opens the file again soon, because its name now belongs to another file (logrotate). If that fails, the
  /// log says so and continues in the open file. No effect for standard error.
  void reopen();
  /// Lines so far.
  std::int64_t dropped() const { return dropped_; }

 private:
  void run();
  void open_anew();
  bool put(std::string_view line);
  void tell_dropped();
  bool gives_up() const;

  const std::string file_;
  const std::function<void(const std::string&)> report_;
  std::atomic<std::int64_t> dropped_ = 0;
  std::atomic<bool> ending_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;  ///< of lines_, and of the one that is being written
  bool reopening_ = false;

  // The thread's own.
  LogTarget target_;
  int error_ = 0;          ///< errno of lines lost since the log last reported it; 0: the queue was full
  bool torn_ = false;      ///< the last line is incomplete
  std::int64_t told_ = 0;  ///< part of dropped_ that the log has reported
  int idle_ms_ = 0;        ///< since the end began, without a byte being taken
  std::thread thread_;
};

}  // namespace augur
