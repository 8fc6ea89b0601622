// What texts leave for later ones is there for texts of the same owner alone: with every registered drafter,
// what another owner's texts propose is what the first text of all proposes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "decode/decoder.h"
#include "support/drafter_cases.h"
#include "support/generation.h"
#include "support/vocabulary_parts.h"

namespace augur {
namespace {

using testing_support::DrafterCase;
using testing_support::generate;
using testing_support::Generated;
using testing_support::one;
using testing_support::Stories;
using testing_support::tiny_drafter_cases;
using testing_support::TinyTarget;

class DraftersOfOwners : public testing::TestWithParam<DrafterCase> {
 protected:
  /// A pass over all prompts, one after the other.
  std::string pass(const std::string& owner, bool keep = true) {
    const Generated g =
        generate(target_.model(), target_.prompts(),
                 {.tokens = 16,
                  .speculators =
                      [&] {
                        return one(target_.make(owner, keep),
                                   std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 8}));
                      },
                  .owner = owner,
                  .keep_text = keep});
    if (tokens_.empty()) tokens_ = g.tokens;
    EXPECT_EQ(g.tokens, tokens_) << "whosever texts they are";
    return fmt::format("{} calls, {} drafted, {} verified, {} accepted", g.total.calls,
                       g.total.drafted_tokens, g.total.verified_tokens, g.total.accepted_tokens);
  }

  /// Texts of three owners are each as if there were no others.
  void expect_apart() {
    const std::string common = pass("");
    target_.forget();
    const std::string alone = pass("a");
    target_.forget();
    const std::string nothing = pass("", false);
    EXPECT_EQ(pass("a", false), nothing) << "nothing was to be kept";
    EXPECT_EQ(pass("a"), alone);
    EXPECT_EQ(pass("b"), alone);
    EXPECT_EQ(pass(""), common);
    learns_ = pass("") != common;
  }

  TinyTarget target_{GetParam()};
  std::vector<std::vector<TokenId>> tokens_;
  bool learns_ = false;
};

TEST_P(DraftersOfOwners, ProposeNothingOfOthers) {
  expect_apart();
  const bool says = target_.make()->traits().learns_across_sequences;
  EXPECT_EQ(learns_, says) << "from its owner's texts";
  if (!says) return;
  const std::string fresh = pass("c");
  EXPECT_NE(pass("c"), fresh) << "every owner's own";
}

/// One list is for all sequences, so that only texts of the common owner may change it.
TEST_P(DraftersOfOwners, DoNotTeachTheListThatFollowsTheText) {
  if (!find_drafter_type(GetParam().type).projects) GTEST_SKIP() << "it has no projection";
  const testing_support::HotList hot(target_.model().fingerprint(), target_.model().config().vocab);
  target_.load(hot.choice());
  expect_apart();
  // Untrained heads draft nonsense with any list.
  if (GetParam().type == "draft") {
    EXPECT_TRUE(learns_) << "a model that is right is helped by what it has seen";
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, DraftersOfOwners, testing::ValuesIn(tiny_drafter_cases()),
                         testing_support::case_name);

class TextsOfOwners : public testing::Test {
 protected:
  std::unique_ptr<Sequence> sequence(const std::string& owner, bool keep = true) {
    SequenceOptions options;
    options.max_tokens = 4;
    options.owner = owner;
    options.keep_text = keep;
    options.on_prefill = [this](auto done, auto) { read_ += done > 0 ? 1 : 0; };
    return std::make_unique<Sequence>(*stories_.model, prompt_, std::move(options));
  }
  std::int64_t cached(const std::string& owner, bool keep = true) {
    const auto s = sequence(owner, keep);
    Sequence* const batch[] = {s.get()};
    while (!s->finished()) decoder_.step(batch);
    decoder_.retire(*s);
    return s->cached_tokens();
  }
  /// Prompts of a batch that a first step reads something of.
  int read_at_once(const std::string& a, bool keep_a, const std::string& b) {
    read_ = 0;
    const auto first = sequence(a, keep_a);
    const auto second = sequence(b);
    Sequence* const batch[] = {first.get(), second.get()};
    decoder_.step(batch);
    return read_;
  }

  Stories stories_;
  std::vector<TokenId> prompt_ = std::vector<TokenId>(100, 400);
  PrefixCache kept_{std::int64_t{1} << 30};
  Decoder decoder_{*stories_.model};
  int read_ = 0;

  void SetUp() override { decoder_.reuse_prefixes(&kept_); }
};

TEST_F(TextsOfOwners, AreTakenOverByThemAlone) {
  EXPECT_EQ(cached("a"), 0);
  EXPECT_EQ(cached("b"), 0);
  EXPECT_EQ(cached(""), 0);
  EXPECT_GT(cached("a"), 90);
  EXPECT_GT(cached(""), 90);
}

TEST_F(TextsOfOwners, AreKeptOnlyWhereTheyMayBe) {
  EXPECT_EQ(cached("a", false), 0);
  EXPECT_EQ(kept_.entries(), 0u);
  EXPECT_EQ(cached("a"), 0);
}

/// That another owner reads the same prompt right then would be noticed, too.
TEST_F(TextsOfOwners, WaitForTextsOfTheSameOwnerOnly) {
  EXPECT_EQ(read_at_once("a", true, "b"), 2);
  EXPECT_EQ(read_at_once("c", false, "c"), 2) << "which it would wait for in vain";
  EXPECT_EQ(read_at_once("d", true, "d"), 1);
}

}  // namespace
}  // namespace augur
