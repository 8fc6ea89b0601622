#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "server/http/http_exchange.h"
#include "server/problem.h"

namespace augur {

/// The form in which an API reports a problem.
struct ErrorForm {
  std::string (*body)(const Problem& problem);  ///< of the answer, or of the event that ends a stream
  std::string_view event;                       ///< that event's type; empty: none
};

/// A request that an endpoint answers. Every failure goes to fail(): before a stream, within it, or instead
/// of an answer. Thread-safe.
class Exchange : public HttpExchange {
 public:
  /// Adds a header to the answer, also to an error. To be called before the answer begins.
  virtual void add_header(std::string name, std::string value) = 0;
  /// Answers with the problem in the API's form, or ends the stream with it.
  virtual void fail(const Problem& problem) = 0;
  /// The same for an API whose streams end with an event of their own: this one.
  virtual void fail(const Problem& problem, std::string data, std::string_view name) = 0;
};

}  // namespace augur
