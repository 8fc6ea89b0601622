#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "augur/options.h"
#include "sampling/token_constraint.h"
#include "text/tokenizer.h"

namespace augur {

/// Ends thoughts that grow too long, and keeps a grammar for what follows those that the prompt has begun: no
/// end of the text comes within these. A grammar is otherwise kept from the first token on, and thoughts go
/// on, or more are begun, where it lets nothing else be written. Tags are found in the text, however it is
/// cut into tokens.
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
  enum class Where { Before, Thought, Closing, Elsewhere, Behind };
  struct State {
    Where where = Where::Before;
    bool again = false;       ///< Before: another text has ended
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
  /// Elsewhere: looks for the end behind which more thoughts may come.
  void look_for_more(State& state) const;
  /// Whether thoughts may not be begun any more.
  bool spent() const;
  /// Whether the token would begin them, or go some of the way that nothing else goes.
  bool chooses(TokenId token) const;
  /// Those for which chooses() holds in any state, and perhaps others.
  std::vector<TokenId> choosing_tokens() const;
  /// Takes the tokens that do so out of a mask, unless it has no others.
  void leave_other_choices(std::span<std::uint32_t> mask);
  /// Whether `token`, which chooses(), is kept by leave_other_choices().
  bool has_no_choice(TokenId token);
  /// What the thoughts' own rules leave of a mask.
  void narrow(std::span<std::uint32_t> mask);

  const Tokenizer& tokenizer_;
  const std::int64_t vocab_;
  const ThoughtOptions options_;
  std::vector<TokenId> closing_;  ///< what ends thoughts that are too long
  std::string behind_end_;        ///< of it
  std::unique_ptr<TokenConstraint> grammar_;
  std::vector<State> states_;                     ///< after every token, as long as thoughts may come
  std::int64_t behind_ = 0;                       ///< tokens since
  std::optional<std::vector<TokenId>> choosing_;  ///< tokens that may choose them in some state; when asked
};

}  // namespace augur
