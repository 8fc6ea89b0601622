#pragma once

namespace augur {

/// The thread that serves all connections. What takes long is done elsewhere, or all clients wait.
class IoThread {
 public:
  /// Makes the calling thread one, as long as this lives.
  IoThread();
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  static bool is_current();
  /// Throws std::logic_error on such a thread. For what parses, fills templates, tokenises.
  static void must_not_be_current();
};

}  // namespace augur
