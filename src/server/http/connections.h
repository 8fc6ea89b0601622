#pragma once
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "server/http/http_application.h"
#include "server/limits.h"

namespace augur {

class Connection;

/// What all connections of a server share. All but count_unanswered() and wait_for_answers() is the I/O
/// thread's.
struct Connections {
  Connections(const Limits& bounds, std::string server, HttpApplication& of)
      : limits(bounds), name(std::move(server)), application(of) {}

  const Limits limits;
  const std::string name;  ///< what the header Server says
  HttpApplication& application;
  std::set<Connection*> open;
  bool finishing = false;  ///< a connection ends with its answer
  std::atomic<std::int64_t> held_bytes =
      0;  ///< of bodies and of answers that are not read; any thread may look

  void count_unanswered(int change) {
    const std::lock_guard lock(mutex_);
    unanswered_ += change;
    changed_.notify_all();
  }
  /// Returns when nothing is unanswered, at the latest after `seconds`.
  void wait_for_answers(double seconds) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return unanswered_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int unanswered_ = 0;  ///< requests

 public:
  boost::asio::io_context io{1};  // last: what it drops at its end uses the others
};

}  // namespace augur
