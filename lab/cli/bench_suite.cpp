#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
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
#include "io/atomic_file.h"
#include "io/checkpoint.h"
#include "lab/cli/commands.h"
#include "lab/suite/analysis.h"
#include "lab/suite/bundled.h"
#include "lab/suite/document.h"
#include "lab/suite/parts.h"
#include "lab/suite/peers.h"
#include "lab/suite/report.h"
#include "lab/suite/tables.h"
#include "model/fingerprint.h"

namespace augur::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  EngineOptions engine;
  SuiteRequest request;
  std::vector<std::string> files;
  std::vector<std::string> methods;
  std::string peers;
  std::string parts = "models";
  std::string json = "suite.json";
  std::string report;
  std::string state;
  int limit = -1;
  int rounds = 0;  ///< 0: 3, or 1 when quick
  double minutes = 0;
  int analyse = 2;
  int samples = 1;
  int entropy_top_k = 10;
  bool quick = false;
  bool plain_text = false;
  std::string command;
};

/// This process's command line as one would type it, where the system tells.
std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string line;
  std::string word;
  while (std::getline(in, word, '\0')) {
    if (line.empty()) word = fs::path(word).filename().string();
    const bool plain = !word.empty() && word.find_first_of(" ;&|<>()$`\\\"'*?#~") == std::string::npos;
    line += (line.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return line;
}

constexpr std::int64_t kQuickTokens = 48;
constexpr double kQuickMinutes = 2;

void settle(Options& options, bool tokens_given, bool minutes_given) {
  if (options.quick) {
    if (!tokens_given) options.request.max_tokens = kQuickTokens;
    if (!minutes_given) options.minutes = kQuickMinutes;
    if (options.limit < 0) options.limit = 6;
  }
  options.command = command_line();
  if (options.rounds == 0) options.rounds = options.quick ? 1 : 3;
  if (options.state.empty()) options.state = options.json + "l";  // suite.jsonl
}

std::vector<PromptSet> read_sets(const Options& options) {
  std::vector<PromptSet> sets;
  for (const std::string& file : options.files) {
    sets.push_back(read_prompt_set(file, options.limit));
    const auto same = std::count_if(sets.begin(), sets.end(),
                                    [&](const PromptSet& set) { return set.name == sets.back().name; });
    if (same > 1) throw Error("{}: a second suite named {}", file, sets.back().name);
  }
  if (sets.empty()) {
    const PromptSet all = bundled_prompts();
    PromptSet chosen{all.name, {}};
    const std::size_t wanted =
        options.limit < 0 ? all.prompts.size() : static_cast<std::size_t>(options.limit);
    for (const std::size_t which : {0U, 1U}) {  // of each kind the first prompt before any second one
      for (std::size_t i = which; i < all.prompts.size() && chosen.prompts.size() < wanted; i += 2) {
        chosen.prompts.push_back(all.prompts[i]);
      }
    }
    sets.push_back(std::move(chosen));
  }
  return sets;
}

std::vector<Method> read_methods(const Options& options, const Fingerprint& target) {
  std::vector<std::string> texts = options.methods;
  if (texts.empty()) {
    const bool has_parts = fs::is_directory(options.parts);
    texts = default_methods(has_parts ? find_parts(options.parts, target) : std::vector<FoundPart>{},
                            options.quick);
  }
  if (texts.front() != "plain") texts.insert(texts.begin(), "plain");
  std::vector<Method> methods;
  for (const std::string& text : texts) {
    methods.push_back(parse_method(text, options.engine.speculation, options.parts));
    const auto same =
        std::count_if(methods.begin(), methods.end(), [&](const Method& m) { return m.text == text; });
    if (same > 1) throw Error("{}: the method is given twice", text);
  }
  if (!options.peers.empty()) {
    if (options.plain_text)
      throw Error("--peers: other engines are asked by chat, so --no-chat can't be compared");
    for (Method& peer : read_peers(options.peers)) methods.push_back(std::move(peer));
  }
  return methods;
}

/// The runs that are looked at: so many prompts of every suite for the rounds, one for a text.
void analyse(const Options& options, Workbench& bench, const std::vector<PromptSet>& sets,
             const std::vector<Method>& methods, StateFile& state, const InterruptGuard& interrupt) {
  Progress progress("looking at rounds");
  const auto keep = [&](const std::string& name, auto&& make) {
    if (interrupt.interrupted() || state.document(name) != nullptr) return;
    if (const nlohmann::ordered_json document = make(); !document.is_null()) state.put(name, document);
  };
  const auto key = [&](const PromptSet& set, const SuitePrompt& prompt, const Method& method) {
    return CellKey{prompt_key(set.name, prompt), method_key(method, options.engine.draft_model), 0};
  };
  int samples = options.samples;
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const auto& prompts = sets[s].prompts;
    for (std::size_t i = 0; i < std::min(prompts.size(), static_cast<std::size_t>(options.analyse)); ++i) {
      progress.update((static_cast<double>(s) + static_cast<double>(i) / options.analyse) /
                      static_cast<double>(sets.size()));
      for (const Method& method : methods) {
        if (method.plain() || method.peer()) continue;
        keep(rounds_document(key(sets[s], prompts[i], method)), [&] {
          return watch_rounds(bench, method, prompts[i], options.request, options.entropy_top_k,
                              &interrupt.stop());
        });
      }
    }
    if (samples-- > 0) {
      for (const Method& method : methods) {
        if (method.peer()) continue;
        keep(text_document(key(sets[s], prompts.front(), method)),
             [&] { return watch_text(bench, method, prompts.front(), options.request, &interrupt.stop()); });
      }
    }
  }
  keep(kCostsDocument, [&] { return measure_costs(bench, methods); });
}

