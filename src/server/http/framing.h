#pragma once
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/http_message.h"
#include "server/limits.h"
#include "server/problem.h"

namespace augur {

// What HTTP (RFC 9112) leaves to the server that reads it.

using RequestHeader = boost::beast::http::header<true, boost::beast::http::fields>;

/// A header as the application sees it. A target with an authority ("http://host/path") has it as its host.
HttpRequest head_of(const RequestHeader& header, const std::string& client);

/// Throws a Problem where two readers could see two different ends of the request, where a body comes in a
/// way that is not read here, or for more than the limits allow.
void check_framing(const RequestHeader& header, const Limits& limits);

/// Whether the client waits for "100 Continue" before it sends the body.
bool waits_to_continue(const RequestHeader& header);

/// What a client is told whose request could not be read; nothing where the connection just ended. `start`:
/// of what it has sent.
std::optional<Problem> framing_problem(boost::beast::error_code error, std::string_view start,
                                       const Limits& limits);

}  // namespace augur
