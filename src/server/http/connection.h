#pragma once
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/connections.h"
#include "server/http/http_exchange.h"
#include "server/http/http_message.h"
#include "server/http/text_body.h"
#include "server/problem.h"

namespace augur {

/// One client. serve() reads from top to bottom what happens to it: request after request is read, handed to
/// the application, and answered. All of it runs on the I/O thread.
///
/// Answers come from other threads, by a Handle that posts them here with the number of its request: what
/// comes for another one than the present is dropped.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Protocol = boost::asio::generic::stream_protocol;  // TCP, or UNIX sockets

  using Clock = std::chrono::steady_clock;

  /// `counted_as`: HttpApplication::counted_as() of `client`.
  Connection(Connections& all, Protocol::socket socket, std::string client, std::string counted_as);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Serves it until it ends, which nobody need wait for; where there is no place for it, tells it so.
  static void start(std::shared_ptr<Connection> connection);
  /// Ends it, whatever it is about, and leaves its place.
  void close();
  const std::string& counted_as() const { return counted_as_; }
  /// Since when it has a place, and no request that has been read; none: that is not so.
  std::optional<Clock::time_point> idle_since() const;

 private:
  class Handle;
  enum class State {
    Reading,     ///< a request, or between two
    Waiting,     ///< for an answer
    Responding,  ///< with the response, which is there
    Streaming,   ///< what comes
    Ending,      ///< a stream of which all has come
    Closed,
  };
  struct Response {
    int status;
    std::string body;
    HttpHeaders headers;
  };
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;

  bool take_place();
  void leave_place();
  Awaitable<void> serve();
  Awaitable<void> serve_request();
  void hand_over(HttpRequest& request, std::optional<Problem>& problem);
  Awaitable<void> read(HttpRequest& request, std::optional<Problem>& problem);
  Awaitable<void> read_header(HttpRequest& request);
  Awaitable<void> read_body(HttpRequest& request);
  /// Throws a Problem, or that the connection has ended.
  [[noreturn]] void throw_unreadable(boost::beast::error_code error) const;
  Awaitable<void> time_out(std::optional<Problem>& problem);
  Awaitable<void> write_answer();
  Awaitable<void> write_response();
  Awaitable<void> write_stream();
  Awaitable<void> client_goes_away();
  Awaitable<void> wait_for_more();
  Awaitable<void> discard_rest();

  // What a Handle posts.
  void take_response(std::uint64_t number, Response response);
  void take_stream(std::uint64_t number, HttpHeaders headers);
  void take_event(std::uint64_t number, std::string_view event);
  void take_end(std::uint64_t number);
  void take_callback(std::uint64_t number, std::function<void()> closed);
  /// Nobody answers the request any more.
  void abandon(std::uint64_t number);

  /// Adds the headers that every answer has.
  template <class Message>
  void complete(Message& message, const HttpHeaders& headers);
  /// Counts bytes that are held for this client. False: all clients hold as many as they may.
  bool hold(std::size_t bytes);
  void release(std::size_t bytes);
  std::chrono::milliseconds patience() const;

  Connections& all_;
  boost::beast::basic_stream<Protocol> stream_;
  boost::asio::steady_timer changed_;  ///< is cancelled whenever something has come for wait_for_more()
  const std::string client_;           ///< HttpRequest::client
  const std::string counted_as_;
  enum class Place { None, Taken, Refused } place_ = Place::None;
  std::optional<Problem> refusal_;  ///< of a place
  Clock::time_point reading_since_ = Clock::now();
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<TextBody>> parser_;

  State state_ = State::Reading;
  std::uint64_t number_ = 0;             ///< of the request
  std::atomic<std::uint64_t> lost_ = 0;  ///< the request whose client went away; 0: none
  std::size_t held_ = 0;                 ///< bytes
  // Of the request.
  unsigned version_ = 11;  ///< of HTTP, times 10
  bool is_head_ = false;
  bool keep_alive_ = false;  ///< another request may follow
  // Of its answer.
  Response response_{};  ///< of a stream: its headers
  std::string events_;   ///< of a stream: what is to be written
  std::function<void()> closed_;
};

}  // namespace augur
