#include "server/health.h"

#include <array>

namespace augur {
namespace {

void live(Phase, Exchange& exchange) {
  exchange.respond(200, R"({"status":"ok"})");
}

void ready(Phase phase, Exchange& exchange) {
  if (phase != Phase::Serving) throw problem_of_phase(phase);
  exchange.respond(200, R"({"status":"ok"})");
}

constexpr std::array kEndpoints = {
    Endpoint{.method = "GET", .path = "/health", .probe = ready},
    Endpoint{.method = "GET", .path = "/health/ready", .probe = ready},
    Endpoint{.method = "GET", .path = "/health/live", .probe = live},
    Endpoint{.method = "GET", .path = "/v1/health", .probe = ready},
};

}  // namespace

std::span<const Endpoint> health_endpoints() {
  return kEndpoints;
}

bool is_open_health(std::string_view path) {
  return path == "/health" || path == "/health/ready" || path == "/health/live";
}

}  // namespace augur
