#include "server/routes.h"

#include <vector>

#include "server/health.h"

namespace augur {
namespace {

bool is_at(std::string_view path, std::string_view endpoint) {
  constexpr std::string_view kAny = "{id}";
  constexpr std::string_view kRest = "{path}";
  if (endpoint.ends_with(kRest)) {
    endpoint.remove_suffix(kRest.size());
    return path.starts_with(endpoint) && path.size() > endpoint.size();
  }
  if (!endpoint.ends_with(kAny)) return path == endpoint;
  endpoint.remove_suffix(kAny.size());
  return path.starts_with(endpoint) && path.size() > endpoint.size() &&
         path.find('/', endpoint.size()) == std::string_view::npos;
}

}  // namespace

const std::vector<Endpoint>& endpoints() {
  static const std::vector<Endpoint> all = [] {
    std::vector<Endpoint> list;
    for (const std::span<const Endpoint> api :
         {health_endpoints(), model_endpoints(), openai_endpoints(), responses_endpoints(),
          anthropic_endpoints(), llamacpp_endpoints(), slot_endpoints(), openapi_endpoints()}) {
      list.insert(list.end(), api.begin(), api.end());
    }
    return list;
  }();
  return all;
}

Route find_route(std::string_view method, std::string_view path) {
  Route route;
  for (const Endpoint& endpoint : endpoints()) {
    if (!is_at(path, endpoint.path)) continue;
    const bool head = method == "HEAD" && endpoint.method == "GET";
    if (endpoint.method == method || head) route.endpoint = &endpoint;
    route.methods += (route.methods.empty() ? "" : ", ") + std::string(endpoint.method);
    if (endpoint.method == "GET") route.methods += ", HEAD";
    route.errors = endpoint.errors;
  }
  return route;
}

}  // namespace augur
