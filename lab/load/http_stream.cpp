#include "lab/load/http_stream.h"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "base/error.h"

namespace augur {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

/// Cuts a stream into events, which an empty line ends, and hands over their "data: " lines.
class EventLines {
 public:
  explicit EventLines(const std::function<void(std::string_view)>& on_event) : on_event_(on_event) {}

  void feed(std::string_view bytes) {
    pending_ += bytes;
    std::size_t begin = 0;
    for (std::size_t end; (end = pending_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      std::string_view line = std::string_view(pending_).substr(begin, end - begin);
      if (line.ends_with('\r')) line.remove_suffix(1);
      constexpr std::string_view kData = "data:";
      if (!line.starts_with(kData)) continue;
      line.remove_prefix(kData.size());
      if (line.starts_with(' ')) line.remove_prefix(1);
      on_event_(line);
    }
    pending_.erase(0, begin);
  }

 private:
  const std::function<void(std::string_view)>& on_event_;
  std::string pending_;
};

}  // namespace

ServerAddress ServerAddress::parse(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  const std::size_t colon = url.rfind(':');
  std::string rest = url.starts_with(kScheme) ? url.substr(kScheme.size()) : std::string();
  if (rest.ends_with('/')) rest.pop_back();
  const std::size_t port = rest.rfind(':');
  if (colon == std::string::npos || port == std::string::npos || port == 0 || port + 1 == rest.size() ||
      rest.find_first_not_of("0123456789", port + 1) != std::string::npos) {
    throw Error("{}: expected http://HOST:PORT", url);
  }
  return {.host = rest.substr(0, port), .port = rest.substr(port + 1)};
}

void post_stream(const ServerAddress& server, const std::string& path, const std::string& api_key,
                 const std::string& body, const std::function<void(std::string_view data)>& on_event) {
  asio::io_context io;
  asio::ip::tcp::socket socket(io);
  try {
    asio::connect(socket, asio::ip::tcp::resolver(io).resolve(server.host, server.port));
    socket.set_option(asio::ip::tcp::no_delay(true));
    http::request<http::string_body> request{http::verb::post, path, 11};
    request.set(http::field::host, server.host);
    request.set(http::field::content_type, "application/json");
    if (!api_key.empty()) request.set(http::field::authorization, "Bearer " + api_key);
    request.body() = body;
    request.prepare_payload();
    http::write(socket, request);

    beast::flat_buffer buffer;
    http::response_parser<http::buffer_body> parser;
    parser.body_limit(boost::none);
    http::read_header(socket, buffer, parser);
    const unsigned status = parser.get().result_int();
    std::string refusal;
    EventLines events(on_event);
    std::array<char, 16384> bytes{};
    while (!parser.is_done()) {
      parser.get().body().data = bytes.data();
      parser.get().body().size = bytes.size();
      boost::system::error_code error;
      http::read_some(socket, buffer, parser, error);
      if (error && error != http::error::need_buffer) throw boost::system::system_error(error);
      const std::string_view read(bytes.data(), bytes.size() - parser.get().body().size);
      status == 200 ? events.feed(read) : void(refusal += read);
    }
    if (status != 200) throw Error("{} answered {}: {}", path, status, refusal);
  } catch (const boost::system::system_error& error) {
    throw Error("http://{}:{}{}: {}", server.host, server.port, path, error.what());
  }
}

}  // namespace augur
