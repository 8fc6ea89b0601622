#include "server/http/http_server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <set>
#include <thread>

#include "base/io_thread.h"
#include "base/start_thread.h"
#include "server/http/connection.h"
#include "server/http/connections.h"
#include "server/http/listener.h"

namespace augur {

namespace asio = boost::asio;

class HttpServer::Impl {
 public:
  Impl(const HttpOptions& options, HttpApplication& application)
      : all_(options.limits, options.server, application), listener_(all_, options) {
    asio::co_spawn(
        all_.io, [this] { return listener_.accept(); }, asio::detached);
    thread_ = start_thread("augur-http", [this] { run(); });
  }

  ~Impl() {
    asio::post(all_.io, [this] {
      listener_.stop();
      for (Connection* connection : std::set(all_.open)) connection->close();
    });
    thread_.join();  // it returns when nothing is left to wait for
  }

  std::uint16_t port() const { return listener_.port(); }
  std::int64_t held_bytes() const { return all_.held_bytes; }

  void keep_no_connections() {
    asio::post(all_.io, [this] { all_.finishing = true; });
  }

  void post(std::function<void()> job) { asio::post(all_.io, std::move(job)); }

  void finish(double seconds) {
    keep_no_connections();
    asio::post(all_.io, [this] { listener_.stop(); });
    all_.wait_for_answers(seconds);
  }

 private:
  void run() {
    const IoThread here;
    while (true) {
      try {
        all_.io.run();
        return;
      } catch (const std::exception& error) {  // of what was posted: the others go on
        all_.application.report(error.what());
      }
    }
  }

  Connections all_;
  Listener listener_;
  std::thread thread_;
};

HttpServer::HttpServer(const HttpOptions& options, HttpApplication& application)
    : impl_(std::make_unique<Impl>(options, application)) {}
HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const {
  return impl_->port();
}

std::int64_t HttpServer::held_bytes() const {
  return impl_->held_bytes();
}

void HttpServer::keep_no_connections() {
  impl_->keep_no_connections();
}

void HttpServer::post(std::function<void()> job) {
  impl_->post(std::move(job));
}

void HttpServer::finish(double seconds) {
  impl_->finish(seconds);
}

}  // namespace augur
