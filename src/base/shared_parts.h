#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/process_mark.h"

namespace augur {

/// Large parts of loaded models that never change, such as packed matrices, so that the engines of one model
/// in this process hold them once. It keeps none of them alive: they go with the last engine that uses them.
/// Thread-safe.
///
/// This is the one thing that engines share without having been told to. It is global, because engines are
/// made by parts of a program that know nothing of each other.
class SharedParts {
 public:
  using Parts = std::vector<std::shared_ptr<void>>;
  using Progress = std::function<void(double)>;  ///< 0 to 1; what it throws ends the load
  using Make = std::function<Parts(const Progress&)>;

  /// Those of this process. A child of fork begins with none: another thread of its parent may have been
  /// making some, or have held the lock.
  static SharedParts& of_process();

  /// The parts that are known by `key`, which says what they are and all that they depend on; where there are
  /// none, those that `make` makes in this call. Where another thread makes them at the moment, this one
  /// waits for it, and calls `progress` with how far it has come. It makes parts of its own if the other one
  /// fails, or does not get on (its callbacks may wait for this thread), or is the same thread within a
  /// callback.
  Parts get(const std::string& key, const Make& make, const Progress& progress);

 private:
  struct Loading {
    std::thread::id thread = std::this_thread::get_id();
    std::atomic<double> fraction{0};
  };
  struct Entry {
    std::vector<std::weak_ptr<void>> parts;
    std::shared_ptr<Loading> loading;  ///< null: nobody makes them
  };
  SharedParts() = default;
  static Parts alive(const Entry& entry);
  /// Waits until `loading` has ended. False: it does not get on.
  bool wait_for(const Loading& loading, const std::string& key, std::unique_lock<std::mutex>& lock,
                const Progress& progress);
  Parts make_and_keep(const std::string& key, const Make& make, const Progress& progress,
                      std::unique_lock<std::mutex>& lock);
  /// Drops what no engine uses any more.
  void tidy();

  const ProcessMark process_{};
  const SharedParts* parents_ = nullptr;  ///< the parent process's, which the child does not touch
  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<std::string, Entry> entries_;
};

}  // namespace augur
