#include "server/service.h"

#include <fmt/format.h>

#include <utility>

#include "server/bad_request.h"
#include "server/json_answers.h"

namespace augur {
namespace {

/// Takes as long wherever they differ: how long it takes tells nothing of the key.
bool equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

const std::vector<Endpoint>& endpoints() {
  static const std::vector<Endpoint> all = [] {
    std::vector<Endpoint> list;
    for (const std::span<const Endpoint> api :
         {model_endpoints(), openai_endpoints(), responses_endpoints(), anthropic_endpoints(),
          llamacpp_endpoints(), openapi_endpoints()}) {
      list.insert(list.end(), api.begin(), api.end());
    }
    return list;
  }();
  return all;
}

Service::Service(ServiceOptions options) : options_(std::move(options)) {}
Service::~Service() = default;

void Service::open(Engine& engine, const SessionOptions& options) {
  engine_ = &engine;
  session_ = std::make_unique<Session>(engine, options);
  parallel_ = options.parallel;
  serving_ = true;
}

void Service::drain() {
  draining_ = true;
  if (session_) session_->drain();
}

bool Service::authorized(const HttpRequest& request) const {
  if (options_.api_keys.empty() || request.path == "/health") return true;
  constexpr std::string_view kScheme = "Bearer ";
  std::string_view key = request.api_key;
  if (request.authorization.starts_with(kScheme)) {
    key = std::string_view(request.authorization).substr(kScheme.size());
  }
  bool found = false;
  for (const std::string& known : options_.api_keys) found |= equal(key, known);
  return found;
}

void Service::handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  const Endpoint* endpoint = nullptr;
  std::string allowed;
  ErrorBody* error_form = error_body;
  for (const Endpoint& e : endpoints()) {
    if (e.path != request.path) continue;
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
    endpoint->answer({.options = options_, .engine = *engine_, .session = *session_, .parallel = parallel_},
                     request, exchange);
  } catch (const BadRequest& error) {
    refuse(400, error.what(), error.field());
  }
}

}  // namespace augur
