#include "server/http/connections.h"

#include "server/http/connection.h"

namespace augur {

bool Connections::is_full(const std::string& counted_as) const {
  const auto of = places_of_.find(counted_as);
  return of != places_of_.end() && of->second >= limits.address_connections;
}

std::optional<Problem> Connections::take_place(const std::string& counted_as) {
  if (is_full(counted_as)) close_longest_idle(&counted_as);
  if (is_full(counted_as)) {
    return Problem(429, "too many clients of this address are connected (--max-connections-per-address)", {},
                   {{"Retry-After", "1"}});
  }
  if (is_full()) close_longest_idle(nullptr);
  if (is_full()) return Problem(503, "too many clients are connected", {}, {{"Retry-After", "1"}});
  if (!counted_as.empty()) ++places_of_[counted_as];
  ++places_;
  return std::nullopt;
}

void Connections::leave_place(const std::string& counted_as) {
  --places_;
  const auto of = places_of_.find(counted_as);
  if (of != places_of_.end() && --of->second == 0) places_of_.erase(of);
}

void Connections::close_longest_idle(const std::string* counted_as) {
  Connection* longest = nullptr;
  for (Connection* connection : open) {
    if (!connection->idle_since() || (counted_as != nullptr && connection->counted_as() != *counted_as)) {
      continue;
    }
    if (longest == nullptr || *connection->idle_since() < *longest->idle_since()) longest = connection;
  }
  if (longest != nullptr) longest->close();
}

}  // namespace augur
