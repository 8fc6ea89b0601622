#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "server/http/http_exchange.h"
#include "server/http/http_message.h"
#include "server/problem.h"

namespace augur {

/// What answers the requests that a server reads. All is called on the server's I/O thread, and returns soon.
class HttpApplication {
 public:
  virtual ~HttpApplication() = default;
  /// Lets a request in by its header, before its body is read. Throws a Problem for one that may not ask.
  virtual void admit(const HttpRequest& head) = 0;
  /// Answers a request that was let in, now or later, from any thread. What it throws is given to refuse().
  virtual void answer_request(HttpRequest request, std::shared_ptr<HttpExchange> exchange) = 0;
  /// Answers one that is not HTTP, is too large, or was not let in: `head` is what is known of it. The
  /// connection ends with this answer.
  virtual void refuse(const HttpRequest& head, const Problem& problem,
                      std::shared_ptr<HttpExchange> exchange) = 0;
  /// Under which name connections from this address (HttpRequest::client) are counted together
  /// (Limits::address_connections); empty: they are not, as it stands for many clients.
  virtual std::string counted_as(const std::string& client) const { return client; }
  /// Trouble of the server itself, for whoever operates it.
  virtual void report(std::string_view trouble) = 0;
};

}  // namespace augur
