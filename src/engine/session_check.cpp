#include "engine/session_check.h"

#include "base/error.h"

namespace augur {

void check(const SessionOptions& options) {
  if (options.parallel < 1 || options.parallel > Engine::kMostParallel) {
    throw Error(refused("parallel"), "session: {} requests at once: expected 1 to {}", options.parallel,
                Engine::kMostParallel);
  }
  if (options.compilers < 1 || options.compilers > SessionOptions::kMostCompilers) {
    throw Error(refused("compilers"), "session: {} threads for grammars: expected 1 to {}", options.compilers,
                SessionOptions::kMostCompilers);
  }
  if (options.queue < 1)
    throw Error(refused("queue"), "session: a queue of {}: expected 1 or more", options.queue);
  if (!(options.prompt_share >= 0)) {
    throw Error(refused("prompt_share"), "session: prompts may take a share of {}: expected 0 or more",
                options.prompt_share);
  }
  if (options.memory < 0 || options.cache_bytes < 0) {
    throw Error(refused("memory"),
                "session: {} bytes of memory, {} of them to keep texts: expected 0 or more", options.memory,
                options.cache_bytes);
  }
  if (!(options.memory_share > 0 && options.memory_share <= 1)) {
    throw Error(refused("memory_share"),
                "session: a share of {} of the memory: expected more than 0, at most 1",
                options.memory_share);
  }
}

}  // namespace augur
