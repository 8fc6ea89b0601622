#include "decode/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "draft/common/child_chooser.h"
#include "draft/ngram_drafter.h"
#include "policy/auto/predict.h"
#include "support/generation.h"
#include "support/policy_plan.h"
#include "support/ticking_clock.h"
#include "support/trace_ring.h"

namespace augur {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::generate;
using testing_support::GenerateOptions;
using testing_support::one;
using testing_support::StepRecord;
using testing_support::Stories;
using testing_support::TickingClock;
using testing_support::TraceRing;

/// Proposes the branch it is told, every round anew: what the target will say, up to a mistake.
class KnownTextDrafter final : public Drafter {
 public:
  KnownTextDrafter(std::vector<TokenId> truth, int right) : truth_(std::move(truth)), right_(right) {}
  std::string_view name() const override { return "known"; }
  DrafterTraits traits() const override { return {.one_shot = true, .has_probabilities = false}; }
  void reset() override {}
  void sync(const AcceptedRows&) override {}
  void expand(DraftTree& tree, std::span<const std::int32_t>, const ExpandOptions& options) override {
    std::int32_t node = 0;
    for (int i = 0; i < options.top_k; ++i) {
      const auto at = static_cast<std::size_t>(tree.root_position()) + static_cast<std::size_t>(i) + 1;
      if (at >= truth_.size()) return;
      node = tree.add(node, i < right_ ? truth_[at] : (truth_[at] + 1) % 512, 0, options.proposer);
    }
  }

 private:
  std::vector<TokenId> truth_;
  int right_;
};

/// Counts what is made of it, and how often its costs are looked up.
class CountedDrafter final : public Drafter {
 public:
  struct Counts {
    int made = 0;
    int named = 0;
  };
  explicit CountedDrafter(Counts& counts) : counts_(counts) { ++counts_.made; }
  std::string_view name() const override {
    ++counts_.named;
    return "counted";
  }
  DrafterTraits traits() const override { return {.one_shot = true, .has_probabilities = false}; }
  void reset() override {}
  void sync(const AcceptedRows&) override {}
  void expand(DraftTree& tree, std::span<const std::int32_t>, const ExpandOptions& options) override {
    tree.add(DraftTree::kRoot, 7, 0, options.proposer);
  }

 private:
  Counts& counts_;
};

class DecoderTest : public testing::Test {
 protected:
  std::vector<TokenId> plain(const std::vector<TokenId>& prompt, std::int64_t tokens) {
    return generate(*stories_.model, {prompt}, {.tokens = tokens}).tokens[0];
  }
  std::vector<Speculator> known(const std::vector<TokenId>& prompt, std::int64_t tokens, int right, int max) {
    std::vector<TokenId> truth = prompt;
    const std::vector<TokenId> rest = plain(prompt, tokens + 20);
    truth.insert(truth.end(), rest.begin(), rest.end());
    return one(std::make_unique<KnownTextDrafter>(truth, right),
               std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = max}));
  }
  void run(Sequence& sequence, const Decoder::Options& options = {}) {
    Decoder decoder(*stories_.model, options);
    Sequence* const batch[] = {&sequence};
    while (!sequence.finished()) decoder.step(batch);
  }

  Stories stories_;
  std::vector<TokenId> prompt_ = stories_.prompt("Once upon a time");
};

TEST_F(DecoderTest, WritesTheKnownAnswer) {
  const std::vector<TokenId> bos{*stories_.tokenizer->bos};
  EXPECT_EQ(stories_.tokenizer->decode(plain(bos, 200)), testing_support::stories_known_answer());
}

TEST_F(DecoderTest, PlainDecodingCountsOneTokenACall) {
  Sequence sequence(*stories_.model, prompt_, {.max_tokens = 30});
  run(sequence);
  const SpeculationStatistics& s = sequence.statistics();
  EXPECT_EQ(sequence.finish_reason(), FinishReason::Length);
  EXPECT_EQ(s.calls, 30);
  EXPECT_EQ(sequence.generated().size(), 30u);
  EXPECT_EQ(s.verified_tokens, 30);
  EXPECT_EQ(s.drafted_tokens, 0);
  EXPECT_EQ(s.mean_accepted_length, 1.0);
  EXPECT_TRUE(s.accepted_per_position.empty());
}

