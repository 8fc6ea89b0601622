#include "lab/cli/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/program.h"
#include "cli/progress.h"
#include "cli/text_file.h"
#include "cli/tint.h"
#include "draft/detect.h"
#include "lab/suite/analysis.h"
#include "lab/suite/budget.h"
#include "lab/suite/cell_table.h"
#include "lab/suite/document.h"
#include "lab/suite/parts.h"
#include "lab/suite/peers.h"
#include "lab/suite/report.h"
#include "model/fingerprint.h"

namespace augur::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// This process's command line as one would type it, where the system tells.
std::string command_line() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string line;
  std::string word;
  while (std::getline(in, word, '\0')) {
    if (line.empty()) word = fs::path(word).filename().string();
    const bool plain = !word.empty() && word.find_first_of(" ;&|<>()$`\\\"'*?#~") == std::string::npos;
    line += fmt::format("{}{}", line.empty() ? "" : " ", plain ? word : fmt::format("'{}'", word));
  }
  return line;
}

std::vector<PromptSet> read_sets(const Comparison& c) {
  if (!c.prompt.empty()) return {{"prompt", {{"prompt", "", {c.prompt}}}}};
  if (c.files.empty()) return {bundled_prompts(c.limit)};
  std::vector<PromptSet> sets;
  for (const std::string& file : c.files) {
    sets.push_back(read_prompt_set(file, c.limit));
    const auto same = std::count_if(sets.begin(), sets.end(),
                                    [&](const PromptSet& set) { return set.name == sets.back().name; });
    if (same > 1) throw Error("{}: a second suite named {}", file, sets.back().name);
  }
  return sets;
}

/// Plain first.
std::vector<Method> read_methods(const Comparison& c, const Checkpoint& model) {
  const Fingerprint target = fingerprint_of(model);
  const bool own = c.engine.draft_model == c.engine.model && !own_drafter_type(model).empty();
  std::vector<std::string> texts = with_method_files(c.methods);
  if (texts.empty()) {
    const bool has_parts = fs::is_directory(c.parts);
    texts = default_methods(has_parts ? find_parts(c.parts, target) : std::vector<FoundPart>{}, c.quick,
                            c.budget > 0);
    if (own) {
      for (std::string& method : draft_model_methods(c.budget > 0)) texts.push_back(std::move(method));
    }
  }
  if (texts.front() != "plain") texts.insert(texts.begin(), "plain");
  std::vector<Method> methods;
  for (const std::string& text : texts) {
    if (std::count(texts.begin(), texts.end(), text) > 1) throw Error("{}: the method is given twice", text);
    methods.push_back(parse_method(text, c.engine.speculation, c.parts));
    if (c.budget > 0) use_budget(methods.back(), c.budget);
  }
  if (c.peers.empty()) return methods;
  // Layers of the model's own are no model that others could draft with.
  const bool has_draft = !own && fs::path(c.engine.draft_model).extension() == ".gguf";
  for (Method& peer : find_peers(c.peers, has_draft)) methods.push_back(std::move(peer));
  return methods;
}

SuiteRequest settled_request(const Comparison& c, const ModelInfo& model) {
  SuiteRequest request = c.request;
  request.budget = c.budget;
  if (c.seeds > 1 && request.sampling.temperature == 0) {
    throw Error("--seeds {}: at temperature 0 every seed gives the same text: expected --temp above 0",
                c.seeds);
  }
  request.chat = c.chat.value_or(model.has_chat_template);
  if (!request.chat && !request.system.empty()) {
    throw Error("--system: there is no chat that it could begin ({})",
                c.chat ? "--chat asks for one" : "the model has no chat template");
  }
  return request;
}

/// Streams the first answer of the first prompt to stdout under a heading.
void show(Workbench& bench, const Method& method, const SuitePrompt& prompt, SuiteRequest how,
          const std::atomic<bool>& cancel, Output& out) {
  how.turns = 1;
  const bool color = stdout_is_terminal();
  out.line(fmt::format("---- {}", method.label));
  bench.forget(method);
  bench.run(
      method, prompt, how, &cancel, [](const Result&) {},
      [&](const TokenEvent& event) { return out.write(color ? tinted(event) : std::string(event.text)); });
  out.line("\n");
}

