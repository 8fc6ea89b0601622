#include "grammar/xgrammar/constraint.h"

#include <cstdint>
#include <limits>
#include <string>

#include "grammar/xgrammar/budget.h"

namespace augur {
namespace {

/// Counts the steps of a call, and ends it where it takes more than it may.
class Meter final : public xgrammar::Budget {
 public:
  struct Exceeded {};

  explicit Meter(std::int64_t& work, std::int64_t most = std::numeric_limits<std::int64_t>::max())
      : work_(work) {
    next_look_ = most;
  }
  ~Meter() override { work_ += Steps(); }

 private:
  void Look() override { throw Exceeded(); }

  std::int64_t& work_;
};

void fill_mask(xgrammar::GrammarMatcher& matcher, std::span<std::uint32_t> mask) {
  std::int64_t words = std::ssize(mask);
  DLTensor tensor{.data = mask.data(),
                  .device = {kDLCPU, 0},
                  .ndim = 1,
                  .dtype = xgrammar::GetBitmaskDLType(),
                  .shape = &words,
                  .strides = nullptr,
                  .byte_offset = 0};
  matcher.FillNextTokenBitmask(&tensor);
}

class Constraint final : public TokenConstraint {
 public:
  Constraint(const xgrammar::CompiledGrammar& grammar, const GrammarBudget& budget)
      : matcher_(grammar), budget_(budget) {}

  bool accept(TokenId token) override {
    const Meter meter(work_);
    return matcher_.AcceptToken(token);
  }
  void roll_back(int tokens) override { matcher_.Rollback(tokens); }
  bool ended() const override { return matcher_.IsTerminated(); }

  std::string forced() override {
    const Meter meter(work_);
    return matcher_.FindJumpForwardString();
  }

  std::int64_t work() const override { return work_; }

  void fill(std::span<std::uint32_t> mask) override { fill_unless(mask, {}); }

  bool try_fill(std::span<std::uint32_t> mask, std::int64_t steps) override {
    try {
      const Meter meter(work_, steps);
      fill_mask(matcher_, mask);
      return true;
    } catch (const Meter::Exceeded&) {
      return false;
    }
  }

  void fill_unless(std::span<std::uint32_t> mask, const std::function<bool()>& stopped) override {
    const CompileWatch watch{.stopped = stopped};
    const CompileBudget budget(budget_, watch, "finding what may come next");
    try {
      fill_mask(matcher_, mask);
    } catch (...) {
      work_ += budget.Steps();
      throw;
    }
    work_ += budget.Steps();
  }

 private:
  xgrammar::GrammarMatcher matcher_;
  const GrammarBudget budget_;
  std::int64_t work_ = 0;
};

}  // namespace

std::unique_ptr<TokenConstraint> begin_text(const xgrammar::CompiledGrammar& grammar,
                                            const GrammarBudget& budget) {
  return std::make_unique<Constraint>(grammar, budget);
}

void fill_first(const xgrammar::CompiledGrammar& grammar, std::span<std::uint32_t> mask) {
  xgrammar::GrammarMatcher matcher(grammar);
  fill_mask(matcher, mask);
}

}  // namespace augur
