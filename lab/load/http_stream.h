#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace augur {

/// Where an HTTP server is: http://HOST:PORT.
struct ServerAddress {
  std::string host;
  std::string port;

  /// Error for anything else.
  static ServerAddress parse(const std::string& url);
};

/// Posts a JSON body on a connection of its own and calls `on_event` for the data of every server-sent event,
/// as it comes. Blocks until the answer has ended. Error naming the status and the answer where that is not
/// 200.
void post_stream(const ServerAddress& server, const std::string& path, const std::string& api_key,
                 const std::string& body, const std::function<void(std::string_view data)>& on_event);

}  // namespace augur
