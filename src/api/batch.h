#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "api/generation.h"
#include "decode/decoder.h"

namespace augur {

/// Generations that are decoded together, each handed over to its caller when it ends. They come and go
/// between steps; those that are added wait until they are begun. One thread at a time.
class Batch {
 public:
  /// Gets the result, with finish_reason Error and the message where anything was thrown for it. What it
  /// throws itself is thrown by step().
  using Done = std::function<void(Result)>;

  /// `decoder` outlives it.
  explicit Batch(Decoder& decoder) : decoder_(decoder) {}

  /// The lowest `order` is begun first, and suspended last.
  void add(std::unique_ptr<Generation> generation, Done done, std::int64_t order = 0);
  /// Which of those that wait is the next; null: none waits.
  const Sequence* next() const;
  void begin_next();
  /// Has the one with the highest order wait again, and gives back its memory. False where fewer than two
  /// run. When there is no memory even for that, it is thrown, and nothing has changed.
  bool suspend_one();
  /// Has the one that runs alone decode plainly from here on, and gives back its drafters' memory. False
  /// where it does so already, or more than one runs.
  bool stop_drafting();

  std::size_t size() const { return running_.size(); }  ///< that run
  bool empty() const { return running_.empty() && waiting_.empty(); }
  std::vector<const Sequence*> running() const;
  /// One step for all; those that have ended by then are gone. Throws what makes going on impossible
  /// (Decoder::step): nothing is lost, and the step may be tried again.
  void step();
  /// Ends all of them with finish_reason Error.
  void fail(const std::exception_ptr& why);

 private:
  struct Running {
    std::unique_ptr<Generation> generation;
    Done done;
    std::int64_t order = 0;
  };
  Sequence& wait(Running running);
  void end(Running ended);

  Decoder& decoder_;
  std::vector<Running> running_;
  std::vector<Running> waiting_;  ///< by order, falling
  std::vector<Sequence*> sequences_;
};

/// The result of a request for which something was thrown.
Result failed(const std::exception_ptr& why) noexcept;

}  // namespace augur
