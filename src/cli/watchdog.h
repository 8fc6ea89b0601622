#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace augur::cli {

/// Says again and again that all goes well, as long as it does: as long as each of some threads has come
/// round since it was asked last.
class Watchdog {
 public:
  /// Has a thread call what it is given, soon, if that thread is alive. Returns at once.
  using Ask = std::function<void(std::function<void()> alive)>;

  /// Looks each `period`, and calls `all_well` where look() is true.
  Watchdog(std::vector<Ask> threads, std::chrono::microseconds period, std::function<void()> all_well);
  /// By hand alone.
  explicit Watchdog(std::vector<Ask> threads);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Whether all have answered; then they are asked anew.
  bool look();

 private:
  struct Asked {
    Ask ask;
    std::shared_ptr<std::atomic<bool>> answered;  ///< the thread may answer when this is gone
  };

  std::vector<Asked> threads_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace augur::cli
