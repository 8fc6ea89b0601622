#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/text_file.h"
#include "lab/bench/machine_probe.h"
#include "lab/cli/serve_bench.h"
#include "lab/load/long_prompt.h"

namespace augur::cli {
namespace {

using nlohmann::json;

constexpr std::int64_t kStreamTokens = 600;

/// Of one way of asking and number of streams, over all rounds.
struct Cell {
  int streams = 0;
  std::string method;
  std::vector<double> alone_ms, with_ms, reading_ms;  ///< gaps
  std::vector<double> whole_ratios, reading_ratios;   ///< by round: of the 99th percentiles, to alone
  std::vector<double> read_ms, first_ms, second_ms;   ///< by round
  std::int64_t prompt_tokens = 0;
  bool outlasted = true;

  void add(const LongPromptPass& pass, const TurnTimes& turns) {
    const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(alone_ms, pass.alone_ms);
    append(with_ms, pass.with_ms);
    append(reading_ms, pass.reading_ms);
    if (const double alone = percentile(pass.alone_ms, 0.99); alone > 0) {
      whole_ratios.push_back(percentile(pass.with_ms, 0.99) / alone);
      reading_ratios.push_back(percentile(pass.reading_ms, 0.99) / alone);
    }
    read_ms.push_back(pass.read_ms);
    first_ms.push_back(turns.first_ms);
    second_ms.push_back(turns.second_ms);
    prompt_tokens = pass.prompt_tokens;
    outlasted = outlasted && pass.outlasted;
  }
};

double median_or_zero(const std::vector<double>& values) {
  return values.empty() ? 0 : median(values);
}

json to_json(const Cell& cell) {
  const auto gaps = [](const std::vector<double>& ms) {
    return json{{"itl_ms_p50", percentile(ms, 0.5)},
                {"itl_ms_p99", percentile(ms, 0.99)},
                {"itl_ms_max", percentile(ms, 1)}};
  };
  return {{"clients", cell.streams},
          {"method", cell.method},
          {"prompt_tokens", cell.prompt_tokens},
          {"alone", gaps(cell.alone_ms)},
          {"with_prompt", gaps(cell.with_ms)},
          {"while_read", gaps(cell.reading_ms)},
          {"itl_p99_ratio", cell.whole_ratios},
          {"itl_p99_ratio_while_read", cell.reading_ratios},
          {"read_ms", cell.read_ms},
          {"ttft_ms_first_turn", cell.first_ms},
          {"ttft_ms_second_turn", cell.second_ms},
          {"outlasted", cell.outlasted}};
}

void print(const std::vector<Cell>& cells, Output& out) {
  out.line("gaps between events, ms: without the prompt, with it, while it is read; p99 over that without");
  out.line(fmt::format("{:>7} {:<16} {:>7} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>6} {:>6} {:>8} {:>8} {:>8}",
                       "streams", "method", "p50", "p99", "p99", "longest", "read p50", "p99", "tokens",
                       "with", "read", "TTFT s", "turn 1", "turn 2"));
  for (const Cell& c : cells) {
    out.line(fmt::format(
        "{:>7} {:<16} {:>7.1f} {:>7.1f} {:>7.1f} {:>7.1f} {:>8.1f} {:>7.1f} {:>7} {:>6.2f} {:>6.2f} {:>8.2f} "
        "{:>8.2f} {:>8.2f}{}",
        c.streams, c.method, percentile(c.alone_ms, 0.5), percentile(c.alone_ms, 0.99),
        percentile(c.with_ms, 0.99), percentile(c.with_ms, 1), percentile(c.reading_ms, 0.5),
        percentile(c.reading_ms, 0.99), c.prompt_tokens, median_or_zero(c.whole_ratios),
        median_or_zero(c.reading_ratios), median_or_zero(c.read_ms) / 1e3, median_or_zero(c.first_ms) / 1e3,
        median_or_zero(c.second_ms) / 1e3,
        c.outlasted ? "" : "  streams ended before it was read: raise -n"));
  }
}

std::vector<LoadRequest> streams_of(const ServeBench& bench, const std::vector<TrainingPrompt>& prompts,
                                    int count, const json& fields) {
  json asked = {{"ignore_eos", true}};  // streams are to go on
  asked.update(fields);
  std::vector<LoadRequest> streams;
  for (int i = 0; i < count; ++i) {
    TrainingPrompt prompt;
    if (prompts.empty()) {
      prompt.text = fmt::format("Story number {}: once upon a time", i + 1);
    } else {
      prompt = prompts[static_cast<std::size_t>(i) % prompts.size()];
    }
    streams.push_back(load_request(prompt, bench.tokens > 0 ? bench.tokens : kStreamTokens, asked));
  }
  return streams;
}

}  // namespace

int bench_long_prompt(const ServeBench& bench) {
  const InterruptGuard interrupt;  // peers are ended with us
  const std::vector<WayOfAsking> ways = ways_of_asking(
      bench, *std::max_element(bench.clients.begin(), bench.clients.end()) + 1, interrupt.stop());
  const std::vector<TrainingPrompt> prompts =
      bench.prompts.empty() ? std::vector<TrainingPrompt>() : serve_prompts(bench);
  std::vector<std::string> texts;
  for (const WayOfAsking& way : ways) {
    if (interrupt.stop()) return interrupt.exit_code();
    const auto awake = way.awake();
    texts.push_back(long_text(way.server, bench.api_key, bench.prompt_tokens));
  }
  std::vector<Cell> cells;
  for (const int streams : bench.clients) {
    for (const WayOfAsking& way : ways) {
      Cell& cell = cells.emplace_back();
      cell.streams = streams;
      cell.method = way.name;
    }
  }
  run_passes(bench, ways, interrupt.stop(), [&](const ServePass& of) {
    const WayOfAsking& way = ways[of.way];
    const std::string& text = texts[of.way];
    const LongPromptPass pass = run_long_prompt(
        way.server, bench.api_key, streams_of(bench, prompts, of.clients, way.fields), text, way.fields);
    const TurnTimes turns = run_two_turns(way.server, bench.api_key, text, way.fields);
    if (!of.warming) cells[of.cell].add(pass, turns);
  });
  std::erase_if(cells, [](const Cell& cell) { return cell.read_ms.empty(); });
  Output out;
  print(cells, out);
  if (!bench.json_file.empty()) {
    json all = json::array();
    for (const Cell& cell : cells) all.push_back(to_json(cell));
    write_text(bench.json_file, all.dump(2) + "\n");
  }
  out.finish();
  return interrupt.exit_code();
}

}  // namespace augur::cli
