#include <array>
#include <nlohmann/json.hpp>

#include "server/answers/json_answers.h"
#include "server/endpoint.h"
#include "server/openapi.h"

namespace augur {
namespace {

void openapi(const Served&, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  static const std::string description = text_of(openapi_description());
  exchange->respond(200, description);
}

}  // namespace

std::span<const Endpoint> openapi_endpoints() {
  static constexpr std::array kEndpoints = {Endpoint{"GET", "/openapi.json", openapi}};
  return kEndpoints;
}

}  // namespace augur
