#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"

namespace augur {

/// Nobody answered, or the answer broke off: another time it may be there.
class HubUnreachable : public Error {
 public:
  template <class... Args>
  explicit HubUnreachable(std::type_identity_t<ErrorFormat<Args...>> format, Args&&... args)
      : Error(ErrorKind::NotFound, format, std::forward<Args>(args)...) {}
};

/// Work was given up because somebody asked for that.
class HubStopped : public Error {
 public:
  explicit HubStopped(const std::string& message) : Error(ErrorKind::Cancelled, message) {}
};

/// What is known of an answer before its content, redirections followed.
struct HttpHead {
  long status = 0;
  std::uint64_t first = 0;             ///< of the content's bytes in the whole
  std::optional<std::uint64_t> total;  ///< bytes of the whole; empty: it does not say
  std::optional<double> retry_after;   ///< seconds
  std::string error;                   ///< the hub's own words of what is wrong; empty: none
};

struct HttpRequest {
  std::string url;
  std::string token;       ///< for the url's host, not for those that it leads to; empty: none
  std::uint64_t from = 0;  ///< the first byte that is wanted
};

/// Asks by GET over HTTP or HTTPS, for which libcurl holds connections. Not thread-safe.
class HttpClient {
 public:
  /// See HubSettings.
  struct Patience {
    double connect_seconds = 10;
    double stall_seconds = 30;
    std::string authorities = {};
  };

  /// `stop`, which may be null and outlives the client, ends a request within a second.
  HttpClient(const Patience& patience, const std::atomic<bool>* stop);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Called before the first byte of an answer; whether its content is wanted. What it throws get() throws.
  using OnHead = std::function<bool(const HttpHead&)>;
  using OnBytes = std::function<void(std::span<const std::byte>)>;

  /// The answer, whatever its status. HubUnreachable where there is none, or not all of it; HubStopped; Error
  /// for an address that cannot be asked, and for a certificate that is not the hub's.
  HttpHead get(const HttpRequest& request, const OnHead& on_head, const OnBytes& on_bytes);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace augur
