#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace augur {

struct HttpOptions {
  std::string host = "127.0.0.1";  ///< an address, not a name; or a UNIX socket, /path/NAME.sock
  std::uint16_t port = 8080;       ///< 0: any that is free
  std::size_t most_body = std::size_t{8} << 20;     ///< bytes
  std::size_t most_header = std::size_t{64} << 10;  ///< bytes
  std::size_t most_unread = std::size_t{4} << 20;   ///< bytes of a stream that its client has not taken
  int most_connections = 1024;
  std::string server = "augur";  ///< what the header Server says
  double seconds = 60;  ///< for reading a request once it has begun, for one write, and between requests
};

/// HTTP/1.1 on one thread of its own. Requests of one connection are answered one after another. What is not
/// HTTP or too large is refused with its status (400, 413, 431) and ends the connection; what is too slow
/// ends it.
class HttpServer {
 public:
  /// Whether a host is the path of a UNIX socket.
  static bool is_socket(std::string_view host) { return host.ends_with(".sock"); }

  /// Listens. Error naming address and port where that cannot be.
  HttpServer(const HttpOptions& options, HttpHandler handler);
  /// Drops what is not answered, and returns when nobody holds an Exchange of it any more.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;  ///< 0: of a UNIX socket
  /// Returns when everything that has begun is answered, at the latest after so many seconds. New connections
  /// are refused from now on.
  void finish(double seconds);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace augur
