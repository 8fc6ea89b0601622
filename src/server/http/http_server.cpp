#include "server/http/http_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/error.h"
#include "server/answers/json_answers.h"

namespace augur {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using StreamProtocol = asio::generic::stream_protocol;  // TCP, or UNIX sockets
using Stream = beast::basic_stream<StreamProtocol>;

class Connection;

/// What all connections share. Everything but `io` and what is under the mutex is the I/O thread's.
struct Common {
  HttpOptions options;
  HttpHandler handler;
  std::set<Connection*> connections;
  bool finishing = false;

  std::mutex mutex;
  std::condition_variable changed;
  int unanswered = 0;  ///< requests; under the mutex

  void count(int change) {
    const std::lock_guard lock(mutex);
    unanswered += change;
    changed.notify_all();
  }

  asio::io_context io{1};  // last: what it drops at its end uses the others
};

/// An endpoint of TCP; nothing for one of UNIX sockets.
std::optional<tcp::endpoint> as_tcp(const StreamProtocol::endpoint& endpoint) {
  const int family = endpoint.protocol().family();
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  tcp::endpoint tcp;
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  tcp.resize(endpoint.size());
  return tcp;
}

/// As a header has it: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string now_as_date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc));
}

/// One client. All members run on the I/O thread; an Exchange posts to it.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Common& common, StreamProtocol::socket socket) : common_(common), stream_(std::move(socket)) {
    common_.connections.insert(this);
    beast::error_code error;
    if (const auto remote = as_tcp(stream_.socket().remote_endpoint(error)); remote && !error) {
      client_ = remote->address().to_string();
    }
  }
  ~Connection() {
    lost();
    common_.connections.erase(this);
  }

  asio::io_context& io() { return common_.io; }

  void read() {
    parser_.emplace();
    parser_->body_limit(common_.options.most_body);
    parser_->header_limit(static_cast<std::uint32_t>(common_.options.most_header));
    expire();
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](beast::error_code error, std::size_t) { self->has_read(error); });
  }

  void answer(int status, std::string body, const HttpHeaders& headers) {
    if (!answering_) return;
    if (streaming_) {  // too late for a status: it is the last event
      event(std::move(body), {});
      end();
      return;
    }
    respond(status, std::move(body), headers, false);
  }

  void header(std::string name, std::string value) {
    if (answering_) headers_.emplace_back(std::move(name), std::move(value));
  }

  void event(std::string data, std::string_view name) {
    if (!answering_) return;
    if (!streaming_) begin_stream();
    const std::string type = name.empty() ? "" : "event: " + std::string(name) + "\n";
    send(type + "data: " + std::move(data) + "\n\n");
  }

  void end() {
    if (!streaming_) return;
    ended_ = true;
    if (!writing_) write_next();
  }

  void when_closed(std::function<void()> closed) {
    if (answering_) {
      closed_ = std::move(closed);
    } else {
      closed();
    }
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(StreamProtocol::socket::shutdown_both, ignored);
    stream_.close();
    lost();
  }

 private:
  class Answering;

  void expire() {
    stream_.expires_after(
        std::chrono::milliseconds(static_cast<std::int64_t>(common_.options.seconds * 1e3)));
  }

  void has_read(beast::error_code error) {
    if (error == http::error::body_limit) return refuse(413, "the body is too large");
    if (error == http::error::header_limit) return refuse(431, "the header is too large");
    if (error == beast::error::timeout || error == http::error::end_of_stream || error == asio::error::eof ||
        error == asio::error::connection_reset || error == asio::error::operation_aborted) {
      return close();
    }
    if (error) return refuse(400, "this is not HTTP: " + error.message());
    request_ = parser_->release();
    keep_alive_ = request_.keep_alive() && !common_.finishing;
    begin();
    std::string target(request_.target());
    std::string query;
    if (const std::size_t mark = target.find('?'); mark != std::string::npos) {
      query = target.substr(mark + 1);
      target.resize(mark);
    }
    HttpRequest request{.method = std::string(request_.method_string()),
                        .path = std::move(target),
                        .body = std::move(request_.body()),
                        .client = client_,
                        .headers = {},
                        .query = std::move(query)};
    for (const auto& field : request_) {
      std::string name(field.name_string());
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
      request.headers.emplace_back(std::move(name), std::string(field.value()));
    }
    watch();
    dispatch(request);
  }

  void dispatch(const HttpRequest& request);

  void begin() {
    answering_ = true;
    streaming_ = ended_ = false;
    headers_.clear();
    common_.count(1);
  }

  void refuse(int status, const std::string& message) {
    begin();
    respond(status, error_body(status, message), {}, true);
  }

  /// A client that goes away while its request computes makes the socket readable.
  void watch() {
    stream_.socket().async_wait(
        StreamProtocol::socket::wait_read, [self = shared_from_this()](beast::error_code error) {
          if (error || !self->answering_) return;
          char byte = 0;
          const auto got = ::recv(self->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
          if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)) self->close();
          // Otherwise it has sent its next request already, and is there.
        });
  }

  void respond(int status, std::string body, const HttpHeaders& headers, bool last) {
    auto response =
        std::make_shared<http::response<http::string_body>>(static_cast<http::status>(status), 11);
    response->set(http::field::content_type, "application/json; charset=utf-8");
    for (const auto& [name, value] : headers) response->set(name, value);
    add_headers(*response);
    response->body() = std::move(body);
    response->keep_alive(keep_alive_ && !last);
    response->prepare_payload();
    if (request_.method() == http::verb::head) response->body().clear();
    expire();
    http::async_write(stream_, *response,
                      [self = shared_from_this(), response](beast::error_code error, std::size_t) {
                        self->is_answered(error, response->keep_alive());
                      });
  }

  template <class Response>
  void add_headers(Response& response) const {
    response.set(http::field::server, common_.options.server);
    response.set(http::field::date, now_as_date());
    for (const auto& [name, value] : headers_) response.set(name, value);
  }

  void is_answered(beast::error_code error, bool go_on) {
    if (error || !answering_) return close();
    answering_ = streaming_ = false;
    closed_ = {};
    common_.count(-1);
    if (go_on && !common_.finishing) {
      read();
    } else {
      close();
    }
  }

  void begin_stream() {
    streaming_ = true;
    auto head = std::make_shared<http::response<http::empty_body>>(http::status::ok, 11);
    head->set(http::field::content_type, "text/event-stream; charset=utf-8");
    head->set(http::field::cache_control, "no-cache");
    head->set("X-Accel-Buffering", "no");
    add_headers(*head);
    head->keep_alive(keep_alive_);
    head->chunked(true);
    auto serializer = std::make_shared<http::response_serializer<http::empty_body>>(*head);
    writing_ = true;
    expire();
    http::async_write_header(stream_, *serializer,
                             [self = shared_from_this(), head, serializer](
                                 beast::error_code error, std::size_t) { self->has_written(error); });
  }

  void send(std::string text) {
    unread_ += text.size();
    if (unread_ > common_.options.most_unread) return close();
    waiting_.push_back(std::move(text));
    if (!writing_) write_next();
  }

  void has_written(beast::error_code error) {
    writing_ = false;
    if (error) return close();
    write_next();
  }

  void write_next() {
    if (!answering_) return;
    if (waiting_.empty() && !ended_) return;
    writing_ = true;
    expire();
    if (waiting_.empty()) {
      asio::async_write(stream_, http::make_chunk_last(),
                        [self = shared_from_this()](beast::error_code error, std::size_t) {
                          self->writing_ = false;
                          self->is_answered(error, self->keep_alive_);
                        });
      return;
    }
    // All that has come up meanwhile is one chunk.
    auto chunk = std::make_shared<std::string>();
    for (const std::string& text : waiting_) *chunk += text;
    waiting_.clear();
    unread_ = 0;
    asio::async_write(stream_, http::make_chunk(asio::buffer(*chunk)),
                      [self = shared_from_this(), chunk](beast::error_code error, std::size_t) {
                        self->has_written(error);
                      });
  }

  /// The client is gone, answered or not.
  void lost() {
    if (!answering_) return;
    answering_ = streaming_ = false;
    common_.count(-1);
    if (const auto closed = std::exchange(closed_, {})) closed();
  }

  Common& common_;
  Stream stream_;
  std::string client_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::request<http::string_body> request_;
  bool keep_alive_ = false;

  // The request in flight.
  HttpHeaders headers_;  ///< of its answer, beside the answer's own
  bool answering_ = false;
  bool streaming_ = false;
  bool ended_ = false;    ///< nothing more comes for the stream
  bool writing_ = false;  ///< to the stream
  std::deque<std::string> waiting_;
  std::size_t unread_ = 0;
  std::function<void()> closed_;
};

