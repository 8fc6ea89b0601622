#include <array>

#include "server/endpoint.h"

namespace augur {
namespace {

/// openapi.json describes every endpoint (OpenAPI 3.1).
void openapi(const Served&, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  static constexpr std::string_view kDescription =
#include "openapi.inc"
      ;
  exchange->respond(200, std::string(kDescription));
}

}  // namespace

std::span<const Endpoint> openapi_endpoints() {
  static constexpr std::array kEndpoints = {Endpoint{"GET", "/openapi.json", openapi}};
  return kEndpoints;
}

}  // namespace augur
