#include "server/http/connection.h"

#include <poll.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <ctime>
#include <exception>
#include <new>
#include <utility>

#include "server/http/framing.h"

namespace augur {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::use_awaitable;
using std::chrono::milliseconds;

/// Runs both until one of them has ended, and cancels the other. Throws what that one has thrown.
asio::awaitable<void> first_of(asio::awaitable<void> one, asio::awaitable<void> other) {
  const auto executor = co_await asio::this_coro::executor;
  auto both =
      asio::experimental::make_parallel_group(asio::co_spawn(executor, std::move(one), asio::deferred),
                                              asio::co_spawn(executor, std::move(other), asio::deferred));
  const auto [order, of_one, of_other] =
      co_await both.async_wait(asio::experimental::wait_for_one(), use_awaitable);
  if (const std::exception_ptr& thrown = order[0] == 0 ? of_one : of_other) std::rethrow_exception(thrown);
}

[[noreturn]] void throw_closed() {
  throw boost::system::system_error(asio::error::operation_aborted);
}

/// As a header has it: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string now_as_date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc));
}

/// Whether the other side sends no more, whatever it has sent before and is not read yet.
bool is_shut_by_peer(int socket) {
  pollfd peer{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return ::poll(&peer, 1, 0) > 0;
}

}  // namespace

/// By what an application answers one request: all of it is posted to the I/O thread, in the order in which
/// it was said, whichever threads said it (that of a plain post is each thread's own).
class Connection::Handle final : public HttpExchange {
 public:
  Handle(std::shared_ptr<Connection> connection, std::uint64_t number)
      : connection_(std::move(connection)),
        number_(number),
        io_(connection_->all_.io.get_executor()),
        order_(io_.get_executor()) {}
  ~Handle() override {
    // The connection ends on the I/O thread: nothing of it is left here when that has done its part.
    asio::post(order_,
               [connection = std::move(connection_), number = number_] { connection->abandon(number); });
  }

  void respond(int status, std::string body, HttpHeaders headers = {}) override {
    post([response = Response{status, std::move(body), std::move(headers)}](
             Connection& c, auto number) mutable { c.take_response(number, std::move(response)); });
  }
  void begin_stream(HttpHeaders headers = {}) override {
    post([headers = std::move(headers)](Connection& c, auto number) mutable {
      c.take_stream(number, std::move(headers));
    });
  }
  void send_event(std::string data, std::string_view name = {}) override {
    std::string event = name.empty() ? "" : "event: " + std::string(name) + "\n";
    event += "data: " + std::move(data) + "\n\n";
    post([event = std::move(event)](Connection& c, auto number) { c.take_event(number, event); });
  }
  void end_stream() override {
    post([](Connection& c, auto number) { c.take_end(number); });
  }
  void when_closed(std::function<void()> closed) override {
    post([closed = std::move(closed)](Connection& c, auto number) mutable {
      c.take_callback(number, std::move(closed));
    });
  }
  bool client_gone() const override { return connection_->lost_ == number_; }

 private:
  template <class Take>
  void post(Take take) {
    asio::post(order_, [connection = connection_, number = number_, take = std::move(take)]() mutable {
      try {
        take(*connection, number);
      } catch (const std::exception& error) {  // an answer with a hole is none
        connection->close();
        connection->all_.application.report(error.what());
      }
    });
  }

  std::shared_ptr<Connection> connection_;
  const std::uint64_t number_;
  /// The I/O thread goes on until this is gone: whoever holds an exchange finds its server.
  asio::executor_work_guard<asio::io_context::executor_type> io_;
  asio::strand<asio::io_context::executor_type> order_;
};

Connection::Connection(Connections& all, Protocol::socket socket, std::string client, std::string counted_as)
    : all_(all),
      stream_(std::move(socket)),
      changed_(all.io, asio::steady_timer::time_point::max()),
      client_(std::move(client)),
      counted_as_(std::move(counted_as)),
      // A header fits, and so does as much of a body as is read at once.
      buffer_(static_cast<std::size_t>(all.limits.header_bytes) + (std::size_t{64} << 10)) {
  all_.open.insert(this);
}

