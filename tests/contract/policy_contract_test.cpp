// Every registered policy keeps what src/policy/policy.h and src/policy/registry.h promise of it beside the
// tokens: how large its trees get, what it drops of drawn candidates, that it forgets. By the real round,
// with drafters of every kind that have no model, and a target that accepts by the toss of a coin.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "contract/drawn_drafter.h"
#include "decode/round.h"
#include "support/generation.h"
#include "support/policy_forms.h"
#include "support/policy_plan.h"
#include "support/random_parts.h"
#include "support/stories.h"

namespace augur {
namespace {

using testing_support::DrawnDrafter;
using testing_support::HandClock;
using testing_support::Path;
using testing_support::path_of;
using testing_support::Redraw;

/// A drafter, by the type whose costs it has.
struct Kind {
  std::string_view name;
  DrafterTraits traits;
};
const Kind kLevels{"draft", {}};
const Kind kGuesses{"recycling", {.has_probabilities = false}};
const Kind kBranch{"ngram", {.one_shot = true, .has_probabilities = false}};
const Kind kTree{"suffix", {.one_shot = true, .branching = true, .has_probabilities = false}};

/// Rounds of a batch that one policy steers.
class PolicyRounds {
 public:
  /// Error where the policy has no meaning for the drafters. `hidden`: the width of their states.
  PolicyRounds(PolicyModel& policy, std::vector<Kind> kinds, bool sampled, std::size_t hidden,
               std::size_t sequences = 1)
      : drafts_(sequences) {
    testing_support::cheap_drafts(costs_);
    for (SequenceDraft& draft : drafts_) {
      for (const Kind& kind : kinds) {
        auto drafter = std::make_unique<DrawnDrafter>(kind.name, kind.traits, clock_, hidden);
        drafters_.push_back(drafter.get());
        draft.speculation.drafters.push_back({.drafter = std::move(drafter)});
      }
      draft.speculation.steer_by(policy);
      draft.sampled = sampled;
      draft.vocab = DrawnDrafter::kVocab;
      draft.info = {.context = 10, .room = 512, .max_depth = 100};
    }
    roots_.assign(sequences, 0);
  }

  DrawnDrafter& drafter() { return *drafters_.front(); }
  const std::vector<DrawnDrafter*>& drafters() const { return drafters_; }
  const std::vector<SequenceDraft>& drafts() const { return drafts_; }

  void draft() {
    for (DrawnDrafter* drafter : drafters_) drafter->begin_round();
    std::vector<SequenceDraft*> batch;
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      drafts_[i].tokens = {&roots_[i], 1};
      batch.push_back(&drafts_[i]);
    }
    round_.draft(batch);
    for (const SequenceDraft& draft : drafts_) {
      if (draft.failure) std::rethrow_exception(draft.failure);
    }
  }

  /// Accepts first children, each with probability 3/4.
  void observe() {
    std::vector<SequenceDraft*> batch;
    std::vector<std::vector<std::int32_t>> paths;
    std::vector<StepTrace> traces;
    for (SequenceDraft& draft : drafts_) {
      std::vector<std::int32_t>& path = paths.emplace_back(1, DraftTree::kRoot);
      while (random_() % 4 > 0 && draft.tree.first_child(path.back()) >= 0) {
        path.push_back(draft.tree.first_child(path.back()));
      }
      StepTrace& trace = traces.emplace_back();
      trace.next = DrawnDrafter::kVocab - 1;
      trace.drafted = draft.drafted;
      trace.batch_rows = draft.tree.size();
      trace.draft_ms = trace.other_ms = 1e-3;
      trace.verify_ms = trace.step_ms = 0.02;
      trace.tree = &draft.tree;
      trace.context = draft.info.context;
      trace.forecast = draft.forecast;
      batch.push_back(&draft);
    }
    for (std::size_t i = 0; i < traces.size(); ++i) traces[i].path = paths[i];
    clock_.pass(0.02);
    round_.observe(batch, traces);
    for (std::size_t i = 0; i < traces.size(); ++i) drafts_[i].info.context += std::ssize(paths[i]);
  }

 private:
  HandClock clock_;
  CostModel costs_;
  Round round_{costs_, clock_};
  std::vector<SequenceDraft> drafts_;
  std::vector<DrawnDrafter*> drafters_;  ///< of all sequences
  std::vector<TokenId> roots_;
  std::mt19937 random_{5};
};

class PolicyContract : public testing::TestWithParam<std::string> {
 protected:
  PolicyContract() { testing_support::write_random_parts(parts_.path(), hidden()); }

  std::int64_t hidden() const { return stories_.model->config().hidden; }
  std::unique_ptr<PolicyModel> load(const std::string& form) {
    return load_policy(testing_support::policy_plan(form), stories_.model.get(), parts_.path());
  }
  /// None: the policy has no meaning for the drafters.
  std::unique_ptr<PolicyRounds> rounds(PolicyModel& policy, const std::vector<Kind>& kinds,
                                       bool sampled = false, std::size_t sequences = 1) {
    try {
      return std::make_unique<PolicyRounds>(policy, kinds, sampled, static_cast<std::size_t>(hidden()),
                                            sequences);
    } catch (const Error&) {
      return nullptr;
    }
  }

