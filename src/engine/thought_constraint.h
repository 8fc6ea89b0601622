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

/// Ends reasoning ("thoughts") that grows too long, and applies a grammar to the answer. If the prompt has
/// begun the thoughts, the grammar applies only after their end, and no end-of-text token is allowed within
/// them. Otherwise the grammar applies from the first token on; then thoughts continue, or more begin, only
/// where the grammar allows nothing else. Tags are found in the text, however it is split into tokens. For
/// one thread at a time.
class ThoughtConstraint final : public TokenConstraint {
 public:
  /// `vocab`: number of logits; the tokenizer knows the first of them and must outlive this object.
  /// `grammar`: null if there is none. Throws Error if `options` has no text that ends thoughts.
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
    bool again = false;       ///< Before: more thoughts may begin, after other text has ended
    std::int64_t tokens = 0;  ///< within thoughts so far
    std::size_t closed = 0;   ///< Closing: tokens of the end that have been written
    std::string tail = {};    ///< end of the text, in which a tag may have begun
  };

  const State& state() const { return states_.back(); }
  /// Whether the grammar constrains the next token.
  bool grammar_holds() const { return grammar_ && (!options_.begun || state().where == Where::Behind); }
  State after(TokenId token) const;
  void look_for_begin(State& state) const;
  void look_for_end(State& state) const;
  void end_thoughts(State& state) const;
  /// In state Elsewhere: looks for the text after which more thoughts may begin.
  void look_for_more(State& state) const;
  /// Whether the limit on thoughts is used up, so that no more may begin.
  bool spent() const;
  /// Whether the token would begin thoughts, or continue a prefix that only leads to thoughts.
  bool chooses(TokenId token) const;
  /// A superset of the tokens for which chooses() holds in any state.
  std::vector<TokenId> choosing_tokens() const;
  /// Removes the tokens for which chooses() holds from a mask, unless it has no others.
  void leave_other_choices(std::span<std::uint32_t> mask);
  /// Whether leave_other_choices() keeps `token`, for which chooses() holds.
  bool has_no_choice(TokenId token);
  /// Applies the rules on thoughts to a mask.
  void narrow(std::span<std::uint32_t> mask);

  const Tokenizer& tokenizer_;
  const std::int64_t vocab_;
  const ThoughtOptions options_;
  std::vector<TokenId> closing_;  ///< tokens that end thoughts that are too long
  std::string behind_end_;        ///< what follows the end tag in options_.written_end
  std::unique_ptr<TokenConstraint> grammar_;
  std::vector<State> states_;                     ///< one after every token, as long as thoughts may come
  std::int64_t behind_ = 0;                       ///< tokens accepted since the state Behind began
  std::optional<std::vector<TokenId>> choosing_;  ///< choosing_tokens(), made at first use
};

}  // namespace augur
