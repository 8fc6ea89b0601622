// What drafters are told of the target's rows is what the target says of them, of rejected ones, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "decode/decoder.h"
#include "kernels/ops.h"
#include "support/generation.h"

namespace augur {
namespace {

using testing_support::generate;
using testing_support::one;
using testing_support::Stories;

constexpr int kLayers[] = {1, 3};

/// A row as a drafter was told of it.
struct Told {
  std::vector<TokenId> text;  ///< that ends with the row's token
  bool kept = false;
  bool prompt = false;
  std::vector<float> logits;
  std::vector<TokenId> top;
  std::vector<float> top_logits;
  std::vector<float> states;
};

/// Proposes two tokens below every node, the text's own and another one; writes down what it is told.
class ListeningDrafter final : public Drafter {
 public:
  ListeningDrafter(std::optional<TargetWants> wants, std::vector<TokenId> truth, std::vector<Told>& told)
      : wants_(wants), truth_(std::move(truth)), told_(told) {}
  std::string_view name() const override { return "listening"; }
  std::span<const int> tap_layers() const override { return kLayers; }
  std::optional<TargetWants> target_wants() const override { return wants_; }
  void reset() override { text_.clear(); }

  void saw(const TargetRows& rows) override {
    ASSERT_TRUE(wants_.has_value());
    const auto first = static_cast<std::size_t>(rows.positions.front());
    ASSERT_LE(first, text_.size());
    text_.resize(first);
    std::vector<std::vector<TokenId>> texts;
    for (std::size_t i = 0; i < rows.tokens.size(); ++i) {
      const std::int32_t parent = rows.parents[i];
      ASSERT_LT(parent, static_cast<std::int32_t>(i));
      texts.push_back(parent < 0 ? text_ : texts[static_cast<std::size_t>(parent)]);
      texts.back().push_back(rows.tokens[i]);
      EXPECT_EQ(rows.positions[i], std::ssize(texts.back()) - 1);
      Told told{.text = texts.back(), .prompt = rows.prompt};
      told.kept = std::binary_search(rows.kept.begin(), rows.kept.end(), static_cast<std::int32_t>(i));
      EXPECT_EQ(rows.logits != nullptr, wants_->logits);
      EXPECT_GE(rows.top_k, wants_->top_k);
      EXPECT_EQ(rows.top_k > 0, wants_->top_k > 0);
      EXPECT_EQ(rows.states != nullptr, wants_->states);
      const auto row = static_cast<std::ptrdiff_t>(i);
      if (rows.logits != nullptr) {
        const float* const logits = rows.logits + row * rows.logits_stride;
        told.logits.assign(logits, logits + kVocabulary);
      }
      if (rows.top_k > 0) {
        told.top.assign(rows.top_tokens + row * rows.top_k, rows.top_tokens + (row + 1) * rows.top_k);
        told.top_logits.assign(rows.top_logits + row * rows.top_k, rows.top_logits + (row + 1) * rows.top_k);
      }
      if (rows.states != nullptr) {
        told.states.assign(rows.states + row * kStates, rows.states + (row + 1) * kStates);
      }
      told_.push_back(std::move(told));
    }
    for (const std::int32_t kept : rows.kept) text_.push_back(rows.tokens[static_cast<std::size_t>(kept)]);
  }

  void sync(const AcceptedRows& rows) override {
    const auto first = static_cast<std::size_t>(rows.first_position);
    const auto end = first + rows.tokens.size();
    // What was told to become text has become it.
    for (std::size_t at = first; at < std::min(end, text_.size()); ++at) {
      EXPECT_EQ(rows.tokens[at - first], text_[at]) << at;
    }
    EXPECT_LE(text_.size(), end);
    text_.resize(first);
    text_.insert(text_.end(), rows.tokens.begin(), rows.tokens.end());
    for (std::size_t i = 0; i < rows.tokens.size() && wants_ && wants_->states; ++i) {
      const auto told = std::find_if(told_.rbegin(), told_.rend(),
                                     [&](const Told& t) { return t.kept && t.text.size() == first + i + 1; });
      if (told == told_.rend()) continue;
      const float* const features = rows.features + static_cast<std::ptrdiff_t>(i) * kStates;
      EXPECT_TRUE(std::equal(told->states.begin(), told->states.end(), features));
    }
  }

  void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
              const ExpandOptions& options) override {
    for (const std::int32_t node : frontier) {
      const auto at =
          static_cast<std::size_t>(tree.root_position() + tree.depths()[static_cast<std::size_t>(node)] + 1);
      if (at >= truth_.size()) continue;
      tree.add(node, truth_[at], -0.1f, options.proposer);
      tree.add(node, (truth_[at] + 1) % kVocabulary, -0.5f, options.proposer);
    }
  }

  static constexpr int kVocabulary = 512;
  static constexpr std::ptrdiff_t kStates = 2 * 64;  ///< two layers of stories260k