TEST_F(DecoderTest, TimesAddUp) {
  const TickingClock clock;
  const Decoder::Options options{.clock = &clock};
  struct Timed : SpeculationStatistics {
    double decode_ms = 0;
  };
  const auto times = [&](std::vector<Speculator> speculators) {
    Sequence sequence(*stories_.model, prompt_,
                      {.max_tokens = 30, .speculation = {std::move(speculators)}, .clock = &clock});
    run(sequence, options);
    return Timed{sequence.statistics(), sequence.decode_ms()};
  };
  // A step reads its clock seven times: at its beginning, before and after drafting, before and after the
  // forward, after verification, and at its end. Drafting of one level reads it twice more. The sequence
  // reads it when its first draft begins, and in the last step as it ends.
  const Timed plain = times({});
  EXPECT_EQ(plain.draft_ms, 0.0);
  EXPECT_EQ(plain.verify_ms, 30 * 2.0);
  EXPECT_EQ(plain.other_ms, 30 * 3.0 + 1.0);
  EXPECT_EQ(plain.decode_ms, 30 * 7.0 - 2.0);
  const Timed drafted = times(known(prompt_, 30, 2, 4));
  ASSERT_EQ(drafted.calls, 10);
  EXPECT_EQ(drafted.draft_ms, 10 * 3.0 + 1.0);
  EXPECT_EQ(drafted.verify_ms, 10 * 2.0);
  EXPECT_EQ(drafted.other_ms, 10 * 3.0 + 1.0);
  EXPECT_EQ(drafted.decode_ms, 10 * 9.0 - 2.0);
}

/// A chain that says of every round that judging it took a quarter of a millisecond.
class JudgingPolicy final : public TreePolicy {
 public:
  void begin(const RoundInfo& round) override { chain_.begin(round); }
  void next_frontier(const DraftTree& tree, std::vector<std::int32_t>& out) override {
    chain_.next_frontier(tree, out);
  }
  int width() const override { return chain_.width(); }
  bool branches() const override { return false; }
  void prune(DraftTree& tree) override { chain_.prune(tree); }
  double classify_ms() const override { return 0.25; }

 private:
  ChainPolicy chain_{{.max = 4}};
};

TEST_F(DecoderTest, TellsWhatPoliciesTakeApartFromDrafting) {
  std::vector<Speculator> speculators = known(prompt_, 30, 2, 4);
  speculators.front().policy = std::make_unique<JudgingPolicy>();
  double seen = 0;
  Sequence sequence(
      *stories_.model, prompt_,
      {.max_tokens = 30, .speculation = {std::move(speculators)}, .on_step = [&](const StepTrace& step) {
         EXPECT_EQ(step.classify_ms, 0.25);
         seen += step.classify_ms;
       }});
  run(sequence);
  ASSERT_EQ(sequence.statistics().calls, 10);
  EXPECT_EQ(sequence.statistics().classify_ms, 10 * 0.25);
  EXPECT_EQ(seen, 10 * 0.25);
}

TEST_F(DecoderTest, WhatDraftsIsMadeOnceAndItsCostsAreLookedUpOnce) {
  CountedDrafter::Counts counts;
  const auto policy = load_policy(testing_support::policy_plan("eagle2"));
  SequenceOptions options{.max_tokens = 12};
  options.speculation = {one(std::make_unique<CountedDrafter>(counts), nullptr)};
  const Drafter* const made = options.speculation.drafters.front().drafter.get();
  options.speculation.steer_by(*policy);
  const TreePolicy* const shapes = options.speculation.drafters.front().policy.get();
  ASSERT_NE(shapes, nullptr);
  counts.named = 0;
  Sequence sequence(*stories_.model, prompt_, std::move(options));
  run(sequence);
  EXPECT_GT(sequence.statistics().drafted_tokens, 1);
  EXPECT_EQ(counts.made, 1);
  EXPECT_EQ(counts.named, 1);
  const Speculator& drafts = sequence.draft().speculation.drafters.front();
  EXPECT_EQ(drafts.drafter.get(), made);
  EXPECT_EQ(drafts.policy.get(), shapes);
}

