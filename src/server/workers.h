#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "session/job_pool.h"

namespace augur {

/// Threads for the slow work before a request joins the batch: parsing, templates, tokenising. Clients take
/// turns, however many jobs each of them has. Thread-safe.
class Workers {
 public:
  struct Job {
    std::string client;  ///< client whose turn it uses
    /// true: the job is not needed any more, and is dropped when its turn comes
    std::function<bool()> abandoned;
    std::function<void()> run;  ///< must not throw
  };

  explicit Workers(int threads) : pool_(threads, "augur-worker") {}
  /// Waits for running jobs, drops waiting ones.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void submit(Job job);
  /// Waits until no job waits or runs.
  void drain();

 private:
  void run_next();
  Job take_next();

  std::mutex mutex_;
  std::condition_variable changed_;                 ///< jobs have come to an end
  std::map<std::string, std::deque<Job>> waiting_;  ///< by client; none is empty
  std::deque<std::string> turns_;  ///< clients with waiting jobs, in the order of their turns
  int running_ = 0;
  JobPool pool_;  ///< has one job for each waiting job: to run the next one
};

}  // namespace augur
