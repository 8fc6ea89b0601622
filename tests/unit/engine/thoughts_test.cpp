// Thoughts that grow too long are ended, and grammars hold behind them, whatever drafts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/thought_constraint.h"
#include "grammar/compiler.h"
#include "support/error_of.h"
#include "support/stories_engine.h"

namespace augur {
namespace {

using testing_support::error_of;

/// The end of a text, printable bytes, half a character, and tags as tokens.
class TagTokenizer final : public Tokenizer {
 public:
  TagTokenizer() {
    eos = {0};
    pieces_ = {"<end>", "</t>", "<t>", "</", "t>", ">a", "\xC3", "\xA9"};
    for (const char c : std::string_view("<>/t a1\n")) pieces_.emplace_back(1, c);
  }
  std::vector<TokenId> encode(std::string_view text, std::span<const ByteRange>) const override {
    std::vector<TokenId> ids;
    while (!text.empty()) {
      const auto piece = std::find_if(pieces_.begin(), pieces_.end(),
                                      [&](const std::string& one) { return text.starts_with(one); });
      ids.push_back(static_cast<TokenId>(piece - pieces_.begin()));
      text.remove_prefix(piece->size());
    }
    return ids;
  }
  std::string token_bytes(TokenId id) const override { return pieces_.at(static_cast<std::size_t>(id)); }
  bool is_special(TokenId id) const override { return id == 0; }
  std::int32_t vocab_size() const override { return static_cast<std::int32_t>(pieces_.size()); }
  std::string decode(const std::vector<TokenId>&, bool) const override { return {}; }

 private:
  std::vector<std::string> pieces_;
};

constexpr std::int64_t kVocab = 37;  // logits that no token of the tokenizer has included

/// Three of the tokens from `first` on, and the end.
class ThreeTokens final : public TokenConstraint {
 public:
  explicit ThreeTokens(TokenId first) : first_(first) {}
  bool accept(TokenId token) override {
    if (ended() || (taken_ == 3 ? token != 0 : token < first_)) return false;
    ++taken_;
    return true;
  }
  void roll_back(int tokens) override { taken_ -= tokens; }
  bool ended() const override { return taken_ == 4; }
  void fill(std::span<std::uint32_t> mask) override {
    std::fill(mask.begin(), mask.end(), 0U);
    for (TokenId token = 0; token < kVocab; ++token)
      if (taken_ == 3 ? token == 0 : token >= first_)
        mask[static_cast<std::size_t>(token) / 32] |= 1U << (token % 32);
  }

