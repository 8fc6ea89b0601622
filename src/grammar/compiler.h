#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "augur/options.h"
#include "io/tokenizer.h"
#include "sampling/token_constraint.h"

namespace augur {

/// A grammar as one vocabulary sees it. Immutable: any number of texts, on any threads.
class CompiledGrammar {
 public:
  virtual ~CompiledGrammar() = default;
  /// For a text that begins.
  virtual std::unique_ptr<TokenConstraint> begin() const = 0;
  /// What of its text constrains nothing though it may have been meant to, each with its place: unknown
  /// keywords and formats of JSON schemas.
  const std::vector<std::string>& warnings() const { return warnings_; }

 protected:
  explicit CompiledGrammar(std::vector<std::string> warnings = {}) : warnings_(std::move(warnings)) {}

 private:
  const std::vector<std::string> warnings_;
};

/// Whether this build can do it at all (AUGUR_GRAMMAR).
bool have_grammars();

/// Compiles grammars for one vocabulary, and keeps those that were used last. Any thread; one compilation at
/// a time, which nothing but others waits for.
class GrammarCompiler {
 public:
  /// `vocab` logits, of which the tokenizer knows the first. The tokenizer outlives it.
  GrammarCompiler(const Tokenizer& tokenizer, std::int64_t vocab);
  ~GrammarCompiler();
  GrammarCompiler(const GrammarCompiler&) = delete;
  GrammarCompiler& operator=(const GrammarCompiler&) = delete;

  /// Error for what is no grammar of its kind, asks for what cannot be enforced, naming it, or is too large.
  std::shared_ptr<const CompiledGrammar> compile(const Grammar& grammar);
  /// One that is kept; null: it has to be compiled.
  std::shared_ptr<const CompiledGrammar> find(const Grammar& grammar);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace augur
