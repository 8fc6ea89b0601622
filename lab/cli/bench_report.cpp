#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/text_file.h"
#include "lab/cli/commands.h"
#include "lab/suite/document.h"
#include "lab/suite/figure_table.h"
#include "lab/suite/policy_bars.h"
#include "lab/suite/report.h"
#include "lab/suite/tables.h"

namespace augur::cli {
namespace {

struct Options {
  std::vector<std::string> json;
  std::string report = "report.html";
  std::string csv;
  bool markdown = false;
  bool lengths = false;
  bool bars = false;
};

int remake_report(const Options& options) {
  std::vector<nlohmann::ordered_json> documents;
  for (const std::string& file : options.json) documents.push_back(read_suite_document(file));
  if (options.lengths) {
    write_text("-", accepted_lengths(documents));
    return 0;
  }
  if (documents.size() > 1) throw Error("{} files: expected one, or --lengths", documents.size());
  const nlohmann::ordered_json& document = documents.front();
  if (options.markdown) {
    write_text("-", markdown_tables(document));
  } else if (options.bars) {
    write_text("-", policy_bars(document));
  } else if (!options.csv.empty()) {
    write_text(options.csv, csv_of_figures(document));
  } else {
    write_text(options.report, report_page(document));
  }
  return 0;
}

}  // namespace

void add_bench_report(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      bench.add_subcommand("report", "The page of 'bench suite' again, or its tables, from its JSON");
  command->add_option("JSON", options->json, "What 'bench suite --json' wrote; --lengths: several")
      ->required();
  auto* page = command->add_option("-o,--report", options->report, "The page")->capture_default_str();
  // What there is in place of the page, one at a time.
  auto* markdown = command->add_flag("--markdown", options->markdown,
                                     "Instead of a page, tables in Markdown on standard output");
  auto* csv = command->add_option(
      "--csv", options->csv,
      "Instead of a page, the figures as comma-separated values, a line for every suite and method; -: to "
      "standard output");
  auto* lengths = command->add_flag(
      "--lengths", options->lengths,
      "Instead of a page, tokens a call of every method by suite, a row for each file, in Markdown");
  auto* bars = command->add_flag(
      "--bars", options->bars,
      "Instead of a page, what the policies reach of the best fixed method and of plain decoding");
  const std::vector<CLI::Option*> kinds = {page, markdown, csv, lengths, bars};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) kinds[i]->excludes(kinds[j]);
  }
  command->callback([options, &action] { action = [options] { return remake_report(*options); }; });
}

}  // namespace augur::cli