Connection::~Connection() {
  release(held_);
  leave_place();
  all_.open.erase(this);
}

void Connection::start(std::shared_ptr<Connection> connection) {
  if (!connection->take_place()) return;
  auto& io = connection->all_.io;
  asio::co_spawn(
      io, [connection = std::move(connection)] { return connection->serve(); }, asio::detached);
}

/// False: it has none, and as many are being told so as may.
bool Connection::take_place() {
  refusal_ = all_.take_place(counted_as_);
  if (refusal_ && all_.refused >= Connections::kMostRefused) return false;
  place_ = refusal_ ? Place::Refused : Place::Taken;
  if (refusal_) ++all_.refused;
  return true;
}

void Connection::leave_place() {
  const Place left = std::exchange(place_, Place::None);
  if (left == Place::Taken) all_.leave_place(counted_as_);
  if (left == Place::Refused) --all_.refused;
}

asio::awaitable<void> Connection::serve() {
  try {
    do {
      co_await serve_request();
    } while (keep_alive_);
  } catch (...) {
    // The client has gone, or was too slow; or there is no memory even for a refusal.
  }
  close();
}

asio::awaitable<void> Connection::serve_request() {
  HttpRequest request;
  std::optional<Problem> problem;
  co_await first_of(read(request, problem), time_out(problem));

  state_ = State::Waiting;
  all_.count_unanswered(1);
  hand_over(request, problem);

  co_await first_of(write_answer(), client_goes_away());
  if (state_ == State::Closed) throw_closed();
  state_ = State::Reading;
  reading_since_ = Clock::now();
  all_.count_unanswered(-1);
  closed_ = {};
  release(held_);
  if (problem) co_await discard_rest();
}

/// Has the application answer the request, or the problem with it; also what comes up here, where it can be
/// told.
void Connection::hand_over(HttpRequest& request, std::optional<Problem>& problem) {
  const auto handle = std::make_shared<Handle>(shared_from_this(), ++number_);
  if (!problem) {
    try {
      return all_.application.answer_request(std::move(request), handle);
    } catch (...) {
      problem = problem_of(std::current_exception());
    }
  }
  keep_alive_ = false;
  all_.application.refuse(request, *problem, handle);
}

/// A request that cannot be read, or is not let in, leaves a problem. Throws when the connection ends.
asio::awaitable<void> Connection::read(HttpRequest& request, std::optional<Problem>& problem) {
  try {
    if (refusal_) throw Problem(*refusal_);
    co_await read_header(request);
    all_.application.admit(request);
    co_await read_body(request);
  } catch (const boost::system::system_error&) {
    throw;
  } catch (...) {
    problem = problem_of(std::current_exception());
  }
}

asio::awaitable<void> Connection::read_header(HttpRequest& request) {
  request.client = client_;
  version_ = 11;
  is_head_ = false;
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(all_.limits.header_bytes));
  parser_->body_limit(boost::none);  // which check_framing() minds
  stream_.expires_never();
  beast::error_code error;
  co_await http::async_read_header(stream_, buffer_, *parser_, asio::redirect_error(use_awaitable, error));
  if (error) throw_unreadable(error);
  const auto& header = parser_->get();
  version_ = header.version();
  is_head_ = header.method() == http::verb::head;
  keep_alive_ = header.keep_alive();
  request = head_of(header, client_);
  check_framing(header, all_.limits);
}