/// Augur's fastest method but plain, over all suites; plain where nothing has been measured.
std::size_t fastest(const ordered_json& document) {
  std::size_t best = 0;
  double speedup = 0;
  for (std::size_t m = 1; m < document["overall"].size(); ++m) {
    const double own = document["overall"][m]["speedup"];
    if (document["methods"][m]["peer"] == true || own <= speedup) continue;
    best = m;
    speedup = own;
  }
  return best;
}

}  // namespace

std::vector<std::string> draft_model_methods(bool budgeted) {
  return {budgeted ? "auto:policy=chain" : "auto:n-max=4",
          budgeted ? "auto:topk=4,depth=4" : "auto:topk=4,depth=4,size=16", "auto:policy=auto"};
}

void name_files_beside_json(Comparison& c) {
  if (c.json.empty() || c.json == "-") return;
  if (c.state.empty()) c.state = c.json + "l";
  if (c.csv.empty()) c.csv = fs::path(c.json).replace_extension(".csv").string();
}

int compare(const Comparison& asked, const Tables& tables) {
  Comparison c = asked;
  use_own_layers(c.engine);
  const std::vector<PromptSet> sets = read_sets(c);
  const Checkpoint model = Checkpoint::open(c.engine.model);
  const Fingerprint target = fingerprint_of(model);
  const std::vector<Method> methods = read_methods(c, model);

  Progress loading("loading");
  EngineOptions engine = c.engine;
  engine.progress = [&](std::string_view what, double fraction) { loading.update(fraction, what); };
  engine.log = [](LogLevel level, std::string_view text) {
    if (level >= LogLevel::Warning) fmt::print(stderr, "augur: warning: {}\n", text);
  };
  Workbench bench(engine, methods);
  loading.done();
  const SuiteFacts facts{.command = command_line(),
                         .default_draft_model = c.engine.draft_model,
                         .rounds = c.rounds,
                         .seeds = c.seeds,
                         .request = settled_request(c, bench.info())};
  StateFile state(c.state, state_header(bench.info(), to_string(target), c.engine, facts.request));
  RoundLog log(c.log, /*append=*/!state.cells().empty());

  Output out;
  const InterruptGuard interrupt;
  const SuitePrompt& first = sets.front().prompts.front();
  const bool prints = c.json != "-";
  if (c.show && prints) show(bench, methods.front(), first, facts.request, interrupt.stop(), out);
  Progress progress("measuring");
  const SuiteRunReport run =
      run_suites(bench, sets, methods,
                 {.request = facts.request,
                  .rounds = c.rounds,
                  .seeds = c.seeds,
                  .minutes = c.minutes,
                  .default_draft_model = c.engine.draft_model,
                  .log = &log,
                  .cancel = &interrupt.stop()},
                 state, [&](const SuiteProgress& told) {
                   progress.update(static_cast<double>(told.done) / told.planned,
                                   fmt::format("{} of {} ({}, {:.0f} min {:02.0f} s left)", told.done,
                                               told.planned, told.suite, std::floor(told.seconds_left / 60),
                                               std::fmod(told.seconds_left, 60.0)));
                 });
  progress.done();
  log.finish();
  const bool looked_at = c.analyse > 0 || c.samples > 0 || !c.report.empty();
  if (looked_at && (run.complete() || c.quick)) {
    Progress looking("looking at rounds");
    analyse(bench, sets, methods,
            {.request = facts.request,
             .prompts = c.analyse,
             .samples = c.samples,
             .default_draft_model = c.engine.draft_model,
             .cancel = &interrupt.stop()},
            state, [&](double fraction) { looking.update(fraction); });
  }

  const ordered_json document = suite_document(facts, bench.info(), sets, methods, run, state);
  if (!c.report.empty()) write_text(c.report, report_page(document));
  if (!c.csv.empty()) write_text(c.csv, csv_of_cells(document));
  if (!c.json.empty()) {
    write_text(c.json, document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  }
  if (prints) {
    if (c.show) show(bench, methods[fastest(document)], first, facts.request, interrupt.stop(), out);
    out.write(tables(document));
    const std::string more = run.complete()    ? ""
                             : c.state.empty() ? " (cut off)"
                                               : " (run the same command again to go on)";
    out.line(fmt::format("{} of {} cells{}; the harness took {:.2f}% of {:.1f} s", run.done, run.planned,
                         more, 100 * run.overhead(), run.cells_ms / 1e3));
  }
  out.finish();
  if (interrupt.interrupted()) return interrupt.exit_code();
  return outputs_differ(document) ? 1 : 0;
}

}  // namespace augur::cli
