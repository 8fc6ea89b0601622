#include "server/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "server/answers/json_answers.h"
#include "server/fields/bad_request.h"
#include "server/page.h"

namespace augur {
namespace {

/// Takes as long wherever they differ: how long it takes tells nothing of the key.
bool equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

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

bool is_of(std::string_view path, std::string_view endpoint) {
  constexpr std::string_view kAny = "{id}";
  if (!endpoint.ends_with(kAny)) return path == endpoint;
  endpoint.remove_suffix(kAny.size());
  return path.starts_with(endpoint) && path.size() > endpoint.size() &&
         path.find('/', endpoint.size()) == std::string_view::npos;
}

}  // namespace

bool refuse_other_model(const Served& served, const std::string& asked, ErrorBody* error,
                        Exchange& exchange) {
  const std::string& model = served.options.model;
  if (asked.empty() || asked == model) return false;
  const std::string message = fmt::format("the model '{}' is not served here: expected '{}'", asked, model);
  exchange.answer(404, error(404, message, "model"));
  return true;
}

const std::vector<Endpoint>& endpoints() {
  static const std::vector<Endpoint> all = [] {
    std::vector<Endpoint> list;
    for (const std::span<const Endpoint> api :
         {model_endpoints(), openai_endpoints(), responses_endpoints(), anthropic_endpoints(),
          llamacpp_endpoints(), slot_endpoints(), openapi_endpoints()}) {
      list.insert(list.end(), api.begin(), api.end());
    }
    return list;
  }();
  return all;
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
      tenants_({.api_keys = options_.api_keys,
                .metrics_key = options_.metrics_key,
                .share_prefixes = options_.share_prefixes,
                .trusted_proxies = options_.trusted_proxies}),
      log_(options_.log),
      metrics_(options_.model) {}
Service::~Service() = default;

void Service::open(Engine& engine, const SessionOptions& options) {
  engine_ = &engine;
  session_ = std::make_unique<Session>(engine, options);
  limits_ = options;
  serving_ = true;
}

void Service::drain() {
  draining_ = true;
  if (session_) session_->drain();
}

bool Service::authorized(const HttpRequest& request) const {
  if (options_.api_keys.empty() || request.path == "/health") return true;
  const std::string_view key = key_in(request);
  bool found = false;
  for (const std::string& known : options_.api_keys) found |= equal(key, known);
  constexpr std::array kMeasured = {"/metrics", "/load", "/slots"};
  const bool measured = !options_.metrics_key.empty() && equal(key, options_.metrics_key);
  return found ||
         (measured && std::find(kMeasured.begin(), kMeasured.end(), request.path) != kMeasured.end());
}

/// Tells a browser whether the page that asks may read the answer.
bool Service::allow_origin(const HttpRequest& request, Exchange& exchange) const {
  const std::string origin(request.header("origin"));
  const auto known = [&](const std::string& allowed) { return allowed == "*" || allowed == origin; };
  if (origin.empty() || std::none_of(options_.cors_origins.begin(), options_.cors_origins.end(), known))
    return false;
  exchange.header("Access-Control-Allow-Origin", origin);
  exchange.header("Access-Control-Expose-Headers", "X-Request-Id");
  exchange.header("Vary", "Origin");
  return true;
}

void Service::handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  const auto record = std::make_shared<RequestRecord>();
  record->id = request_id(request.header("x-request-id"));
  record->method = request.method;
  record->path = request.path;
  record->client = tenants_.caller(request).address;
  exchange->header("X-Request-Id", record->id);
  if (const std::string_view trace = request.header("traceparent"); is_plain(trace)) {
    record->traceparent = trace;
    exchange->header("Traceparent", record->traceparent);
  }
  const auto logged = std::make_shared<LoggedExchange>(exchange, record, log_, metrics_);
  const bool allowed = allow_origin(request, *exchange);
  if (allowed && request.method == "OPTIONS") {
    return logged->answer(
        204, "",
        {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
         {"Access-Control-Allow-Headers", "Authorization, Content-Type, X-Request-Id, X-Api-Key"},
         {"Access-Control-Max-Age", "86400"}});
  }
  if (answer_page(request, *logged)) return;
  answer(request, record, logged);
}

void Service::answer(const HttpRequest& request, const std::shared_ptr<RequestRecord>& record,
                     const std::shared_ptr<Exchange>& exchange) {
  const Endpoint* endpoint = nullptr;
  std::string allowed;
  ErrorBody* error_form = error_body;
  for (const Endpoint& e : endpoints()) {
    if (!is_of(request.path, e.path)) continue;
    error_form = e.error;
    if (e.method == request.method) endpoint = &e;
    allowed += (allowed.empty() ? "" : ", ") + std::string(e.method);
  }
  const auto refuse = [&](int status, std::string_view message, std::string_view field = {},
                          HttpHeaders headers = {}) {
    exchange->answer(status, error_form(status, message, field), std::move(headers));
  };
  if (!authorized(request)) {
    return refuse(401, "expected one of this server's API keys: Authorization: Bearer KEY, or x-api-key: KEY",
                  {}, {{"WWW-Authenticate", "Bearer"}});
  }
  if (endpoint == nullptr && allowed.empty()) {
    return refuse(404, fmt::format("there is no {}", request.path));
  }
  if (endpoint == nullptr) {
    return refuse(405, fmt::format("{} takes {}", request.path, allowed), {}, {{"Allow", allowed}});
  }
  if (!serving_) return refuse(503, "the model is loading", {}, {{"Retry-After", "1"}});
  if (draining_) return refuse(503, "the server is about to end", {}, {{"Retry-After", "1"}});
  try {
    endpoint->answer({.options = options_,
                      .engine = *engine_,
                      .session = *session_,
                      .limits = limits_,
                      .metrics = metrics_,
                      .slots = slots_,
                      .cache_use = cache_use_,
                      .caller = tenants_.caller(request),
                      .record = record},
                     request, exchange);
  } catch (const BadRequest& error) {
    refuse(400, error.what(), error.field());
  }
}

}  // namespace augur
