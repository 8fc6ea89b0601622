#include "grammar/xgrammar/constraint.h"

#include <cstdint>
#include <limits>
#include <string>

#include "xgrammar/budget.h"

namespace augur {
namespace {

/// Counts the steps of a call.
class Meter final : public xgrammar::Budget {
 public:
  explicit Meter(std::int64_t& work) : work_(work) {}
  ~Meter() override { work_ += Steps(); }

 private:
  void Look() override { next_look_ = std::numeric_limits<std::int64_t>::max(); }

  std::int64_t& work_;
};

class Constraint final : public TokenConstraint {
 public:
  explicit Constraint(const xgrammar::CompiledGrammar& grammar) : matcher_(grammar) {}

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

  void fill(std::span<std::uint32_t> mask) override {
    std::int64_t words = std::ssize(mask);
    DLTensor tensor{.data = mask.data(),
                    .device = {kDLCPU, 0},
                    .ndim = 1,
                    .dtype = xgrammar::GetBitmaskDLType(),
                    .shape = &words,
                    .strides = nullptr,
                    .byte_offset = 0};
    const Meter meter(work_);
    matcher_.FillNextTokenBitmask(&tensor);
  }

 private:
  xgrammar::GrammarMatcher matcher_;
  std::int64_t work_ = 0;
};

}  // namespace

std::unique_ptr<TokenConstraint> begin_text(const xgrammar::CompiledGrammar& grammar) {
  return std::make_unique<Constraint>(grammar);
}

}  // namespace augur
