// Memory may run out at any allocation of a decoding step. Then the step throws, having changed nothing, and
// can be tried again; or the sequence that the memory was for ends with that error. No id of any sequence
// changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <functional>

#include "base/error.h"
#include "draft/ngram_drafter.h"
#include "heap.h"
#include "support/generation.h"
#include "support/golden_head.h"
#include "support/policy_plan.h"
#include "support/stories_source.h"

namespace augur {
namespace {

using testing_support::GoldenTarget;
using testing_support::one;
using testing_support::Stories;

struct Case {
  std::function<Model&()> model;  ///< asked for in every run
  std::vector<std::vector<TokenId>> prompts;
  SamplingOptions sampling;
  std::function<std::vector<Speculator>()> speculators;
  std::string policy = {};  ///< steers all of them; empty: they have their own
  Verification rule = Verification::Walk;
  std::int64_t tokens = 12;
};

/// One batch of the case's prompts, from nothing to its end.
class Run {
 public:
  explicit Run(const Case& c) : Run(c, c.model()) {}

  bool finished() const {
    return std::all_of(batch_.begin(), batch_.end(), [](const Sequence* s) { return s->finished(); });
  }
  void step() { decoder_.step(batch_); }
  const std::vector<Sequence*>& sequences() const { return batch_; }

 private:
  Run(const Case& c, Model& model) : decoder_(model, {.prefill_rows = 12}) {
    if (!c.policy.empty()) {
      policy_ = load_policy(testing_support::policy_plan(c.policy), &model);
      testing_support::cheap_drafts(decoder_.costs());
    }
    for (const auto& prompt : c.prompts) {
      SequenceOptions options{.sampling = c.sampling, .max_tokens = c.tokens, .verification = c.rule};
      options.speculation.drafters = c.speculators();
      if (policy_) options.speculation.steer_by(*policy_);
      sequences_.push_back(std::make_unique<Sequence>(model, prompt, std::move(options)));
      batch_.push_back(sequences_.back().get());
    }
  }

