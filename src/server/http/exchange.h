#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;  ///< "GET", "POST", ...
  std::string path;    ///< without the query
  std::string body;
  std::string client;      ///< its address; empty: of this machine, by a UNIX socket
  HttpHeaders headers;     ///< names in small letters
  std::string query = {};  ///< what is behind the path's "?"

  /// Empty: there is none. `name` in small letters.
  std::string_view header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

/// One request that is being answered: by answer(), or by events and end() (after events an answer's body is
/// the last event). What comes after the end is dropped. Thread-safe. When the client has gone, or does not
/// read what it asked for, what is sent is dropped.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// A header of the answer, whatever it will be. By the handler, before it returns or hands the exchange on.
  virtual void header(std::string name, std::string value) = 0;
  /// The whole answer, of JSON.
  virtual void answer(int status, std::string body, HttpHeaders headers = {}) = 0;
  /// One server-sent event; the first one begins the answer, with status 200. `name`: its type; empty: none.
  virtual void event(std::string data, std::string_view name = {}) = 0;
  /// Ends a stream of events.
  virtual void end() = 0;
  /// Calls `closed` once if the client goes away before the answer's end, at once if it has gone.
  virtual void when_closed(std::function<void()> closed) = 0;
};

/// Answers a request, now or later, from any thread. Is called on the server's thread: it returns soon.
using HttpHandler = std::function<void(const HttpRequest&, const std::shared_ptr<Exchange>&)>;

}  // namespace augur
