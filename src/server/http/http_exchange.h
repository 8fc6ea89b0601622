#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "server/http/http_message.h"

namespace augur {

/// One request that is being answered: by respond(), or by a stream of events. The first of these decides:
/// what does not go with it, and what comes after the end, is dropped. Thread-safe. When the client has gone,
/// or does not read what it asked for, what is sent is dropped; whoever lets go of it without an answer ends
/// the connection.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  /// The whole answer, of JSON unless `headers` say otherwise.
  virtual void respond(int status, std::string body, HttpHeaders headers = {}) = 0;
  /// Begins a stream of server-sent events, with status 200.
  virtual void begin_stream(HttpHeaders headers = {}) = 0;
  /// One event of the stream, which begins with it if it has not. `name`: its type; empty: none.
  virtual void send_event(std::string data, std::string_view name = {}) = 0;
  virtual void end_stream() = 0;
  /// Calls `closed` once if the client goes away before the answer's end, at once if it has gone.
  virtual void when_closed(std::function<void()> closed) = 0;
  /// Whether it went away before the answer's end: nothing is worth doing for it.
  virtual bool client_gone() const = 0;
};

}  // namespace augur
