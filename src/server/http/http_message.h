#pragma once
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
  /// It came by the listener of those who operate the server (AdminDoor), and needs no key.
  bool for_operators = false;

  /// Empty: there is none. `name` in small letters.
  std::string_view header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

}  // namespace augur
