#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

namespace augur {
inline namespace abi1 {

/// How much a line of the log matters. A program shows the levels from one on; later versions may have more.
enum class LogLevel : std::uint8_t {
  Debug,  ///< what is of use to who looks for a fault: which files were opened, what was measured
  Info,   ///< what was loaded, and what was chosen for it: kernels, threads, drafters, a Session's memory
  /// What a user should know though the work goes on: parts made for another model, a damaged cache
  Warning,
};

/// "debug", "info", "warning"
constexpr std::string_view name(LogLevel level) {
  return level == LogLevel::Debug ? "debug" : level == LogLevel::Info ? "info" : "warning";
}

/// Gets the lines of a log, one at a time, without a line's end; `text` is valid during the call. Errors are
/// thrown and do not come here. The library itself writes to no stream.
using LogCallback = std::function<void(LogLevel level, std::string_view text)>;

}  // namespace abi1
}  // namespace augur