  std::unique_ptr<PolicyModel> policy_;
  Decoder decoder_;
  std::vector<std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> batch_;
};

/// The case with its n-th allocation refused. False: it has none so late.
bool survives(const Case& c, std::int64_t n, const std::vector<std::vector<TokenId>>& expected) {
  Run run(c);
  int thrown = 0;
  heap::fail_at(n);
  while (!run.finished() && thrown < 3) {
    try {
      run.step();
    } catch (...) {
      EXPECT_TRUE(is_want_of_memory(std::current_exception()));
      ++thrown;
    }
  }
  const bool reached = heap::has_failed();
  heap::fail_at(0);
  EXPECT_LE(thrown, reached ? 1 : 0);
  int failed = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Sequence& sequence = *run.sequences()[i];
    const std::span<const TokenId> ids = sequence.generated();
    if (sequence.failure()) {
      EXPECT_EQ(sequence.finish_reason(), FinishReason::Error);
      EXPECT_TRUE(is_want_of_memory(sequence.failure()));
      ++failed;
    } else {
      EXPECT_EQ(ids.size(), expected[i].size()) << "text " << i;
    }
    // Rejection sampling keeps the distribution of a text, not its ids: a round without drafts draws others.
    if (c.rule == Verification::Walk) {
      EXPECT_TRUE(std::equal(ids.begin(), ids.end(), expected[i].begin())) << "text " << i;
    }
  }
  // A controller is its sequences': all of them fail with it.
  if (c.policy.empty()) {
    EXPECT_LE(failed + thrown, reached ? 1 : 0);
  }
  return reached;
}

std::vector<std::vector<TokenId>> ids_of(const Case& c) {
  Run run(c);
  while (!run.finished()) run.step();
  std::vector<std::vector<TokenId>> ids;
  for (const Sequence* s : run.sequences()) ids.emplace_back(s->generated().begin(), s->generated().end());
  return ids;
}

void expect_survival(const Case& c) {
  const std::vector<std::vector<TokenId>> expected = ids_of(c);
  std::int64_t n = 0;
  for (bool reached = true; reached && !testing::Test::HasFailure();) {
    SCOPED_TRACE(testing::Message() << "allocation " << ++n);
    reached = survives(c, n, expected);
  }
  EXPECT_GT(n, 20) << "steps that have never run do allocate";
}

std::unique_ptr<TreePolicy> static_tree() {
  return std::make_unique<Eagle2Policy>(Eagle2Policy::Options{3, 3, 10});
}

const SamplingOptions kSampled{.temperature = 1.0f, .seed = 3};
const SamplingOptions kFiltered{.temperature = 0.8f, .top_p = 0.95f, .repetition_penalty = 1.1f, .seed = 1};

class Exhausted : public testing::Test {
 protected:
  std::vector<std::vector<TokenId>> prompts() const {
    return {stories_.prompt("Once upon a time, there was a little girl"), stories_.prompt("The dog")};
  }
  Stories stories_;
};

TEST_F(Exhausted, PlainDecoding) {
  for (const SamplingOptions& sampling : {kSampled, kFiltered}) {
    // The first text outgrows its cache's first 256 slots.
    std::vector<std::vector<TokenId>> texts = prompts();
    while (texts[0].size() < 250) texts[0].push_back(texts[0][texts[0].size() - 8]);
    // A target of its own for every run: one whose buffers have not grown.
    expect_survival({.model = [&]() -> Model& {
                       stories_.model = Model::load(stories_.backend, stories_.checkpoint);
                       return *stories_.model;
                     },
                     .prompts = texts,
                     .sampling = sampling,
                     .speculators = [] { return std::vector<Speculator>(); }});
  }
}

TEST_F(Exhausted, DraftModels) {
  testing_support::TemporaryFolder folder;
  testing_support::write_disturbed_stories(folder.path(), 0.4f);
  const Checkpoint head = Checkpoint::open(folder.path());
  const auto load = [&] {
    return find_drafter_type("draft").load(testing_support::stories_source(stories_, &head));
  };
  for (const SamplingOptions& sampling : {kSampled, kFiltered}) {
    for (const Verification rule : {Verification::Walk, Verification::Rejection}) {
      std::shared_ptr<DrafterModel> shared;
      // The draft model is new in every run, too.
      int made = 0;
      expect_survival({.model = [&]() -> Model& { return *stories_.model; },
                       .prompts = prompts(),
                       .sampling = sampling,
                       .speculators =
                           [&] {
                             if (made++ % 2 == 0) shared = load();
                             return one(shared->make({.context = 512}), static_tree());
                           },
                       .rule = rule,
                       .tokens = 6});
    }
  }
}

TEST_F(Exhausted, SeveralDraftersUnderAuto) {
  const auto early = find_drafter_type("layerskip").load(testing_support::stories_source(stories_));
  expect_survival({.model = [&]() -> Model& { return *stories_.model; },
                   .prompts = prompts(),
                   .sampling = kSampled,
                   .speculators =
                       [&] {
                         std::vector<Speculator> both;
                         both.push_back({std::make_unique<NgramDrafter>(1, 3, 512), nullptr});
                         both.push_back({early->make({.context = 512}), nullptr});
                         return both;
                       },
                   .policy = "auto"});
}

class ExhaustedHeads : public testing::TestWithParam<const char*> {};

TEST_P(ExhaustedHeads, OfEveryKind) {
  const std::string folder = GetParam();
  const Checkpoint head = Checkpoint::open(testing_support::golden_head_path(folder));
  GoldenTarget target(WeightFormat::BF16);
  std::shared_ptr<DrafterModel> shared;
  int made = 0;
  expect_survival({.model = [&]() -> Model& { return *target.model; },
                   .prompts = {{1, 2, 3}, {4, 5}},
                   .sampling = kSampled,
                   .speculators =
                       [&] {
                         if (made++ % 2 == 0) shared = target.load(folder.substr(0, folder.find('_')), head);
                         return one(shared->make({.context = target.model->context()}), static_tree());
                       },
                   .tokens = 6});
}

INSTANTIATE_TEST_SUITE_P(Decoder, ExhaustedHeads,
                         testing::Values("eagle", "eagle3_official", "mtp_deepseek", "medusa", "hydra",
                                         "layerskip"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace augur
