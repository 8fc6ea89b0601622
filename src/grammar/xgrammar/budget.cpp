#include "grammar/xgrammar/budget.h"

#include "base/thread_clock.h"

namespace augur {

CompileBudget::CompileBudget(const GrammarBudget& budget, const CompileWatch& watch, const char* work)
    : budget_(budget), watch_(watch), work_(work), begun_(seconds()) {
  most_bytes_ = budget.bytes;
  WorkMeter::current() = this;
}

double CompileBudget::seconds() const {
  if (watch_.seconds) return watch_.seconds();
  return ThreadClock().now_ms() / 1e3;
}

void CompileBudget::Look() {
  if (watch_.stopped && watch_.stopped()) throw GrammarStopped();
  if (Bytes() > budget_.bytes) {
    throw GrammarTooDear("grammar: {} takes more than {:.4g} MiB of memory, which is as much as it may take",
                         work_, static_cast<double>(budget_.bytes) / (1 << 20));
  }
  if (seconds() - begun_ > budget_.seconds) {
    throw GrammarTooDear("grammar: {} takes more than {:.4g} s of one core, which is as much as it may take",
                         work_, budget_.seconds);
  }
  next_look_ = Steps() + kGrammarStepsBetweenLooks;
}

}  // namespace augur