 private:
  TokenId first_;
  int taken_ = 0;
};

TEST(ThoughtConstraint, MasksAreWhatIsAcceptedAndAllIsTakenBack) {
  const TagTokenizer tokenizer;
  std::mt19937 random(7);
  int closed = 0;
  for (int round = 0; round < 600; ++round) {
    const ThoughtOptions options{
        .begin = "<t>",
        .end = "</t>",
        .again = round % 3 == 0 ? "<t>" : "",
        .begun = round % 2 == 0,
        .most_tokens = std::array{-1, 0, 1, 4, 9}[static_cast<std::size_t>(round) % 5],
        .written_end = round % 7 == 0    ? "a</t>"
                       : round % 11 == 0 ? "</t> <"
                                         : "",
        .choice = round % 6 == 0   ? "t>"
                  : round % 9 == 0 ? ">"
                                   : ""};
    std::unique_ptr<TokenConstraint> grammar;
    if (round % 4 > 1) grammar = std::make_unique<ThreeTokens>(round % 8 > 3 ? 2 : 9);
    ThoughtConstraint constraint(tokenizer, kVocab, options, std::move(grammar));
    std::vector<TokenId> text;
    std::vector<std::vector<std::uint32_t>> masks;  // before each token
    while (text.size() < 40 && !constraint.ended()) {
      std::vector<std::uint32_t> mask(mask_words(kVocab));
      constraint.fill(mask);
      std::vector<TokenId> fine;
      for (TokenId token = 0; token < kVocab; ++token) {
        const bool accepted = constraint.accept(token);
        ASSERT_EQ(accepted, allows(mask, token)) << token << " in round " << round;
        if (!accepted) continue;
        constraint.roll_back(1);
        fine.push_back(token);
      }
      ASSERT_FALSE(fine.empty());
      closed += fine.size() == 1 ? 1 : 0;
      // Tags come now and then.
      const bool tag = random() % 4 == 0 && allows(mask, 2);
      masks.push_back(mask);
      text.push_back(tag ? 2 : fine[random() % fine.size()]);
      ASSERT_TRUE(constraint.accept(text.back()));
      if (random() % 5 == 0) {
        const std::size_t back = random() % (text.size() + 1);
        constraint.roll_back(static_cast<int>(back));
        for (std::size_t i = text.size() - back; i < text.size(); ++i) {
          std::vector<std::uint32_t> again(mask_words(kVocab));
          constraint.fill(again);
          ASSERT_EQ(again, masks[i]);
          ASSERT_TRUE(constraint.accept(text[i]));
        }
      }
    }
  }
  EXPECT_GT(closed, 100) << "thoughts have been ended";
}

TEST(ThoughtConstraint, EndsWithinNoCharacterAndCountsTokens) {
  const TagTokenizer tokenizer;
  const ThoughtOptions options{.begin = "<t>", .end = "</t>", .most_tokens = 2};
  ThoughtConstraint constraint(tokenizer, kVocab, options, nullptr);
  std::vector<std::uint32_t> mask(mask_words(kVocab));
  const auto only = [&]() -> TokenId {
    constraint.fill(mask);
    TokenId found = -1;
    for (TokenId token = 0; token < kVocab; ++token) {
      if (!allows(mask, token)) continue;
      if (found >= 0) return -1;
      found = token;
    }
    return found;
  };
  for (const TokenId token : {2, 12, 6}) {  // <t>, a space, half a character
    EXPECT_EQ(only(), -1);
    ASSERT_TRUE(constraint.accept(token));
  }
  EXPECT_EQ(only(), -1) << "the character is not whole";
  ASSERT_TRUE(constraint.accept(7));
  EXPECT_EQ(only(), 1) << "</t>";
  EXPECT_FALSE(constraint.accept(0));
  ASSERT_TRUE(constraint.accept(1));
  EXPECT_EQ(only(), -1);
  EXPECT_THAT(error_of([&] { ThoughtConstraint(tokenizer, kVocab, {.begin = "<t>"}, nullptr); }),
              testing::HasSubstr("thoughts: expected a text that ends them"));
  EXPECT_THAT(error_of([&] { ThoughtConstraint(tokenizer, kVocab, {.end = "</t>"}, nullptr); }),
              testing::HasSubstr("that begins them"));
}

TEST(ThoughtConstraint, NoMoreAreBegunOnceTheirTokensAreSpent) {
  const TagTokenizer tokenizer;
  ThoughtOptions options{.begin = "<t>",
                         .end = "</t>",
                         .again = "<t>",
                         .most_tokens = 1,
                         .written_end = "</t><",
                         .choice = "t>"};
  std::vector<std::uint32_t> mask(mask_words(kVocab));
  const auto refused = [&](ThoughtConstraint& constraint) {
    constraint.fill(mask);
    std::vector<TokenId> tokens;
    for (TokenId token = 0; token < kVocab; ++token)
      if (!allows(mask, token)) tokens.push_back(token);
    for (const TokenId token : tokens) EXPECT_FALSE(constraint.accept(token)) << token;
    return tokens;
  };
  const auto go_on = [](ThoughtConstraint& constraint, std::initializer_list<TokenId> tokens) {
    for (const TokenId token : tokens) ASSERT_TRUE(constraint.accept(token)) << token;
  };
  using testing::ElementsAre;
  ThoughtConstraint constraint(tokenizer, kVocab, options, nullptr);
  EXPECT_TRUE(refused(constraint).empty());
  go_on(constraint, {2, 13, 1, 8});  // <t>, a; the end and what follows it are written
  EXPECT_THAT(refused(constraint), ElementsAre(4, 11)) << "t> and t behind <";
  go_on(constraint, {13, 2});
  EXPECT_TRUE(refused(constraint).empty()) << "within another text";
  go_on(constraint, {3, 4});  // </t> in two
  EXPECT_THAT(refused(constraint), ElementsAre(2));
  go_on(constraint, {12});
  EXPECT_THAT(refused(constraint), ElementsAre(2));
  go_on(constraint, {8});
  EXPECT_THAT(refused(constraint), ElementsAre(4, 11));
  constraint.roll_back(3);
  go_on(constraint, {11});
  EXPECT_TRUE(refused(constraint).empty());

  options.most_tokens = 4;
  ThoughtConstraint more(tokenizer, kVocab, options, nullptr);
  go_on(more, {2, 13, 1, 13, 1, 2, 13});  // <t>a</t>, a</t>, <t>a
  EXPECT_TRUE(refused(more).empty());
  go_on(more, {13});
  EXPECT_EQ(refused(more).size(), kVocab - 1U) << "both thoughts count";

  options.most_tokens = 0;
  ThoughtConstraint none(tokenizer, kVocab, options, nullptr);
  EXPECT_THAT(refused(none), ElementsAre(2));

  // Thoughts that a grammar demands are begun.
  class Always final : public TokenConstraint {
   public:
    bool accept(TokenId token) override { return token == 2; }
    void roll_back(int) override {}
    bool ended() const override { return false; }
    void fill(std::span<std::uint32_t> to) override {
      std::fill(to.begin(), to.end(), 0U);
      to[0] = 1U << 2;
    }
  };
  ThoughtConstraint demanded(tokenizer, kVocab, options, std::make_unique<Always>());
  EXPECT_EQ(refused(demanded).size(), kVocab - 1U);
  EXPECT_TRUE(demanded.accept(2));

  options.choice = "x";
  EXPECT_THAT(error_of([&] { ThoughtConstraint(tokenizer, kVocab, options, nullptr); }),
              testing::HasSubstr("expected '<t>' to end in 'x'"));
}

class Thoughts : public testing_support::StoriesEngineTest {
 protected:
  static Request request(double temperature, std::int64_t most) {
    Request request;
    request.prompt = "Once upon a time";
    request.max_tokens = 60;
    request.sampling.temperature = temperature;
    request.sampling.seed = 11;
    request.thoughts = ThoughtOptions{.end = " The end.", .begun = true, .most_tokens = most};
    return request;
  }
  static Result answer(Request request, const char* plan) {
    request.speculation = SpeculationPlan::parse(plan);
    return engine_->generate(request);
  }
};

TEST_F(Thoughts, AreEndedAtTheSameTokenWhateverDrafts) {
  for (const double temperature : {0.0, 1.0}) {
    Request free = request(temperature, -1);
    const Result unbounded = answer(free, "none");
    for (const std::int64_t most : {0, 1, 13, 59, 200}) {
      const Request asked = request(temperature, most);
      const Result plain = answer(asked, "none");
      const auto kept = static_cast<std::ptrdiff_t>(std::min<std::int64_t>(most, 60));
      EXPECT_TRUE(std::equal(plain.tokens.begin(), plain.tokens.begin() + kept, unbounded.tokens.begin()));
      if (most < 50) {
        EXPECT_THAT(plain.text, testing::HasSubstr("The end."));
      }
      for (const char* plan : {"draft:policy=eagle2", "ngram", "draft,ngram:policy=auto"})
        EXPECT_EQ(answer(asked, plan).tokens, plain.tokens) << plan << " " << most;
      if (temperature == 0.0) {
        EXPECT_EQ(answer(asked, "draft:verify=rejection").tokens, plain.tokens);
      }
    }
  }
}

TEST_F(Thoughts, AGrammarHoldsBehindThem) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  for (const double temperature : {0.0, 1.0}) {
    Request asked = request(temperature, 9);
    asked.grammar = Grammar{GrammarKind::Regex, "(yes|no)!"};
    const Result plain = answer(asked, "none");
    EXPECT_EQ(plain.finish_reason, FinishReason::Stop);
    EXPECT_THAT(plain.text, testing::EndsWith("!"));
    EXPECT_GT(plain.tokens.size(), 12U);
    for (const char* plan : {"draft:policy=eagle2", "grammar", "draft,ngram:policy=auto"})
      EXPECT_EQ(answer(asked, plan).tokens, plain.tokens) << plan;
  }
}

TEST_F(Thoughts, NeighboursChangeNothing) {
  std::vector<Request> requests;
  std::vector<std::vector<TokenId>> alone;
  for (const std::int64_t most : {0, 3, 8, 21, -1, 34}) {
    requests.push_back(request(1.0, most));
    requests.back().sampling.seed += static_cast<std::uint64_t>(most + 1);
    requests.back().speculation = SpeculationPlan::parse("draft:policy=eagle2");
    alone.push_back(answer(requests.back(), "none").tokens);
  }
  engine_->generate_many(
      requests, 4, [&](std::size_t index, const Result& result) { EXPECT_EQ(result.tokens, alone[index]); });
}

}  // namespace
}  // namespace augur
