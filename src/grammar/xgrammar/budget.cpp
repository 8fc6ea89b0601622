#include "grammar/xgrammar/budget.h"

#include "base/error.h"

namespace augur {

CompileBudget::CompileBudget(const GrammarBudget& budget, const CompileWatch& watch)
    : budget_(budget), watch_(watch), begun_(seconds()) {
  most_bytes_ = budget.bytes;
  WorkMeter::current() = this;
}

double CompileBudget::seconds() const {
  if (watch_.seconds) return watch_.seconds();
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void CompileBudget::Look() {
  if (watch_.stopped && watch_.stopped()) throw GrammarStopped();
  if (Bytes() > budget_.bytes) {
    throw Error("grammar: compiling it takes more than {:.4g} MiB of memory, which is as much as it may take",
                static_cast<double>(budget_.bytes) / (1 << 20));
  }
  if (seconds() - begun_ > budget_.seconds) {
    throw Error("grammar: compiling it takes more than {:.4g} s of one core, which is as much as it may take",
                budget_.seconds);
  }
  next_look_ = Steps() + kGrammarStepsBetweenLooks;
}

}  // namespace augur
