#pragma once
#include <string>
#include <utility>

#include "base/error.h"

namespace augur::testing_support {

/// The message of the Error that `action` throws, or "no error".
template <class Action>
std::string error_of(Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace augur::testing_support
