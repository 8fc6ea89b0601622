#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "augur/session.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/door_flags.h"
#include "cli/engine_flags.h"
#include "cli/hangup.h"
#include "cli/interrupt.h"
#include "cli/limit_flags.h"
#include "cli/output.h"
#include "cli/plan_flags.h"
#include "cli/service_manager.h"
#include "cli/settings.h"
#include "cli/tell.h"
#include "cli/template_flags.h"
#include "cli/validators.h"
#include "cli/watchdog.h"
#include "server/admin_door.h"
#include "server/fields/request_fields.h"
#include "server/http/http_server.h"
#include "server/keys/api_key.h"
#include "server/limits.h"
#include "server/service.h"

namespace augur::cli {
namespace {

struct ServeFlags {
  EngineOptions engine;
  std::int64_t memory_mib = 0;
  std::int64_t cache_mib = 8192;
  SessionOptions session{.memory_share = 0.8};
  HttpOptions http;
  std::optional<HttpOptions> admin;  ///< the listener for those who operate the server
  std::string alias;
  std::vector<std::string> api_keys;
  double tpot_ms = 0;
  double lame_duck_seconds = 0;
  double drain_seconds = 60;
  double final_scrape_seconds = 0;
  std::string api_key_file;
  std::vector<std::string> cors_origins;
  LogOptions log;
  std::string slot_save_path;
  bool strict_fields = false;
  bool strict_model = false;
  bool metrics = true;
  TraceOptions traces;
  bool llamacpp_metrics = false;
  bool slots = true;
  bool page = true;
  bool page_history = true;
  std::string metrics_key;
  bool share_prefixes = false;
  std::vector<std::string> trusted_proxies;
  std::vector<std::string> allowed_hosts;
  RequestDefaults defaults;
  std::vector<std::string> tags;
};

/// Of a list with commas.
std::vector<std::string> split_names(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream parts(list);
  for (std::string name; std::getline(parts, name, ',');) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

HttpOptions admin_options(const ServeFlags& flags) {
  HttpOptions admin = *flags.admin;
  admin.socket_mode = flags.http.socket_mode;
  admin.socket_group = flags.http.socket_group;
  if (!is_loopback(admin.host)) {
    tell("augur: warning: {} can be reached by others, and tells them /metrics without a key\n", admin.host);
  }
  return admin;
}

/// Tells the manager that all goes well as often as it wants, and once more. Null: it does not want it.
std::unique_ptr<Watchdog> watch(const ServiceManager& manager, Service& service, HttpServer& server) {
  if (!manager.watchdog()) return nullptr;
  std::vector<Watchdog::Ask> threads = {
      [&server](std::function<void()> alive) { server.post(std::move(alive)); },
      [&service](std::function<void()> alive) { service.session().ping(std::move(alive)); }};
  return std::make_unique<Watchdog>(std::move(threads), *manager.watchdog() / 2,
                                    [&manager] { manager.tell("WATCHDOG=1"); });
}

/// As long as it lives a signal ends the program at once: loading and measuring cannot be stopped in the
/// middle, and there is nothing to finish.
std::jthread end_at_signal(const InterruptGuard& interrupt, HttpServer& server) {
  return std::jthread([&interrupt, &server](const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kLook{20};
    constexpr std::chrono::seconds kPatience{1};
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    while (!never.wait_for(lock, stop, kLook, [&] { return interrupt.interrupted(); })) {
      if (stop.stop_requested()) return;
    }
    server.finish(0);  // which removes its socket
    std::promise<void> finished;
    server.post([&] { finished.set_value(); });
    finished.get_future().wait_for(kPatience);
    std::_Exit(0);
  });
}

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Waits while `goes_on()`, and whenever a hangup asks for it, has the log opened anew and the keys read
/// again.
template <class Condition>
void stand_by(Service& service, HangupGuard& hangup, const Condition& goes_on) {
  while (goes_on()) {
    sleep_for(0.05);
    if (!hangup.came()) continue;
    service.reopen_log();
    service.reload_keys();
  }
}

/// The exit code.
int wind_down(Service& service, HttpServer& server, HangupGuard& hangup, const ServeFlags& flags) {
  constexpr double kSecondsToWrite = 10;  // the last answers, to clients that read slowly
  service.leave();
  server.keep_no_connections();
  const Stopwatch watch;
  stand_by(service, hangup, [&] { return watch.ms() < flags.lame_duck_seconds * 1e3; });
  const std::size_t left = service.drain(flags.drain_seconds);
  if (left > 0) {
    service.report(fmt::format(
        "{} request{} had not ended {:.6g} s after the signal and {} cancelled (--drain-timeout)", left,
        left == 1 ? "" : "s", flags.lame_duck_seconds + flags.drain_seconds, left == 1 ? "was" : "were"));
  }
  service.wait_for_reader(flags.final_scrape_seconds);
  server.finish(kSecondsToWrite);
  return left == 0 ? 0 : 1;
}

int serve(const ServeFlags& flags) {
  if (!is_loopback(flags.http.host) && flags.api_keys.empty() && flags.api_key_file.empty()) {
    tell("augur: warning: {} can be reached by others, and no --api-key keeps them out\n", flags.http.host);
  }
  if (is_open_to_all(flags.api_key_file)) {
    tell("augur: warning: {}: everybody on this machine may read the keys: expected mode 0600\n",
         flags.api_key_file);
  }
  std::vector<std::string> hosts = flags.allowed_hosts;
  hosts.push_back(flags.http.host);
  HttpOptions http = flags.http;
  fit_descriptors(http.limits);
  const Limits& limits = http.limits;
  const ServiceManager manager;
  const InterruptGuard interrupt;
  HangupGuard hangup;
  std::string name;
  std::vector<std::string> aliases = split_names(flags.alias);
  if (!aliases.empty()) {
    name = aliases.front();
    aliases.erase(aliases.begin());
  }
  if (name.empty()) name = std::filesystem::path(flags.engine.model).lexically_normal().filename().string();
  std::optional<Engine> engine;
  Service service({.model = name,
                   .api_keys = flags.api_keys,
                   .metrics_key = flags.metrics_key,
                   .speculation = flags.engine.speculation,
                   .tpot_ms = flags.tpot_ms,
                   .cors_origins = flags.cors_origins,
                   .log = flags.log,
                   .strict_fields = flags.strict_fields,
                   .strict_model = flags.strict_model,
                   .serves_metrics = flags.metrics,
                   .traces = flags.traces,
                   .llamacpp_metrics = flags.llamacpp_metrics,
                   .serves_slots = flags.slots,
                   .serves_page = flags.page,
                   .page_keeps_history = flags.page_history,
                   .slot_save_path = flags.slot_save_path,
                   .share_prefixes = flags.share_prefixes,
                   .trusted_proxies = flags.trusted_proxies,
                   .allowed_hosts = hosts,
                   .limits = limits,
                   .defaults = flags.defaults,
                   .aliases = aliases,
                   .tags = flags.tags,
                   .api_key_file = flags.api_key_file});
  AdminDoor door(service);
  std::optional<HttpServer> admin;
  if (flags.admin) admin.emplace(admin_options(flags), door);
  HttpServer server(http, service);
  std::jthread loading = end_at_signal(interrupt, server);
  EngineOptions loaded = flags.engine;
  engine_limits(limits).apply_to(loaded);
  engine.emplace(load_engine(loaded));
  SessionOptions session = flags.session;
  session.drafts = {.nodes = static_cast<int>(limits.draft_nodes),
                    .depth = static_cast<int>(limits.draft_depth),
                    .topk = static_cast<int>(limits.draft_topk)};
  session.compilers = static_cast<int>(limits.grammar_threads);
  session.memory = flags.memory_mib << 20;
  session.cache_bytes = flags.cache_mib << 20;
  service.open(*engine, session);
  loading = {};
  Output out;
  out.line(fmt::format("{} is served at {}", name, address_of(http, server.port())));
  if (admin) out.line(fmt::format("health and metrics are at {}", address_of(*flags.admin, admin->port())));
  manager.tell("READY=1");
  const std::unique_ptr<Watchdog> watchdog = watch(manager, service, server);
  stand_by(service, hangup, [&] { return !interrupt.interrupted(); });
  manager.tell("STOPPING=1");
  return wind_down(service, server, hangup, flags);
}

/// What requests get that say nothing, under the names of `augur generate`, and of llama.cpp's server.
void add_default_flags(CLI::App& command, RequestDefaults& defaults) {
  command.option_defaults()->group("What requests get that do not say");
  const auto number = [&](const char* name, std::optional<double>& to, double low, double high,
                          const char* help) {
    command
        .add_option_function<double>(
            name, [&to](double value) { to = value; }, help)
        ->check(in_range(low, high))
        ->type_name("X");
  };
  number("--temp,--temperature", defaults.temperature, 0, 100, "Temperature");
  number("--top-p", defaults.top_p, 0, 1, "Only the likeliest tokens that together have probability p");
  number("--min-p", defaults.min_p, 0, 1, "Only tokens with p times the likeliest one's probability");
  number("--repeat-penalty", defaults.repetition_penalty, 1e-3, 1e3, "Divides the logits of recent tokens");
  command
      .add_option_function<int>(
          "--top-k", [&defaults](int value) { defaults.top_k = value; },
          "Only the k likeliest tokens; 0: off")
      ->check(in_range(0, std::numeric_limits<int>::max()))
      ->type_name("N");
  command
      .add_option_function<std::uint64_t>(
          "--seed", [&defaults](std::uint64_t value) { defaults.seed = value; },
          "Seed (otherwise one is drawn for each request)")
      ->check(in_range<std::uint64_t>(0, std::numeric_limits<std::int64_t>::max()))
      ->type_name("N");
  command
      .add_option_function<std::int64_t>(
          "-n,--predict,--n-predict", [&defaults](std::int64_t value) { defaults.max_tokens = value; },
          "Tokens of an answer; -1: as many as the context holds")
      ->check(in_range<std::int64_t>(-1, kMostTokens))
      ->type_name("N");
  command.add_flag("--prefill-assistant,!--no-prefill-assistant", defaults.prefill_assistant,
                   "A chat that ends with the assistant's message goes on from there (it does)");
  command
      .add_option_function<std::string>(
          "--reasoning-format",
          [&defaults](const std::string& format) { defaults.thoughts_as_content = format == "none"; },
          "Thoughts in answers: reasoning_content (auto, deepseek), or content as they are written (none)")
      ->check(CLI::IsMember({"auto", "deepseek", "none"}))
      ->type_name("WORD");
  command
      .add_option("--reasoning-budget", defaults.most_thought_tokens,
                  "Tokens of an answer's thoughts at most; -1: any number (--reasoning off: none)")
      ->check(in_range<std::int64_t>(-1, kMostTokens))
      ->type_name("N");
  command.add_flag("-v,--verbose", defaults.verbose, "Answers of chats and completions have __verbose");
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* command = app.add_subcommand("serve", "Serve OpenAI's API: many requests in one batch");
  const std::shared_ptr<Settings> settings = Settings::add_to(*command);
  add_engine_flags(*command, flags->engine);
  command->option_defaults()->group("Server");
  add_door_flags(*command, flags->http, flags->admin);
  command
      ->add_option("-a,--alias", flags->alias,
                   "Names of the model for clients, the first of which it tells of itself (default: the "
                   "file's, the folder's, or that on the hub)")
      ->type_name("NAME,...");
  command
      ->add_option_function<std::string>(
          "--tags", [flags](const std::string& list) { flags->tags = split_names(list); },
          "What /v1/models says of the model beside")
      ->type_name("TAG,...");
  add_template_flags(*command, flags->engine);
  command
      ->add_option(
          "--api-key", flags->api_keys,
          "Key that clients must send, and whose it is; repeatable. Better in the file: a command line "
          "stays in histories")
      ->allow_extra_args(false)
      ->type_name("[NAME:]KEY");
  command
      ->add_option(
          "--api-key-file", flags->api_key_file,
          "File of keys, one a line: NAME:KEY [requests=N] [tokens-per-minute=N] [metrics]. SIGHUP has "
          "it read again")
      ->type_name("FILE");
  command->add_option("--metrics-key", flags->metrics_key,
                      "Key that opens /metrics, /load and /slots of all clients, and nothing else");
  command->add_flag("--share-prefixes", flags->share_prefixes,
                    "What is kept of one key's texts may be used, and noticed, by other keys");
  command
      ->add_option("--trusted-proxy", flags->trusted_proxies,
                   "Address or network of proxies whose X-Forwarded-For is believed; unix: of sockets; "
                   "repeatable")
      ->allow_extra_args(false)
      ->type_name("CIDR");
  command->add_flag("--priorities-across-clients", flags->session.priorities_across_clients,
                    "\"priority\" goes before clients' equal shares, not only within a client");
  command
      ->add_option(
          "--allowed-host", flags->allowed_hosts,
          "Name by which clients call this server, beside localhost and addresses; repeatable; *: any")
      ->allow_extra_args(false)
      ->type_name("NAME");
  command
      ->add_option("--cors-origin,--cors-origins", flags->cors_origins,
                   "Origin whose pages may use the server from a browser; repeatable; *: any; localhost: of "
                   "this machine, at any port")
      ->allow_extra_args(false)
      ->type_name("ORIGIN");
  command
      ->add_option_function<std::string>(
          "--log-format", [flags](const std::string& format) { flags->log.json = format == "json"; },
          "Form of the log")
      ->check(CLI::IsMember({"logfmt", "json"}))
      ->default_str("logfmt");
  command
      ->add_option("--log-file", flags->log.file, "File that the log is added to (default: standard error)")
      ->type_name("FILE");
  command->add_option("--log-level", flags->log.level, "What is logged; debug: probes and scrapes, too")
      ->check(CLI::IsMember({"debug", "info", "error", "off"}))
      ->capture_default_str();
  command
      ->add_option("--slot-save-path", flags->slot_save_path,
                   "Folder for texts that clients save and restore (POST /slots/ID)")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  command->add_flag("--strict-fields", flags->strict_fields,
                    "Refuse requests with unknown fields (otherwise these are ignored, and named)");
  command->add_flag("--strict-model", flags->strict_model,
                    "Refuse requests for a model of another name (otherwise the one that there is answers)");
  command->add_flag("--metrics,!--no-metrics", flags->metrics, "GET /metrics answers (it does)");
  command->add_flag("--llamacpp-metrics", flags->llamacpp_metrics,
                    "/metrics has the names of llama.cpp's server, too");
  command
      ->add_option("--otlp-endpoint", flags->traces.endpoint,
                   "Collector that traces of requests are sent to, by OTLP over HTTP (http://HOST:4318)")
      ->type_name("URL");
  command
      ->add_option("--otlp-share", flags->traces.share,
                   "Of requests whose callers do not say, 0 to 1, those that are traced")
      ->check(in_range(0.0, 1.0))
      ->capture_default_str()
      ->type_name("X");
  command->add_flag("--slots,!--no-slots", flags->slots, "GET /slots answers (it does)");
  command->add_flag("--webui,--ui,!--no-webui,!--no-ui", flags->page, "GET / is the chat page (it is)");
  command->add_flag("--ui-history,!--no-ui-history", flags->page_history,
                    "The chat page keeps chats in the browser (it does)");
  command->add_flag("!--no-log-requests", flags->log.requests, "No line for each request");
  command->add_option("--parallel", flags->session.parallel, "Requests that are decoded at once, at most")
      ->check(in_range(1, Engine::kMostParallel))
      ->capture_default_str()
      ->type_name("N");
  command
      ->add_option("--queue", flags->session.queue, "Requests that may wait; others are told to come again")
      ->check(in_range(1, 1 << 20))
      ->capture_default_str()
      ->type_name("N");
  const auto seconds = [command](const char* name, double& to, const char* help) {
    command->add_option(name, to, help)->check(in_range(0.0, 1e6))->capture_default_str()->type_name("S");
  };
  seconds(
      "--lame-duck", flags->lame_duck_seconds,
      "Seconds after SIGTERM or SIGINT in which requests are still taken, while /health says that it ends");
  seconds("--drain-timeout", flags->drain_seconds,
          "Seconds in which running requests may end after that; then they are cancelled");
  seconds("--final-scrape", flags->final_scrape_seconds,
          "Seconds after that in which /metrics may be read once more; it ends as soon as it was");
  command
      ->add_option("--prompt-share", flags->session.prompt_share,
                   "By what share of its time new prompts may lengthen a step of running requests")
      ->check(in_range(0.0, 1e6))
      ->capture_default_str()
      ->type_name("X");
  constexpr std::int64_t kMostMib = std::int64_t{1} << 30;
  command
      ->add_option("--kv-memory", flags->memory_mib,
                   "MiB for the caches of requests and of kept texts; 0: --kv-memory-share")
      ->check(in_range(std::int64_t{0}, kMostMib))
      ->capture_default_str()
      ->type_name("MIB");
  command
      ->add_option(
          "--kv-memory-share", flags->session.memory_share,
          "Share of the available memory that --kv-memory 0 takes. Of two servers on a machine 0.4 each")
      ->check(in_range(0.001, 1.0))
      ->capture_default_str()
      ->type_name("X");
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
  add_default_flags(*command, flags->defaults);
  command->option_defaults()->group("Limits");
  Limits& limits = flags->http.limits;
  for (const Limit& limit : limit_table()) {
    add_limit_flag(*command, limit, limits.*limit.member,
                   [&limits, member = limit.member](std::int64_t value) { limits.*member = value; });
  }
  add_speculation_flags(*command, flags->engine.speculation);
  const CLI::Option* repository = command->get_option("--hf-repo");
  command->callback([flags, settings, repository, &action] {
    action = [flags, settings, repository] {
      if (flags->alias.empty() && repository->count() > 0) flags->alias = repository->as<std::string>();
      if (!settings->wants_text()) return serve(*flags);
      Output out;
      out.write(settings->text());
      out.finish();
      return 0;
    };
  });
}

}  // namespace augur::cli
