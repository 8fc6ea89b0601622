#include "server/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "server/health.h"
#include "server/page.h"
#include "server/problem.h"
#include "server/tenants.h"

namespace augur {
namespace {

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// A host without its port: "name:80" and "[::1]:80" are "name" and "::1".
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

/// Such a name cannot lead here by a foreign name server: only names can.
bool is_address(std::string_view name) {
  return name.find(':') != std::string_view::npos ||
         (!name.empty() && name.find_first_not_of("0123456789.") == std::string_view::npos);
}

/// Pages that ask their own server send its own name.
bool is_own_origin(std::string_view origin, std::string_view host) {
  const std::size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && !host.empty() && same_letters(origin.substr(scheme + 3), host);
}

/// A page of this machine, whatever its port.
bool is_local_origin(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return false;
  const std::string_view name = host_name(origin.substr(scheme + 3));
  return same_letters(name, "localhost") || name == "127.0.0.1" || name == "::1";
}

bool has_key_in_query(std::string_view query) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view name = query.substr(0, std::min(query.find('='), end));
    for (const char* known : {"key", "api_key", "api-key", "apikey", "access_token", "token"}) {
      if (same_letters(name, known)) return true;
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return false;
}

}  // namespace

bool is_measured(std::string_view path) {
  return path == "/metrics" || path == "/load" || path == "/slots";
}

void Admission::check(const HttpRequest& head) const {
  if (is_open_health(head.path)) return;
  check_host(head, keys_.locks());
  check_origin(head);
  if (has_key_in_query(head.query)) {
    throw Refusal(
        400, "key in the URL",
        "expected no key in the URL, where logs and histories keep it: send Authorization: Bearer KEY");
  }
  if (keys_.locks()) check_key(head, keys_.find(key_in(head)));
}

void Admission::check_without_key(const HttpRequest& head) const {
  check_host(head, false);
  check_origin(head);
}

/// A page may have its own name lead here (DNS rebinding): then the request names a host that is not this
/// one.
void Admission::check_host(const HttpRequest& head, bool keyed) const {
  const std::string_view name = host_name(head.header("host"));
  const bool by_socket = head.client.empty();  // to which no page leads
  if (by_socket || name.empty() || is_address(name) || same_letters(name, "localhost")) return;
  const bool known = std::any_of(rules_.hosts.begin(), rules_.hosts.end(), [&](const std::string& host) {
    return host == "*" || same_letters(name, host);
  });
  if (known || keyed) return;  // a foreign page has no key
  throw Refusal(403, "foreign host",
                fmt::format("the host '{}' is not known here: expected localhost, an address, or a name that "
                            "--allowed-host tells",
                            name));
}

/// Any page may send a POST without asking first, if it says that it is text.
void Admission::check_origin(const HttpRequest& head) const {
  const std::string_view origin = head.header("origin");
  if (origin.empty() || allows_origin(head) || is_own_origin(origin, head.header("host"))) return;
  throw Refusal(403, "foreign page",
                fmt::format("pages of '{}' may not ask here: --cors-origin lets them", origin));
}

bool Admission::allows_origin(const HttpRequest& head) const {
  const std::string_view origin = head.header("origin");
  return !origin.empty() &&
         std::any_of(rules_.cors_origins.begin(), rules_.cors_origins.end(), [&](const std::string& allowed) {
           return allowed == "*" || allowed == origin || (allowed == "localhost" && is_local_origin(origin));
         });
}

void Admission::check_key(const HttpRequest& head, const KeyRing::Holder& holder) const {
  if (!keys_.locks() || is_open_health(head.path) || is_page_file(head.path)) return;
  if (head.method == "OPTIONS" && allows_origin(head)) return;  // a browser asks before it sends the key
  const bool known = holder.account != nullptr;
  if (known && (!holder.metrics_only || is_measured(head.path))) return;
  throw Refusal(401,
                known                  ? "key for metrics"
                : key_in(head).empty() ? "no key"
                                       : "unknown key",
                "expected one of this server's API keys: Authorization: Bearer KEY, or x-api-key: KEY",
                {{"WWW-Authenticate", "Bearer"}});
}

}  // namespace augur