/// Belongs to one request of a connection; the connection answers no other one before it is done.
class Connection::Answering final : public Exchange {
 public:
  explicit Answering(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)), io_(connection_->io().get_executor()) {}
  /// Whoever lets go of it without an answer must not leave the client waiting.
  ~Answering() override {
    if (!finished_) answer(500, error_body(500, "the request was dropped"));
    // The connection ends on the I/O thread: nothing of it is left here when that has done its part.
    asio::post(io_.get_executor(), [connection = std::move(connection_)] {});
  }

  void header(std::string name, std::string value) override {
    // At once where the handler runs: what another thread posts could come before what is posted here.
    asio::dispatch(connection_->io(),
                   [connection = connection_, name = std::move(name), value = std::move(value)]() mutable {
                     connection->header(std::move(name), std::move(value));
                   });
  }
  void answer(int status, std::string body, HttpHeaders headers = {}) override {
    if (finished_.exchange(true)) return;
    post([status, body = std::move(body), headers = std::move(headers)](Connection& c) mutable {
      c.answer(status, std::move(body), headers);
    });
  }
  void event(std::string data, std::string_view name) override {
    if (finished_) return;
    post([data = std::move(data), name = std::string(name)](Connection& c) mutable {
      c.event(std::move(data), name);
    });
  }
  void end() override {
    if (finished_.exchange(true)) return;
    post([](Connection& c) { c.end(); });
  }
  void when_closed(std::function<void()> closed) override {
    post([closed = std::move(closed)](Connection& c) mutable { c.when_closed(std::move(closed)); });
  }

 private:
  template <class Call>
  void post(Call call) {
    asio::post(connection_->io(),
               [connection = connection_, call = std::move(call)]() mutable { call(*connection); });
  }

  std::shared_ptr<Connection> connection_;
  /// The I/O thread goes on until this is gone: whoever holds an exchange finds its server.
  asio::executor_work_guard<asio::io_context::executor_type> io_;
  std::atomic<bool> finished_ = false;
};

