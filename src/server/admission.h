#pragma once
#include <string>
#include <utility>
#include <vector>

#include "server/http/http_message.h"
#include "server/keys/key_ring.h"

namespace augur {

/// Decides by a request's header alone whether the request is allowed. Thread-safe.
class Admission {
 public:
  struct Rules {
    std::vector<std::string> cors_origins;  ///< whose pages may ask ("https://chat.example.org"; "*": any;
                                            ///< "localhost": those of this machine)
    std::vector<std::string> hosts;         ///< names of this server, beside those of this machine
  };
  /// `keys` must outlive it. A key opens everything, or only /metrics, /load and /slots; /health and the page
  /// need no key.
  Admission(Rules rules, const KeyRing& keys) : rules_(std::move(rules)), keys_(keys) {}

  /// Throws a Refusal: 401 without a key, 400 for a key in the query, 403 for a page of another origin and
  /// for a host name that is not this server's.
  void check(const HttpRequest& head) const;
  /// The part of check() about keys, for a request with the key of `holder`.
  void check_key(const HttpRequest& head, const KeyRing::Holder& holder) const;
  /// The part of check() without keys: refuses a host name that is not this server's.
  void check_without_key(const HttpRequest& head) const;
  /// Whether pages of the request's origin may read the answer.
  bool allows_origin(const HttpRequest& head) const;

 private:
  void check_host(const HttpRequest& head, bool keyed) const;
  void check_origin(const HttpRequest& head) const;

  const Rules rules_;
  const KeyRing& keys_;
};

/// Whether a path has information about the whole server, which the metrics key opens.
bool is_measured(std::string_view path);

}  // namespace augur
