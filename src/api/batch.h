#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "api/generation.h"
#include "decode/decoder.h"

namespace augur {

/// Generations that are decoded together, each handed over to its caller when it ends. They come and go
/// between steps. One thread at a time.
class Batch {
 public:
  /// Gets the result, with finish_reason Error and the message where anything was thrown for it. What it
  /// throws itself is thrown by step().
  using Done = std::function<void(Result)>;

  /// `decoder` outlives it.
  explicit Batch(Decoder& decoder) : decoder_(decoder) {}

  void add(std::unique_ptr<Generation> generation, Done done);
  std::size_t size() const { return running_.size(); }
  /// One step for all; those that have ended by then are gone. Throws what makes going on impossible
  /// (Decoder::step): nothing is lost, and the step may be tried again.
  void step();
  /// Ends all of them with finish_reason Error.
  void fail(const std::exception_ptr& why);

 private:
  struct Running {
    std::unique_ptr<Generation> generation;
    Done done;
  };
  Decoder& decoder_;
  std::vector<Running> running_;
  std::vector<Sequence*> sequences_;
};

/// The result of a request for which something was thrown.
Result failed(const std::exception_ptr& why);

}  // namespace augur
