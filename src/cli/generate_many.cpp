#include "cli/generate_many.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/result_text.h"
#include "cli/tell.h"
#include "text/prompt_file.h"

namespace augur::cli {
namespace {

/// Prints results in the order of their indices, whatever the order they arrive in.
class OrderedPrinter {
 public:
  OrderedPrinter(Output& out, const std::vector<PromptLine>& prompts) : out_(out), prompts_(prompts) {}

  void add(std::size_t index, const Result& result) {
    nlohmann::ordered_json object = {{"id", prompts_[index].id}};
    if (result.finish_reason == FinishReason::Error) {
      tell("augur: prompt {}: {}\n", prompts_[index].id.dump(), result.error);
      object["error"] = result.error;
      ++refused_;
    } else {
      object.update(to_json(result));
    }
    waiting_.emplace(index, to_line(object));
    while (!waiting_.empty() && waiting_.begin()->first == next_) print_first();
  }

  /// After an interruption there are gaps: prints what was finished all the same.
  void flush() {
    while (!waiting_.empty()) print_first();
  }

  int refused() const { return refused_; }

 private:
  void print_first() {
    out_.line(waiting_.begin()->second);
    next_ = waiting_.begin()->first + 1;
    waiting_.erase(waiting_.begin());
  }

  Output& out_;
  const std::vector<PromptLine>& prompts_;
  std::map<std::size_t, std::string> waiting_;
  std::size_t next_ = 0;
  int refused_ = 0;
};

struct Totals {
  std::size_t results = 0;
  std::int64_t tokens = 0;
  std::int64_t calls = 0;
};

}  // namespace

int generate_many(Engine& engine, const RequestFlags& flags, const ManyOptions& options) {
  const PromptFile file = read_prompt_file(options.file, options.limit);
  if (!file.error.empty()) {
    tell("augur: {}; running the {} prompts before it\n", file.error, file.prompts.size());
  }
  const InterruptGuard interrupt;
  std::vector<Request> requests;
  for (const PromptLine& prompt : file.prompts) {
    requests.push_back(make_request(flags, prompt.turns.front()));
    requests.back().cancel = &interrupt.stop();
  }

  Output out;
  OrderedPrinter printer(out, file.prompts);
  Progress progress("prompts");
  Totals totals;
  const Stopwatch watch;
  engine.generate_many(requests, options.parallel, [&](std::size_t index, const Result& result) {
    if (result.finish_reason == FinishReason::Cancelled && result.tokens.empty()) return;  // it had not begun
    progress.done();
    printer.add(index, result);
    if (!out.ok()) interrupt.stop() = true;
    ++totals.results;
    totals.tokens += static_cast<std::int64_t>(result.tokens.size());
    totals.calls += result.speculation.calls;
    progress.update(static_cast<double>(totals.results) / static_cast<double>(requests.size()));
  });
  printer.flush();
  progress.done();
  const double seconds = watch.ms() / 1000;
  tell("{} of {} prompts, {} tokens in {:.1f} s: {:.1f} tokens/s in total, {:.2f} tokens a call\n",
       totals.results, requests.size(), totals.tokens, seconds,
       seconds > 0 ? static_cast<double>(totals.tokens) / seconds : 0.0,
       totals.calls > 0 ? static_cast<double>(totals.tokens) / static_cast<double>(totals.calls) : 0.0);
  out.finish();
  if (interrupt.interrupted()) return interrupt.exit_code();
  return file.error.empty() && printer.refused() == 0 ? 0 : 1;
}

}  // namespace augur::cli
