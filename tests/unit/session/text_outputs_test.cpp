// What the engine gives for a text without generating: logits, states, embeddings, scores. They are the
// model's own, in whatever company texts are read.
#include "augur/text_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "augur/session.h"
#include "base/buffer.h"
#include "support/error_of.h"
#include "support/stories_engine.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

class TextOutputs : public testing_support::StoriesEngineTest {
 protected:
  static std::vector<TokenId> tokens(const char* text) { return engine_->tokenize(text); }
  /// Longer than a pass.
  static std::vector<TokenId> long_text() {
    std::vector<TokenId> text;
    for (std::size_t i = 0; text.size() < 300; ++i) {
      const std::vector<TokenId> more =
          engine_->tokenize_part(i % 2 == 0 ? "Tim had a red ball. " : "He ran! ");
      text.insert(text.end(), more.begin(), more.end());
    }
    return text;
  }
  template <class Call>
  static ErrorKind kind_of(const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.kind();
    }
    ADD_FAILURE() << "nothing was thrown";
    return ErrorKind::Internal;
  }
};

TEST_F(TextOutputs, LogitsAreThoseThatTokensAreDrawnFrom) {
  const std::vector<TokenId> prompt = tokens("Once upon a time");
  Request request;
  request.prompt_tokens = prompt;
  request.max_tokens = 20;
  const Result result = engine_->generate(request);
  std::vector<TokenId> text = prompt;
  text.insert(text.end(), result.tokens.begin(), result.tokens.end());
  const std::vector<float> logits = engine_->logits(text);
  const auto vocab = static_cast<std::ptrdiff_t>(engine_->info().vocab);
  ASSERT_EQ(std::ssize(logits), std::ssize(text) * vocab);
  for (std::size_t i = prompt.size(); i < text.size(); ++i) {
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i - 1) * vocab;
    EXPECT_EQ(std::max_element(row, row + vocab) - row, text[i]) << i;
  }
}

