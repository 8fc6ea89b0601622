#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "augur/session.h"
#include "server/exchange.h"
#include "server/openai_request.h"

namespace augur {

struct ServiceOptions {
  std::string model;                  ///< by which clients know it
  std::vector<std::string> api_keys;  ///< any of them opens everything but /health; none: everything is open
  SpeculationPlan speculation;        ///< the engine's, which requests are laid over
};

/// Answers HTTP requests with an engine: OpenAI's completions, and what clients ask beside them
/// (docs/serving.md). Before open() and after drain() everything is answered 503. handle() is thread-safe.
class Service {
 public:
  explicit Service(ServiceOptions options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Begins to serve. `engine` outlives it, and nobody else uses it.
  void open(Engine& engine, const SessionOptions& options);
  /// Refuses what comes, returns when what has begun is done.
  void drain();

  void handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange);

 private:
  using Exchanged = std::shared_ptr<Exchange>;
  bool authorized(const HttpRequest& request) const;
  void health(const HttpRequest& request, const Exchanged& exchange);
  void models(const HttpRequest& request, const Exchanged& exchange);
  void tokenize(const HttpRequest& request, const Exchanged& exchange);
  void detokenize(const HttpRequest& request, const Exchanged& exchange);
  void chat_completions(const HttpRequest& request, const Exchanged& exchange);
  void completions(const HttpRequest& request, const Exchanged& exchange);
  void complete(OpenAiEndpoint endpoint, const HttpRequest& request, const Exchanged& exchange);
  /// The prompt's tokens, in place of what it was given as. BadRequest for one that cannot be.
  void tokenize_prompt(Request& request) const;

  struct Route;
  static const std::vector<Route>& routes();

  const ServiceOptions options_;
  Engine* engine_ = nullptr;
  std::unique_ptr<Session> session_;
  std::atomic<bool> serving_ = false;
  std::atomic<bool> draining_ = false;
};

}  // namespace augur
