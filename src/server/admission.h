#pragma once
#include <string>
#include <utility>
#include <vector>

#include "server/http/http_message.h"
#include "server/keys/key_ring.h"

namespace augur {

/// Who may ask, decided by a request's header alone. Thread-safe.
class Admission {
 public:
  struct Rules {
    std::vector<std::string> cors_origins;  ///< whose pages may ask ("https://chat.example.org"; "*": any;
                                            ///< "localhost": those of this machine)
    std::vector<std::string> hosts;         ///< names of this server, beside those of this machine
  };
  /// `keys` outlives it: any of them opens all but /health and the page, or /metrics, /load and /slots alone.
  Admission(Rules rules, const KeyRing& keys) : rules_(std::move(rules)), keys_(keys) {}

  /// Throws a Refusal: 401 without a key, 400 with one in the query, 403 for a page of a foreign origin and
  /// for a host that is not this server.
  void check(const HttpRequest& head) const;
  /// The key's part of check(), for a request whose key `holder` has.
  void check_key(const HttpRequest& head, const KeyRing::Holder& holder) const;
  /// The same where nobody needs a key: a host that is not this server is refused all the more.
  void check_without_key(const HttpRequest& head) const;
  /// Whether pages of the request's origin may read the answer.
  bool allows_origin(const HttpRequest& head) const;

 private:
  void check_host(const HttpRequest& head, bool keyed) const;
  void check_origin(const HttpRequest& head) const;

  const Rules rules_;
  const KeyRing& keys_;
};

/// Whether a path tells what concerns the whole server, which is what the metrics' key opens.
bool is_measured(std::string_view path);

}  // namespace augur
