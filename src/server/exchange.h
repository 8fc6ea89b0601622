#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "server/http/http_exchange.h"
#include "server/problem.h"

namespace augur {

/// How an API words a problem.
struct ErrorForm {
  std::string (*body)(const Problem& problem);  ///< of the answer, or of the event that ends a stream
  std::string_view event;                       ///< that event's type; empty: none
};

/// A request that an endpoint answers: whatever goes wrong is given to fail(), before a stream, in it, or
/// instead of an answer. Thread-safe.
class Exchange : public HttpExchange {
 public:
  /// A header of the answer, whatever it will be. Before it begins.
  virtual void add_header(std::string name, std::string value) = 0;
  /// Answers with the problem in the API's form, or ends the stream with it.
  virtual void fail(const Problem& problem) = 0;
  /// The same for an API that ends its streams in a way of its own: with this event.
  virtual void fail(const Problem& problem, std::string data, std::string_view name) = 0;
};

}  // namespace augur
