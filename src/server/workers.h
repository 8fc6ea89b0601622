#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "session/job_pool.h"

namespace augur {

/// Threads for what takes long of a request before it joins the batch: parsing, templates, tokenising.
/// Clients take turns, however many jobs each of them has. Thread-safe.
class Workers {
 public:
  struct Job {
    std::string client;               ///< whose turn it takes
    std::function<bool()> abandoned;  ///< nobody wants it any more: it is dropped when its turn comes
    std::function<void()> run;        ///< does not throw
  };

  explicit Workers(int threads) : pool_(threads, "augur-worker") {}
  /// Ends what runs, drops what waits.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void submit(Job job);
  /// Returns when nothing waits and nothing runs.
  void drain();

 private:
  void run_next();
  Job take_next();

  std::mutex mutex_;
  std::condition_variable changed_;                 ///< jobs have come to an end
  std::map<std::string, std::deque<Job>> waiting_;  ///< by client; none is empty
  std::deque<std::string> turns_;                   ///< who has jobs that wait, in the order of their turns
  int running_ = 0;
  JobPool pool_;  ///< has a job for each that waits: to run the next one
};

}  // namespace augur
