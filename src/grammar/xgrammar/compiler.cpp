#include "grammar/compiler.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/io_thread.h"
#include "grammar/gbnf.h"
#include "grammar/json_schema.h"
#include "grammar/structural_tag.h"
#include "grammar/xgrammar/budget.h"
#include "grammar/xgrammar/constraint.h"
#include "grammar/xgrammar/log.h"
#include "xgrammar/xgrammar.h"

namespace augur {
namespace {

constexpr std::size_t kLongestText = 64 << 10;  ///< of a grammar, in bytes
constexpr std::size_t kKeptBytes = 128 << 20;   ///< of compiled grammars, beside those in use

/// What every token stands for in a text. One that texts do not show stands for what is in no text, behind a
/// byte that UTF-8 has not: grammars have it where they name it, and nowhere else.
std::vector<std::string> token_bytes(const Tokenizer& tokenizer) {
  std::vector<std::string> bytes;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    bytes.push_back((tokenizer.is_special(id) ? "\xff" : "") + tokenizer.token_bytes(id));
  }
  return bytes;
}

/// Models that are lost write whitespace without end, so there is a limit: enough for indented JSON.
constexpr int kMostWhitespace = 10;

/// As the library is to have it.
struct Translated {
  GrammarKind kind;
  std::string text;
  std::vector<std::string> warnings;
};

Translated translated(const Grammar& grammar, const Tokenizer& tokenizer) {
  switch (grammar.kind) {
    case GrammarKind::Json:
    case GrammarKind::JsonSchema: {
      const bool any_object = grammar.kind == GrammarKind::Json;
      SchemaGrammar schema = grammar_of_schema(any_object ? R"({"type": "object"})" : grammar.text,
                                               {.most_whitespace = kMostWhitespace});
      return {GrammarKind::Ebnf, std::move(schema.ebnf), std::move(schema.warnings)};
    }
    case GrammarKind::Gbnf:
      return {GrammarKind::Ebnf,
              ebnf_of_gbnf(grammar.text,
                           [&](std::string_view text) -> std::optional<TokenId> {
                             const std::vector<TokenId> ids = tokenizer.encode(text);
                             return ids.size() == 1 ? std::optional(ids[0]) : std::nullopt;
                           }),
              {}};
    case GrammarKind::StructuralTag: {
      EnforceableTag tag = enforceable_structural_tag(grammar.text, kMostWhitespace);
      return {grammar.kind, std::move(tag.text), std::move(tag.warnings)};
    }
    case GrammarKind::Regex:
    case GrammarKind::Ebnf:
      break;
  }
  return {grammar.kind, grammar.text, {}};
}

/// Error for what the library only warns of, too: what it would not enforce.
xgrammar::Grammar parsed(const xgrammar::TokenizerInfo& vocabulary, GrammarKind kind,
                         const std::string& text) {
  const WarningWatch warnings;
  xgrammar::Grammar grammar = [&] {
    if (kind == GrammarKind::Regex) return xgrammar::Grammar::FromRegex(text);
    if (kind != GrammarKind::StructuralTag) return xgrammar::Grammar::FromEBNF(text);
    auto tag = xgrammar::Grammar::FromStructuralTag(text, vocabulary);
    if (const auto* error = std::get_if<xgrammar::StructuralTagError>(&tag)) {
      std::visit([](const auto& why) { throw Error("grammar: {}", why.what()); }, *error);
    }
    return std::get<xgrammar::Grammar>(tag);
  }();
  if (!warnings.first().empty()) throw Error("grammar: {}", warnings.first());
  return grammar;
}

class Compiled final : public CompiledGrammar {
 public:
  Compiled(xgrammar::CompiledGrammar grammar, const GrammarBudget& budget, std::vector<std::string> warnings)
      : CompiledGrammar(std::move(warnings)), grammar_(std::move(grammar)), budget_(budget) {}
  std::unique_ptr<TokenConstraint> begin() const override { return begin_text(grammar_, budget_); }
  void fill_first(std::span<std::uint32_t> mask) const { augur::fill_first(grammar_, mask); }
  /// Grows with the masks that its texts have asked for.
  std::size_t bytes() const { return grammar_.MemorySizeBytes(); }

 private:
  xgrammar::CompiledGrammar grammar_;
  const GrammarBudget budget_;
};

}  // namespace

bool have_grammars() {
  return true;
}

