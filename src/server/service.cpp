#include "server/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "server/page.h"

namespace augur {
namespace {

constexpr std::size_t kMostTraceState = 512;  // bytes, which W3C has all pass on

/// Short, and printable: fit for a header and a log.
bool is_plain(std::string_view text) {
  return !text.empty() && text.size() <= 128 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

/// The client's, or one of our own.
std::string request_id(std::string_view given) {
  if (is_plain(given)) return std::string(given);
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

void check_route(const Route& route, const HttpRequest& request) {
  if (route.endpoint != nullptr) return;
  if (route.methods.empty()) throw Problem(404, fmt::format("there is no {}", request.path));
  throw Problem(405, fmt::format("{} takes {}", request.path, route.methods), {}, {{"Allow", route.methods}});
}

/// Those that a page may send: what the clients of the APIs say of themselves is among those that it asks
/// for.
std::string allowed_headers(const HttpRequest& request) {
  std::string headers = "Authorization, Content-Type, X-Request-Id, X-Api-Key, Anthropic-Version";
  const std::string_view asked = request.header("access-control-request-headers");
  const bool plain = std::all_of(asked.begin(), asked.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == ',' || c == ' ';
  });
  if (!asked.empty() && plain) headers += ", " + std::string(asked);
  return headers;
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

/// Tells a browser what the page that asks may send.
void answer_preflight(const HttpRequest& request, Exchange& exchange) {
  exchange.respond(200, "",
                   {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                    {"Access-Control-Allow-Headers", allowed_headers(request)},
                    {"Access-Control-Max-Age", "86400"}});
}

}  // namespace

bool is_served(const Served& served, std::string_view name) {
  const ServiceOptions& options = served.options;
  return name == options.model ||
         std::find(options.aliases.begin(), options.aliases.end(), name) != options.aliases.end();
}

void require_model(const Served& served, const std::string& asked) {
  if (!served.options.strict_model || asked.empty() || is_served(served, asked)) return;
  throw Problem(404,
                fmt::format("the model '{}' is not served here: expected '{}'", asked, served.options.model),
                "model");
}

SessionLoad load_for(const Served& served) {
  SessionLoad load = served.session.load();
  if (served.caller.sees_all) return load;
  const CacheUse::Tokens own = served.cache_use.of(served.caller.account);
  load.prompt_tokens = own.prompt;
  load.cached_tokens = own.cached;
  return load;
}

Service::Service(ServiceOptions options)
    : options_(std::move(options)),
      keys_({.lines = options_.api_keys, .file = options_.api_key_file, .metrics_key = options_.metrics_key}),
      admission_({.cors_origins = options_.cors_origins, .hosts = options_.allowed_hosts}, keys_),
      tenants_({.share_prefixes = options_.share_prefixes, .trusted_proxies = options_.trusted_proxies},
               keys_),
      log_(options_.log),
      metrics_(options_.model, options_.llamacpp_metrics),
      workers_(static_cast<int>(options_.limits.http_threads)) {
  if (!options_.traces.endpoint.empty()) {
    exporter_ =
        std::make_unique<SpanExporter>(options_.traces,
                                       SpanAttributes{{"service.name", "augur"},
                                                      {"service.version", std::string(version())},
                                                      {"service.instance.id", random_span_id()}},
                                       [this](const std::string& trouble) { log_.write_trouble(trouble); });
    metrics_.add_total("augur:trace_spans_total", "Spans that the collector has taken.",
                       [this] { return exporter_->sent(); });
    metrics_.add_total("augur:trace_spans_dropped_total", "Spans that are lost.",
                       [this] { return exporter_->dropped(); });
  }
  metrics_.add_total("augur:log_lines_dropped_total", "Lines of the log that are lost.",
                     [this] { return log_.dropped(); });
}
Service::~Service() = default;

void Service::open(Engine& engine, const SessionOptions& options) {
  engine_ = &engine;
  session_ = std::make_unique<Session>(engine, options);
  session_options_ = options;
  phase_ = Phase::Serving;
}

void Service::leave() {
  phase_ = Phase::Leaving;
}

void Service::reload_keys() {
  try {
    const KeyChange change = keys_.reload();
    log_.write_audit({{"event", "keys were read"},
                      {"added", joined(change.added)},
                      {"removed", joined(change.removed)},
                      {"changed", joined(change.changed)}});
  } catch (const std::exception& error) {
    log_.write_trouble(fmt::format("the API keys stay as they were: {}", error.what()));
  }
}

std::size_t Service::drain(double seconds) {
  phase_ = Phase::Draining;
  workers_.drain();
  return session_ ? session_->drain(seconds) : 0;
}

void Service::admit(const HttpRequest& head) {
  admission_.check(head);
}

void Service::report(std::string_view trouble) {
  log_.write_trouble(trouble);
}

void Service::reopen_log() {
  log_.reopen();
}

void Service::refuse(const HttpRequest& head, const Problem& problem, std::shared_ptr<HttpExchange> http) {
  const Route route = find_route(head.method, head.path);
  exchange_of(head, std::move(http), route, std::make_shared<RequestRecord>())->fail(problem);
}

void Service::answer_request(HttpRequest request, std::shared_ptr<HttpExchange> http) {
  const Route route = find_route(request.method, request.path);
  const auto record = std::make_shared<RequestRecord>();
  const auto exchange = exchange_of(request, std::move(http), route, record);
  try {
    Caller caller = tenants_.caller(request);
    // It may have been taken away since the request began.
    if (!request.for_operators) admission_.check_key(request, caller.key);
    if (caller.key.account) caller.key.account->count_request();
    if (request.method == "OPTIONS" && admission_.allows_origin(request))
      return answer_preflight(request, *exchange);
    if (options_.serves_page && answer_page(request, *exchange, options_.page_keeps_history)) return;
    check_route(route, request);
    const Phase phase = phase_;
    if (route.endpoint->probe != nullptr) return route.endpoint->probe(phase, *exchange);
    const bool late = phase == Phase::Draining && route.endpoint->runs == Runs::OnWorker;
    if (phase == Phase::Loading || late) throw problem_of_phase(phase);
    const Served served = {.options = options_,
                           .engine = *engine_,
                           .session = *session_,
                           .session_options = session_options_,
                           .metrics = metrics_,
                           .slots = slots_,
                           .cache_use = cache_use_,
                           .keys = keys_,
                           .caller = std::move(caller),
                           .record = record,
                           .trace = exchange->trace()};
    run(*route.endpoint, std::move(request), served, exchange);
  } catch (...) {
    exchange->fail(problem_of(std::current_exception()));
  }
}

void Service::run(const Endpoint& endpoint, HttpRequest request, const Served& served,
                  const std::shared_ptr<ServedExchange>& exchange) {
  if (endpoint.runs == Runs::AtOnce) return endpoint.handle(served, request, exchange);
  workers_.submit({.client = served.caller.client,
                   .abandoned = [exchange] { return exchange->client_gone(); },
                   .run =
                       [&endpoint, request = std::move(request), served, exchange] {
                         try {
                           endpoint.handle(served, request, exchange);
                         } catch (...) {
                           exchange->fail(problem_of(std::current_exception()));
                         }
                       }});
}

std::shared_ptr<RequestTrace> Service::trace_of(const HttpRequest& head, const Route& route) const {
  if (exporter_ == nullptr || route.endpoint == nullptr || route.endpoint->is_polled()) return nullptr;
  std::optional<TraceContext> context = parse_traceparent(head.header("traceparent"));
  if (!context) {
    context = {.trace = random_trace_id(), .span = {}, .sampled = false};
    context->sampled = is_in_share(context->trace, exporter_->share());
  }
  if (!context->sampled) return nullptr;
  const std::string_view state = head.header("tracestate");
  return std::make_shared<RequestTrace>(
      *exporter_, *context, context->span.empty() || state.size() > kMostTraceState ? "" : std::string(state),
      fmt::format("{} {}", route.endpoint->method, route.endpoint->path));
}

std::shared_ptr<ServedExchange> Service::exchange_of(const HttpRequest& head,
                                                     std::shared_ptr<HttpExchange> http, const Route& route,
                                                     const std::shared_ptr<RequestRecord>& record) {
  record->id = request_id(head.header("x-request-id"));
  record->method = head.method;
  record->path = head.path;
  const Caller caller = tenants_.caller(head);
  record->client = caller.address;
  if (caller.key.account) record->key = caller.key.account->name();
  record->polled = route.endpoint != nullptr && route.endpoint->is_polled();
  auto exchange = std::make_shared<ServedExchange>(std::move(http), *route.errors, record, log_, metrics_,
                                                   trace_of(head, route), options_.model);
  exchange->add_header("X-Request-Id", record->id);
  if (const std::string_view trace = head.header("traceparent"); is_plain(trace)) {
    record->traceparent = trace;
    exchange->add_header("Traceparent", record->traceparent);
  }
  if (admission_.allows_origin(head)) {  // the page that asks may read the answer
    exchange->add_header("Access-Control-Allow-Origin", std::string(head.header("origin")));
    exchange->add_header("Access-Control-Expose-Headers", "X-Request-Id, X-Augur-Warning");
    exchange->add_header("Vary", "Origin");
  }
  return exchange;
}

}  // namespace augur
