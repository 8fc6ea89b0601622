// Policies of the host program: the engine's own tree, asked for from outside, has the same counts; whatever
// they ask for, texts are those of plain decoding; what cannot be ends their own request.
#include "augur/custom_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "augur/session.h"
#include "grammar/compiler.h"
#include "support/custom_speculation.h"
#include "support/error_of.h"
#include "support/stories_engine.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;
using testing_support::expect_equal_runs;
using testing_support::generate_all;
using testing_support::speculation_requests;

/// Does what a test says; by itself it asks for a chain of two tokens.
struct PolicyScript {
  std::function<void(const PolicyRound&)> begin;
  std::function<int(const DraftedTree&, std::vector<std::int32_t>&)> grow =
      [](const DraftedTree& tree, std::vector<std::int32_t>& nodes) {
        if (tree.tokens.size() < 3) nodes.push_back(static_cast<std::int32_t>(tree.tokens.size()) - 1);
        return 1;
      };
  std::function<void(const DraftedTree&, std::vector<std::int32_t>&)> keep;
  std::function<void(const VerifiedRound&)> observe;
  bool entropies = false;
};

class ScriptedPolicy final : public CustomPolicy {
 public:
  explicit ScriptedPolicy(const PolicyScript& script) : script_(script) {}
  bool wants_entropies() const override { return script_.entropies; }
  void begin(const PolicyRound& round) override {
    if (script_.begin) script_.begin(round);
  }
  int grow(const DraftedTree& tree, std::vector<std::int32_t>& nodes) override {
    return script_.grow(tree, nodes);
  }
  void keep(const DraftedTree& tree, std::vector<std::int32_t>& nodes) override {
    if (script_.keep) script_.keep(tree, nodes);
  }
  void observe(const VerifiedRound& round) override {
    if (script_.observe) script_.observe(round);
  }

 private:
  const PolicyScript& script_;
};

class CustomPolicies : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    EngineOptions options = testing_support::stories_engine_options(testing_support::stories_path().string());
    options.cost_cache = "none";
    options.custom_policies = {testing_support::eagle2_of_the_example()};
    for (const bool costs : {false, true}) {
      options.custom_policies.push_back({.name = costs ? "costly" : "scripted",
                                         .make =
                                             [](const PolicySetup& setup) {
                                               setup_ = setup;
                                               return std::make_unique<ScriptedPolicy>(script_);
                                             },
                                         .most_nodes = 8,
                                         .most_expanded = 6,
                                         .needs_costs = costs,
                                         .forget = [] { ++forgotten_; }});
    }
    engine_ = testing_support::test_engine(options);
  }
  static void TearDownTestSuite() { engine_.reset(); }
  void SetUp() override { script_ = {}; }

  static Result one(const char* plan, std::size_t request_index = 0) {
    Request request = speculation_requests()[request_index];
    request.speculation = SpeculationPlan::parse(plan);
    return engine_->generate(request);
  }

  inline static std::unique_ptr<Engine> engine_;
  inline static PolicyScript script_;
  inline static PolicySetup setup_;
  inline static int forgotten_ = 0;
};

TEST_F(CustomPolicies, Eagle2FromOutsideIsEagle2) {
  const std::vector<Request> requests = speculation_requests();
  const std::vector<Result> plain = generate_all(*engine_, requests, "none");
  for (const char* drafters : {"draft", "ngram", "layerskip"}) {
    for (const char* more : {"", ",coupling=0", ",verify=rejection"}) {
      const std::string rest = std::string(";depth=3;size=12") + more;
      const std::vector<Result> own = generate_all(
          *engine_, requests, std::string(drafters) + ":policy=eagle2,topk=3,depth=3,size=12" + more);
      for (const int parallel : {1, 4}) {
        const std::vector<Result> outside = generate_all(
            *engine_, requests, std::string(drafters) + ":policy=@eagle2:topk=3" + rest, parallel);
        expect_equal_runs(outside, own, drafters + rest);
        for (std::size_t i = 0; i < requests.size() && std::string(more) != ",verify=rejection"; ++i)
          EXPECT_EQ(outside[i].tokens, plain[i].tokens) << drafters + rest << ", request " << i;
      }
    }
  }
}

