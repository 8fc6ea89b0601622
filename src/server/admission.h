#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_message.h"

namespace augur {

/// Who may ask, decided by a request's header alone. Thread-safe.
class Admission {
 public:
  struct Rules {
    std::vector<std::string> api_keys;  ///< any of them opens all but /health and the page; none: all is open
    std::string metrics_key;            ///< opens /metrics, /load and /slots; empty: none
    std::vector<std::string> cors_origins;  ///< whose pages may ask ("https://chat.example.org"; "*": any;
                                            ///< "localhost": those of this machine)
    std::vector<std::string> hosts;         ///< names of this server, beside those of this machine
  };
  /// Error for a key that is empty.
  explicit Admission(Rules rules);

  /// Throws a Problem: 401 without a key, 400 with one in the query, 403 for a page of a foreign origin and
  /// for a host that is not this server.
  void check(const HttpRequest& head) const;
  /// Whether pages of the request's origin may read the answer.
  bool allows_origin(const HttpRequest& head) const;

 private:
  void check_host(const HttpRequest& head) const;
  void check_origin(const HttpRequest& head) const;
  void check_key(const HttpRequest& head) const;

  const Rules rules_;
};

}  // namespace augur
