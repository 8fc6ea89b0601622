#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "augur/options.h"
#include "grammar/compiler.h"
#include "text/tokenizer.h"

namespace augur::testing_support {

/// A vocabulary of 192 for models that have none: the end of a text, the printable bytes, and pieces of
/// several bytes, so that most texts can be cut in several ways.
class PieceTokenizer final : public Tokenizer {
 public:
  PieceTokenizer() {
    eos = {0};
    pieces_ = {"<end>"};
    for (char c = ' '; c <= '~'; ++c) pieces_.emplace_back(1, c);
    for (const char* piece :
         {"{\"", "\":", "\",\"", "\"}", "\": \"", "true", "false", "null", "na",  "name", "city", "ag",
          "age", "ye",  "yes",   "no",  "  ",     "12",   "19",    "20",   "},{", "red",  "gr",   "green"}) {
      pieces_.emplace_back(piece);
    }
    for (char c = 'a'; std::ssize(pieces_) < vocab_size(); c = c == 'z' ? 'a' : static_cast<char>(c + 1)) {
      const auto turn = static_cast<std::size_t>(std::ssize(pieces_) / 26);
      pieces_.push_back(std::string(1, c) + "aeiou"[turn % 5]);
    }
  }

  std::vector<TokenId> encode(std::string_view, std::span<const ByteRange>) const override { return {}; }
  std::string token_bytes(TokenId id) const override { return pieces_.at(static_cast<std::size_t>(id)); }
  bool is_special(TokenId id) const override { return id == 0; }
  std::int32_t vocab_size() const override { return 192; }
  std::string decode(const std::vector<TokenId>&, bool) const override { return {}; }

 private:
  std::vector<std::string> pieces_;
};

struct GrammarCase {
  const char* name;
  Grammar grammar;
};

/// One of every kind that a client sends: with parts that are forced, and with branches.
inline std::vector<GrammarCase> grammar_cases() {
  return {{"schema", {GrammarKind::JsonSchema, R"({"type":"object","properties":{"name":{"type":"string"},
               "age":{"type":"integer"}},"required":["name","age"]})"}},
          {"regex", {GrammarKind::Regex, "(red|green|gr[ae]y) [1-9][0-9]{1,3}(, (yes|no|name))+"}},
          {"gbnf", {GrammarKind::Gbnf, R"(root ::= item ("," item){2,6}
item ::= "{" ("yes" | "no" | "name") ":" [a-e]{1,4} "}")"}}};
}

/// The constraint of a grammar, for every text anew.
inline std::function<std::unique_ptr<TokenConstraint>()> constraint_of(GrammarCompiler& compiler,
                                                                       const Grammar& grammar) {
  return [compiled = compiler.compile(grammar)] { return compiled->begin(); };
}

}  // namespace augur::testing_support
