#include "server/http/listener.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "base/error.h"
#include "server/http/connection.h"

namespace augur {
namespace {

namespace asio = boost::asio;
using asio::use_awaitable;
using asio::ip::tcp;
using boost::system::error_code;
using StreamProtocol = asio::generic::stream_protocol;

/// An endpoint of TCP; nothing for one of UNIX sockets.
std::optional<tcp::endpoint> as_tcp(const StreamProtocol::endpoint& endpoint) {
  const int family = endpoint.protocol().family();
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  tcp::endpoint tcp;
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  tcp.resize(endpoint.size());
  return tcp;
}

std::string address_of(const StreamProtocol::socket& socket) {
  error_code error;
  const auto remote = as_tcp(socket.remote_endpoint(error));
  return remote && !error ? remote->address().to_string() : std::string();
}

/// What does not pass by itself: no descriptor is left, or no memory.
bool is_short_of_room(error_code error) {
  return error == asio::error::no_descriptors || error == asio::error::no_memory ||
         error == asio::error::no_buffer_space ||
         error == error_code(ENFILE, boost::system::system_category());
}

}  // namespace

Listener::Listener(Connections& all, const HttpOptions& options)
    : all_(all), acceptor_(all.io), pause_(all.io) {
  if (HttpServer::is_socket(options.host)) {
    listen_at_socket(options);
    return;
  }
  error_code error;
  const std::string& host = options.host;
  const auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error) throw Error("'{}' is not an address to listen at", host);
  const std::string name = fmt::format("{} port {}", host, options.port);
  bind(tcp::endpoint(address, options.port), name);
  listen(name);
  port_ = as_tcp(acceptor_.local_endpoint())->port();
}

Listener::~Listener() {
  remove_socket();
}

void Listener::listen_at_socket(const HttpOptions& options) {
  const std::string& path = options.host;
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    throw Error(ErrorKind::NotFound, "cannot listen at {}: expected a path of fewer than {} bytes", path,
                sizeof(sockaddr_un::sun_path));
  }
  UnixSocket::clear(path);
  bind(asio::local::stream_protocol::endpoint(path), path);
  socket_.emplace(path, options.socket_mode, options.socket_group);
  listen(path);
}

void Listener::bind(const StreamProtocol::endpoint& endpoint, const std::string& name) {
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error && as_tcp(endpoint)) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (error) throw Error(ErrorKind::NotFound, "cannot listen at {}: {}", name, error.message());
}

void Listener::listen(const std::string& name) {
  error_code error;
  acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return;
  remove_socket();
  throw Error(ErrorKind::NotFound, "cannot listen at {}: {}", name, error.message());
}

void Listener::remove_socket() {
  if (socket_) socket_->remove();
  socket_.reset();
}

asio::awaitable<void> Listener::accept() {
  while (acceptor_.is_open()) {
    error_code error;
    auto socket = co_await acceptor_.async_accept(asio::redirect_error(use_awaitable, error));
    if (is_short_of_room(error)) {
      co_await wait_for_room(error.message());
      continue;
    }
    if (error) continue;  // a client that has gone again, or the end
    if (!std::exchange(has_room_, true)) all_.application.report("clients are accepted again");
    socket.set_option(tcp::no_delay(true), error);  // UNIX sockets have no such thing
    bool no_memory = false;
    try {
      std::string client = address_of(socket);
      std::string counted_as = all_.application.counted_as(client);
      Connection::start(
          std::make_shared<Connection>(all_, std::move(socket), std::move(client), std::move(counted_as)));
    } catch (const std::bad_alloc&) {  // this one is lost, and others may do
      no_memory = true;
    }
    if (no_memory) co_await wait_for_room("no memory is left");
  }
}

/// A client that waits makes the socket readable as long as it waits: without a pause this would spin.
asio::awaitable<void> Listener::wait_for_room(const std::string& reason) {
  constexpr std::chrono::milliseconds kPause{100};
  if (std::exchange(has_room_, false)) {
    all_.application.report(fmt::format("no client is accepted until another has gone: {} ({} are connected)",
                                        reason, all_.open.size()));
  }
  error_code ignored;
  pause_.expires_after(kPause);
  co_await pause_.async_wait(asio::redirect_error(use_awaitable, ignored));
}

void Listener::stop() {
  error_code ignored;
  acceptor_.close(ignored);
  remove_socket();
  pause_.cancel();
}

}  // namespace augur
