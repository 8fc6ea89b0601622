#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "lab/cli/commands.h"
#include "lab/cli/comparison.h"
#include "lab/papers/paper.h"
#include "lab/papers/paper_tables.h"

namespace augur::cli {
namespace {

struct Options {
  std::string paper;
  std::string drafter;
  Comparison comparison;
};

/// The drafter that is named, or the only one.
FoundPart choose_drafter(const std::vector<FoundPart>& parts, const Options& options) {
  std::vector<FoundPart> drafters;
  std::string names;
  for (const FoundPart& part : parts) {
    if (!part.drafter || (!options.drafter.empty() && part.name != options.drafter)) continue;
    drafters.push_back(part);
    names += (names.empty() ? "" : ", ") + part.name;
  }
  const std::string& folder = options.comparison.parts;
  if (drafters.empty()) throw Error("{}: no drafter {} for this model", folder, options.drafter);
  if (drafters.size() > 1) throw Error("{}: several drafters; --drafter names one of {}", folder, names);
  return drafters.front();
}

int bench_paper(const Options& options) {
  Comparison comparison = options.comparison;
  const Fingerprint target = fingerprint_of(Checkpoint::open(comparison.engine.model));
  const std::vector<FoundPart> parts = find_parts(comparison.parts, target);
  const FoundPart drafter = choose_drafter(parts, options);
  const PaperStudy study = paper_study(options.paper, drafter, parts, comparison.parts);
  comparison.methods = study.methods();
  return compare(comparison, [&](const nlohmann::ordered_json& document) {
    return fmt::format("{} with {} on {}, {} threads, temperature {}\n", comparison.engine.model,
                       drafter.name, document["machine"]["cpu"].get<std::string>(),
                       document["machine"]["threads"].get<int>(), comparison.request.sampling.temperature) +
           paper_tables(study, document);
  });
}

}  // namespace

void add_bench_paper(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  options->comparison.rounds = 1;
  options->comparison.analyse = 0;
  options->comparison.samples = 0;
  CLI::App* command = bench.add_subcommand(
      "paper", "The tables of a paper, measured here as by 'bench suite', beside the paper's own figures");
  command->add_option("PAPER", options->paper, fmt::format("{}", fmt::join(paper_names(), ", ")))->required();
  add_comparison_flags(*command, options->comparison);
  command->get_option("--prompts")->required();
  command->add_option("--drafter", options->drafter, "Which drafter of --parts, where there are several")
      ->group("What is compared");
  command->callback([options, &action] {
    Comparison& comparison = options->comparison;
    if (comparison.json.empty()) comparison.json = options->paper + ".json";
    name_files_beside_json(comparison);
    action = [options] { return bench_paper(*options); };
  });
}

}  // namespace augur::cli