void Connection::dispatch(const HttpRequest& request) {
  const auto exchange = std::make_shared<Answering>(shared_from_this());
  try {
    common_.handler(request, exchange);
  } catch (...) {
    exchange->answer(500, error_body(500, describe(std::current_exception())));
  }
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const HttpOptions& options, HttpHandler handler) : acceptor_(common_.io) {
    common_.options = options;
    common_.handler = std::move(handler);
    if (HttpServer::is_socket(options.host)) {
      remove_dead_socket();
      listen(asio::local::stream_protocol::endpoint(options.host), options.host);
      socket_path_ = options.host;
    } else {
      beast::error_code error;
      const auto address = asio::ip::make_address(options.host, error);
      if (error) throw Error("'{}' is not an address to listen at", options.host);
      listen(tcp::endpoint(address, options.port), fmt::format("{} port {}", options.host, options.port));
      port_ = as_tcp(acceptor_.local_endpoint())->port();
    }
    accept();
    thread_ = std::thread([this] { common_.io.run(); });
  }

  ~Impl() {
    asio::post(common_.io, [this] {
      stop_accepting();
      for (Connection* c : std::set(common_.connections)) c->close();
    });
    thread_.join();  // it returns when nothing is left to wait for
    if (!socket_path_.empty()) ::unlink(socket_path_.c_str());
  }

  std::uint16_t port() const { return port_; }

  void finish(double seconds) {
    asio::post(common_.io, [this] {
      common_.finishing = true;
      stop_accepting();
    });
    std::unique_lock lock(common_.mutex);
    common_.changed.wait_for(lock, std::chrono::duration<double>(seconds),
                             [&] { return common_.unanswered == 0; });
  }

 private:
  void listen(const StreamProtocol::endpoint& endpoint, const std::string& name) {
    beast::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error && as_tcp(endpoint)) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) throw Error("cannot listen at {}: {}", name, error.message());
  }

  /// What a server that was killed has left: nobody listens at it.
  void remove_dead_socket() {
    asio::local::stream_protocol::socket probe(common_.io);
    beast::error_code error;
    probe.connect(asio::local::stream_protocol::endpoint(common_.options.host), error);
    if (error == asio::error::connection_refused) ::unlink(common_.options.host.c_str());
  }

  void accept() {
    acceptor_.async_accept([this](beast::error_code error, StreamProtocol::socket socket) {
      if (error == asio::error::operation_aborted || !acceptor_.is_open()) return;
      if (!error && static_cast<int>(common_.connections.size()) < common_.options.most_connections) {
        socket.set_option(tcp::no_delay(true), error);  // UNIX sockets have no such thing
        std::make_shared<Connection>(common_, std::move(socket))->read();
      }
      accept();
    });
  }

  void stop_accepting() {
    beast::error_code ignored;
    acceptor_.close(ignored);
  }

  Common common_;
  asio::basic_socket_acceptor<StreamProtocol> acceptor_;
  std::string socket_path_;  ///< to be removed at the end; empty: there is none
  std::uint16_t port_ = 0;
  std::thread thread_;
};

HttpServer::HttpServer(const HttpOptions& options, HttpHandler handler)
    : impl_(std::make_unique<Impl>(options, std::move(handler))) {}
HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const {
  return impl_->port();
}

void HttpServer::finish(double seconds) {
  impl_->finish(seconds);
}

}  // namespace augur