TEST_F(DecoderTest, CountsWhatSpeculationDid) {
  Sequence sequence(*stories_.model, prompt_, {.max_tokens = 30, .speculation = {known(prompt_, 30, 2, 4)}});
  run(sequence);
  const SpeculationStatistics& s = sequence.statistics();
  // Two of four drafts are right: three tokens a round, ten rounds; the last ones are cut to what is left.
  EXPECT_EQ(s.calls, 10);
  EXPECT_EQ(s.accepted_tokens, 20);
  EXPECT_THAT(s.accepted_per_position, ElementsAre(10, 10));
  EXPECT_EQ(s.mean_accepted_length, 3.0);
  EXPECT_EQ(s.drafted_tokens, 9 * 4 + 2);
  EXPECT_EQ(s.verified_tokens, s.drafted_tokens + 10);
}

TEST_F(DecoderTest, NeverDraftsBeyondTheEnd) {
  for (const int tokens : {1, 2, 3, 5}) {
    Sequence sequence(*stories_.model, prompt_,
                      {.max_tokens = tokens, .speculation = {known(prompt_, 9, 9, 9)}});
    run(sequence);
    EXPECT_EQ(std::ssize(sequence.generated()), tokens);
    EXPECT_EQ(sequence.statistics().calls, 1);
    EXPECT_EQ(sequence.statistics().verified_tokens, tokens);
  }
}

TEST_F(DecoderTest, StopsInsideAnAcceptedPath) {
  const std::vector<TokenId> truth = plain(prompt_, 30);
  std::vector<TokenId> seen;
  SequenceOptions options{.max_tokens = 30, .speculation = {known(prompt_, 30, 9, 9)}};
  options.on_token = [&](const EmittedToken& token) {
    seen.push_back(token.token);
    return seen.size() == 4 ? AfterToken::Stop : AfterToken::Continue;
  };
  Sequence sequence(*stories_.model, prompt_, std::move(options));
  run(sequence);
  EXPECT_EQ(sequence.finish_reason(), FinishReason::Stop);
  EXPECT_TRUE(std::ranges::equal(sequence.generated(), std::span(truth).first(4)));
  EXPECT_EQ(sequence.statistics().accepted_tokens, 4);
}

TEST_F(DecoderTest, EndsAtEndOfSequence) {
  const std::vector<TokenId> truth = plain(prompt_, 30);
  const TokenId end = truth[11];
  const auto first = std::find(truth.begin(), truth.end(), end) - truth.begin();
  for (const bool speculate : {false, true}) {
    SequenceOptions options{.eos = {end}};
    if (speculate) options.speculation = {known(prompt_, 30, 9, 9)};
    Sequence sequence(*stories_.model, prompt_, std::move(options));
    run(sequence);
    EXPECT_EQ(sequence.finish_reason(), FinishReason::Stop);
    EXPECT_EQ(std::ssize(sequence.generated()), first + 1);
    EXPECT_EQ(sequence.generated().back(), end);
  }
}

TEST_F(DecoderTest, FillsTheContextAndNoMore) {
  for (const bool speculate : {false, true}) {
    SequenceOptions options{.context = 20};
    if (speculate) options.speculation = {known(prompt_, 30, 9, 9)};
    Sequence sequence(*stories_.model, prompt_, std::move(options));
    run(sequence);
    EXPECT_EQ(sequence.finish_reason(), FinishReason::Length);
    EXPECT_EQ(sequence.tokens().size(), 20u);
  }
  // The model's own limit leaves no slack for rejected nodes: trees shrink towards the end.
  SequenceOptions options{.speculation = {known(std::vector<TokenId>(500, 300), 11, 0, 9)}};
  Sequence sequence(*stories_.model, std::vector<TokenId>(500, 300), std::move(options));
  run(sequence);
  EXPECT_EQ(sequence.tokens().size(), 512u);
}

