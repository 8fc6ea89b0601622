#include "lab/suite/runner.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/clock.h"
#include "lab/suite/keys.h"
#include "lab/suite/peers.h"

namespace augur {
namespace {

/// A cell that is to be run.
struct Task {
  CellKey key;
  int pass;  ///< over all prompts: a round with one seed
  const PromptSet* set;
  std::size_t prompt;  ///< in the set
  std::size_t method;
};

/// Every cell, in the order in which they are run.
std::vector<Task> plan(const std::vector<PromptSet>& sets, const std::vector<Method>& methods,
                       const SuiteRunOptions& options) {
  const std::vector<std::string> keys = method_keys(methods, options.default_draft_model);
  std::vector<Task> tasks;
  for (int pass = 0; pass < options.rounds * options.seeds; ++pass) {
    const int round = pass / options.seeds;
    const int seed = pass % options.seeds;
    for (const PromptSet& set : sets) {
      for (std::size_t i = 0; i < set.prompts.size(); ++i) {
        const std::string prompt = prompt_key(set.name, set.prompts[i]);
        for (std::size_t turn = 0; turn < methods.size(); ++turn) {
          const std::size_t method = (turn + i + static_cast<std::size_t>(pass)) % methods.size();
          tasks.push_back({{prompt, keys[method], round, seed}, pass, &set, i, method});
        }
      }
    }
  }
  return tasks;
}

/// Leaves the cells that the state does not hold: of a method that keeps what it learns, passes.
void drop_done(std::vector<Task>& tasks, const std::vector<Method>& methods, const StateFile& state) {
  std::set<std::pair<std::size_t, int>> begun;  // a method's passes
  for (const Task& task : tasks) {
    if (methods[task.method].keeps_learnt && !state.has(task.key)) begun.emplace(task.method, task.pass);
  }
  std::erase_if(tasks, [&](const Task& task) {
    return state.has(task.key) && begun.count({task.method, task.pass}) == 0;
  });
}

/// Runs a prompt with a method, whoever decodes it.
class CellRunner {
 public:
  CellRunner(Workbench& bench, const SuiteRunOptions& options)
      : bench_(bench),
        peers_({.model = bench.info().path,
                .draft = options.default_draft_model,
                .threads = bench.info().threads}),
        options_(options) {}

  /// Fills in what `cell` measures. False when the run was cancelled.
  bool run(const Method& method, const SuitePrompt& prompt, const SuiteRequest& how, RoundLog* log,
           Cell& cell) {
    if (method.peer()) return peers_.run(method, prompt, how, options_.cancel, cell);
    std::uint64_t hash = kHashStart;
    const MeasuredCosts costs = EngineAccess::known_costs(bench_.engine(method));
    std::vector<std::string> drafters;
    bench_.run(
        method, prompt, how, options_.cancel, [&](const Result& turn) { cell.add(turn, hash); }, {},
        [&](SequenceOptions& options) {
          drafters.clear();
          for (const Speculator& s : options.speculation.drafters) drafters.emplace_back(s.drafter->name());
          options.on_step = [&, log](const StepTrace& round) {
            cell.forecasts.observe(round, costs, drafters);
            if (log != nullptr) log->write(round);
          };
        });
    return options_.cancel == nullptr || !options_.cancel->load();
  }

 private:
  Workbench& bench_;
  PeerServers peers_;
  const SuiteRunOptions& options_;
};

}  // namespace

SuiteRunReport run_suites(Workbench& bench, const std::vector<PromptSet>& sets,
                          const std::vector<Method>& methods, const SuiteRunOptions& options,
                          StateFile& state, const std::function<void(const SuiteProgress&)>& progress) {
  std::vector<Task> tasks = plan(sets, methods, options);
  SuiteRunReport report;
  report.planned = static_cast<int>(tasks.size());
  drop_done(tasks, methods, state);
  report.done = report.planned - static_cast<int>(tasks.size());

  CellRunner runner(bench, options);
  std::vector<bool> warm(methods.size());
  std::vector<int> pass_of(methods.size(), -1);
  SuiteRequest warm_up = options.request;
  warm_up.turns = 1;
  const Stopwatch clock;
  for (const Task& task : tasks) {
    const Method& method = methods[task.method];
    if (options.minutes > 0 && clock.ms() > options.minutes * 60e3) break;
    if (!warm[task.method]) {
      Cell unused;
      if (!runner.run(method, {"warm-up", "", {kWarmUpText}}, warm_up, nullptr, unused)) break;
      warm[task.method] = true;
    }
    if (method.keeps_learnt && std::exchange(pass_of[task.method], task.pass) != task.pass) {
      bench.forget(method);
    }
    const SuitePrompt& prompt = task.set->prompts[task.prompt];
    Cell cell;
    cell.key = task.key;
    cell.name = task.set->name + " " + prompt.id;
    SuiteRequest request = options.request;
    request.sampling.seed += static_cast<std::uint64_t>(task.key.seed);
    if (options.log != nullptr)
      options.log->begin(task.set->name, static_cast<int>(task.prompt), method.text);
    const Stopwatch watch;
    if (!runner.run(method, prompt, request, options.log, cell)) break;
    state.add(cell);
    const double ms = watch.ms();
    report.done += 1;
    report.fresh += 1;
    report.cells_ms += ms;
    report.generation_ms += cell.prompt_ms + cell.decode_ms;
    const double left = static_cast<double>(report.planned - report.done) * clock.ms() / report.fresh;
    if (progress) progress({report.done, report.planned, left / 1e3, task.set->name});
  }
  return report;
}

}  // namespace augur
