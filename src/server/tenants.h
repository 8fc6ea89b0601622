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

/// Who asks.
struct Caller {
  std::string address;   ///< of the client, behind trusted proxies; empty: of this machine, by a UNIX socket
  std::string account;   ///< tells its API key from others without showing it; empty: there are no keys
  std::string client;    ///< SubmitOptions::client: whose turn a request is
  std::string tenant;    ///< SubmitOptions::tenant: whose texts it may notice; empty: all clients share
  bool sees_all = true;  ///< it may know what is cached of others' texts
  KeyRing::Holder key;   ///< its key's; of an account that is null: none was needed, or it is unknown
};

struct TenantOptions {
  bool share_prefixes = false;  ///< of all keys
  /// Addresses (192.0.2.1, 2001:db8::/32) whose X-Forwarded-For is believed; "unix": of UNIX sockets.
  std::vector<std::string> trusted_proxies;
};

/// Maps what comes with a request to who asks. With keys each account is a client and a tenant, wherever its
/// keys are used from; without them the address is the client, whatever key a request names, and all are one
/// tenant. Of IPv6 a client has a /64. Thread-safe.
class Tenants {
 public:
  /// `keys` outlives it. Error for a trusted proxy that is no address or network.
  Tenants(const TenantOptions& options, const KeyRing& keys);

  /// HttpApplication::counted_as(): of IPv6 a /64; empty for trusted proxies and for UNIX sockets.
  std::string counted_as(const std::string& client) const;
  /// Of a request that has been let in.
  Caller caller(const HttpRequest& request) const;

 private:
  using Address = boost::asio::ip::address;
  /// Of the client, as the trusted proxies tell it; none: of this machine.
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

/// A name for an owner of texts (TextOwner) that is fit for a folder and tells nothing of a key; empty for
/// the common one.
std::string folder_of(std::string_view tenant, std::string_view salt);

}  // namespace augur
