#include "server/traces/collector.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <exception>
#include <string_view>

#include "base/error.h"

namespace augur {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::use_awaitable;
using asio::ip::tcp;

asio::awaitable<int> post(const CollectorAddress& to, const std::string& body) {
  constexpr std::chrono::seconds kPatience{5};
  constexpr std::uint64_t kMostAnswer = 64 << 10;
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  const auto found = co_await resolver.async_resolve(to.host, to.port, use_awaitable);
  beast::tcp_stream stream(executor);
  stream.expires_after(kPatience);
  co_await stream.async_connect(found, use_awaitable);
  http::request<http::string_body> request(http::verb::post, to.path, 11, body);
  const bool v6 = to.host.find(':') != std::string::npos;
  request.set(http::field::host, (v6 ? "[" + to.host + "]" : to.host) + ":" + to.port);
  request.set(http::field::user_agent, "augur");
  request.set(http::field::content_type, "application/json");
  request.keep_alive(false);
  request.prepare_payload();
  co_await http::async_write(stream, request, use_awaitable);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> answer;
  answer.body_limit(kMostAnswer);
  co_await http::async_read(stream, buffer, answer, use_awaitable);
  co_return answer.get().result_int();
}

}  // namespace

CollectorAddress CollectorAddress::parse(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  constexpr std::string_view kTraces = "/v1/traces";
  const auto refuse = [&](std::string_view why) {
    throw Error("--otlp-endpoint: '{}' {}: expected http://HOST:PORT", url, why);
  };
  if (url.starts_with("https://")) refuse("needs TLS, which a collector on this machine has");
  if (!url.starts_with(kScheme)) refuse("is no address of a collector");
  const std::string_view rest = std::string_view(url).substr(kScheme.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view host = rest.substr(0, slash);
  std::string_view path = rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  CollectorAddress to{.host = {}, .port = "4318", .path = std::string(path)};
  if (!path.ends_with(kTraces)) to.path += kTraces;
  const std::size_t bracket = host.find(']');
  const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    to.port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  to.host = host;
  const bool number =
      !to.port.empty() && to.port.size() <= 5 && to.port.find_first_not_of("0123456789") == std::string::npos;
  if (!number || std::stoi(to.port) > 65535) refuse("has no port that could be");
  if (to.host.empty()) refuse("has no host");
  if (to.path.find_first_of(" \t\r\n?#") != std::string::npos ||
      to.host.find_first_of(" \t\r\n@") != std::string::npos)
    refuse("has more than a host, a port and a path");
  return to;
}

std::string CollectorReply::reason() const {
  return status == 0 ? error : "it answers " + std::to_string(status);
}

CollectorReply send_spans(asio::io_context& io, const CollectorAddress& to, const std::string& body) {
  CollectorReply reply{.status = 0, .error = "it was given up"};
  asio::co_spawn(io, post(to, body), [&](const std::exception_ptr& thrown, int status) {
    if (!thrown) {
      reply.status = status;
      return;
    }
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      reply.error = error.what();
    }
  });
  io.run();
  return reply;
}

}  // namespace augur
