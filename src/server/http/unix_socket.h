#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

namespace augur {

/// The file of a UNIX socket. Errors name it.
class UnixSocket {
 public:
  /// Makes room for one. Where a server that was killed has left its socket, nobody listens at it: it goes.
  /// Error for something that is no socket.
  static void clear(const std::string& path);

  /// One that was just bound. `mode`: permissions; none: they stay. `group`: a name; empty: it stays.
  UnixSocket(std::string path, std::optional<unsigned> mode, const std::string& group);
  /// Removes it, unless another server has put its own in its place.
  void remove() const;

 private:
  std::string path_;
  dev_t device_;
  ino_t file_;
};

}  // namespace augur
