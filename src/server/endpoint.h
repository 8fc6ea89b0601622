#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/session.h"
#include "server/exchange.h"
#include "server/http/http_message.h"
#include "server/limits.h"
#include "server/llamacpp/slots.h"
#include "server/openai/openai_errors.h"
#include "server/request_log.h"
#include "server/server_metrics.h"

namespace augur {

struct ServiceOptions {
  std::string model;                  ///< by which clients know it
  std::vector<std::string> api_keys;  ///< any of them opens everything but /health; none: everything is open
  SpeculationPlan speculation;        ///< the engine's, which requests are laid over
  double tpot_ms = 0;                 ///< Request::tpot_ms of requests that do not say
  /// Pages of these origins may use the server from a browser ("https://chat.example.org"; "*": any).
  std::vector<std::string> cors_origins;
  LogOptions log;
  std::string slot_save_path;                   ///< folder for saved texts; empty: none are saved
  std::vector<std::string> allowed_hosts = {};  ///< that requests may name, beside this machine's own names
  Limits limits = {};
};

/// What endpoints answer with. All that is referred to outlives every exchange.
struct Served {
  const ServiceOptions& options;
  Engine& engine;
  Session& session;
  int parallel;  ///< requests that are decoded at once
  ServerMetrics& metrics;
  Slots& slots;
  std::string client;                     ///< who asks: requests of the same one share its turn
  std::string tenant;                     ///< whose texts it may share; empty: everybody's
  std::shared_ptr<RequestRecord> record;  ///< of the request, for the log
};

/// Where an endpoint's answer is made.
enum class Runs {
  OnWorker,  ///< what parses, fills templates, tokenises. The exchange says whether its client has gone
  AtOnce,    ///< on the I/O thread: what only looks
};

/// One method of one path, which may end in "{id}": any name in its place. `answer` answers then or later;
/// what it throws becomes an error in the form of `errors`: a Problem as it is, anything else a 500.
struct Endpoint {
  std::string_view method;
  std::string_view path;
  void (*answer)(const Served& served, const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  const ErrorForm* errors = &kOpenAiErrors;
  Runs runs = method == "GET" ? Runs::AtOnce : Runs::OnWorker;
};

/// Throws a Problem (404) where a client asks for another model than the one that is served. Empty: it does
/// not say.
void require_model(const Served& served, const std::string& asked);

// The endpoints of each API; docs/serving.md lists them.
std::span<const Endpoint> openai_endpoints();
std::span<const Endpoint> responses_endpoints();
std::span<const Endpoint> anthropic_endpoints();
std::span<const Endpoint> model_endpoints();
std::span<const Endpoint> llamacpp_endpoints();
std::span<const Endpoint> slot_endpoints();
std::span<const Endpoint> openapi_endpoints();

/// All of them.
const std::vector<Endpoint>& endpoints();

}  // namespace augur
