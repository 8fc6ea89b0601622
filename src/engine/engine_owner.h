#pragma once
#include <atomic>
#include <cstdint>

#include "base/process_mark.h"

namespace augur {

/// Who uses an engine, its model's workspace and what it learns: one call or one Session at a time. Who comes
/// beside it gets an Error of kind Misuse that names the rule, and waits for nothing. Thread-safe.
class EngineOwner {
 public:
  enum class Use : std::uint32_t { Call = 1, Session = 2 };

  /// `what`: for messages, "generate()".
  void take(Use use, const char* what);
  void give_back() noexcept { holder_.store(0, std::memory_order_release); }
  const ProcessMark& process() const { return process_; }

  class Hold {
   public:
    Hold(EngineOwner& owner, Use use, const char* what) : owner_(owner) { owner.take(use, what); }
    ~Hold() { owner_.give_back(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    EngineOwner& owner_;
  };

 private:
  const ProcessMark process_{};
  std::atomic<std::uint64_t> holder_ = 0;  ///< Use in the upper half, its thread in the lower; 0: nobody
};

}  // namespace augur
