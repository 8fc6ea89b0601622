#pragma once
#include <chrono>
#include <thread>

#include "support/eventually.h"

namespace augur::testing_support {

/// Whether `condition` comes true, of whose changes nobody tells.
template <class Condition>
bool poll_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kForEver;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace augur::testing_support
