#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/session.h"
#include "server/exchange.h"
#include "server/json_answers.h"

namespace augur {

struct ServiceOptions {
  std::string model;                  ///< by which clients know it
  std::vector<std::string> api_keys;  ///< any of them opens everything but /health; none: everything is open
  SpeculationPlan speculation;        ///< the engine's, which requests are laid over
};

/// What endpoints answer with. All of it outlives every exchange.
struct Served {
  const ServiceOptions& options;
  Engine& engine;
  Session& session;
  int parallel;  ///< requests that are decoded at once
};

/// The body of an answer that refuses; `field`: of the request; empty: none.
using ErrorBody = std::string(int status, std::string_view message, std::string_view field);

/// One method of one path. `answer` is called on the HTTP server's thread: it returns soon, and answers then
/// or later. A BadRequest that it throws becomes a 400 in the form of `error`.
struct Endpoint {
  std::string_view method;
  std::string_view path;
  void (*answer)(const Served& served, const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  ErrorBody* error = error_body;  ///< OpenAI's form
};

// The endpoints of each API; docs/serving.md lists them.
std::span<const Endpoint> openai_endpoints();
std::span<const Endpoint> responses_endpoints();
std::span<const Endpoint> anthropic_endpoints();
std::span<const Endpoint> model_endpoints();
std::span<const Endpoint> llamacpp_endpoints();
std::span<const Endpoint> openapi_endpoints();

/// All of them.
const std::vector<Endpoint>& endpoints();

}  // namespace augur