TEST_F(CustomPolicies, Eagle2FromOutsideKeepsToGrammars) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  for (Request request : speculation_requests()) {
    request.grammar = Grammar{.kind = GrammarKind::Regex, .text = "[a-z ]{20,40}\\. The end", .field = {}};
    const auto with = [&](const char* plan) {
      request.speculation = SpeculationPlan::parse(plan);
      return engine_->generate(request);
    };
    const Result plain = with("none");
    const Result own = with("draft:policy=eagle2,size=12");
    const Result outside = with("draft:policy=@eagle2:size=12");
    EXPECT_EQ(outside.tokens, plain.tokens);
    EXPECT_EQ(own.tokens, plain.tokens);
    EXPECT_EQ(outside.speculation.mean_accepted_length, own.speculation.mean_accepted_length);
  }
}

TEST_F(CustomPolicies, GoOnInSessionsAsBefore) {
  std::vector<Request> requests = speculation_requests(100);
  const std::vector<Result> plain = generate_all(*engine_, requests, "none");
  constexpr std::int64_t kMemory = 24 * 40960;  // for about two requests
  for (const char* plan : {"draft:policy=@eagle2", "draft,ngram:policy=@eagle2", "suffix:policy=@scripted"}) {
    SCOPED_TRACE(plan);
    for (Request& request : requests) request.speculation = SpeculationPlan::parse(plan);
    const std::vector<Result> suspended = testing_support::generate_suspended(*engine_, requests);
    for (std::size_t i = 0; i < suspended.size(); ++i) EXPECT_EQ(suspended[i].tokens, plain[i].tokens) << i;
    for (const std::int64_t memory : {std::int64_t{0}, kMemory}) {
      Session session(*engine_, {.parallel = 6, .memory = memory, .cache_bytes = kMemory});
      for (int repeat = 0; repeat < 2; ++repeat) {
        std::vector<Ticket> tickets;
        for (const Request& request : requests) tickets.push_back(session.submit(request));
        for (std::size_t i = 0; i < requests.size(); ++i) {
          const Result result = tickets[i].wait();
          EXPECT_EQ(result.error, "");
          EXPECT_EQ(result.tokens, plain[i].tokens) << i;
        }
      }
    }
  }
}

TEST_F(CustomPolicies, SeeTreesCostsAndWhatCameOfThem) {
  int rounds = 0;
  std::int64_t accepted = 0;
  script_.entropies = true;
  script_.begin = [&](const PolicyRound& round) {
    EXPECT_GT(round.room, 0);
    EXPECT_GT(round.context, 0);
    EXPECT_GE(round.max_depth, round.levels);
    EXPECT_FALSE(round.drafter.one_shot);
    EXPECT_GT(round.costs->verify_ms(1), 0);
    EXPECT_GE(round.costs->verify_ms(64), round.costs->verify_ms(1));
    EXPECT_GT(round.costs->draft_ms(0, round.behind), 0);
    EXPECT_GT(round.costs->draft_ms(1, 4), 0);
    EXPECT_GE(round.costs->other_ms(), 0);
  };
  script_.keep = [&](const DraftedTree& tree, std::vector<std::int32_t>& nodes) {
    ASSERT_EQ(nodes.size(), tree.tokens.size());
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      const auto parent = static_cast<std::size_t>(tree.parents[i]);
      EXPECT_EQ(tree.depths[i], tree.depths[parent] + 1);
      EXPECT_EQ(tree.scores[i], tree.scores[parent] + tree.log_probs[i]);
      EXPECT_EQ(tree.proposers[i], 1);
      EXPECT_FALSE(std::isnan(tree.entropies[parent]));
    }
    EXPECT_EQ(tree.proposers[0], 0);
    EXPECT_FALSE(tree.drawn);
    std::reverse(nodes.begin(), nodes.end());  // in any order
  };
  script_.observe = [&](const VerifiedRound& round) {
    ++rounds;
    accepted += std::ssize(round.accepted) - 1;
    EXPECT_EQ(round.accepted.front(), 0);
    EXPECT_GE(round.next, 0);
    EXPECT_GT(round.draft_ms + round.verify_ms + round.other_ms, 0);
  };
  const Result result = one("draft:policy=@costly:a=1;b=x");
  EXPECT_EQ(rounds, result.speculation.calls);
  EXPECT_EQ(accepted, result.speculation.accepted_tokens);
  EXPECT_GT(accepted, 0);
  EXPECT_EQ(setup_.drafter, "draft");
  EXPECT_TRUE(setup_.traits.has_probabilities);
  EXPECT_EQ(setup_.settings, (std::map<std::string, std::string>{{"a", "1"}, {"b", "x"}}));
  const int before = forgotten_;
  engine_->forget();
  EXPECT_GT(forgotten_, before);
}