class GrammarCompiler::Impl {
 public:
  Impl(const Tokenizer& tokenizer, std::int64_t vocab, const GrammarBudget& budget)
      : tokenizer_(tokenizer), vocab_(vocab), budget_(budget) {
    if (!(budget.seconds > 0) || budget.bytes <= 0) {
      throw Error(refused("grammar_budget"),
                  "grammar: a budget of {} seconds and {} bytes: expected more than 0", budget.seconds,
                  budget.bytes);
    }
  }

  std::shared_ptr<const CompiledGrammar> compile(const Grammar& grammar, const CompileWatch& watch) {
    IoThread::must_not_be_current();
    if (grammar.text.size() > kLongestText) {
      throw Error("grammar: {} bytes: expected at most {}", grammar.text.size(), kLongestText);
    }
    if (auto found = find(grammar)) return found;
    std::call_once(vocabulary_read_, [&] { read_vocabulary(); });
    return keep(grammar, compile_anew(grammar, watch));
  }

  std::shared_ptr<const CompiledGrammar> find(const Grammar& grammar) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
      return kept.grammar.kind == grammar.kind && kept.grammar.text == grammar.text;
    });
    if (found == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found);
    return found->compiled;
  }

 private:
  struct Kept {
    Grammar grammar;
    std::shared_ptr<const Compiled> compiled;
  };

  /// Returns the one that is kept: others may have compiled the same meanwhile.
  std::shared_ptr<const CompiledGrammar> keep(const Grammar& grammar,
                                              std::shared_ptr<const Compiled> compiled) {
    if (auto found = find(grammar)) return found;
    const std::lock_guard lock(mutex_);
    kept_.push_front({grammar, compiled});
    std::size_t bytes = 0;
    for (const Kept& kept : kept_) bytes += kept.compiled->bytes();
    for (; bytes > kKeptBytes && kept_.size() > 1; kept_.pop_back())
      bytes -= std::min(bytes, kept_.back().compiled->bytes());
    return compiled;
  }

  void read_vocabulary() {
    if (tokenizer_.eos.empty()) {
      throw Error(
          "grammar: this model's tokenizer names no token that ends a text, so nothing could end one");
    }
    const std::vector<std::string> bytes = token_bytes(tokenizer_);
    vocabulary_.emplace(bytes, xgrammar::VocabType::RAW, static_cast<int>(vocab_), tokenizer_.eos);
    // One thread: the others are decoding. Rules that grammars share are compiled once.
    compiler_.emplace(*vocabulary_, 1, true, static_cast<std::int64_t>(kKeptBytes));
  }

  std::shared_ptr<const Compiled> compile_anew(const Grammar& grammar, const CompileWatch& watch) {
    try {
      const CompileBudget budget(budget_, watch);
      Translated as = translated(grammar, tokenizer_);
      auto compiled = std::make_shared<Compiled>(
          compiler_->CompileGrammar(parsed(*vocabulary_, as.kind, as.text)), budget_, std::move(as.warnings));
      std::vector<std::uint32_t> first(mask_words(vocab_));
      compiled->fill_first(first);
      if (std::all_of(first.begin(), first.end(), [](std::uint32_t word) { return word == 0; })) {
        throw Error("grammar: no text fits it");
      }
      return compiled;
    } catch (const Error&) {
      throw;
    } catch (const GrammarStopped&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw Error(ErrorKind::OutOfMemory, "grammar: there is no memory to compile it");
    } catch (const std::exception& error) {  // its own, and those of what it parses with
      throw Error("grammar: {}", error.what());
    }
  }

  const Tokenizer& tokenizer_;
  const std::int64_t vocab_;
  const GrammarBudget budget_;
  // From when the first grammar comes.
  std::once_flag vocabulary_read_;
  std::optional<xgrammar::TokenizerInfo> vocabulary_;
  std::optional<xgrammar::GrammarCompiler> compiler_;
  std::mutex mutex_;      ///< of what is kept
  std::list<Kept> kept_;  ///< the one used last is the first
};

GrammarCompiler::GrammarCompiler(const Tokenizer& tokenizer, std::int64_t vocab, const GrammarBudget& budget)
    : impl_(std::make_unique<Impl>(tokenizer, vocab, budget)) {}
GrammarCompiler::~GrammarCompiler() = default;

std::shared_ptr<const CompiledGrammar> GrammarCompiler::compile(const Grammar& grammar,
                                                                const CompileWatch& watch) {
  return impl_->compile(grammar, watch);
}

std::shared_ptr<const CompiledGrammar> GrammarCompiler::find(const Grammar& grammar) {
  return impl_->find(grammar);
}

}  // namespace augur
