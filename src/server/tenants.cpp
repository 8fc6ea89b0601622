#include "server/tenants.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/owner_name.h"
#include "server/digest.h"

namespace augur {
namespace {

namespace ip = boost::asio::ip;

constexpr std::string_view kSockets = "unix";

/// IPv4 in IPv6's clothes is IPv4.
ip::address plain(const ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return ip::make_address_v4(ip::v4_mapped, address.to_v6());
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// As proxies write it: an address, with a port or without one, of IPv6 in brackets or without them.
std::optional<ip::address> parse_address(std::string_view text) {
  if (text.starts_with('[')) {
    text = text.substr(1, text.find(']') - 1);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    text = text.substr(0, text.find(':'));
  }
  boost::system::error_code error;
  const ip::address address = ip::make_address(std::string(text), error);
  if (error) return std::nullopt;
  return plain(address);
}

/// Of all headers of that name together, in order.
std::vector<std::string_view> forwarded_for(const HttpRequest& request) {
  std::vector<std::string_view> hops;
  for (const auto& [name, value] : request.headers) {
    if (name != "x-forwarded-for") continue;
    for (std::string_view rest = value;;) {
      const std::size_t comma = rest.find(',');
      hops.push_back(trimmed(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return hops;
}

/// Whoever has an address of IPv6 has 2^64 of them.
std::string client_at(const std::optional<ip::address>& address) {
  if (!address) return {};
  if (address->is_v4()) return address->to_string();
  return ip::network_v6(address->to_v6(), 64).canonical().to_string();
}

}  // namespace

Tenants::Tenants(const TenantOptions& options, const KeyRing& keys)
    : keys_(keys), share_prefixes_(options.share_prefixes) {
  for (const std::string& text : options.trusted_proxies) {
    if (text == kSockets) {
      trusts_sockets_ = true;
      continue;
    }
    const bool whole = text.find('/') == std::string::npos;
    boost::system::error_code no_v4;
    boost::system::error_code no_v6;
    const auto v4 = ip::make_network_v4(whole ? text + "/32" : text, no_v4);
    const auto v6 = ip::make_network_v6(whole ? text + "/128" : text, no_v6);
    if (no_v4 && no_v6) {
      throw Error("trusted proxy '{}': expected an address, a network (10.0.0.0/8, fd00::/8) or \"unix\"",
                  text);
    }
    no_v4 ? v6_.push_back(v6.canonical()) : v4_.push_back(v4.canonical());
  }
}

bool Tenants::trusts(const std::optional<Address>& address) const {
  if (!address) return trusts_sockets_;
  const auto within = [&](const auto& networks, const auto& single, int bits) {
    using Network = typename std::decay_t<decltype(networks)>::value_type;
    return std::any_of(networks.begin(), networks.end(), [&](const Network& network) {
      const Network of(single, static_cast<unsigned short>(bits));
      return of == network || of.is_subnet_of(network);
    });
  };
  return address->is_v4() ? within(v4_, address->to_v4(), 32) : within(v6_, address->to_v6(), 128);
}

std::optional<Tenants::Address> Tenants::address_of(const HttpRequest& request) const {
  std::optional<Address> address = request.client.empty() ? std::nullopt : parse_address(request.client);
  std::vector<std::string_view> hops = forwarded_for(request);
  // Each proxy has added the one that it was asked by: behind the last of ours nobody need be believed.
  while (trusts(address) && !hops.empty()) {
    const std::optional<Address> before = parse_address(hops.back());
    if (!before) break;
    address = before;
    hops.pop_back();
  }
  return address;
}

std::string Tenants::counted_as(const std::string& client) const {
  const std::optional<Address> address = client.empty() ? std::nullopt : parse_address(client);
  return trusts(address) ? std::string() : client_at(address);
}

Caller Tenants::caller(const HttpRequest& request) const {
  const std::optional<Address> address = address_of(request);
  Caller caller;
  if (address) caller.address = address->to_string();
  if (keys_.locks()) {
    caller.key = keys_.find(key_in(request));
    if (caller.key.account) caller.account = caller.key.account->id();
    caller.sees_all = caller.key.metrics_only || share_prefixes_ || keys_.accounts() < 2;
  }
  caller.client = keys_.locks() ? caller.account : client_at(address);
  if (!share_prefixes_) caller.tenant = caller.account;
  if (request.for_operators) caller.sees_all = true;
  return caller;
}

std::string_view key_in(const HttpRequest& request) {
  constexpr std::string_view kScheme = "bearer ";  // in letters of either case (RFC 9110)
  const std::string_view key = request.header("authorization");
  const bool bearer = key.size() >= kScheme.size() &&
                      std::equal(kScheme.begin(), kScheme.end(), key.begin(), [](char small, char any) {
                        return small == any || small == any - 'A' + 'a';
                      });
  return bearer ? trimmed(key.substr(kScheme.size())) : request.header("x-api-key");
}

std::string folder_of(std::string_view tenant, std::string_view salt) {
  const std::string name = owner_name(tenant, salt);
  return name.empty() ? name : digest(name);
}

}  // namespace augur
