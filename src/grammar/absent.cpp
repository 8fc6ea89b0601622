#include "base/error.h"
#include "grammar/compiler.h"

namespace augur {

class GrammarCompiler::Impl {};

bool have_grammars() {
  return false;
}

GrammarCompiler::GrammarCompiler(const Tokenizer&, std::int64_t, const GrammarBudget&) {}
GrammarCompiler::~GrammarCompiler() = default;

std::shared_ptr<const CompiledGrammar> GrammarCompiler::find(const Grammar&) {
  return nullptr;
}

std::shared_ptr<const CompiledGrammar> GrammarCompiler::compile(const Grammar&, const CompileWatch&) {
  throw Error(ErrorKind::Unsupported,
              "grammar: this build of augur has no structured output (it was built without xgrammar)");
}

}  // namespace augur
