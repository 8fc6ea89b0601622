#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/text_file.h"
#include "cli/validators.h"
#include "io/checkpoint.h"
#include "lab/cli/commands.h"
#include "lab/papers/paper.h"
#include "lab/suite/document.h"

namespace augur::cli {
namespace {

struct Options {
  std::string paper;
  EngineOptions engine;
  SuiteRequest request;
  std::vector<std::string> files;
  std::string parts = "models";
  std::string drafter;
  std::string json;
  int limit = -1;
  int rounds = 1;
  double minutes = 0;
};

/// The drafter that is named, or the only one.
FoundPart choose_drafter(const std::vector<FoundPart>& parts, const Options& options) {
  std::vector<FoundPart> drafters;
  for (const FoundPart& part : parts) {
    if (part.drafter && (options.drafter.empty() || part.name == options.drafter)) drafters.push_back(part);
  }
  if (drafters.empty()) throw Error("{}: no drafter {} for this model", options.parts, options.drafter);
  if (drafters.size() == 1) return drafters.front();
  std::string names;
  for (const FoundPart& drafter : drafters) names += (names.empty() ? "" : ", ") + drafter.name;
  throw Error("{}: several drafters; --drafter names one of {}", options.parts, names);
}

int bench_paper(const Options& options) {
  const Fingerprint target = fingerprint_of(Checkpoint::open(options.engine.model));
  const std::vector<FoundPart> parts = find_parts(options.parts, target);
  const FoundPart drafter = choose_drafter(parts, options);
  const PaperStudy study = paper_study(options.paper, drafter, parts, options.parts);
  std::vector<PromptSet> sets;
  for (const std::string& file : options.files) sets.push_back(read_prompt_set(file, options.limit));
  std::vector<Method> methods;
  for (const std::string& text : study.methods()) {
    methods.push_back(parse_method(text, options.engine.speculation, options.parts));
  }

  Workbench bench(options.engine, methods);
  SuiteFacts facts{.command = "augur bench paper " + options.paper,
                   .parts = options.parts,
                   .rounds = options.rounds,
                   .request = options.request};
  facts.request.chat = bench.info().has_chat_template;
  StateFile state(options.json + "l", state_header(bench.info(), to_string(target), facts.request));
  const InterruptGuard interrupt;
  Progress progress("measuring");
  const SuiteRunReport run =
      run_suites(bench, sets, methods,
                 {.request = facts.request,
                  .rounds = options.rounds,
                  .minutes = options.minutes,
                  .cancel = &interrupt.stop()},
                 state, [&](const SuiteProgress& told) {
                   progress.update(static_cast<double>(told.done) / told.planned, told.suite);
                 });
  progress.done();

  const nlohmann::ordered_json document = suite_document(facts, bench.info(), sets, methods, run, state);
  write_text(options.json, document.dump(1) + "\n");
  Output out;
  out.line(fmt::format("{} with {} on {}, {} threads, temperature {}", bench.info().path, drafter.name,
                       document["machine"]["cpu"].get<std::string>(), bench.info().threads,
                       facts.request.sampling.temperature));
  out.write(paper_tables(study, document));
  if (!run.complete())
    out.line(fmt::format("{} of {} cells: run the same command again to go on", run.done, run.planned));
  out.finish();
  if (interrupt.interrupted()) return kInterrupted;
  return outputs_differ(document) ? 1 : 0;
}

}  // namespace

void add_bench_paper(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      bench.add_subcommand("paper", "The tables of a paper, measured here, beside the paper's own figures");
  command->add_option("PAPER", options->paper, fmt::format("{}", fmt::join(paper_names(), ", ")))->required();
  add_engine_flags(*command, options->engine);
  command->option_defaults()->group("What is compared");
  command->add_option("--prompts", options->files, "Prompt files, as in bench suite")->required();
  command->add_option("--limit", options->limit, "Only the first N prompts of each file")
      ->check(in_range(1, 1 << 30));
  command->add_option("--parts", options->parts, "Folder of draft models, heads and policies' parts")
      ->capture_default_str();
  command->add_option("--drafter", options->drafter, "Which of its drafters, where there are several");
  command->add_option("--rounds", options->rounds, "Runs of each prompt and method")
      ->check(in_range(1, 1000))
      ->capture_default_str();
  command->option_defaults()->group("Requests");
  command->add_option("-n,--predict", options->request.max_tokens, "Tokens of an answer, at most")
      ->check(in_range<std::int64_t>(1, std::int64_t{1} << 32))
      ->capture_default_str();
  command->add_option("--turns", options->request.turns, "Turns of a conversation, at most; 0: all")
      ->check(in_range(0, 1 << 20));
  add_sampling_flags(*command, options->request.sampling);
  command->option_defaults()->group("Results");
  command->add_option("--json", options->json,
                      "The figures (default: PAPER.json); what is measured is kept beside it");
  command->add_option("--minutes", options->minutes, "Stop measuring after so long; the same command goes on")
      ->check(in_range(0.0, 1e6));
  command->callback([options, &action] {
    if (options->json.empty()) options->json = options->paper + ".json";
    action = [options] { return bench_paper(*options); };
  });
}

}  // namespace augur::cli