TEST_F(DecoderTest, RefusesImpossiblePrompts) {
  const auto refusal = [&](std::vector<TokenId> prompt) -> std::string {
    try {
      Sequence sequence(*stories_.model, std::move(prompt), {});
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(refusal({}), HasSubstr("empty"));
  EXPECT_THAT(refusal({1, 512}), HasSubstr("token 512"));
  EXPECT_THAT(refusal({-1}), HasSubstr("token -1"));
  EXPECT_THAT(refusal(std::vector<TokenId>(512, 5)), HasSubstr("512 tokens, but the context holds 512"));
  EXPECT_EQ(refusal(std::vector<TokenId>(511, 5)), "");
}

TEST_F(DecoderTest, ZeroTokensAreNone) {
  Sequence sequence(*stories_.model, prompt_, {.max_tokens = 0});
  EXPECT_TRUE(sequence.finished());
  EXPECT_EQ(sequence.finish_reason(), FinishReason::Length);
}

TEST_F(DecoderTest, CancelsFromOutsideAndFromTheCallback) {
  SequenceOptions options{.max_tokens = 30};
  options.on_token = [](const EmittedToken&) { return AfterToken::Cancel; };
  Sequence sequence(*stories_.model, prompt_, std::move(options));
  run(sequence);
  EXPECT_EQ(sequence.finish_reason(), FinishReason::Cancelled);
  EXPECT_EQ(sequence.generated().size(), 1u);
  Sequence other(*stories_.model, prompt_, {.max_tokens = 30});
  other.cancel();
  Decoder decoder(*stories_.model);
  Sequence* const batch[] = {&other};
  decoder.step(batch);
  EXPECT_EQ(other.generated().size(), 0u);
}

TEST_F(DecoderTest, OneSequencesFailureLeavesTheOthersAlone) {
  SamplingOptions impossible;
  for (TokenId id = 0; id < 512; ++id) {
    impossible.logit_bias.emplace_back(id, -std::numeric_limits<float>::infinity());
  }
  Sequence bad(*stories_.model, prompt_, {.sampling = impossible, .max_tokens = 10});
  Sequence good(*stories_.model, prompt_, {.max_tokens = 10});
  Decoder decoder(*stories_.model);
  Sequence* const batch[] = {&bad, &good};
  while (!good.finished()) decoder.step(batch);
  EXPECT_EQ(bad.finish_reason(), FinishReason::Error);
  EXPECT_THROW(std::rethrow_exception(bad.failure()), Error);
  EXPECT_TRUE(std::ranges::equal(good.generated(), plain(prompt_, 10)));
}

TEST_F(DecoderTest, OneSequencesThrowingCallbackLeavesTheOthersAlone) {
  SequenceOptions throws_at_tokens{.max_tokens = 10};
  throws_at_tokens.on_token = [](const EmittedToken&) -> AfterToken { throw Error("no such token"); };
  SequenceOptions throws_at_prompt{.max_tokens = 10};
  throws_at_prompt.on_prefill = [](std::int64_t, std::int64_t) { throw Error("no such prompt"); };
  Sequence first(*stories_.model, prompt_, std::move(throws_at_tokens));
  Sequence second(*stories_.model, prompt_, std::move(throws_at_prompt));
  Sequence good(*stories_.model, prompt_, {.max_tokens = 10});
  Decoder decoder(*stories_.model);
  Sequence* const batch[] = {&first, &second, &good};
  while (!good.finished()) decoder.step(batch);
  for (const Sequence* bad : {&first, &second}) {
    EXPECT_EQ(bad->finish_reason(), FinishReason::Error);
    EXPECT_THROW(std::rethrow_exception(bad->failure()), Error);
  }
  EXPECT_TRUE(std::ranges::equal(good.generated(), plain(prompt_, 10)));
}

/// A head whose logits are no numbers from some depth on: NaN, infinite, or both among good ones.
class BrokenDrafter final : public Drafter {
 public:
  BrokenDrafter(ThreadPool& pool, int good_levels) : pool_(pool), good_levels_(good_levels) {}
  std::string_view name() const override { return "draft"; }
  void reset() override {}
  void sync(const AcceptedRows&) override {}
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
              const ExpandOptions& options) override {
    std::vector<NodeLogits> rows;
    for (const std::int32_t node : frontier) {
      const int depth = tree.depths()[static_cast<std::size_t>(node)];
      const auto kind = static_cast<std::size_t>((tree.root_position() + depth) % 3);
      rows.push_back(
          {&tree, node, &options, options.top_k, depth < good_levels_ ? good_ : bad_[kind], bad_[2]});
    }
    chooser_.add_children(pool_, rows, {});
  }

 private:
  static std::vector<float> with(std::vector<std::pair<std::size_t, float>> changes) {
    std::vector<float> logits(512, 0.5f);
    for (const auto& [token, value] : changes) logits[token] = value;
    return logits;
  }
  static constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  ThreadPool& pool_;
  int good_levels_;
  ChildChooser chooser_;
  std::vector<float> good_ = with({{300, 3.0f}});
  std::vector<float> bad_[3] = {with({{7, kNaN}}), with({{7, kInfinity}, {8, 2.0f}}),
                                std::vector<float>(512, kNaN)};
};

TEST_F(DecoderTest, ABrokenDrafterProposesNothingAndHarmsNobody) {
  const SamplingOptions samplings[] = {{}, {.temperature = 1.0f, .seed = 2}};
  const std::vector<std::vector<TokenId>> prompts{prompt_, stories_.prompt("The dog")};
  for (const SamplingOptions& sampling : samplings) {
    const auto expected = generate(*stories_.model, prompts, {.sampling = sampling, .tokens = 12});
    for (const Verification rule : {Verification::Walk, Verification::Rejection}) {
      for (const bool coupling : {true, false}) {
        for (const int good_levels : {0, 2}) {
          SCOPED_TRACE(testing::Message() << "temperature " << sampling.temperature << ", rule "
                                          << static_cast<int>(rule) << ", " << good_levels << " levels");
          // Every other sequence drafts.
          int made = 0;
          const auto run = [&](PolicyModel* policy) {
            return generate(*stories_.model, prompts,
                            {.sampling = sampling,
                             .tokens = 12,
                             .parallel = 2,
                             .speculators =
                                 [&] {
                                   auto drafter = std::make_unique<BrokenDrafter>(
                                       stories_.backend.pool, made++ % 2 == 0 ? good_levels : 0);
                                   return one(std::move(drafter), std::make_unique<Eagle2Policy>(
                                                                      Eagle2Policy::Options{4, 3, 12}));
                                 },
                             .policy = policy,
                             .costs = testing_support::cheap_drafts,
                             .verification = rule,
                             .coupling = coupling})
                .tokens;
          };
          const auto automatic = load_policy(testing_support::policy_plan("auto"));
          for (PolicyModel* policy : {static_cast<PolicyModel*>(nullptr), automatic.get()}) {
            const auto found = run(policy);
            if (rule == Verification::Walk || greedy(sampling)) {
              EXPECT_EQ(found, expected.tokens);
            } else {
              for (std::size_t i = 0; i < found.size(); ++i)
                EXPECT_EQ(found[i].size(), expected.tokens[i].size());
            }
          }
        }
      }
    }
  }
}

TEST_F(DecoderTest, AParameterThatForbidsTheDraftersTokensSilencesIt) {
  SamplingOptions sampling{.temperature = 1.0f, .seed = 2};
  for (TokenId id = 0; id < 512; ++id) {
    if (id != 300) sampling.logit_bias.emplace_back(id, -std::numeric_limits<float>::infinity());
  }
  // The head gives the one allowed token no chance at all.
  class Blind final : public Drafter {
   public:
    explicit Blind(ThreadPool& pool) : pool_(pool), logits_(512, 0.0f) {
      logits_[300] = -std::numeric_limits<float>::infinity();
    }
    std::string_view name() const override { return "draft"; }
    void reset() override {}
    void sync(const AcceptedRows&) override {}
    void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
                const ExpandOptions& options) override {
      std::vector<NodeLogits> rows;
      for (const std::int32_t node : frontier) rows.push_back({&tree, node, &options, 2, logits_, {}});
      chooser_.add_children(pool_, rows, {});
    }

   private:
    ThreadPool& pool_;
    std::vector<float> logits_;
    ChildChooser chooser_;
  };
  SequenceOptions options{.sampling = sampling, .max_tokens = 5, .verification = Verification::Rejection};
  options.speculation.drafters = one(std::make_unique<Blind>(stories_.backend.pool),
                                     std::make_unique<ChainPolicy>(ChainPolicy::Options{}));
  Sequence sequence(*stories_.model, prompt_, std::move(options));
  run(sequence);
  EXPECT_EQ(sequence.finish_reason(), FinishReason::Length);
  EXPECT_THAT(sequence.generated(), testing::Each(300));
}