void write_atomically(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

int bench_suite(const Options& options) {
  const std::vector<PromptSet> sets = read_sets(options);
  const Fingerprint target = fingerprint_of(Checkpoint::open(options.engine.model));
  const std::vector<Method> methods = read_methods(options, target);

  Progress loading("loading");
  EngineOptions engine = options.engine;
  engine.progress = [&](std::string_view what, double fraction) { loading.update(fraction, what); };
  Workbench bench(engine, methods);
  loading.done();
  SuiteFacts facts{.command = options.command,
                   .parts = options.parts,
                   .default_draft_model = options.engine.draft_model,
                   .rounds = options.rounds,
                   .request = options.request};
  facts.request.chat = bench.info().has_chat_template && !options.plain_text;
  StateFile state(options.state, state_header(bench.info(), to_string(target), facts.request));

  const InterruptGuard interrupt;
  Progress progress("measuring");
  const SuiteRunReport run =
      run_suites(bench, sets, methods,
                 {.request = facts.request,
                  .rounds = options.rounds,
                  .minutes = options.minutes,
                  .default_draft_model = options.engine.draft_model,
                  .cancel = &interrupt.stop()},
                 state, [&](const SuiteProgress& told) {
                   const std::string left =
                       told.seconds_left < 0
                           ? ""
                           : fmt::format(", {:.0f} min {:02.0f} s left", std::floor(told.seconds_left / 60),
                                         std::fmod(told.seconds_left, 60.0));
                   progress.update(static_cast<double>(told.done) / told.planned,
                                   fmt::format("{} of {} ({}{})", told.done, told.planned, told.suite, left));
                 });
  progress.done();
  Options with_chat = options;
  with_chat.request = facts.request;
  if (run.complete() || options.quick) analyse(with_chat, bench, sets, methods, state, interrupt);

  const nlohmann::ordered_json document = suite_document(facts, bench.info(), sets, methods, run, state);
  write_atomically(options.json,
                   document.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  if (!options.report.empty()) write_atomically(options.report, report_page(document));
  Output out;
  out.write(suite_tables(document));
  out.line(fmt::format("\n{} of {} cells{}; the harness took {:.2f}% of {:.1f} s", run.done, run.planned,
                       run.complete() ? "" : " (run the same command again to go on)", 100 * run.overhead(),
                       run.cells_ms / 1e3));
  out.finish();
  if (interrupt.interrupted()) return kInterrupted;
  return outputs_differ(document) ? 1 : 0;
}

struct RemakeOptions {
  std::string json;
  std::string report = "report.html";
  bool markdown = false;
};

int remake_report(const RemakeOptions& options) {
  const auto document = read_suite_document(options.json);
  if (options.markdown) {
    Output out;
    out.write(markdown_tables(document));
    out.finish();
    return 0;
  }
  write_atomically(options.report, report_page(document));
  return 0;
}

}  // namespace

void add_bench_suite(CLI::App& bench, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = bench.add_subcommand(
      "suite",
      "All methods on the same prompts, interleaved and resumable; tables, JSON, and a page to look at");
  add_engine_flags(*command, options->engine);
  command->option_defaults()->group("What is compared");
  command->add_option(
      "--prompts", options->files,
      "Prompt files, a suite each: Augur's, Spec-Bench's, EAGLE's or SPEED-Bench's form (default: a "
      "small suite of the program's own)");
  command->add_option("--limit", options->limit, "Only the first N prompts of each file")
      ->check(in_range(1, 1 << 30));
  command->add_option(
      "--methods", options->methods,
      "TYPE[,TYPE...][:KEY=VALUE,...], one an argument; keys model (a draft model), vocab, label, policy "
      "(its "
      "settings separated by ;), topk, depth, size, n-max, n-min, p-min, tree, exit, coupling. Default: "
      "what the folder of --parts makes possible");
  command->add_option("--peers", options->peers,
                      "File of other engines to run beside, one a line: NAME: COMMAND, which starts a server "
                      "of OpenAI's API; "
                      "MODEL, THREADS and PORT are in its environment (docs/benchmarks.md)");
  command->add_option("--parts", options->parts, "Folder of draft models, heads and policies' parts")
      ->capture_default_str();
  command
      ->add_option("--rounds", options->rounds, "Runs of each prompt and method; medians count (default 3)")
      ->check(in_range(1, 1000));
  command->add_flag("--quick", options->quick,
                    "Few prompts, methods and tokens: at most two minutes of measuring");
  command->option_defaults()->group("Requests");
  auto* tokens =
      command->add_option("-n,--predict", options->request.max_tokens, "Tokens of an answer, at most")
          ->check(in_range<std::int64_t>(1, std::int64_t{1} << 32))
          ->capture_default_str();
  command->add_option("--turns", options->request.turns, "Turns of a conversation, at most; 0: all")
      ->check(in_range(0, 1 << 20));
  command->add_flag("--ignore-eos", options->request.ignore_eos, "Never end by the model's own decision");
  command->add_flag("--no-chat", options->plain_text,
                    "Prompts as they are, without the model's chat template");
  command->add_option("--system", options->request.system, "System message");
  add_sampling_flags(*command, options->request.sampling);
  command->option_defaults()->group("Results");
  command->add_option("--json", options->json, "The figures")->capture_default_str();
  command->add_option("--report", options->report, "A self-contained HTML page");
  command->add_option(
      "--state", options->state,
      "What has been measured, so that a run that was cut off goes on (default: the name of --json + l)");
  auto* minutes = command
                      ->add_option("--minutes", options->minutes,
                                   "Stop measuring after so long; the same command goes on")
                      ->check(in_range(0.0, 1e6));
  command->add_option("--analyse", options->analyse, "Prompts of every suite whose rounds are looked at")
      ->check(in_range(0, 1 << 20))
      ->capture_default_str();
  command->add_option("--samples", options->samples, "Suites whose first answer is shown token by token")
      ->check(in_range(0, 1000))
      ->capture_default_str();
  command->callback([options, tokens, minutes, &action] {
    settle(*options, tokens->count() > 0, minutes->count() > 0);
    action = [options] { return bench_suite(*options); };
  });
}

void add_bench_report(CLI::App& bench, Action& action) {
  auto options = std::make_shared<RemakeOptions>();
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
