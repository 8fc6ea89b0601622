#pragma once
#include <functional>
#include <thread>

namespace augur {

/// A thread of the library: `name` (at most 15 bytes, "augur-...") is what debuggers show, its environment is
/// the library's own (OwnEnvironment), and signals that are sent to the process are left to the host's
/// threads: all are blocked but those that the thread itself causes. Error of kind OutOfMemory where there
/// can be none.
std::thread start_thread(const char* name, std::function<void()> body);

}  // namespace augur