TEST_F(DecoderTest, PromptChunksAndNeighboursChangeNothing) {
  const std::vector<std::vector<TokenId>> prompts{
      stories_.prompt("Once upon a time, there was a little girl named Lily. She loved to play outside"),
      stories_.prompt("The dog"), std::vector<TokenId>{*stories_.tokenizer->bos}, prompt_,
      stories_.prompt("One day, a big cat saw a small bird and said")};
  const auto expected = generate(*stories_.model, prompts, {.tokens = 40});
  for (const int chunk : {1, 5, 256}) {
    for (const std::size_t parallel : {std::size_t{2}, std::size_t{5}}) {
      const auto found =
          generate(*stories_.model, prompts,
                   {.tokens = 40, .parallel = parallel, .decoder = {.prefill_rows = chunk, .logit_rows = 3}});
      EXPECT_EQ(found.tokens, expected.tokens) << "chunks of " << chunk << ", " << parallel << " at once";
    }
  }
}

/// A branch of made-up tokens with a probability each.
class BranchDrafter final : public Drafter {
 public:
  BranchDrafter(std::vector<TokenId> branch, float probability)
      : branch_(std::move(branch)), log_prob_(std::log(probability)) {}
  std::string_view name() const override { return "branch"; }
  DrafterTraits traits() const override { return {.one_shot = true}; }
  void reset() override {}
  void sync(const AcceptedRows& rows) override {
    EXPECT_EQ(rows.first_position, known) << "every drafter sees every accepted row";
    known = rows.first_position + std::ssize(rows.tokens);
  }
  void expand(DraftTree& tree, std::span<const std::int32_t>, const ExpandOptions& options) override {
    std::int32_t node = 0;
    const auto most = static_cast<std::size_t>(options.max_nodes);
    for (const TokenId token : std::span(branch_).first(std::min(branch_.size(), most))) {
      node = tree.add(node, token, log_prob_, options.proposer);
    }
  }
  std::int64_t known = 0;

