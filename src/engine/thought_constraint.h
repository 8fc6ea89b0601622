#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "augur/options.h"
#include "sampling/token_constraint.h"
#include "text/tokenizer.h"

namespace augur {

/// Ends thoughts that grow too long, and keeps a grammar for what follows those that the prompt has begun: no
/// end of the text comes within these. A grammar is otherwise kept from the first token on, and thoughts go
/// on where it does not let them be ended. Tags are found in the text, however it is cut into tokens.
class ThoughtConstraint final : public TokenConstraint {
 public:
  /// `vocab`: logits, of which the tokenizer knows the first; it outlives this. `grammar`: null: there is
  /// none. Error for thoughts without an end.
  ThoughtConstraint(const Tokenizer& tokenizer, std::int64_t vocab, const ThoughtOptions& options,
                    std::unique_ptr<TokenConstraint> grammar);

  bool accept(TokenId token) override;
  void roll_back(int tokens) override;
  bool ended() const override { return grammar_holds() && grammar_->ended(); }
  void fill(std::span<std::uint32_t> mask) override;
  bool try_fill(std::span<std::uint32_t> mask, std::int64_t steps) override;
  void fill_unless(std::span<std::uint32_t> mask, const std::function<bool()>& stopped) override;
  std::string forced() override;
  std::int64_t work() const override { return grammar_ ? grammar_->work() : 0; }

 private:
  enum class Where { Before, Thought, Closing, Behind };
  struct State {
    Where where = Where::Before;
    bool again = false;       ///< Before: they have ended once
    std::int64_t tokens = 0;  ///< of thoughts
    std::size_t closed = 0;   ///< Closing: tokens of the end that are there
    std::string tail = {};    ///< of the text, in which a tag may have begun
  };

  const State& state() const { return states_.back(); }
  /// Whether the grammar says what comes next.
  bool grammar_holds() const { return grammar_ && (!options_.begun || state().where == Where::Behind); }
  State after(TokenId token) const;
  void look_for_begin(State& state) const;
  void look_for_end(State& state) const;
  void end_thoughts(State& state) const;
  /// What the thoughts' own rules leave of a mask.
  void narrow(std::span<std::uint32_t> mask) const;

  const Tokenizer& tokenizer_;
  const std::int64_t vocab_;
  const ThoughtOptions options_;
  std::vector<TokenId> closing_;  ///< what ends thoughts that are too long
  std::unique_ptr<TokenConstraint> grammar_;
  std::vector<State> states_;  ///< after every token, as long as thoughts may come
  std::int64_t behind_ = 0;    ///< tokens since
};

}  // namespace augur