asio::awaitable<void> Connection::read_body(HttpRequest& request) {
  // Chunks of one byte take five more.
  constexpr std::size_t kFramingPerByte = 8;
  parser_->body_limit(static_cast<std::uint64_t>(all_.limits.body_bytes));
  if (!parser_->is_done() && waits_to_continue(parser_->get())) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(stream_, asio::buffer(kContinue), use_awaitable);
  }
  std::string& body = parser_->get().body();
  std::size_t taken = 0;
  while (!parser_->is_done()) {
    const std::size_t before = body.size();
    beast::error_code error;
    taken += co_await http::async_read_some(stream_, buffer_, *parser_,
                                            asio::redirect_error(use_awaitable, error));
    if (error) throw_unreadable(error);
    if (!hold(body.size() - before)) {
      throw Problem(503, "the bodies of all requests together are too large", {}, {{"Retry-After", "1"}});
    }
    const std::size_t most =
        static_cast<std::size_t>(all_.limits.header_bytes) + kFramingPerByte * body.size();
    if (taken - body.size() > most) throw_unreadable(http::error::header_limit);
  }
  request.body = std::move(body);
}

void Connection::throw_unreadable(beast::error_code error) const {
  if (error == beast::errc::not_enough_memory) throw std::bad_alloc();
  const std::string_view start(static_cast<const char*>(buffer_.cdata().data()), buffer_.size());
  if (const std::optional<Problem> problem = framing_problem(error, start, all_.limits)) throw *problem;
  throw boost::system::system_error(error);
}

/// What a client of too little haste is told; nothing where it has not begun to ask.
asio::awaitable<void> Connection::time_out(std::optional<Problem>& problem) {
  asio::steady_timer timer(all_.io, patience());
  co_await timer.async_wait(use_awaitable);
  if (!parser_ || (buffer_.size() == 0 && !parser_->got_some())) throw_closed();
  problem = Problem(408, "the request did not come in time");
}

asio::awaitable<void> Connection::write_answer() {
  while (state_ == State::Waiting) co_await wait_for_more();
  if (state_ == State::Responding) {
    co_await write_response();
  } else {
    co_await write_stream();
  }
}

asio::awaitable<void> Connection::write_response() {
  http::response<http::string_body> message(static_cast<http::status>(response_.status), version_);
  message.set(http::field::content_type, "application/json; charset=utf-8");
  complete(message, response_.headers);
  message.body() = std::move(response_.body);
  message.prepare_payload();
  if (is_head_) message.body().clear();
  stream_.expires_after(patience());
  co_await http::async_write(stream_, message, use_awaitable);
}

asio::awaitable<void> Connection::write_stream() {
  const bool chunked = version_ == 11;  // otherwise the connection's end is the stream's
  if (!chunked) keep_alive_ = false;
  http::response<http::empty_body> head(http::status::ok, version_);
  head.set(http::field::content_type, "text/event-stream; charset=utf-8");
  head.set(http::field::cache_control, "no-cache");
  head.set("X-Accel-Buffering", "no");
  complete(head, response_.headers);
  head.chunked(chunked);
  http::response_serializer<http::empty_body> serializer(head);
  stream_.expires_after(patience());
  co_await http::async_write_header(stream_, serializer, use_awaitable);
  while (true) {
    while (events_.empty() && state_ == State::Streaming) co_await wait_for_more();
    if (events_.empty()) break;
    // All that has come up meanwhile is one chunk.
    const std::string events = std::exchange(events_, {});
    stream_.expires_after(patience());
    if (chunked) {
      co_await asio::async_write(stream_, http::make_chunk(asio::buffer(events)), use_awaitable);
    } else {
      co_await asio::async_write(stream_, asio::buffer(events), use_awaitable);
    }
    release(events.size());
  }
  if (chunked) co_await asio::async_write(stream_, http::make_chunk_last(), use_awaitable);
}

/// Ends the connection when the client does, also behind requests that it has sent ahead: these stay where
/// they are until their turn comes, which is what bounds them.
asio::awaitable<void> Connection::client_goes_away() {
  constexpr milliseconds kLook{100};
  co_await stream_.socket().async_wait(Protocol::socket::wait_read, use_awaitable);
  asio::steady_timer timer(all_.io);
  while (!is_shut_by_peer(stream_.socket().native_handle())) {
    timer.expires_after(kLook);
    co_await timer.async_wait(use_awaitable);
  }
  close();
}