  testing_support::Stories stories_;
  testing_support::TemporaryFolder parts_;
};

std::int32_t nodes(const SequenceDraft& draft) {
  return draft.tree.size() - 1;
}

TEST_P(PolicyContract, TreesAreNoLargerThanItsBounds) {
  constexpr int kRounds = 12;
  std::int64_t seen = 0;
  for (const std::string& form : testing_support::policy_forms(GetParam())) {
    for (const Kind& kind : {kLevels, kGuesses, kBranch, kTree}) {
      for (const bool sampled : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, drafter like {}{}", form, kind.name, sampled ? ", drawn" : ""));
        const auto policy = load(form);
        const TreeBounds bounds = policy->bounds();
        const auto texts = rounds(*policy, {kind}, sampled, 3);
        for (int round = 0; texts && round < kRounds; ++round) {
          texts->draft();
          std::int64_t batch = 0;
          for (const SequenceDraft& draft : texts->drafts()) {
            ASSERT_LE(nodes(draft), bounds.nodes.count);
            batch += nodes(draft);
          }
          for (const DrawnDrafter* drafter : texts->drafters()) {
            if (!sampled || !kind.traits.has_probabilities) continue;
            ASSERT_LE(drafter->expanded(), bounds.expanded.count);
          }
          if (bounds.batch > 0) {
            ASSERT_LE(batch, bounds.batch);
          }
          seen += batch;
          texts->observe();
        }
      }
    }
  }
  EXPECT_GT(seen, 0);
}

/// What a user allows a tree is what all drafters together get.
TEST_P(PolicyContract, TreesOfSeveralDraftersAreAsLargeAsOnesOfOne) {
  const PlanKey& size = key_of(&SpeculationPlan::tree_size);
  for (const std::string& form : testing_support::policy_forms(GetParam())) {
    if (!reads(testing_support::policy_plan(form).policy, size)) continue;
    SCOPED_TRACE(form);
    const auto policy = load(form);
    ASSERT_GT(policy->merged_nodes(), 0);
    ASSERT_LE(policy->merged_nodes(), policy->bounds().nodes.count);
    const auto texts = rounds(*policy, {kLevels, kTree, kGuesses});
    for (int round = 0; round < 12; ++round) {
      texts->draft();
      ASSERT_LE(nodes(texts->drafts().front()), policy->merged_nodes());
      texts->observe();
    }
  }
}

/// The draws of the first rounds, in order, and which of their nodes are verified.
struct Kept {
  std::vector<DrawnDrafter::Draw> draws;
  std::vector<bool> kept;
};

Kept kept_of_draws(PolicyRounds& texts, int rounds) {
  Kept out;
  for (int round = 0; round < rounds; ++round) {
    texts.draft();
    const DraftTree& verified = texts.drafts().front().tree;
    const DraftTree drafted = texts.drafter().drafted();
    std::vector<Path> paths;
    for (std::int32_t node = 1; node < verified.size(); ++node) paths.push_back(path_of(verified, node));
    std::sort(paths.begin(), paths.end());
    for (std::int32_t node = 1; node < drafted.size(); ++node) {
      out.kept.push_back(std::binary_search(paths.begin(), paths.end(), path_of(drafted, node)));
    }
    const auto& draws = texts.drafter().draws();
    out.draws.insert(out.draws.end(), draws.begin(), draws.end());
    texts.observe();
  }
  return out;
}

/// Were a candidate another one, the same would be verified of it and of all that were drawn before:
/// rejection sampling relies on it.
TEST_P(PolicyContract, KeepsDrawnCandidatesWhateverTheyAre) {
  constexpr int kRounds = 3;
  constexpr std::size_t kRedraws = 120;
  std::size_t compared = 0;
  for (const std::string& form : testing_support::policy_forms(GetParam())) {
    SCOPED_TRACE(form);
    const auto run = [&](const std::optional<Redraw>& redraw) {
      const auto policy = load(form);
      const auto texts = rounds(*policy, {kLevels}, true);
      texts->drafter().redraw = redraw;
      return kept_of_draws(*texts, kRounds);
    };
    const Kept first = run({});
    const std::size_t step = 1 + first.draws.size() / kRedraws;
    for (std::size_t i = 0; i < first.draws.size(); i += step) {
      if (!first.draws[i].has_others) continue;
      const Kept other = run(first.draws[i].place);
      ASSERT_GT(other.draws.size(), i);
      ASSERT_TRUE(std::equal(first.kept.begin(), first.kept.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                             other.kept.begin()))
          << "draw " << i << " of " << first.draws.size();
      ++compared;
    }
  }
  EXPECT_GT(compared, 10u);
}

/// What texts have taught it changes what later ones draft, until it is to be forgotten.
TEST_P(PolicyContract, DraftsAsTheFirstTimeOnceItForgets) {
  for (const std::string& form : testing_support::policy_forms(GetParam())) {
    SCOPED_TRACE(form);
    const auto policy = load(form);
    const auto drafted = [&] {
      std::vector<int> sizes;
      for (int text = 0; text < 4; ++text) {
        const auto texts = rounds(*policy, {kLevels});
        for (int round = 0; round < 12; ++round) {
          texts->draft();
          sizes.push_back(texts->drafts().front().drafted);
          sizes.push_back(nodes(texts->drafts().front()));
          texts->observe();
        }
      }
      return sizes;
    };
    const std::vector<int> first = drafted();
    drafted();
    policy->forget_learnt();
    EXPECT_EQ(drafted(), first);
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, PolicyContract, testing::ValuesIn(testing_support::policy_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace augur
