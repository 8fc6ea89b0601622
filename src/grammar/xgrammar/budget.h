#pragma once
#include <ctime>

#include "augur/options.h"
#include "grammar/compiler.h"
#include "grammar/work_meter.h"
#include "xgrammar/budget.h"

namespace augur {

/// Holds xgrammar, on this thread and as long as it lives, to what one compilation may cost.
class CompileBudget final : public xgrammar::Budget, public WorkMeter {
 public:
  CompileBudget(const GrammarBudget& budget, const CompileWatch& watch);
  ~CompileBudget() override { WorkMeter::current() = nullptr; }

  void spend(std::int64_t steps) override { Step(steps); }

 private:
  void Look() override;
  double seconds() const;

  const GrammarBudget& budget_;
  const CompileWatch& watch_;
  const double begun_;
};

}  // namespace augur
