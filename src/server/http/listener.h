#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "server/http/connections.h"
#include "server/http/http_server.h"
#include "server/http/unix_socket.h"

namespace augur {

/// Accepts clients at an address or a UNIX socket, and starts a Connection for each. But for construction,
/// all of it runs on the I/O thread.
class Listener {
 public:
  /// Listens (HttpServer::HttpServer()).
  Listener(Connections& all, const HttpOptions& options);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const { return port_; }  ///< 0: of a UNIX socket
  boost::asio::awaitable<void> accept();
  /// Accepts nobody from here on, and removes the UNIX socket.
  void stop();

 private:
  using Protocol = boost::asio::generic::stream_protocol;

  void bind(const Protocol::endpoint& endpoint, const std::string& name);
  void listen(const std::string& name);
  void listen_at_socket(const HttpOptions& options);
  void remove_socket();
  boost::asio::awaitable<void> wait_for_room(const std::string& reason);

  Connections& all_;
  boost::asio::basic_socket_acceptor<Protocol> acceptor_;
  boost::asio::steady_timer pause_;
  bool has_room_ = true;
  std::optional<UnixSocket> socket_;  ///< to be removed at the end
  std::uint16_t port_ = 0;
};

}  // namespace augur
