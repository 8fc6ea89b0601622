#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/text_file.h"
#include "cli/validators.h"
#include "lab/bench/machine_probe.h"
#include "lab/cli/commands.h"
#include "lab/cli/serve_bench.h"

namespace augur::cli {
namespace {

using nlohmann::json;

constexpr std::int64_t kAnswerTokens = 128;

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

}  // namespace

int bench_load(const ServeBench& bench) {
  const InterruptGuard interrupt;  // peers are ended with us
  const std::vector<WayOfAsking> ways =
      ways_of_asking(bench, *std::max_element(bench.clients.begin(), bench.clients.end()), interrupt.stop());
  const std::vector<TrainingPrompt> prompts = serve_prompts(bench);
  std::vector<std::vector<LoadRequest>> requests;
  for (const WayOfAsking& way : ways) {
    requests.emplace_back();
    for (const TrainingPrompt& prompt : prompts) {
      requests.back().push_back(
          load_request(prompt, bench.tokens > 0 ? bench.tokens : kAnswerTokens, way.fields));
    }
  }
  std::map<std::string, std::vector<std::string>> texts;  // by server
  std::vector<Cell> cells;
  for (const int clients : bench.clients) {
    for (const WayOfAsking& way : ways) cells.push_back({.clients = clients, .method = way.name});
  }
  run_passes(bench, ways, interrupt.stop(), [&](const ServePass& of) {
    const WayOfAsking& way = ways[of.way];
    const LoadPass pass =
        run_load(way.server, bench.api_key, requests[of.way], of.clients, &interrupt.stop());
    if (interrupt.stop()) return;
    Cell& cell = cells[of.cell];
    std::vector<std::string>& expected = texts[way.url];
    const bool first = expected.empty();
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      if (first) expected.push_back(pass.requests[i].text);
      cell.same_text = cell.same_text && expected[i] == pass.requests[i].text;
    }
    if (of.warming) return;
    cell.tokens_per_second.push_back(pass.tokens_per_second());
    for (const ServedRequest& r : pass.requests) {
      cell.first_ms.push_back(r.first_ms);
      cell.gap_ms.insert(cell.gap_ms.end(), r.gaps_ms.begin(), r.gaps_ms.end());
    }
  });
  std::erase_if(cells, [](const Cell& cell) { return cell.tokens_per_second.empty(); });
  Output out;
  print(cells, out);
  if (!bench.json_file.empty()) {
    json all = json::array();
    for (const Cell& cell : cells) all.push_back(to_json(cell));
    write_text(bench.json_file, all.dump(2) + "\n");
  }
  return interrupt.exit_code();
}

void add_bench_serve(CLI::App& bench, Action& action) {
  auto options = std::make_shared<ServeBench>();
  CLI::App* command = bench.add_subcommand(
      "serve", "A server of OpenAI's API under load: throughput and latencies, for several ways of asking");
  command->add_option("--url", options->url, "The server: http://HOST:PORT")->required();
  command->add_option("--api-key", options->api_key, "Its key");
  auto* prompts =
      command->add_option("--prompts", options->prompts, "JSON lines with messages, turns or text");
  command->add_option("--limit", options->limit, "Only the first N of them")->type_name("N");
  command
      ->add_option("-n,--predict", options->tokens,
                   "Tokens to generate for each, at most (default: 128; of streams beside a long prompt 600)")
      ->check(in_range<std::int64_t>(1, std::int64_t{1} << 24));
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
  auto* long_prompt =
      command
          ->add_option("--prompt-tokens", options->prompt_tokens,
                       "In place of throughput, what a prompt of about N tokens does to the gaps of streams "
                       "that read along, and the first token of its conversation's two turns")
          ->check(in_range<std::int64_t>(1, std::int64_t{1} << 24))
          ->type_name("N");
  command->option_defaults()->group("Ways of asking");
  command
      ->add_option(
          "--method", options->methods,
          "A way of asking, NAME={\"field\": value, ...} laid over every request, NAME@URL={...} of another "
          "server; repeatable, interleaved")
      ->allow_extra_args(false);
  command->add_option("--fields", options->fields,
                      "Fields that are laid over every request of every method and peer, as JSON");
  auto* model = command->add_option("-m,--model", options->peer_settings.model, "The model that peers load");
  auto* peers =
      command
          ->add_option("--peers", options->peers,
                       "Other engines to run beside, as of 'bench suite': llama.cpp, or a file; stopped "
                       "while others are measured")
          ->needs(model);
  model->needs(peers);
  command
      ->add_option("--spec-draft-model", options->peer_settings.draft,
                   "(-md) A GGUF file that peers draft with")
      ->needs(peers);
  command
      ->add_option("-t,--threads", options->peer_settings.threads,
                   "Threads of a peer; 0: one for each core that it may use")
      ->needs(peers)
      ->check(in_range(0, 1024));
  command->option_defaults()->group("Results");
  command->add_option("--json", options->json_file, "Write the figures to this file");
  command->callback([options, prompts, long_prompt, &action] {
    if (prompts->count() + long_prompt->count() == 0) {
      throw CLI::ValidationError("one of --prompts and --prompt-tokens says what is asked");
    }
    action = [options] {
      return options->prompt_tokens > 0 ? bench_long_prompt(*options) : bench_load(*options);
    };
  });
}

}  // namespace augur::cli