TEST_F(TextOutputs, PartsAreTheWhole) {
  const std::vector<TokenId> text = long_text();
  const std::vector<float> whole = engine_->logits(text);
  std::vector<float> together;
  int calls = 0;
  engine_->logits(text, [&](std::int64_t first, std::span<const float> rows) {
    EXPECT_EQ(first * engine_->info().vocab, std::ssize(together));
    together.insert(together.end(), rows.begin(), rows.end());
    ++calls;
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(together, whole);
}

TEST_F(TextOutputs, ScoresAreThePromptsLogprobs) {
  for (const std::vector<TokenId>& text : {tokens("Once upon a time there was a dog."), long_text()}) {
    Request request;
    request.prompt_tokens = text;
    request.max_tokens = 0;
    request.logprobs = 0;
    request.prompt_logprobs = true;
    const Result result = engine_->generate(request);
    const TextScore score = engine_->score(text);
    ASSERT_EQ(score.logprobs.size(), text.size() - 1);
    double sum = 0;
    for (std::size_t i = 0; i < score.logprobs.size(); ++i) {
      EXPECT_EQ(score.logprobs[i], result.prompt_logprobs[i].logprob) << i;
      sum += static_cast<double>(score.logprobs[i]);
    }
    EXPECT_EQ(score.sum, sum);
    EXPECT_FALSE(score.greedy);
  }
}

TEST_F(TextOutputs, ManyTextsHaveTheScoresThatEachHasAlone) {
  std::vector<ScoredText> texts;
  for (const char* text : {"Once upon a time", "Lily", "One day, Tim went to the park with his mom."}) {
    for (const std::int64_t from : {1, 2}) texts.push_back({.tokens = tokens(text), .from = from});
  }
  texts.push_back({.tokens = long_text(), .from = 260});
  texts.push_back({.tokens = tokens("The end"), .from = std::ssize(tokens("The end"))});
  texts.push_back({.tokens = long_text(), .from = 5});
  for (int i = 0; i < 40; ++i) texts.push_back(texts[static_cast<std::size_t>(i % 6)]);
  std::size_t next = 0;
  engine_->score_many(texts, [&](std::size_t index, const TextScore& score) {
    EXPECT_EQ(index, next++);
    EXPECT_EQ(std::ssize(score.logprobs), std::ssize(texts[index].tokens) - texts[index].from);
  });
  EXPECT_EQ(next, texts.size());
  std::vector<TextScore> scores(texts.size());
  engine_->score_many(texts, [&](std::size_t index, TextScore score) { scores[index] = std::move(score); });
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const TextScore alone = engine_->score(texts[i].tokens, texts[i].from);
    EXPECT_EQ(scores[i].logprobs, alone.logprobs) << i;
    EXPECT_EQ(scores[i].sum, alone.sum) << i;
    EXPECT_EQ(scores[i].greedy, alone.greedy) << i;
  }
}

TEST_F(TextOutputs, TellWhetherDecodingWouldHaveWrittenIt) {
  Request request;
  request.prompt_tokens = tokens("Lily and Tom went to the park.");
  request.max_tokens = 16;
  std::vector<TokenId> text = request.prompt_tokens;
  const std::vector<TokenId> written = engine_->generate(request).tokens;
  text.insert(text.end(), written.begin(), written.end());
  const auto from = std::ssize(request.prompt_tokens);
  EXPECT_TRUE(engine_->score(text, from).greedy);
  EXPECT_FALSE(engine_->score(text, 1).greedy);
  text.back() = text.back() == 300 ? 301 : 300;
  EXPECT_FALSE(engine_->score(text, from).greedy);
}

TEST_F(TextOutputs, StatesOfTheLastLayerGiveTheLogits) {
  const std::vector<TokenId> text = long_text();
  const int layers = engine_->info().layers;
  const std::size_t hidden = static_cast<std::size_t>(engine_->info().hidden);
  const std::vector<float> states = engine_->hidden_states(text, layers);
  ASSERT_EQ(states.size(), text.size() * hidden);
  Model& model = EngineAccess::model(*engine_);
  const std::int64_t vocab = engine_->info().vocab;
  const std::int64_t stride = (vocab + 15) / 16 * 16;
  Buffer<float> of_states(text.size() * static_cast<std::size_t>(stride));
  model.logits_of(states.data(), static_cast<int>(text.size()), false, of_states.data(), stride);
  const std::vector<float> logits = engine_->logits(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_TRUE(std::equal(logits.data() + static_cast<std::int64_t>(i) * vocab,
                           logits.data() + static_cast<std::int64_t>(i + 1) * vocab,
                           of_states.data() + static_cast<std::int64_t>(i) * stride))
        << i;
  }
  const std::vector<float> embeddings = engine_->hidden_states(text, 0);
  std::vector<float> expected(text.size() * hidden);
  model.embed(text, expected.data());
  EXPECT_EQ(embeddings, expected);
  EXPECT_NE(engine_->hidden_states(text, 1), embeddings);
}

TEST_F(TextOutputs, EmbeddingsPoolNormedStates) {
  for (const std::vector<TokenId>& text : {tokens("Lily saw a cat."), long_text()}) {
    const std::vector<float> states = engine_->hidden_states(text, engine_->info().layers);
    const std::size_t hidden = static_cast<std::size_t>(engine_->info().hidden);
    std::vector<float> normed(states.size());
    EngineAccess::model(*engine_).final_norm(states.data(), static_cast<int>(text.size()), normed.data());
    const std::vector<float> last = engine_->embed(text, {.pooling = Pooling::Last, .normalised = false});
    EXPECT_TRUE(std::equal(last.begin(), last.end(), normed.end() - static_cast<std::ptrdiff_t>(hidden)));
    const std::vector<float> mean = engine_->embed(text, {.pooling = Pooling::Mean, .normalised = false});
    for (std::size_t i = 0; i < hidden; ++i) {
      double sum = 0;
      for (std::size_t row = 0; row < text.size(); ++row)
        sum += static_cast<double>(normed[row * hidden + i]);
      EXPECT_NEAR(mean[i], sum / static_cast<double>(text.size()), 1e-5);
    }
    for (const Pooling pooling : {Pooling::Last, Pooling::Mean}) {
      const std::vector<float> unit = engine_->embed(text, {.pooling = pooling});
      EXPECT_NEAR(std::inner_product(unit.begin(), unit.end(), unit.begin(), 0.0), 1.0, 1e-5);
      const std::vector<float>& whole = pooling == Pooling::Last ? last : mean;
      const double scale = std::sqrt(std::inner_product(whole.begin(), whole.end(), whole.begin(), 0.0));
      for (std::size_t i = 0; i < hidden; ++i) EXPECT_NEAR(unit[i] * scale, whole[i], 1e-4);
    }
  }
}

TEST_F(TextOutputs, RefuseWhatIsNoText) {
  const std::vector<TokenId> text = tokens("Once upon a time");
  EXPECT_THAT(error_of([] { engine_->logits({}); }), HasSubstr("the text is empty"));
  const std::vector<TokenId> foreign = {1, 512};
  EXPECT_THAT(error_of([&] { engine_->embed(foreign); }), HasSubstr("token 512 is outside the vocabulary"));
  const std::vector<TokenId> endless(static_cast<std::size_t>(engine_->info().context) + 1, 3);
  EXPECT_EQ(kind_of([&] { engine_->score(endless); }), ErrorKind::ContextFull);
  EXPECT_EQ(engine_->score(std::span(endless).first(endless.size() - 1)).logprobs.size(), endless.size() - 2);
  EXPECT_THAT(error_of([&] { engine_->hidden_states(text, engine_->info().layers + 1); }),
              HasSubstr("expected 0 to 5, the number of layers"));
  EXPECT_EQ(kind_of([&] { engine_->hidden_states(text, -1); }), ErrorKind::RefusedField);
  EXPECT_EQ(kind_of([&] { engine_->score(text, 0); }), ErrorKind::RefusedField);
  EXPECT_EQ(kind_of([&] { engine_->score(text, std::ssize(text) + 1); }), ErrorKind::RefusedField);
  int scored = 0;
  const std::vector<ScoredText> texts = {{.tokens = text}, {.tokens = foreign}};
  EXPECT_EQ(kind_of([&] { engine_->score_many(texts, [&](std::size_t, const TextScore&) { ++scored; }); }),
            ErrorKind::RefusedField);
  EXPECT_EQ(scored, 0);
}

TEST_F(TextOutputs, AreCancelledBetweenPasses) {
  std::atomic<bool> cancel = true;
  const std::vector<TokenId> text = long_text();
  EXPECT_EQ(kind_of([&] { engine_->logits(text, &cancel); }), ErrorKind::Cancelled);
  EXPECT_EQ(kind_of([&] { engine_->embed(text, {.cancel = &cancel}); }), ErrorKind::Cancelled);
  cancel = false;
  int parts = 0;
  const auto cancels = [&](std::int64_t, std::span<const float>) {
    ++parts;
    cancel = true;
  };
  EXPECT_EQ(kind_of([&] { engine_->logits(text, cancels, &cancel); }), ErrorKind::Cancelled);
  EXPECT_EQ(parts, 1);
}

TEST_F(TextOutputs, AreForOneOwnerLikeGenerations) {
  const std::vector<TokenId> text = tokens("Once upon a time");
  const auto nested = [&](std::int64_t, std::span<const float>) { engine_->score(text); };
  EXPECT_EQ(kind_of([&] { engine_->logits(text, nested); }), ErrorKind::Misuse);
  struct Mine {};
  EXPECT_THROW(engine_->logits(text, [](std::int64_t, std::span<const float>) { throw Mine(); }), Mine);
  const Session session(*engine_);
  EXPECT_EQ(kind_of([&] { engine_->embed(text); }), ErrorKind::Misuse);
}

}  // namespace
}  // namespace augur
