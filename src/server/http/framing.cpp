#include "server/http/framing.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <iterator>

namespace augur {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

void check_host(const RequestHeader& header) {
  const std::size_t hosts = header.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && header.version() == 11)) {
    throw Problem(400, fmt::format("expected one Host in the header, found {}", hosts));
  }
}

void check_transfer(const RequestHeader& header) {
  const std::size_t lengths = header.count(http::field::content_length);
  const std::size_t encodings = header.count(http::field::transfer_encoding);
  if (lengths > 1 || encodings > 1 || lengths + encodings > 1) {
    throw Problem(400, "expected one Content-Length, or one Transfer-Encoding, and not both");
  }
  if (encodings == 0) return;
  if (header.version() != 11) throw Problem(400, "HTTP/1.0 has no Transfer-Encoding");
  if (!beast::iequals(header[http::field::transfer_encoding], "chunked")) {
    throw Problem(501, "expected a Transfer-Encoding of 'chunked': this server knows no other");
  }
}

void check_content(const RequestHeader& header) {
  const auto encoding = header.find(http::field::content_encoding);
  if (encoding != header.end() && !beast::iequals(encoding->value(), "identity")) {
    throw Problem(415, "expected a body without Content-Encoding: this server unpacks none", {},
                  {{"Accept-Encoding", "identity"}});
  }
  const auto expected = header.find(http::field::expect);
  if (expected != header.end() && !beast::iequals(expected->value(), "100-continue")) {
    throw Problem(417, "expected '100-continue' in Expect");
  }
}

Problem too_large_body(const Limits& limits) {
  return {413, fmt::format("the body is too large: expected at most {} bytes", limits.body_bytes)};
}

}  // namespace

HttpRequest head_of(const RequestHeader& header, const std::string& client) {
  HttpRequest head;
  head.method = header.method_string();
  head.client = client;
  for (const auto& field : header) {
    head.headers.emplace_back(lower(field.name_string()), std::string(field.value()));
  }
  std::string_view target(header.target().data(), header.target().size());
  if (const std::size_t scheme = target.find("://"); scheme < target.find('/')) {
    target.remove_prefix(scheme + 3);
    const std::size_t path = std::min(target.find_first_of("/?"), target.size());
    std::erase_if(head.headers, [](const auto& field) { return field.first == "host"; });
    head.headers.emplace_back("host", std::string(target.substr(0, path)));
    target.remove_prefix(path);
  }
  const std::size_t query = std::min(target.find('?'), target.size());
  head.path = target.empty() ? "/" : target.substr(0, query);
  if (query < target.size()) head.query = target.substr(query + 1);
  return head;
}

void check_framing(const RequestHeader& header, const Limits& limits) {
  if (std::distance(header.begin(), header.end()) > limits.header_fields) {
    throw Problem(431,
                  fmt::format("the header has too many fields: expected at most {}", limits.header_fields));
  }
  check_host(header);
  check_transfer(header);
  check_content(header);
  if (header.count(http::field::content_length) == 0) return;
  const std::string length(header[http::field::content_length]);
  const bool digits = !length.empty() &&
                      std::all_of(length.begin(), length.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) throw Problem(400, "expected one number in Content-Length");
  constexpr std::size_t kDigits = 18;  // fit
  if (length.size() > kDigits || std::stoll(length) > limits.body_bytes) throw too_large_body(limits);
}

bool waits_to_continue(const RequestHeader& header) {
  return header.version() == 11 && header.count(http::field::expect) > 0;
}

std::optional<Problem> framing_problem(beast::error_code error, std::string_view start,
                                       const Limits& limits) {
  if (error == http::error::body_limit) return too_large_body(limits);
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return Problem(431,
                   fmt::format("the header, or what the body has beside its bytes, is too large: expected "
                               "at most {} bytes",
                               limits.header_bytes));
  }
  const std::string_view line = start.substr(0, start.find('\n'));
  if (error == http::error::bad_version && line.find(" HTTP/") != std::string_view::npos) {
    return Problem(505, "expected HTTP/1.1");
  }
  const bool other = error.category() == make_error_code(http::error::bad_method).category() &&
                     error != http::error::end_of_stream && error != http::error::partial_message;
  if (other) return Problem(400, "this is not HTTP/1.1: " + error.message());
  return std::nullopt;
}

}  // namespace augur
