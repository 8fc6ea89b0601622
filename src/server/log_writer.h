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
  /// `file`: is made where there is none (mode 0640), and added to; empty: standard error. Error naming the
  /// file where it cannot be opened.
  explicit LogTarget(const std::string& file);
  ~LogTarget();
  LogTarget(LogTarget&& other) noexcept;
  LogTarget& operator=(LogTarget&& other) noexcept;

  /// Bytes that were taken; 0: none for now; below 0: the negative errno.
  std::ptrdiff_t write_some(std::string_view text) const;
  /// Waits until something may be taken, at most so long.
  void wait(int milliseconds) const;

 private:
  int descriptor_;
  bool owned_;
  bool is_socket_;
};

/// Writes lines on a thread of its own, so that nobody waits for a reader that stalls, or for a disk. What
/// finds kQueueBytes waiting, and what cannot be written (a full disk), is dropped and counted; the log tells
/// how much that was when it goes on. Thread-safe.
class LogWriter {
 public:
  static constexpr std::size_t kQueueBytes = std::size_t{1} << 20;

  /// `file` as LogTarget has it. `report` is told of trouble with the log itself, on the writer's thread: it
  /// may write a line, and throws nothing.
  LogWriter(const std::string& file, std::function<void(const std::string&)> report);
  /// Writes what waits. Gives up where nothing is taken for a second.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// `line` has its line break.
  void write(std::string_view line) noexcept;
  /// Counts a line that could not even be made.
  void drop() noexcept { ++dropped_; }
  /// Opens the file anew, soon: another has its name (logrotate). Where that cannot be, the log says so and
  /// goes on in the one that is open. Nothing happens to standard error.
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
  int error_ = 0;          ///< by which lines were lost since the log told of it; 0: the queue was full
  bool torn_ = false;      ///< the last line is there in part
  std::int64_t told_ = 0;  ///< of dropped_, those that the log has told of
  int idle_ms_ = 0;        ///< since the end began, without a byte being taken
  std::thread thread_;
};

}  // namespace augur
