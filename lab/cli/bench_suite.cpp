#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/engine_flags.h"
#include "lab/cli/commands.h"
#include "lab/cli/comparison.h"
#include "lab/suite/tables.h"

namespace augur::cli {
namespace {

int compare_in_tables(const Comparison& comparison) {
  return compare(comparison, [&](const nlohmann::ordered_json& document) {
    return suite_tables(document, comparison.details);
  });
}

/// What is compared where nobody says: the draft model that is given, or the layers of its own that the model
/// has, and look-ups.
/// `budgeted`: with a budget in place of their sizes.
std::vector<std::string> spec_methods(bool has_draft_model, bool budgeted) {
  std::vector<std::string> methods = {budgeted ? "ngram:policy=chain" : "ngram:n-max=8", "ngram:policy=auto"};
  if (has_draft_model) {
    const std::vector<std::string> drafting = draft_model_methods(budgeted);
    methods.insert(methods.end(), drafting.begin(), drafting.end());
  }
  return methods;
}

}  // namespace

void add_bench_suite(CLI::App& bench, Action& action) {
  auto comparison = std::make_shared<Comparison>();
  comparison->json = "suite.json";
  CLI::App* command = bench.add_subcommand(
      "suite",
      "All methods on the same prompts, interleaved and resumable; tables, JSON, and a page to look at");
  add_comparison_flags(*command, *comparison);
  add_method_flags(*command, *comparison);
  command->callback([comparison, &action] {
    name_files_beside_json(*comparison);
    action = [comparison] { return compare_in_tables(*comparison); };
  });
}

void add_bench_spec(CLI::App& bench, Action& action) {
  auto comparison = std::make_shared<Comparison>();
  comparison->chat = false;
  comparison->request.max_tokens = -1;
  comparison->request.turns = 1;
  comparison->rounds = 1;
  comparison->analyse = 0;
  comparison->samples = 0;
  comparison->details = true;
  CLI::App* command = bench.add_subcommand(
      "spec", "The draft model that is given, and look-ups, against plain decoding: a 'bench suite' at once");
  add_comparison_flags(*command, *comparison);
  add_method_flags(*command, *comparison);
  command->callback([comparison, &action] {
    if (comparison->prompt.empty() && comparison->files.empty()) {
      throw CLI::ValidationError("one of -p and --prompts says what to generate from");
    }
    action = [comparison] {
      use_own_layers(comparison->engine);
      if (comparison->methods.empty()) {
        comparison->methods = spec_methods(!comparison->engine.draft_model.empty(), comparison->budget > 0);
      }
      return compare_in_tables(*comparison);
    };
  });
}

}  // namespace augur::cli
