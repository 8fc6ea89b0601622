#include "lab/suite/runner.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "lab/suite/peers.h"

namespace augur {
namespace {

/// How long the cells of each method take, for the estimate of the time left.
class Pace {
 public:
  explicit Pace(std::size_t methods) : seconds_(methods), cells_(methods) {}

  void add(std::size_t method, double seconds) {
    seconds_[method] += seconds;
    cells_[method] += 1;
  }
  /// < 0: not known.
  double left(const std::vector<int>& pending) const {
    double all = 0;
    double runs = 0;
    for (std::size_t m = 0; m < seconds_.size(); ++m) {
      all += seconds_[m];
      runs += cells_[m];
    }
    if (runs == 0) return -1;
    double sum = 0;
    for (std::size_t m = 0; m < seconds_.size(); ++m) {
      sum += pending[m] * (cells_[m] > 0 ? seconds_[m] / cells_[m] : all / runs);
    }
    return sum;
  }

 private:
  std::vector<double> seconds_;
  std::vector<double> cells_;
};

/// One pass over all cells in the order in which they are run: visit(round, set, prompt, method).
template <class Visit>
void for_each_cell(const std::vector<PromptSet>& sets, std::size_t methods, int rounds, Visit&& visit) {
  for (int round = 0; round < rounds; ++round) {
    for (const PromptSet& set : sets) {
      for (std::size_t i = 0; i < set.prompts.size(); ++i) {
        for (std::size_t turn = 0; turn < methods; ++turn) {
          const std::size_t method = (turn + i + static_cast<std::size_t>(round)) % methods;
          if (!visit(round, set, set.prompts[i], method)) return;
        }
      }
    }
  }
}

}  // namespace

SuiteRunReport run_suites(Workbench& bench, const std::vector<PromptSet>& sets,
                          const std::vector<Method>& methods, const SuiteRunOptions& options,
                          StateFile& state, const std::function<void(const SuiteProgress&)>& progress) {
  std::vector<std::string> keys;
  for (const Method& method : methods) keys.push_back(method_key(method, options.default_draft_model));
  const auto key_of = [&](int round, const PromptSet& set, const SuitePrompt& prompt, std::size_t method) {
    return CellKey{prompt_key(set.name, prompt), keys[method], round};
  };

  SuiteRunReport report;
  std::vector<int> pending(methods.size());
  const auto count = [&](int round, const PromptSet& set, const SuitePrompt& prompt, std::size_t m) {
    report.planned += 1;
    if (state.has(key_of(round, set, prompt, m))) {
      report.done += 1;
    } else {
      pending[m] += 1;
    }
    return true;
  };
  for_each_cell(sets, methods.size(), options.rounds, count);

  PeerServers peers(bench.info().path, bench.info().threads);
  const auto run = [&](const SuitePrompt& prompt, std::size_t method, const SuiteRequest& how, Cell& cell) {
    if (methods[method].peer()) return peers.run(methods[method], prompt, how, options.cancel, cell);
    std::uint64_t hash = kHashStart;
    bench.run(methods[method], prompt, how, options.cancel,
              [&](const Result& turn) { cell.add(turn, hash); });
    return options.cancel == nullptr || !options.cancel->load();
  };
  std::vector<bool> warm(methods.size());
  const SuitePrompt warm_up_prompt{"warm-up", "", {kWarmUpText}};
  const auto warm_up = [&](std::size_t method) {
    SuiteRequest first_turn = options.request;
    first_turn.turns = 1;
    Cell unused;
    warm[method] = run(warm_up_prompt, method, first_turn, unused);
    return static_cast<bool>(warm[method]);
  };

  const Stopwatch clock;
  Pace pace(methods.size());
  const auto measure = [&](int round, const PromptSet& set, const SuitePrompt& prompt, std::size_t m) {
    Cell cell;
    cell.key = key_of(round, set, prompt, m);
    if (state.has(cell.key)) return true;
    if (options.minutes > 0 && clock.ms() > options.minutes * 60e3) return false;
    if (!warm[m] && !warm_up(m)) return false;
    const Stopwatch watch;
    if (!run(prompt, m, options.request, cell)) return false;
    state.add(cell);
    pending[m] -= 1;
    if (progress) {
      progress({report.done + 1, report.planned, pace.left(pending), set.name});
    }
    const double ms = watch.ms();
    pace.add(m, ms / 1e3);
    report.done += 1;
    report.fresh += 1;
    report.cells_ms += ms;
    report.generation_ms += cell.prompt_ms + cell.decode_ms;
    return true;
  };
  for_each_cell(sets, methods.size(), options.rounds, measure);
  return report;
}

}  // namespace augur
