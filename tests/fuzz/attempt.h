#pragma once
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace augur::fuzz {

/// Runs a reader: an Error is the right answer to bad input. AUGUR_FUZZ_SHOW=1 shows it, for seeds that are
/// meant to be read.
template <class Action>
void attempt(Action&& action) {
  static const bool show = std::getenv("AUGUR_FUZZ_SHOW") != nullptr;
  try {
    std::forward<Action>(action)();
    if (show) std::fprintf(stderr, "read\n");
  } catch (const Error& error) {
    if (show) std::fprintf(stderr, "%s\n", error.what());
  }
}

}  // namespace augur::fuzz