 private:
  std::optional<TargetWants> wants_;
  std::vector<TokenId> truth_;
  std::vector<Told>& told_;
  std::vector<TokenId> text_;
};

class RowTellerTest : public testing::Test {
 protected:
  std::unique_ptr<Drafter> listener(std::optional<TargetWants> wants, const std::vector<TokenId>& prompt,
                                    std::vector<Told>& told) {
    std::vector<TokenId> truth = prompt;
    const std::vector<TokenId> written = generate(*stories_.model, {prompt}, {.tokens = 24}).tokens[0];
    truth.insert(truth.end(), written.begin(), written.end());
    return std::make_unique<ListeningDrafter>(wants, std::move(truth), told);
  }
  static std::unique_ptr<TreePolicy> tree() {
    return std::make_unique<Eagle2Policy>(Eagle2Policy::Options{2, 3, 7});
  }
  std::unique_ptr<Sequence> sequence(const std::vector<TokenId>& prompt,
                                     std::vector<Speculator> speculators) {
    SequenceOptions options;
    options.max_tokens = 16;
    options.speculation.drafters = std::move(speculators);
    return std::make_unique<Sequence>(*stories_.model, prompt, std::move(options));
  }
  static void write(Decoder& decoder, std::vector<Sequence*> batch) {
    const auto done = [](const Sequence* s) { return s->finished(); };
    while (!std::all_of(batch.begin(), batch.end(), done)) decoder.step(batch);
    for (const Sequence* s : batch) {
      if (s->failure()) std::rethrow_exception(s->failure());
    }
  }
  /// What the target says of the last token of a text that it reads alone, as a prompt.
  Told alone(std::vector<TokenId> text) {
    std::vector<Told> told;
    text.push_back(0);  // which is not read before the first round
    const auto s =
        sequence(text, one(std::make_unique<ListeningDrafter>(
                               TargetWants{.top_k = 4, .logits = true, .states = true, .prompts = true},
                               std::vector<TokenId>(), told),
                           tree()));
    Decoder decoder(*stories_.model);
    Sequence* const batch[] = {s.get()};
    decoder.step(batch);
    EXPECT_EQ(told.size(), text.size() - 1);
    EXPECT_TRUE(told.back().prompt);
    return told.back();
  }

  Stories stories_;
  std::vector<TokenId> one_ = stories_.prompt("Once upon a time");
  std::vector<TokenId> other_ = stories_.prompt("Lily and Tom went to the park. Tom saw a big");
};

TEST_F(RowTellerTest, EveryVerifiedRowIsShownWithWhatTheTargetSaysOfIt) {
  const TargetWants all{.top_k = 4, .logits = true, .states = true, .prompts = true};
  std::vector<Told> told[2];
  // As few rows of logits at a time as one tree has: each is told while its own are at hand.
  Decoder decoder(*stories_.model, {.prefill_rows = 10, .logit_rows = 4});
  const auto a = sequence(one_, one(listener(all, one_, told[0]), tree()));
  const auto b = sequence(other_, one(listener(all, other_, told[1]), tree()));
  write(decoder, {a.get(), b.get()});
  for (std::size_t i = 0; i < 2; ++i) {
    int rejected = 0;
    std::size_t prompt = 0;
    for (const Told& t : told[i]) {
      rejected += t.kept ? 0 : 1;
      prompt += t.prompt ? 1 : 0;
      std::vector<TokenId> top(4);
      std::vector<float> values(4);
      top_k(t.logits, 4, top.data(), values.data());
      EXPECT_EQ(t.top, top);
      EXPECT_EQ(t.top_logits, values);
    }
    EXPECT_GT(rejected, 8);
    EXPECT_EQ(prompt, (i == 0 ? one_ : other_).size() - 1);
    for (std::size_t row = 0; row < told[i].size(); row += 5) {
      const Told expected = alone(told[i][row].text);
      EXPECT_EQ(told[i][row].logits, expected.logits) << "row " << row;
      EXPECT_EQ(told[i][row].states, expected.states) << "row " << row;
    }
  }
  // All that was written was told of.
  const auto kept = std::count_if(told[0].begin(), told[0].end(), [](const Told& t) { return t.kept; });
  EXPECT_GE(kept, std::ssize(a->generated()));
}

TEST_F(RowTellerTest, WhatIsNotAskedForIsNotShown) {
  std::vector<Told> nothing;
  std::vector<Told> rows;
  Decoder decoder(*stories_.model);
  const auto a = sequence(one_, one(listener(std::nullopt, one_, nothing), tree()));
  const auto b = sequence(other_, one(listener(TargetWants{}, other_, rows), tree()));
  write(decoder, {a.get(), b.get()});
  EXPECT_TRUE(nothing.empty());
  EXPECT_GT(rows.size(), 16u);
  for (const Told& t : rows) EXPECT_FALSE(t.prompt);
}

TEST_F(RowTellerTest, DraftersOfOneSequenceAreToldWhatEachAsksFor) {
  std::vector<Told> few;
  std::vector<Told> many;
  std::vector<Speculator> both = one(listener(TargetWants{.top_k = 2}, one_, few), tree());
  both.push_back({listener(TargetWants{.top_k = 9, .states = true}, one_, many), tree()});
  Decoder decoder(*stories_.model);
  const auto s = sequence(one_, std::move(both));
  write(decoder, {s.get()});
  ASSERT_EQ(few.size(), many.size());
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].text, many[i].text);
    EXPECT_TRUE(std::equal(few[i].top.begin(), few[i].top.begin() + 2, many[i].top.begin()));
  }
}

}  // namespace
}  // namespace augur
