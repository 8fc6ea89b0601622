#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/session.h"
#include "server/answers/json_answers.h"
#include "server/fields/field_table.h"
#include "server/http/exchange.h"
#include "server/llamacpp/slots.h"
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
  bool strict_fields = false;  ///< an unknown field is refused
  bool strict_model = false;   ///< so is a request for a model of another name
  bool serves_metrics = true;
  bool serves_slots = true;
  bool serves_page = true;
  std::string slot_save_path;  ///< folder for saved texts; empty: none are saved
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
  std::shared_ptr<RequestRecord> record;  ///< of the request, for the log
};

/// As which an endpoint reads a request's fields.
FieldNotes field_notes(const Served& served);
/// Names what was ignored in the request's log line and in X-Augur-Warning. Before the answer begins.
void tell_ignored(const FieldNotes& notes, const Served& served, Exchange& exchange);

/// The body of an answer that refuses; `field`: of the request; empty: none.
using ErrorBody = std::string(int status, std::string_view message, std::string_view field);

/// One method of one path, which may end in "{id}": any name in its place. `answer` is called on the HTTP
/// server's thread: it returns soon, and answers then or later. A BadRequest that it throws becomes a 400 in
/// the form of `error`.
struct Endpoint {
  std::string_view method;
  std::string_view path;
  void (*answer)(const Served& served, const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);
  ErrorBody* error = error_body;  ///< OpenAI's form
};

/// With strict_model: answers 404 where a client asks for another model than the one that is served; true: it
/// has. Empty: it does not say.
bool refuse_other_model(const Served& served, const std::string& asked, ErrorBody* error, Exchange& exchange);

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