TEST_F(CustomPolicies, WhatCannotBeEndsTheirRequest) {
  using Grow = std::function<int(const DraftedTree&, std::vector<std::int32_t>&)>;
  using Keep = std::function<void(const DraftedTree&, std::vector<std::int32_t>&)>;
  struct Case {
    Grow grow;
    Keep keep;
    const char* message;
  };
  const auto grows = [](std::vector<std::int32_t> first, std::vector<std::int32_t> then,
                        int children) -> Grow {
    return [=](const DraftedTree& tree, std::vector<std::int32_t>& nodes) {
      nodes = tree.tokens.size() == 1 ? first : then;
      return children;
    };
  };
  const auto keeps = [](std::vector<std::int32_t> some) -> Keep {
    return [=](const DraftedTree&, std::vector<std::int32_t>& nodes) { nodes = some; };
  };
  const Grow usual = script_.grow;
  const Case cases[] = {
      {grows({1}, {}, 2), {}, "the first node to grow is the root"},
      {grows({0, 0}, {}, 2), {}, "the first node to grow is the root"},
      {grows({0}, {}, 0), {}, "0 children for each node"},
      {grows({0}, {0}, 2), {}, "node 0 is to grow twice in a round"},
      {grows({0}, {1, 1}, 2), {}, "node 1 is to grow twice in a round"},
      {grows({0}, {9}, 2), {}, "node 9 is to grow in a tree of 3"},
      {grows({0}, {-1}, 2), {}, "node -1 is to grow in a tree of 3"},
      {grows({0}, {1, 2, 3, 4, 5, 6}, 7),
       {},
       "7 nodes are to grow in a round: expected at most most_expanded, 6"},
      {grows({0}, {}, 1 << 21), {}, "2097152 children for each of 1 nodes"},
      {grows({0}, {}, 20), {}, "20 nodes are to be kept besides the root: expected at most most_nodes, 8"},
      {usual, keeps({}), "the nodes to keep are the root"},
      {usual, keeps({1, 2}), "the nodes to keep are the root"},
      {usual, keeps({0, 7}), "the nodes to keep are the root"},
      {usual, keeps({0, 2}), "node 2 is to be kept without its parent, 1"},
      {[](const DraftedTree&, std::vector<std::int32_t>&) -> int { throw std::runtime_error("no idea"); },
       {},
       "no idea"},
  };
  for (const Case& wrong : cases) {
    SCOPED_TRACE(wrong.message);
    int rounds = 0;
    script_.begin = [&](const PolicyRound&) { ++rounds; };
    script_.grow = [&](const DraftedTree& tree, std::vector<std::int32_t>& nodes) {
      return rounds < 3 ? 0 : wrong.grow(tree, nodes);
    };
    script_.keep = [&](const DraftedTree& tree, std::vector<std::int32_t>& nodes) {
      if (rounds >= 3 && wrong.keep) wrong.keep(tree, nodes);
    };
    testing_support::expect_to_fail_alone(*engine_, "draft:policy=@scripted", "policy @scripted",
                                          wrong.message);
  }
}

TEST_F(CustomPolicies, ReadSettingsAndNoLimits) {
  EXPECT_THAT(error_of([] { one("draft:policy=@scripted,topk=3"); }),
              HasSubstr("topk: policy @scripted does not read it"));
  EXPECT_THAT(
      error_of([] { one("draft:policy=@other"); }),
      HasSubstr("unknown speculation policy '@other'; of the program's own there are: @costly, @eagle2"));
  const SpeculationPlan plan = SpeculationPlan::parse("draft:policy=@my.own:a=1");
  EXPECT_EQ(plan.policy.name, "@my.own");
  EXPECT_EQ(SpeculationPlan::parse(to_string(plan)), plan);
  EngineOptions options = testing_support::stories_engine_options();
  options.custom_policies = {{.name = "a"}};
  EXPECT_THAT(error_of([&] { Engine{options}; }), HasSubstr("makes none"));
}

}  // namespace
}  // namespace augur
