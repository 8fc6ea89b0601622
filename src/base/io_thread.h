#pragma once

namespace augur {

/// The thread that serves all connections of a server (there is none in other programs). What takes long is
/// done elsewhere, or all clients wait: parsing a request, filling a template, tokenising, compiling a
/// grammar. Each of these asks must_not_be_current() where it is done, whoever calls it.
class IoThread {
 public:
  /// Makes the calling thread one, as long as this lives.
  IoThread();
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  /// Throws std::logic_error on such a thread.
  static void must_not_be_current();
};

}  // namespace augur
