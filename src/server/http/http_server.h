#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/http_application.h"
#include "server/limits.h"

namespace augur {

struct HttpOptions {
  std::string host = "127.0.0.1";  ///< an address, "localhost", or a UNIX socket, /path/NAME.sock
  std::uint16_t port = 8080;       ///< 0: any that is free
  /// Permissions of the UNIX socket, which a client needs to write to; none: as the umask has them.
  std::optional<unsigned> socket_mode = {};
  std::string socket_group = {};  ///< of the UNIX socket; empty: as it comes
  std::string server = "augur";   ///< what the header Server says
  Limits limits = {};
};

/// HTTP/1.1 on one thread of its own. Requests of one connection are answered one after another. What is not
/// HTTP or more than the limits allow is refused with its status and ends the connection.
class HttpServer {
 public:
  /// Whether a host is the path of a UNIX socket.
  static bool is_socket(std::string_view host) { return host.ends_with(".sock"); }

  /// Listens; `application` outlives it. Error naming address and port where that cannot be. The UNIX socket
  /// has its group and permissions before anybody can connect to it.
  HttpServer(const HttpOptions& options, HttpApplication& application);
  /// Drops what is not answered, and returns when nobody holds an Exchange of it any more.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;  ///< 0: of a UNIX socket
  /// Of bodies and of answers that are not read, of all clients: at most Limits::http_bytes. Thread-safe.
  std::int64_t held_bytes() const;
  /// From now on each connection ends with its answer: its client looks for a server anew.
  void keep_no_connections();
  /// Runs it on the thread that reads and writes, soon. Whoever waits for that knows this thread alive.
  void post(std::function<void()> job);
  /// Returns when everything that has begun is answered, at the latest after so many seconds. New connections
  /// are refused from now on.
  void finish(double seconds);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace augur
