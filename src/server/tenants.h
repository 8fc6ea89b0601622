#pragma once
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_message.h"
#include "server/keys/key_ring.h"

namespace augur {

/// The sender of a request.
struct Caller {
  std::string address;   ///< of the client, behind trusted proxies; empty: of this machine, by a UNIX socket
  std::string account;   ///< identifies its API key without revealing it; empty: there are no keys
  std::string client;    ///< SubmitOptions::client: who takes turns
  std::string tenant;    ///< SubmitOptions::tenant: whose texts it can use; empty: all clients share texts
  bool sees_all = true;  ///< it may see how much of others' prompts was cached
  KeyRing::Holder key;   ///< its key's; of an account that is null: none was needed, or it is unknown
};

struct TenantOptions {
  bool share_prefixes = false;  ///< of all keys
  /// Addresses (192.0.2.1, 2001:db8::/32) whose X-Forwarded-For is believed; "unix": of UNIX sockets.
  std::vector<std::string> trusted_proxies;
};

/// Finds the sender of a request. With keys each account is a client and a tenant, whatever address its
/// requests come from. Without keys each address (of IPv6: each /64) is a client, whatever key a request
/// names, and all are one tenant. Thread-safe.
class Tenants {
 public:
  /// `keys` must outlive it. Error for a trusted proxy that is not an address or network.
  Tenants(const TenantOptions& options, const KeyRing& keys);

  /// HttpApplication::counted_as(): of IPv6 a /64; empty for trusted proxies and for UNIX sockets.
  std::string counted_as(const std::string& client) const;
  /// The sender of a request that Admission has allowed.
  Caller caller(const HttpRequest& request) const;

 private:
  using Address = boost::asio::ip::address;
  /// The client's address, as the trusted proxies give it; none: this machine.
  std::optional<Address> address_of(const HttpRequest& request) const;
  bool trusts(const std::optional<Address>& address) const;

  const KeyRing& keys_;
  const bool share_prefixes_;
  bool trusts_sockets_ = false;
  std::vector<boost::asio::ip::network_v4> v4_;
  std::vector<boost::asio::ip::network_v6> v6_;
};

/// The API key that comes with a request, as OpenAI's clients send it, or as Anthropic's do; empty: there is
/// none.
std::string_view key_in(const HttpRequest& request);

/// A folder name for an owner of texts (TextOwner) that reveals nothing of a key; empty for the common owner.
std::string folder_of(std::string_view tenant, std::string_view salt);

}  // namespace augur
