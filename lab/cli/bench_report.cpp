#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/output.h"
#include "cli/text_file.h"
#include "lab/cli/commands.h"
#include "lab/cli/comparison.h"
#include "lab/suite/document.h"
#include "lab/suite/report.h"
#include "lab/suite/tables.h"

namespace augur::cli {
namespace {

struct Options {
  std::string json;
  std::string report = "report.html";
  bool markdown = false;
};

int remake_report(const Options& options) {
  const auto document = read_suite_document(options.json);
  write_text(options.markdown ? "-" : options.report,
             options.markdown ? markdown_tables(document) : report_page(document));
  return 0;
}

}  // namespace

void add_bench_report(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      bench.add_subcommand("report", "The page of 'bench suite' again, or its tables, from its JSON");
  command->add_option("JSON", options->json, "What 'bench suite --json' wrote")->required();
  auto* page = command->add_option("-o,--report", options->report, "The page")->capture_default_str();
  command
      ->add_flag("--markdown", options->markdown, "Instead of a page, tables in Markdown on standard output")
      ->excludes(page);
  command->callback([options, &action] { action = [options] { return remake_report(*options); }; });
}

}  // namespace augur::cli
