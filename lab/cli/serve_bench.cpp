#include "lab/cli/serve_bench.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/affinity.h"
#include "base/control_group.h"
#include "base/error.h"
#include "cli/progress.h"
#include "lab/suite/peers.h"

namespace augur::cli {
namespace {

using nlohmann::json;

json fields_of(const std::string& text, const std::string& flag) {
  json fields = json::parse(text, nullptr, false);
  if (!fields.is_object()) throw Error("{} {}: expected {{\"field\": value, ...}}", flag, text);
  return fields;
}

WayOfAsking parse_method(const std::string& text, const ServeBench& bench) {
  const std::size_t equals = text.find('=');
  const json own = json::parse(equals == std::string::npos ? "" : text.substr(equals + 1), nullptr, false);
  const std::string asked = text.substr(0, equals);
  const std::size_t at = asked.find('@');
  if (equals == 0 || at == 0 || !own.is_object()) {
    throw Error("--method {}: expected NAME={{\"field\": value, ...}} or NAME@URL={{...}}", text);
  }
  json fields = fields_of(bench.fields, "--fields");
  fields.update(own);
  const std::string url = at == std::string::npos ? bench.url : asked.substr(at + 1);
  return {.name = asked.substr(0, at),
          .url = url,
          .server = ServerAddress::parse(url),
          .fields = std::move(fields)};
}

}  // namespace

std::unique_ptr<PeerServer::Awake> WayOfAsking::awake() const {
  return peer == nullptr ? nullptr : std::make_unique<PeerServer::Awake>(*peer);
}

std::vector<WayOfAsking> ways_of_asking(const ServeBench& bench, int parallel,
                                        const std::atomic<bool>& cancel) {
  std::vector<WayOfAsking> ways;
  for (const std::string& text : bench.methods) ways.push_back(parse_method(text, bench));
  if (ways.empty()) ways.push_back(parse_method("default={}", bench));
  if (bench.peers.empty()) return ways;
  PeerSettings settings = bench.peer_settings;
  settings.parallel = parallel;
  if (settings.threads == 0) settings.threads = usable_cpus(allowed_cpus().size(), group_limits().cpus);
  const bool has_draft = std::filesystem::path(settings.draft).extension() == ".gguf";
  for (const Method& peer : find_peers(bench.peers, has_draft)) {
    if (cancel) break;
    auto server = std::make_unique<PeerServer>(peer.label, peer.server, settings, &cancel);
    const std::string url = server->url();
    ways.push_back({.name = peer.label,
                    .url = url,
                    .server = ServerAddress::parse(url),
                    .fields = fields_of(bench.fields, "--fields"),
                    .peer = std::move(server)});
  }
  return ways;
}

void run_passes(const ServeBench& bench, const std::vector<WayOfAsking>& ways, const std::atomic<bool>& stop,
                const std::function<void(const ServePass&)>& run) {
  Progress progress("serving");
  const auto passes = static_cast<double>(bench.clients.size() * ways.size()) * (bench.rounds + 1);
  int done = 0;
  for (std::size_t c = 0; c < bench.clients.size(); ++c) {
    for (int round = -1; round < bench.rounds; ++round) {
      for (std::size_t way = 0; way < ways.size(); ++way) {
        if (stop) return;
        const auto awake = ways[way].awake();
        run({.cell = c * ways.size() + way, .way = way, .clients = bench.clients[c], .warming = round < 0});
        progress.update(++done / passes);
      }
    }
  }
}

std::vector<TrainingPrompt> serve_prompts(const ServeBench& bench) {
  std::vector<TrainingPrompt> prompts;
  read_training_prompts(bench.prompts, bench.text_bytes, [&](TrainingPrompt prompt) {
    prompts.push_back(std::move(prompt));
    return bench.limit == 0 || prompts.size() < bench.limit;
  });
  if (prompts.empty()) throw Error("{}: no prompts", bench.prompts);
  return prompts;
}

}  // namespace augur::cli
