#include "engine/engine_access.h"

#include <gtest/gtest.h>

#include "support/stories.h"

namespace augur {
namespace {

using testing_support::stories_path;

Request story(std::vector<std::string> types) {
  Request request;
  request.prompt = "Once upon a time";
  request.max_tokens = 40;
  request.speculation = SpeculationPlan{.drafters = std::move(types), .draft_max = 4};
  return request;
}

TEST(EngineAccess, SiblingsShareTheTargetAndWriteTheSame) {
  EngineOptions options;
  options.model = stories_path().string();
  options.threads = 1;
  Engine engine(options);
  options.draft_model = stories_path().string();
  Engine sibling = EngineAccess::sibling(engine, options);
  EXPECT_EQ(&EngineAccess::model(engine), &EngineAccess::model(sibling));

  const Result plain = engine.generate(story({"none"}));
  const Result drafted = sibling.generate(story({"draft"}));
  EXPECT_EQ(plain.tokens, drafted.tokens);
  EXPECT_GT(drafted.speculation.mean_accepted_length, 2.0);
  EXPECT_THROW(engine.generate(story({"draft"})), std::runtime_error) << "its drafters are not the sibling's";
}

TEST(EngineAccess, KnownCostsAreThoseThatWereMeasured) {
  EngineOptions options;
  options.model = stories_path().string();
  options.threads = 1;
  options.cost_cache = "none";
  Engine engine(options);
  EXPECT_TRUE(EngineAccess::known_costs(engine).verify.rows.empty());
  engine.costs();
  EXPECT_EQ(EngineAccess::known_costs(engine).verify.rows, engine.costs().verify.rows);
}

TEST(EngineAccess, SiblingOutlivesTheEngineItCameFrom) {
  EngineOptions options;
  options.model = stories_path().string();
  options.threads = 1;
  auto engine = std::make_unique<Engine>(options);
  Engine sibling = EngineAccess::sibling(*engine, options);
  engine.reset();
  EXPECT_EQ(sibling.generate(story({"ngram"})).tokens.size(), 40U);
}

TEST(EngineAccess, PrepareSeesTheSequenceOptionsAndItsRounds) {
  EngineOptions options;
  options.model = stories_path().string();
  options.draft_model = options.model;
  options.threads = 1;
  Engine engine(options);
  std::int64_t rounds = 0;
  std::size_t speculators = 0;
  const Result result =
      EngineAccess::generate(engine, story({"draft", "ngram"}), {}, [&](SequenceOptions& sequence) {
        speculators = sequence.speculation.drafters.size();
        sequence.on_step = [&](const StepTrace&) { ++rounds; };
      });
  EXPECT_EQ(speculators, 2U);
  EXPECT_EQ(rounds, result.speculation.calls);
}

/// A request with a grammar brings a drafter of its own, and is steered with the others all the same: in any
/// order of a plan's drafters, the same ones have the same turns.
TEST(EngineAccess, OneControllerHasRequestsWithGrammarsAndWithout) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  EngineOptions options;
  options.model = stories_path().string();
  options.draft_model = options.model;
  options.threads = 1;
  options.cost_cache = "none";
  Engine engine(options);
  struct Seen {
    std::shared_ptr<RoundController> controller;
    std::vector<std::pair<std::string, int>> turns;
  };
  const auto see = [&](const char* plan, bool grammar) {
    Seen seen;
    Request request = story({});
    request.max_tokens = 2;
    request.speculation = SpeculationPlan::parse(plan);
    if (grammar) request.grammar = Grammar{.kind = GrammarKind::Regex, .text = "[a-z ]+"};
    EngineAccess::generate(engine, request, {}, [&](const SequenceOptions& made) {
      seen.controller = made.speculation.steering.controller;
      for (const Speculator& s : made.speculation.drafters) seen.turns.emplace_back(s.name, s.turn);
    });
    return seen;
  };
  using Turns = std::vector<std::pair<std::string, int>>;
  const Seen free = see("draft,suffix,ngram:policy=auto", false);
  ASSERT_NE(free.controller, nullptr);
  EXPECT_EQ(free.turns, (Turns{{"ngram", 0}, {"suffix", 1}, {"draft", 3}}));
  const Seen bound = see("draft,suffix,ngram:policy=auto", true);
  EXPECT_EQ(bound.controller, free.controller);
  EXPECT_EQ(bound.turns, (Turns{{"ngram", 0}, {"suffix", 1}, {"grammar", 2}, {"draft", 3}}));
  const Seen turned = see("suffix,draft,ngram:policy=auto", false);
  EXPECT_EQ(turned.controller, free.controller);
  EXPECT_EQ(turned.turns, free.turns);
  EXPECT_EQ(see("draft,ngram:policy=eagle2", true).turns,
            (Turns{{"draft", 0}, {"ngram", 1}, {"grammar", 2}}));
}

}  // namespace
}  // namespace augur
