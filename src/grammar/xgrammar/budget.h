#pragma once
#include "augur/options.h"
#include "grammar/compiler.h"
#include "grammar/work_meter.h"
#include "xgrammar/budget.h"

namespace augur {

/// Holds xgrammar, on this thread and as long as it lives, to what one piece of work on a grammar may cost.
class CompileBudget final : public xgrammar::Budget, public WorkMeter {
 public:
  /// `work`: that is done, for errors. All three outlive it.
  CompileBudget(const GrammarBudget& budget, const CompileWatch& watch, const char* work = "compiling it");
  ~CompileBudget() override { WorkMeter::current() = nullptr; }

  void spend(std::int64_t steps) override { Step(steps); }
  void hold(std::int64_t bytes) override { Hold(bytes); }
  void give_back(std::int64_t bytes) noexcept override { Release(bytes); }

 private:
  void Look() override;
  double seconds() const;

  const GrammarBudget& budget_;
  const CompileWatch& watch_;
  const char* const work_;
  const double begun_;
};

}  // namespace augur
