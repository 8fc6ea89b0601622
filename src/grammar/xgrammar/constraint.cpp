#include "grammar/xgrammar/constraint.h"

#include <cstdint>
#include <string>

namespace augur {
namespace {

class Constraint final : public TokenConstraint {
 public:
  explicit Constraint(const xgrammar::CompiledGrammar& grammar) : matcher_(grammar) {}

  bool accept(TokenId token) override { return matcher_.AcceptToken(token); }
  void roll_back(int tokens) override { matcher_.Rollback(tokens); }
  bool ended() const override { return matcher_.IsTerminated(); }

  std::string forced() override { return matcher_.FindJumpForwardString(); }

  void fill(std::span<std::uint32_t> mask) override {
    std::int64_t words = std::ssize(mask);
    DLTensor tensor{.data = mask.data(),
                    .device = {kDLCPU, 0},
                    .ndim = 1,
                    .dtype = xgrammar::GetBitmaskDLType(),
                    .shape = &words,
                    .strides = nullptr,
                    .byte_offset = 0};
    matcher_.FillNextTokenBitmask(&tensor);
  }

 private:
  xgrammar::GrammarMatcher matcher_;
};

}  // namespace

std::unique_ptr<TokenConstraint> begin_text(const xgrammar::CompiledGrammar& grammar) {
  return std::make_unique<Constraint>(grammar);
}

}  // namespace augur