asio::awaitable<void> Connection::wait_for_more() {
  beast::error_code ignored;
  co_await changed_.async_wait(asio::redirect_error(use_awaitable, ignored));
  if (state_ == State::Closed) throw_closed();
}

/// A connection that is closed while its client still sends is reset, and the answer lost with it.
asio::awaitable<void> Connection::discard_rest() {
  constexpr std::chrono::seconds kLinger{2};
  beast::error_code error;
  stream_.socket().shutdown(Protocol::socket::shutdown_send, error);
  stream_.expires_after(kLinger);
  char rest[4096];
  while (!error) {
    co_await stream_.async_read_some(asio::buffer(rest), asio::redirect_error(use_awaitable, error));
  }
}

void Connection::take_response(std::uint64_t number, Response response) {
  if (number != number_ || state_ != State::Waiting) return;
  if (!hold(response.body.size())) return close();
  state_ = State::Responding;
  response_ = std::move(response);
  changed_.cancel();
}

void Connection::take_stream(std::uint64_t number, HttpHeaders headers) {
  if (number != number_ || state_ != State::Waiting) return;
  state_ = State::Streaming;
  response_.headers = std::move(headers);
  changed_.cancel();
}

void Connection::take_event(std::uint64_t number, std::string_view event) {
  take_stream(number, {});
  if (number != number_ || state_ != State::Streaming) return;
  const bool read = std::ssize(events_) + std::ssize(event) <= all_.limits.unread_bytes;
  if (!read || !hold(event.size())) return close();
  events_ += event;
  changed_.cancel();
}

void Connection::take_end(std::uint64_t number) {
  if (number != number_ || state_ != State::Streaming) return;
  state_ = State::Ending;
  changed_.cancel();
}

void Connection::take_callback(std::uint64_t number, std::function<void()> closed) {
  if (number == lost_) return closed();
  if (number == number_ && state_ != State::Reading) closed_ = std::move(closed);
}

void Connection::abandon(std::uint64_t number) {
  if (number == number_ && (state_ == State::Waiting || state_ == State::Streaming)) close();
}

void Connection::close() {
  if (state_ == State::Closed) return;
  const bool unanswered = state_ != State::Reading;
  state_ = State::Closed;
  if (place_ == Place::Taken) leave_place();
  beast::error_code ignored;
  stream_.socket().shutdown(Protocol::socket::shutdown_both, ignored);
  stream_.close();
  changed_.cancel();
  if (!unanswered) return;
  lost_ = number_;
  all_.count_unanswered(-1);
  if (const auto closed = std::exchange(closed_, {})) closed();
}

std::optional<Connection::Clock::time_point> Connection::idle_since() const {
  if (place_ != Place::Taken || state_ != State::Reading) return std::nullopt;
  return reading_since_;
}

template <class Message>
void Connection::complete(Message& message, const HttpHeaders& headers) {
  message.set(http::field::server, all_.name);
  message.set(http::field::date, now_as_date());
  for (const auto& [name, value] : headers) message.set(name, value);
  keep_alive_ = keep_alive_ && !all_.finishing;  // what the client is told is kept to
  message.keep_alive(keep_alive_);
}

bool Connection::hold(std::size_t bytes) {
  if (all_.held_bytes + static_cast<std::int64_t>(bytes) > all_.limits.http_bytes) return false;
  all_.held_bytes += static_cast<std::int64_t>(bytes);
  held_ += bytes;
  return true;
}

void Connection::release(std::size_t bytes) {
  all_.held_bytes -= static_cast<std::int64_t>(bytes);
  held_ -= bytes;
}

milliseconds Connection::patience() const {
  return milliseconds(all_.limits.client_ms);
}

}  // namespace augur
