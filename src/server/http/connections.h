#pragma once
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "server/http/http_application.h"
#include "server/limits.h"
#include "server/problem.h"

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

  /// So many that get no place are told so at once; more are closed without an answer.
  static constexpr std::int64_t kMostRefused = 64;
  /// One of Limits::connections for a client of this name (HttpApplication::counted_as). Where all are taken,
  /// or all that the name may have, the connection of these that has waited longest for a request is closed
  /// for it: clients that say nothing keep nobody out. Otherwise the reason why there is none.
  std::optional<Problem> take_place(const std::string& counted_as);
  void leave_place(const std::string& counted_as);
  std::int64_t refused = 0;                        ///< that are being told that there is no place
  std::int64_t places() const { return places_; }  ///< that are taken

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
  bool is_full() const { return places_ >= limits.connections; }
  bool is_full(const std::string& counted_as) const;
  /// `counted_as`: of this name alone; null: of any.
  void close_longest_idle(const std::string* counted_as);

  std::int64_t places_ = 0;
  std::map<std::string, std::int64_t> places_of_;  ///< by name, but the empty one
  std::mutex mutex_;
  std::condition_variable changed_;
  int unanswered_ = 0;  ///< requests

 public:
  boost::asio::io_context io{1};  // last: what it drops at its end uses the others
};

}  // namespace augur
