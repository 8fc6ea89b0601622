#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "decode/decoder.h"
#include "engine/generation.h"

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

  /// `number`: by which it is known here, unlike any other's.
  void add(std::unique_ptr<Generation> generation, Done done, std::int64_t number);
  /// One that waits runs from here on. When there is no memory even for that, it is thrown, and nothing has
  /// changed; the same holds for the next two.
  void begin(std::int64_t number);
  /// Has one that runs wait again, and gives back its memory.
  void suspend(std::int64_t number);
  /// Takes one out of the batch, and gives back its memory; what was computed of it is kept where texts are.
  /// It may be added again.
  std::unique_ptr<Generation> take_out(std::int64_t number);
  /// Has the one that runs alone decode plainly from here on, and gives back its drafters' memory. False
  /// where it does so already, or more than one runs.
  bool stop_drafting();

  std::size_t size() const { return running_.size(); }  ///< that run
  bool empty() const { return running_.empty() && waiting_.empty(); }
  /// A step would do nothing: all that run wait for their masks.
  bool sits_out() const;
  std::vector<const Sequence*> running() const;
  std::vector<std::int64_t> running_numbers() const { return numbers(running_); }
  std::vector<std::int64_t> waiting_numbers() const { return numbers(waiting_); }
  /// Of one that waits or runs.
  const Sequence& sequence(std::int64_t number) const;
  /// One step for all; those that have ended by then are gone. Throws what makes going on impossible
  /// (Decoder::step): nothing is lost, and the step may be tried again.
  void step();
  /// Ends all that run, or, where none does, all that wait, with finish_reason Error.
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

/// The result of a request for which something was thrown.
Result failed(const std::exception_ptr& why) noexcept;

}  // namespace augur
