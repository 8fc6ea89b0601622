#include "engine/engine_owner.h"

#include <unistd.h>

namespace augur {

void EngineOwner::take(Use use, const char* what) {
  process_.require_here("an engine");
  const auto thread = static_cast<std::uint32_t>(::gettid());
  const std::uint64_t mine = (std::uint64_t{static_cast<std::uint32_t>(use)} << 32) | thread;
  std::uint64_t holder = 0;
  if (holder_.compare_exchange_strong(holder, mine, std::memory_order_acquire)) return;
  if (static_cast<Use>(holder >> 32) == Use::Session)
    throw Error(ErrorKind::Misuse,
                "{}: a session uses the engine: until it is closed, others may call the engine's const "
                "functions alone (tokenize, detokenize, ...)",
                what);
  if (static_cast<std::uint32_t>(holder) == thread)
    throw Error(ErrorKind::Misuse,
                "{}: it is called in a callback of the same engine's call, which may call the engine's const "
                "functions alone (tokenize, detokenize, ...)",
                what);
  throw Error(
      ErrorKind::Misuse,
      "{}: another thread's call uses the engine: calls that generate are for one thread at a time, and a "
      "session takes requests of many",
      what);
}

}  // namespace augur
