#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "augur/session.h"
#include "cli/commands.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/plan_flags.h"
#include "cli/validators.h"
#include "server/http_server.h"
#include "server/service.h"

namespace augur::cli {
namespace {

struct ServeFlags {
  EngineOptions engine;
  std::int64_t memory_mib = 0;
  std::int64_t cache_mib = SessionOptions{}.cache_bytes >> 20;
  SessionOptions session;
  HttpOptions http;
  std::string alias;
  std::vector<std::string> api_keys;
  double tpot_ms = 0;
};

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "::1";
}

int serve(const ServeFlags& flags) {
  constexpr double kSecondsToWrite = 10;  // the last answers, to clients that read slowly
  if (!is_loopback(flags.http.host) && flags.api_keys.empty()) {
    fmt::print(stderr, "augur: warning: {} can be reached by others, and no --api-key keeps them out\n",
               flags.http.host);
  }
  const InterruptGuard interrupt;
  std::string name = flags.alias;
  if (name.empty()) name = std::filesystem::path(flags.engine.model).lexically_normal().filename().string();
  std::optional<Engine> engine;
  Service service({.model = name,
                   .api_keys = flags.api_keys,
                   .speculation = flags.engine.speculation,
                   .tpot_ms = flags.tpot_ms});
  HttpServer server(flags.http, [&](const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
    service.handle(request, exchange);
  });
  engine.emplace(load_engine(flags.engine));
  SessionOptions session = flags.session;
  session.memory = flags.memory_mib << 20;
  session.cache_bytes = flags.cache_mib << 20;
  service.open(*engine, session);
  Output out;
  const std::string host =
      flags.http.host.find(':') == std::string::npos ? flags.http.host : "[" + flags.http.host + "]";
  out.line(fmt::format("{} is served at http://{}:{}", name, host, server.port()));
  while (!interrupt.interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  service.drain();
  server.finish(kSecondsToWrite);
  return 0;
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* command = app.add_subcommand("serve", "Serve OpenAI's API: many requests in one batch");
  add_engine_flags(*command, flags->engine);
  command->option_defaults()->group("Server");
  command->add_option("--host", flags->http.host, "Address to listen at")->capture_default_str();
  command->add_option("--port", flags->http.port, "Port; 0: any that is free")->capture_default_str();
  command->add_option("-a,--alias", flags->alias,
                      "Name of the model for clients (default: the file's or folder's)");
  command->add_option("--api-key", flags->api_keys, "Key that clients must send; repeatable")
      ->allow_extra_args(false);
  command->add_option("--parallel", flags->session.parallel, "Requests that are decoded at once, at most")
      ->check(in_range(1, Engine::kMostParallel))
      ->capture_default_str()
      ->type_name("N");
  command
      ->add_option("--queue", flags->session.queue, "Requests that may wait; others are told to come again")
      ->check(in_range(1, 1 << 20))
      ->capture_default_str()
      ->type_name("N");
  command
      ->add_option("--prompt-share", flags->session.prompt_share,
                   "By what share of its time new prompts may lengthen a step of running requests")
      ->check(in_range(0.0, 1e6))
      ->capture_default_str()
      ->type_name("X");
  constexpr std::int64_t kMostMib = std::int64_t{1} << 30;
  command
      ->add_option("--kv-memory", flags->memory_mib,
                   "MiB for the caches of requests and of kept texts; 0: four fifths of what is available")
      ->check(in_range(std::int64_t{0}, kMostMib))
      ->capture_default_str()
      ->type_name("MIB");
  command
      ->add_option("--cache-ram", flags->cache_mib,
                   "MiB of these for texts that are kept, so that what begins alike is read once; 0: none")
      ->check(in_range(std::int64_t{0}, kMostMib))
      ->capture_default_str()
      ->type_name("MIB");
  command
      ->add_option(
          "--slo-tpot", flags->tpot_ms,
          "Promised ms per token: texts that fall behind get more of the drafts; 0: nothing is promised")
      ->check(in_range(0.0, 1e6))
      ->capture_default_str()
      ->type_name("MS");
  add_speculation_flags(*command, flags->engine.speculation);
  command->callback([flags, &action] { action = [flags] { return serve(*flags); }; });
}

}  // namespace augur::cli
