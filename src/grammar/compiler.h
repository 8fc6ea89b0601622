#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "augur/options.h"
#include "base/error.h"
#include "sampling/token_constraint.h"
#include "text/tokenizer.h"

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

/// A grammar, or a text of it, takes more than its budget.
class GrammarTooDear : public Error {
 public:
  template <class... Args>
  explicit GrammarTooDear(std::type_identity_t<ErrorFormat<Args...>> format, Args&&... args)
      : Error(ErrorKind::RefusedField, format, std::forward<Args>(args)...) {}
};

/// Nobody wants the grammar any more.
class GrammarStopped : public std::runtime_error {
 public:
  GrammarStopped() : std::runtime_error("grammar: its compilation was stopped") {}
};

/// Asked in every phase of a compilation, at least once in kGrammarStepsBetweenLooks of its steps, on the
/// thread that compiles.
struct CompileWatch {
  std::function<bool()> stopped;  ///< true: GrammarStopped is thrown; none: nothing stops it
  /// Seconds that the thread has worked, counted from anywhere; none: the time of the processor.
  std::function<double()> seconds;
};
/// A step is an edge, a rule, a parser's state, a token of the vocabulary: less than a microsecond each.
constexpr std::int64_t kGrammarStepsBetweenLooks = 8192;

/// Compiles grammars for one vocabulary, and keeps those that were used last. Any thread; several compile at
/// once.
class GrammarCompiler {
 public:
  /// `vocab` logits, of which the tokenizer knows the first. The tokenizer outlives it. Error for a budget of
  /// nothing.
  GrammarCompiler(const Tokenizer& tokenizer, std::int64_t vocab, const GrammarBudget& budget = {});
  ~GrammarCompiler();
  GrammarCompiler(const GrammarCompiler&) = delete;
  GrammarCompiler& operator=(const GrammarCompiler&) = delete;

  /// Error for what is no grammar of its kind, asks for what cannot be enforced, naming it, or is too large.
  /// GrammarTooDear for what goes beyond the budget, which does not count what is kept.
  std::shared_ptr<const CompiledGrammar> compile(const Grammar& grammar, const CompileWatch& watch = {});
  /// One that is kept; null: it has to be compiled.
  std::shared_ptr<const CompiledGrammar> find(const Grammar& grammar);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace augur
