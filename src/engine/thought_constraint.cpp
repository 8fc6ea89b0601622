#include "engine/thought_constraint.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "text/prompt_text.h"

namespace augur {
namespace {

constexpr std::string_view kSpaces = " \n\t\r";
/// Bytes of a character that may be missing.
constexpr std::int64_t kLongestWait = 3;

void set(std::span<std::uint32_t> mask, TokenId token, bool allowed) {
  const auto t = static_cast<std::size_t>(token);
  const std::uint32_t bit = std::uint32_t{1} << (t % 32);
  if (allowed)
    mask[t / 32] |= bit;
  else
    mask[t / 32] &= ~bit;
}

void allow_all(std::span<std::uint32_t> mask, std::int64_t vocab) {
  std::fill(mask.begin(), mask.end(), ~std::uint32_t{0});
  if (vocab % 32 != 0) mask[mask_words(vocab) - 1] = (std::uint32_t{1} << (vocab % 32)) - 1;
}

/// Whether a text breaks off within a character.
bool within_character(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(text.size(), kLongestWait); ++back)
    if (decode_utf8(text, text.size() - back).truncated) return true;
  return false;
}

}  // namespace

ThoughtConstraint::ThoughtConstraint(const Tokenizer& tokenizer, std::int64_t vocab,
                                     const ThoughtOptions& options, std::unique_ptr<TokenConstraint> grammar)
    : tokenizer_(tokenizer),
      vocab_(vocab),
      options_(options),
      closing_(encode_part(tokenizer, options.written_end.empty() ? options.end : options.written_end)),
      grammar_(std::move(grammar)) {
  if (options.end.empty() || closing_.empty())
    throw Error(refused("thoughts"), "thoughts: expected a text that ends them");
  if (options.begin.empty() && !options.begun)
    throw Error(refused("thoughts"), "thoughts: expected a text that begins them");
  for (const std::string& begin : {options.begin, options.again})
    if (!begin.empty() && !begin.ends_with(options.choice))
      throw Error(refused("thoughts"),
                  "thoughts: expected '" + begin + "' to end in '" + options.choice + "'");
  if (const std::size_t at = options.written_end.rfind(options.end); at != std::string::npos)
    behind_end_ = options.written_end.substr(at + options.end.size());
  State first;
  if (options.begun) {
    first.where = Where::Thought;
    look_for_end(first);
  }
  states_.push_back(std::move(first));
}

bool ThoughtConstraint::accept(TokenId token) {
  if (token < 0 || token >= vocab_) return false;
  const State& here = state();
  const bool held = grammar_holds();
  if (here.where == Where::Closing && token != closing_[here.closed]) {
    if (!held) return false;
    if (grammar_->accept(closing_[here.closed])) {
      grammar_->roll_back(1);
      return false;
    }
  }
  if (here.where == Where::Thought && grammar_ && !held &&
      std::find(tokenizer_.eos.begin(), tokenizer_.eos.end(), token) != tokenizer_.eos.end())
    return false;
  if (spent() && chooses(token) && !has_no_choice(token)) return false;
  if (held && !grammar_->accept(token)) return false;
  if (here.where == Where::Behind)
    ++behind_;
  else
    states_.push_back(after(token));
  return true;
}

void ThoughtConstraint::roll_back(int tokens) {
  for (; tokens > 0; --tokens) {
    if (behind_ > 0)
      --behind_;
    else
      states_.pop_back();
    if (grammar_holds()) grammar_->roll_back(1);
  }
}

ThoughtConstraint::State ThoughtConstraint::after(TokenId token) const {
  State to = state();
  if (to.where == Where::Closing) {
    // Another one comes where the grammar does not let thoughts be ended.
    if (token == closing_[to.closed] && ++to.closed == closing_.size()) {
      to.tail = behind_end_;
      end_thoughts(to);
    }
    return to;
  }
  if (token < tokenizer_.vocab_size()) to.tail += tokenizer_.token_bytes(token);
  if (to.where == Where::Before) {
    look_for_begin(to);
  } else if (to.where == Where::Elsewhere) {
    look_for_more(to);
  } else {
    ++to.tokens;
    look_for_end(to);
  }
  return to;
}

void ThoughtConstraint::look_for_begin(State& state) const {
  const std::string_view begin = state.again ? options_.again : options_.begin;
  std::string_view rest = state.tail;
  rest.remove_prefix(std::min(rest.find_first_not_of(kSpaces), rest.size()));
  if (rest.starts_with(begin)) {
    state.tail = std::string(rest.substr(begin.size()));
    state.where = Where::Thought;
    look_for_end(state);
  } else if (begin.starts_with(rest)) {
    state.tail = std::string(rest);
  } else if (!options_.choice.empty() && !options_.again.empty()) {
    state.where = Where::Elsewhere;
    state.tail = std::string(rest);
    look_for_more(state);
  } else {
    state.where = Where::Behind;
    state.tail.clear();
  }
}

