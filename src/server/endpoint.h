#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "augur/session.h"
#include "server/answers/json_answers.h"
#include "server/cache_use.h"
#include "server/exchange.h"
#include "server/fields/field_table.h"
#include "server/http/http_message.h"
#include "server/limits.h"
#include "server/llamacpp/slots.h"
#include "server/openai/openai_errors.h"
#include "server/phase.h"
#include "server/request_log.h"
#include "server/server_metrics.h"
#include "server/tenants.h"
#include "server/traces/request_trace.h"

namespace augur {

struct ServiceOptions {
  std::string model;                  ///< the model's name for clients
  std::vector<std::string> api_keys;  ///< KeySources::lines; without these and a file no key is needed
  std::string metrics_key;            ///< KeySources
  SpeculationPlan speculation;        ///< the engine's plan, which a request's fields change
  double tpot_ms = 0;                 ///< Request::tpot_ms for requests without one
  /// Pages of these origins may use the server from a browser ("https://chat.example.org"; "*": any).
  std::vector<std::string> cors_origins;
  LogOptions log;
  bool strict_fields = false;  ///< an unknown field is refused
  bool strict_model = false;   ///< so is a request for a model of another name
  bool serves_metrics = true;
  TraceOptions traces = {};
  bool llamacpp_metrics = false;  ///< /metrics also has llama.cpp's names
  bool serves_slots = true;
  bool serves_page = true;
  bool page_keeps_history = true;  ///< the page keeps chats in the browser
  /// Folder for saved texts, with a subfolder for each tenant; empty: texts are not saved.
  std::string slot_save_path;
  bool share_prefixes = false;                    ///< TenantOptions
  std::vector<std::string> trusted_proxies = {};  ///< TenantOptions
  std::vector<std::string> allowed_hosts = {};    ///< names of this server, beside those of this machine
  Limits limits = {};
  RequestDefaults defaults = {};
  std::vector<std::string> aliases = {};  ///< further names of the model
  std::vector<std::string> tags = {};     ///< what /v1/models says of it
  std::string api_key_file = {};          ///< KeySources
};

/// What endpoints use to answer. The references must outlive every exchange.
struct Served {
  const ServiceOptions& options;
  Engine& engine;
  Session& session;
  const SessionOptions& session_options;
  ServerMetrics& metrics;
  Slots& slots;
  CacheUse& cache_use;
  const KeyRing& keys;
  Caller caller;
  std::shared_ptr<RequestRecord> record;  ///< of the request, for the log
  std::shared_ptr<RequestTrace> trace;    ///< the same for its trace; null: it has none
};

/// As what an endpoint reads a request's fields.
FieldNotes field_notes(const Served& served);
/// Names ignored fields in the request's log line and in X-Augur-Warning. To be called before the answer
/// begins.
void tell_ignored(const FieldNotes& notes, const Served& served, Exchange& exchange);
/// The same for the warnings of a grammar (Result::warnings).
void tell_warnings(std::span<const std::string> warnings, const Served& served, Exchange& exchange);

/// The thread on which an endpoint answers.
enum class Runs {
  /// a worker: for parsing, templates, tokenising; the exchange says whether its client has disconnected
  OnWorker,
  AtOnce,  ///< the I/O thread: for requests that only read state; also answered while the server drains
};

/// One method of one path. The path may end in "{id}" (any name) or "{path}" (anything). `handle` answers at
/// once or later; an exception becomes an error in the form of `errors`: a Problem with its own status,
/// anything else a 500. If `probe` is set, it answers instead, from the phase alone and in every phase.
struct Endpoint {
  std::string_view method;
  std::string_view path;
  void (*handle)(const Served& served, const HttpRequest& request,
                 const std::shared_ptr<Exchange>& exchange) = nullptr;
  const ErrorForm* errors = &kOpenAiErrors;
  Runs runs = method == "GET" ? Runs::AtOnce : Runs::OnWorker;
  void (*probe)(Phase phase, Exchange& exchange) = nullptr;
  bool polled = false;  ///< is_polled(), as probes are

  /// Programs poll it regularly: expected answers are not logged, and no request is traced.
  bool is_polled() const { return polled || probe != nullptr; }
};

/// Whether this is one of the served model's names.
bool is_served(const Served& served, std::string_view name);

/// With strict_model: throws a Problem (404) if a client asks for another model than the served one. Empty:
/// the request names no model.
void require_model(const Served& served, const std::string& asked);

/// The session's load. If the caller must not see the counts of others, the cached tokens are those of its
/// own prompts.
SessionLoad load_for(const Served& served);

// The endpoints of each API; docs/serving.md lists them.
std::span<const Endpoint> openai_endpoints();
std::span<const Endpoint> responses_endpoints();
std::span<const Endpoint> anthropic_endpoints();
std::span<const Endpoint> model_endpoints();
std::span<const Endpoint> llamacpp_endpoints();
std::span<const Endpoint> slot_endpoints();
std::span<const Endpoint> openapi_endpoints();

/// All endpoints.
const std::vector<Endpoint>& endpoints();

}  // namespace augur
