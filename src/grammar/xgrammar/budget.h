#pragma once
#include <ctime>

#include "augur/options.h"
#include "grammar/compiler.h"
#include "xgrammar/budget.h"

namespace augur {

/// Holds xgrammar, on this thread and as long as it lives, to what one compilation may cost.
class CompileBudget final : public xgrammar::Budget {
 public:
  CompileBudget(const GrammarBudget& budget, const CompileWatch& watch);

 private:
  void Look() override;
  double seconds() const;

  const GrammarBudget& budget_;
  const CompileWatch& watch_;
  const double begun_;
};

}  // namespace augur