 private:
  std::vector<TokenId> branch_;
  float log_prob_;
};

TEST_F(DecoderTest, SeveralDraftersGrowOneTree) {
  const auto chain = [] { return std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 3}); };
  SequenceOptions options{.max_tokens = 30};
  options.speculation.steering.tree_nodes = 5;
  options.speculation.drafters.push_back(
      {std::make_unique<BranchDrafter>(std::vector<TokenId>{7, 8, 9}, 0.5f), chain()});
  options.speculation.drafters.push_back({std::make_unique<NgramDrafter>(400, 400), chain()});
  options.speculation.drafters.push_back(
      {std::make_unique<BranchDrafter>(std::vector<TokenId>{7, 3, 4}, 0.9f), chain()});
  for (Speculator& s : known(prompt_, 30, 9, 3)) options.speculation.drafters.push_back(std::move(s));
  TraceRing traces(64);
  options.on_step = [&](const StepTrace& trace) { traces.push(trace); };
  std::vector<ProposerId> by;
  options.on_token = [&](const EmittedToken& token) {
    by.push_back(token.depth == 0 ? 0 : token.proposer);
    return AfterToken::Continue;
  };
  Sequence sequence(*stories_.model, prompt_, std::move(options));
  run(sequence);
  EXPECT_TRUE(std::ranges::equal(sequence.generated(), plain(prompt_, 30)));
  EXPECT_GT(sequence.statistics().accepted_tokens, 15);
  EXPECT_EQ(std::count(by.begin(), by.end(), 4), sequence.statistics().accepted_tokens);

  const StepRecord& first = traces[0];
  EXPECT_EQ(first.drafted, 9);
  // 7 is one node, with the probability of the surer drafter. Five nodes stay: the known text has score 0 and
  // comes first, then 7 (0.9) and 3 (0.81) before 8 (0.45), 4 (0.73) is cut with it.
  ASSERT_EQ(first.tokens.size(), 6u);
  EXPECT_EQ(first.tokens[1], 7);
  EXPECT_EQ(first.proposers[1], 1);
  EXPECT_FLOAT_EQ(first.log_probs[1], std::log(0.9f));
  EXPECT_EQ(first.tokens[2], 3);
  EXPECT_EQ(first.proposers[2], 3);
  EXPECT_EQ(first.parents[2], 1);
  for (std::size_t i = 3; i < 6; ++i) EXPECT_EQ(first.proposers[i], 4);
}

