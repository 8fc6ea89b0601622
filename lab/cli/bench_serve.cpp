#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/text_file.h"
#include "cli/validators.h"
#include "lab/bench/machine_probe.h"
#include "lab/cli/commands.h"
#include "lab/load/load_test.h"

namespace augur::cli {
namespace {

using nlohmann::json;

struct Options {
  std::string url;
  std::string api_key;
  std::string prompts;
  std::size_t limit = 0;
  std::int64_t tokens = 128;
  std::int64_t text_bytes = 2000;
  std::vector<int> clients = {1, 4, 16};
  int rounds = 3;
  std::vector<std::string> methods;
  std::string json_file;
};

/// A way of asking: the server, and fields that are laid over every request.
struct Method {
  std::string name;
  std::string url;
  json fields;
};

Method parse_method(const std::string& text, const std::string& url) {
  const std::size_t equals = text.find('=');
  const json fields = json::parse(equals == std::string::npos ? "" : text.substr(equals + 1), nullptr, false);
  const std::string asked = text.substr(0, equals);
  const std::size_t at = asked.find('@');
  if (equals == 0 || at == 0 || !fields.is_object()) {
    throw Error("--method {}: expected NAME={{\"field\": value, ...}} or NAME@URL={{...}}", text);
  }
  return {.name = asked.substr(0, at),
          .url = at == std::string::npos ? url : asked.substr(at + 1),
          .fields = fields};
}

/// Of one method and number of clients, over all rounds.
struct Cell {
  int clients = 0;
  std::string method;
  std::vector<double> tokens_per_second;  ///< by round
  std::vector<double> first_ms, gap_ms;
  bool same_text = true;  ///< as the first pass that went to the same server
};

json to_json(const Cell& cell) {
  return {{"clients", cell.clients},
          {"method", cell.method},
          {"tokens_per_second", cell.tokens_per_second},
          {"ttft_ms_p50", percentile(cell.first_ms, 0.5)},
          {"ttft_ms_p99", percentile(cell.first_ms, 0.99)},
          {"itl_ms_p50", percentile(cell.gap_ms, 0.5)},
          {"itl_ms_p99", percentile(cell.gap_ms, 0.99)},
          {"same_text", cell.same_text}};
}

/// Of each round's ratio to the same round of the first method.
double median_ratio(const Cell& cell, const Cell& first) {
  std::vector<double> ratios;
  for (std::size_t r = 0; r < cell.tokens_per_second.size(); ++r) {
    ratios.push_back(cell.tokens_per_second[r] / first.tokens_per_second[r]);
  }
  return median(ratios);
}

void print(const std::vector<Cell>& cells, Output& out) {
  out.line(fmt::format("{:>7} {:<12} {:>9} {:>7} {:>9} {:>9} {:>8} {:>8}  {}", "clients", "method",
                       "tokens/s", "ratio", "TTFT p50", "p99 ms", "ITL p50", "p99 ms", "text"));
  const Cell* first = nullptr;
  for (const Cell& cell : cells) {
    if (first == nullptr || first->clients != cell.clients) first = &cell;
    out.line(fmt::format("{:>7} {:<12} {:>9.1f} {:>7.3f} {:>9.1f} {:>9.1f} {:>8.2f} {:>8.2f}  {}",
                         cell.clients, cell.method, median(cell.tokens_per_second),
                         median_ratio(cell, *first), percentile(cell.first_ms, 0.5),
                         percentile(cell.first_ms, 0.99), percentile(cell.gap_ms, 0.5),
                         percentile(cell.gap_ms, 0.99), cell.same_text ? "same" : "DIFFERS"));
  }
}

int bench_serve(const Options& options) {
  std::vector<Method> methods;
  for (const std::string& text : options.methods) methods.push_back(parse_method(text, options.url));
  if (methods.empty()) methods.push_back({.name = "default", .url = options.url, .fields = json::object()});
  std::vector<ServerAddress> servers;
  for (const Method& method : methods) servers.push_back(ServerAddress::parse(method.url));

  std::vector<TrainingPrompt> prompts;
  read_training_prompts(options.prompts, options.text_bytes, [&](TrainingPrompt prompt) {
    prompts.push_back(std::move(prompt));
    return options.limit == 0 || prompts.size() < options.limit;
  });
  if (prompts.empty()) throw Error("{}: no prompts", options.prompts);

  std::vector<std::vector<LoadRequest>> requests;
  for (const Method& method : methods) {
    requests.emplace_back();
    for (const TrainingPrompt& prompt : prompts) {
      requests.back().push_back(load_request(prompt, options.tokens, method.fields));
    }
  }
  std::map<std::string, std::vector<std::string>> texts;  // by server
  std::vector<Cell> cells;
  Progress progress("serving");
  const auto passes = static_cast<double>(options.clients.size() * methods.size()) * (options.rounds + 1);
  int done = 0;
  for (const int clients : options.clients) {
    const std::size_t first_cell = cells.size();
    for (const Method& method : methods) cells.push_back({.clients = clients, .method = method.name});
    for (int round = -1; round < options.rounds; ++round) {  // the first one warms up
      for (std::size_t m = 0; m < methods.size(); ++m) {
        const LoadPass pass = run_load(servers[m], options.api_key, requests[m], clients);
        progress.update(++done / passes);
        Cell& cell = cells[first_cell + m];
        std::vector<std::string>& expected = texts[methods[m].url];
        const bool first = expected.empty();
        for (std::size_t i = 0; i < prompts.size(); ++i) {
          if (first) expected.push_back(pass.requests[i].text);
          cell.same_text = cell.same_text && expected[i] == pass.requests[i].text;
        }
        if (round < 0) continue;
        cell.tokens_per_second.push_back(pass.tokens_per_second());
        for (const ServedRequest& r : pass.requests) {
          cell.first_ms.push_back(r.first_ms);
          cell.gap_ms.insert(cell.gap_ms.end(), r.gaps_ms.begin(), r.gaps_ms.end());
        }
      }
    }
  }
  progress.done();
  Output out;
  print(cells, out);
  if (!options.json_file.empty()) {
    json all = json::array();
    for (const Cell& cell : cells) all.push_back(to_json(cell));
    write_text(options.json_file, all.dump(2) + "\n");
  }
  return 0;
}

}  // namespace

void add_bench_serve(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "serve", "A server of OpenAI's API under load: throughput and latencies, for several ways of asking");
  command->add_option("--url", options->url, "The server: http://HOST:PORT")->required();
  command->add_option("--api-key", options->api_key, "Its key");
  command->add_option("--prompts", options->prompts, "JSON lines with messages, turns or text")->required();
  command->add_option("--limit", options->limit, "Only the first N of them")->type_name("N");
  command->add_option("-n,--predict", options->tokens, "Tokens to generate for each, at most")
      ->check(in_range<std::int64_t>(1, std::int64_t{1} << 24))
      ->capture_default_str();
  command->add_option("--text-bytes", options->text_bytes, "Of a text, what is sent to be continued")
      ->capture_default_str();
  command->add_option("--clients", options->clients, "How many ask at once, separated by commas")
      ->delimiter(',')
      ->check(in_range(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--rounds", options->rounds, "Passes over all prompts of each, behind one that warms up")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  command
      ->add_option(
          "--method", options->methods,
          "A way of asking, NAME={\"field\": value, ...} laid over every request, NAME@URL={...} of another "
          "server; repeatable, interleaved")
      ->allow_extra_args(false);
  command->add_option("--json", options->json_file, "Write the figures to this file");
  command->callback([options, &action] { action = [options] { return bench_serve(*options); }; });
}

}  // namespace augur::cli
