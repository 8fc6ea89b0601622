#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/load/load_test.h"
#include "lab/suite/peer_server.h"

namespace augur::cli {

/// What `bench serve` is asked for.
struct ServeBench {
  std::string url;
  std::string api_key;
  std::string prompts;
  std::size_t limit = 0;    ///< 0: all
  std::int64_t tokens = 0;  ///< 0: what is usual for what is measured
  std::int64_t text_bytes = 2000;
  std::vector<int> clients = {1, 4, 16};
  int rounds = 3;
  std::vector<std::string> methods;
  std::string fields = "{}";
  std::int64_t prompt_tokens = 0;                            ///< of the long prompt; 0: the load is measured
  std::string peers;                                         ///< file or table; empty: none
  PeerSettings peer_settings = {.model = {}, .threads = 0};  ///< threads 0: one for each core
  std::string json_file;
};

/// A way of asking: a server, and fields that are laid over every request.
struct WayOfAsking {
  std::string name;
  std::string url;
  ServerAddress server;
  nlohmann::json fields;
  std::unique_ptr<PeerServer> peer =
      nullptr;  ///< where the server is another engine's that was started for it

  /// Lets its server work while it lives; nothing where nobody stopped it.
  std::unique_ptr<PeerServer::Awake> awake() const;
};

/// --method in its order ("default" where there is none), then --peers, whose servers are started for
/// `parallel` requests at a time, unless `cancel` is set. Error naming the flag for what is none.
std::vector<WayOfAsking> ways_of_asking(const ServeBench& bench, int parallel,
                                        const std::atomic<bool>& cancel);

/// Which of a bench's cells a pass belongs to: every number of clients has one for each way of asking.
struct ServePass {
  std::size_t cell = 0;
  std::size_t way = 0;
  int clients = 0;
  bool warming = false;  ///< the first of each, which is not counted
};

/// Calls `run` for all passes, the ways of asking in turn, each with its server awake, until `stop` is set.
void run_passes(const ServeBench& bench, const std::vector<WayOfAsking>& ways, const std::atomic<bool>& stop,
                const std::function<void(const ServePass&)>& run);

/// Throughput and latencies of all prompts, by clients and ways of asking. Returns the exit code.
int bench_load(const ServeBench& bench);
/// What a long prompt does to the gaps of streams, by streams and ways of asking. Returns the exit code.
int bench_long_prompt(const ServeBench& bench);

/// The prompts of --prompts. Error for a file without.
std::vector<TrainingPrompt> serve_prompts(const ServeBench& bench);

}  // namespace augur::cli