TEST_F(DecoderTest, ARejectedRuleWithSeveralDraftersNeedsNoLaw) {
  // Siblings of several drafters have no common law to be drawn from: nothing is drawn, and greedily the text
  // is that of plain decoding.
  for (const float temperature : {0.0f, 1.0f}) {
    SequenceOptions options{.max_tokens = 30, .verification = Verification::Rejection};
    options.sampling = {.temperature = temperature, .seed = 1};
    options.speculation.drafters.push_back({std::make_unique<BranchDrafter>(std::vector<TokenId>{7, 8}, 0.5f),
                                            std::make_unique<ChainPolicy>(ChainPolicy::Options{})});
    for (Speculator& s : known(prompt_, 30, 9, 3)) options.speculation.drafters.push_back(std::move(s));
    options.on_step = [](const StepTrace& trace) {
      EXPECT_EQ(trace.tree->law(), ProposalLaw::Deterministic);
    };
    Sequence sequence(*stories_.model, prompt_, std::move(options));
    run(sequence);
    EXPECT_EQ(sequence.generated().size(), 30u);
    if (temperature == 0.0f) {
      EXPECT_TRUE(std::ranges::equal(sequence.generated(), plain(prompt_, 30)));
      EXPECT_GT(sequence.statistics().accepted_tokens, 15);
    }
  }
}

/// Records what it is told.
class TappingDrafter final : public Drafter {
 public:
  explicit TappingDrafter(std::vector<int> layers) : layers_(std::move(layers)) {}
  std::string_view name() const override { return "tapping"; }
  std::span<const int> tap_layers() const override { return layers_; }
  void reset() override {}
  void sync(const AcceptedRows& rows) override {
    EXPECT_EQ(rows.first_position, std::ssize(tokens));
    tokens.insert(tokens.end(), rows.tokens.begin(), rows.tokens.end());
    features.insert(features.end(), rows.features, rows.features + rows.tokens.size() * layers_.size() * 64);
    next = rows.next;
  }
  void expand(DraftTree& tree, std::span<const std::int32_t> frontier,
              const ExpandOptions& options) override {
    // A bushy tree, so that accepted rows lie apart: token 335 and whatever is near the last token.
    for (const std::int32_t node : frontier) {
      for (int i = 0; i < options.top_k; ++i) tree.add(node, (317 + 6 * i) % 512, 0, options.proposer);
    }
  }

  std::vector<TokenId> tokens;
  std::vector<float> features;
  TokenId next = -1;

 private:
  std::vector<int> layers_;
};

TEST_F(DecoderTest, DraftersGetTheHiddenStatesOfTheAcceptedRows) {
  auto first = std::make_unique<TappingDrafter>(std::vector<int>{5, 1});
  auto second = std::make_unique<TappingDrafter>(std::vector<int>{3});
  TappingDrafter* const taps[] = {first.get(), second.get()};
  SequenceOptions options{.max_tokens = 40};
  options.speculation.drafters.push_back(
      {std::move(first), std::make_unique<Eagle2Policy>(Eagle2Policy::Options{8, 2, 40})});
  options.speculation.drafters.push_back(
      {std::move(second), std::make_unique<ChainPolicy>(ChainPolicy::Options{})});
  Sequence sequence(*stories_.model, prompt_, std::move(options));
  run(sequence);

  const std::vector<TokenId> text(sequence.tokens().begin(), sequence.tokens().end() - 1);
  std::vector<float> expected[6];
  for (const int layer : {1, 3, 5}) expected[layer].resize(text.size() * 64);
  KvCache cache = stories_.model->make_cache();
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::vector<Tap> at;
    for (const int layer : {1, 3, 5}) at.push_back({layer, expected[layer].data() + i * 64, 64});
    KvTxn txn = cache.reserve(1);
    const TokenBatch::Sequence row{.kv = &txn, .rows = 1};
    const std::int32_t position = static_cast<std::int32_t>(i);
    const std::int32_t parent = -1;
    stories_.model->forward({.tokens = {&text[i], 1},
                             .positions = {&position, 1},
                             .parents = {&parent, 1},
                             .sequences = {&row, 1}},
                            {.taps = at});
    txn.commit_all();
  }
  ASSERT_EQ(taps[0]->tokens, text);
  ASSERT_EQ(taps[1]->tokens, text);
  EXPECT_EQ(taps[0]->next, sequence.tokens().back());
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (std::size_t j = 0; j < 64; ++j) {
      ASSERT_EQ(taps[0]->features[i * 128 + j], expected[5][i * 64 + j]) << "row " << i;
      ASSERT_EQ(taps[0]->features[i * 128 + 64 + j], expected[1][i * 64 + j]) << "row " << i;
      ASSERT_EQ(taps[1]->features[i * 64 + j], expected[3][i * 64 + j]) << "row " << i;
    }
  }
}

