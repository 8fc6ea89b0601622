#pragma once
#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace augur::cli {

/// Writes to standard error, at once. What it does not take (a full disk) is lost, and nothing fails for want
/// of a message.
template <class... Arguments>
void tell(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  std::fputs(fmt::format(format, std::forward<Arguments>(arguments)...).c_str(), stderr);
}

}  // namespace augur::cli