void ThoughtConstraint::look_for_end(State& state) const {
  const std::size_t end = state.tail.find(options_.end);
  if (end != std::string::npos) {
    state.tail.erase(0, end + options_.end.size());
    return end_thoughts(state);
  }
  const std::int64_t over = options_.most_tokens < 0 ? -1 : state.tokens - options_.most_tokens;
  const bool within = within_character(state.tail) && over < kLongestWait;
  const std::size_t kept = std::max<std::size_t>(options_.end.size() - 1, 4);
  if (state.tail.size() > kept) state.tail.erase(0, state.tail.size() - kept);
  if (over < 0 || within) return;
  state.where = Where::Closing;
  state.closed = 0;
  state.tail.clear();
}

void ThoughtConstraint::end_thoughts(State& state) const {
  if (options_.again.empty()) {
    state.where = Where::Behind;
    state.tail.clear();
    return;
  }
  state.where = Where::Before;
  state.again = true;
  look_for_begin(state);
}

void ThoughtConstraint::look_for_more(State& state) const {
  const std::size_t end = state.tail.find(options_.end);
  if (end != std::string::npos) {
    state.tail.erase(0, end + options_.end.size());
    return end_thoughts(state);
  }
  const std::size_t kept = options_.end.size() - 1;
  if (state.tail.size() > kept) state.tail.erase(0, state.tail.size() - kept);
}

bool ThoughtConstraint::spent() const {
  return !options_.choice.empty() && state().where == Where::Before && options_.most_tokens >= 0 &&
         state().tokens >= options_.most_tokens;
}

bool ThoughtConstraint::chooses(TokenId token) const {
  if (token >= tokenizer_.vocab_size()) return false;
  const std::string_view begin = state().again ? options_.again : options_.begin;
  const std::string text = state().tail + tokenizer_.token_bytes(token);
  std::string_view rest = text;
  rest.remove_prefix(std::min(rest.find_first_not_of(kSpaces), rest.size()));
  if (rest.size() + options_.choice.size() <= begin.size()) return false;
  return begin.starts_with(rest) || rest.starts_with(begin);
}

std::vector<TokenId> ThoughtConstraint::choosing_tokens() const {
  std::vector<TokenId> tokens;
  const std::string_view choice = options_.choice;
  // What a token may have before the choice: the end of what comes before it, or more than all of that.
  const auto leads_to_it = [&](std::string_view begin, std::string_view text) {
    if (begin.empty()) return false;
    begin.remove_suffix(choice.size());
    return begin.ends_with(text) || text.ends_with(begin);
  };
  for (TokenId token = 0; token < std::min<std::int64_t>(vocab_, tokenizer_.vocab_size()); ++token) {
    const std::string text = tokenizer_.token_bytes(token);
    for (std::size_t at = 0; (at = text.find(choice.front(), at)) != std::string::npos; ++at) {
      const std::string_view here = std::string_view(text).substr(at);
      const std::string_view before = std::string_view(text).substr(0, at);
      if (!here.starts_with(choice) && !choice.starts_with(here)) continue;
      if (!leads_to_it(options_.begin, before) && !leads_to_it(options_.again, before)) continue;
      tokens.push_back(token);
      break;
    }
  }
  return tokens;
}

void ThoughtConstraint::leave_other_choices(std::span<std::uint32_t> mask) {
  if (!choosing_) choosing_ = choosing_tokens();
  std::vector<TokenId> taken;
  for (const TokenId token : *choosing_)
    if (allows(mask, token) && chooses(token)) taken.push_back(token);
  for (const TokenId token : taken) set(mask, token, false);
  if (std::all_of(mask.begin(), mask.end(), [](std::uint32_t word) { return word == 0; }))
    for (const TokenId token : taken) set(mask, token, true);
}

bool ThoughtConstraint::has_no_choice(TokenId token) {
  if (!grammar_holds()) return false;
  std::vector<std::uint32_t> mask(mask_words(vocab_));
  grammar_->fill(mask);
  leave_other_choices(mask);
  return allows(mask, token);
}

void ThoughtConstraint::narrow(std::span<std::uint32_t> mask) {
  const State& here = state();
  if (here.where == Where::Closing && allows(mask, closing_[here.closed])) {
    std::fill(mask.begin(), mask.end(), 0U);
    set(mask, closing_[here.closed], true);
  }
  if (spent()) leave_other_choices(mask);
  if (here.where == Where::Thought && grammar_ && !grammar_holds())
    for (const TokenId token : tokenizer_.eos)
      if (token < vocab_) set(mask, token, false);
}

void ThoughtConstraint::fill(std::span<std::uint32_t> mask) {
  if (grammar_holds())
    grammar_->fill(mask);
  else
    allow_all(mask, vocab_);
  narrow(mask);
}

bool ThoughtConstraint::try_fill(std::span<std::uint32_t> mask, std::int64_t steps) {
  if (!grammar_holds()) {
    fill(mask);
    return true;
  }
  if (!grammar_->try_fill(mask, steps)) return false;
  narrow(mask);
  return true;
}

void ThoughtConstraint::fill_unless(std::span<std::uint32_t> mask, const std::function<bool()>& stopped) {
  if (!grammar_holds()) return fill(mask);
  grammar_->fill_unless(mask, stopped);
  narrow(mask);
}

std::string ThoughtConstraint::forced() {
  if (state().where == Where::Closing) return tokenizer_.token_bytes(closing_[state().closed]);
  return grammar_holds() ? grammar_->forced() : std::string();
}

}  // namespace augur