TEST_F(DecoderTest, PromptsLengthenOthersStepsByWhatTheyMay) {
  /// Nothing takes any time by it, so the costs stay as they are set.
  struct StillClock final : Clock {
    double now_ms() const override { return 0; }
  } const clock;
  const std::vector<TokenId> long_prompt(200, prompt_.back());
  const std::vector<TokenId> alone = plain(long_prompt, 10);
  const auto chunks = [&](double share, bool beside, double growth = 0) {
    Decoder decoder(*stories_.model, {.prefill_rows = 64, .clock = &clock});
    for (const double rows : CostCurve::kRows) decoder.costs().verify_curve().set(rows, 1 + 0.1 * (rows - 1));
    decoder.costs().set_growth(8, growth, growth);
    decoder.limit_prompts(share);
    Sequence writing(*stories_.model, prompt_, {.max_tokens = 200});
    std::vector<std::int64_t> sizes;
    std::int64_t before = 0;
    Sequence reading(*stories_.model, long_prompt, {.max_tokens = 10, .on_prefill = [&](auto done, auto) {
                                                      if (done > 0)
                                                        sizes.push_back(done - std::exchange(before, done));
                                                    }});
    if (beside) {
      Sequence* const one[] = {&writing};
      while (writing.generated().empty()) decoder.step(one);
    }
    Sequence* const both[] = {&reading, &writing};
    while (!reading.finished()) decoder.step(std::span(both).first(beside ? 2 : 1));
    EXPECT_TRUE(std::ranges::equal(reading.generated(), alone));
    return sizes;
  };
  EXPECT_THAT(chunks(1.05, false), ElementsAre(64, 64, 64, 7)) << "nobody waits";
  EXPECT_EQ(chunks(1.05, true).front(), 10);
  EXPECT_EQ(chunks(2.05, true).front(), 20);
  EXPECT_EQ(chunks(0, true).front(), 8) << "and it gets on";
  const std::vector<std::int64_t> behind_more = chunks(2.05, true, 0.005);
  EXPECT_LT(behind_more[4], behind_more[0]) << "rows behind more text cost more";
  EXPECT_TRUE(std::is_sorted(behind_more.rbegin() + 1, behind_more.rend()));
  EXPECT_EQ(chunks(std::numeric_limits<double>::infinity(), true).front(), 64);
}

TEST_F(DecoderTest, TracesEveryRound) {
  const TickingClock clock;
  TraceRing ring(4);
  std::vector<TokenId> traced;
  SequenceOptions options{.max_tokens = 30, .speculation = {known(prompt_, 30, 2, 4)}};
  options.on_step = [&](const StepTrace& trace) {
    ring.push(trace);
    for (std::size_t i = 1; i < trace.path.size(); ++i) {
      traced.push_back(trace.tree->tokens()[static_cast<std::size_t>(trace.path[i])]);
    }
    traced.push_back(trace.next);
    EXPECT_EQ(trace.batch_rows, trace.tree->size());
    EXPECT_EQ(trace.verify_ms, 2.0);
  };
  Sequence sequence(*stories_.model, prompt_, std::move(options));
  run(sequence, {.clock = &clock});
  EXPECT_TRUE(std::ranges::equal(traced, sequence.generated()));
  EXPECT_EQ(ring.total(), 10u);
  ASSERT_EQ(ring.size(), 4u);
  EXPECT_EQ(ring[3].context, static_cast<std::int64_t>(prompt_.size()) - 1 + 27);
  EXPECT_EQ(ring[0].context, static_cast<std::int64_t>(prompt_.size()) - 1 + 18);
  EXPECT_THAT(ring[0].path, ElementsAre(0, 1, 2));
  EXPECT_THAT(ring[0].parents, ElementsAre(-1, 0, 1, 2, 3));
  EXPECT_EQ(ring[0].drafted, 4);
}

}  // namespace
}  // namespace augur
