#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "decode/decoder.h"
#include "engine/generation.h"

namespace augur {

/// The generations that are decoded together. Each one's result goes to its caller when it ends. Generations
/// are added and end between steps; an added one waits until begin(). For one thread at a time.
class Batch {
 public:
  /// Receives the result; if an exception ended the generation, finish_reason is Error and `error` has the
  /// message. What the callback itself throws comes out of step().
  using Done = std::function<void(Result)>;

  /// `decoder` must outlive the batch.
  explicit Batch(Decoder& decoder) : decoder_(decoder) {}

  /// `number` identifies the generation in the calls below; it must differ from all others in the batch.
  void add(std::unique_ptr<Generation> generation, Done done, std::int64_t number);
  /// Moves a waiting generation to the running ones. Throws if there is no memory for that; then nothing has
  /// changed. The same holds for suspend() and take_out().
  void begin(std::int64_t number);
  /// Moves a running generation back to the waiting ones and frees its caches.
  void suspend(std::int64_t number);
  /// Removes a generation from the batch and frees its caches. What was computed of its text is kept in the
  /// decoder's PrefixCache, if it has one. The generation may be added again.
  std::unique_ptr<Generation> take_out(std::int64_t number);
  /// If exactly one generation runs and it still drafts: it decodes plainly from here on, and its drafters'
  /// memory is freed. Otherwise returns false and changes nothing.
  bool stop_drafting();

  std::size_t size() const { return running_.size(); }  // running generations
  bool empty() const { return running_.empty() && waiting_.empty(); }
  /// Whether a step would do nothing because every running generation waits for its grammar's mask.
  bool sits_out() const;
  std::vector<const Sequence*> running() const;
  std::vector<std::int64_t> running_numbers() const { return numbers(running_); }
  std::vector<std::int64_t> waiting_numbers() const { return numbers(waiting_); }
  /// The sequence of a waiting or running generation.
  const Sequence& sequence(std::int64_t number) const;
  /// Runs one step for all running generations, then removes those that have ended and calls their `done`.
  /// Throws what makes it impossible for any of them to go on (Decoder::step); nothing is lost then, and the
  /// step may be tried again.
  void step();
  /// Ends all running generations (or, if none runs, all waiting ones) with finish_reason Error.
  void fail(const std::exception_ptr& why);

 private:
  struct Running {
    std::unique_ptr<Generation> generation;
    Done done;
    std::int64_t number = 0;
  };
  static std::vector<std::int64_t> numbers(const std::vector<Running>& list);
  static void move(std::int64_t number, std::vector<Running>& from, std::vector<Running>& to);
  static std::size_t index_of(const std::vector<Running>& list, std::int64_t number);
  void end(Running ended);

  Decoder& decoder_;
  std::vector<Running> running_;
  std::vector<Running> waiting_;
  std::vector<Sequence*> sequences_;
};

/// The result of a request that ended with the exception `why`.
Result failed(const std::exception_ptr& why, Result so_far = {}) noexcept;

}  // namespace augur
