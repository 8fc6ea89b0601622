// Drafters of the host program: whatever they propose, texts are those of plain decoding; around a built-in
// drafter they draft what that does; what they do wrong ends their own request.
#include "augur/custom_drafter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <functional>
#include <set>
#include <thread>

#include "augur/session.h"
#include "examples/embed/bigram_drafter.h"
#include "grammar/compiler.h"
#include "support/custom_speculation.h"
#include "support/error_of.h"
#include "support/stories_engine.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::error_of;
using testing_support::expect_equal_counts;
using testing_support::expect_equal_runs;
using testing_support::generate_all;
using testing_support::speculation_requests;

/// Does what a test says.
class ScriptedDrafter final : public CustomDrafter {
 public:
  using Propose = std::function<void(const DraftRequest&, std::vector<Proposal>&)>;
  ScriptedDrafter(Propose propose, DrafterTraits traits) : propose_(std::move(propose)), traits_(traits) {}
  DrafterTraits traits() const override { return traits_; }
  void propose(const DraftRequest& request, std::vector<Proposal>& out) override { propose_(request, out); }

 private:
  Propose propose_;
  DrafterTraits traits_;
};

class CustomDrafters : public testing::Test {
 protected:
  static constexpr DrafterTraits kLevels = {.has_probabilities = false};
  static constexpr DrafterTraits kAtOnce = {.one_shot = true, .branching = true, .has_probabilities = false};

  static void SetUpTestSuite() {
    EngineOptions options = testing_support::stories_engine_options(testing_support::stories_path().string());
    options.cost_cache = "none";
    for (const char* name : {"draft", "ngram", "suffix", "layerskip"})
      options.custom_drafters.push_back(testing_support::wrapping(name));
    options.custom_drafters.push_back(
        {.name = "bigram", .make = [](DrafterSetup&) { return std::make_unique<BigramDrafter>(); }});
    options.custom_drafters.push_back({.name = "scripted",
                                       .make =
                                           [](DrafterSetup& setup) {
                                             if (on_setup_) on_setup_(setup);
                                             return std::make_unique<ScriptedDrafter>(
                                                 [](const DraftRequest& request, std::vector<Proposal>& out) {
                                                   if (script_) script_(request, out);
                                                 },
                                                 traits_);
                                           },
                                       .forget = [] { ++forgotten_; }});
    options.custom_policies.push_back(testing_support::eagle2_of_the_example());
    engine_ = testing_support::test_engine(options);
  }
  static void TearDownTestSuite() { engine_.reset(); }
  void SetUp() override {
    script_ = {};
    on_setup_ = {};
    traits_ = kLevels;
  }

  static Result one(const char* plan) {
    Request request = speculation_requests()[0];
    request.speculation = SpeculationPlan::parse(plan);
    return engine_->generate(request);
  }

  inline static std::unique_ptr<Engine> engine_;
  inline static ScriptedDrafter::Propose script_;
  inline static std::function<void(DrafterSetup&)> on_setup_;
  inline static DrafterTraits traits_;
  inline static int forgotten_ = 0;
};

TEST_F(CustomDrafters, GiveTheTextOfPlainDecoding) {
  const std::vector<Request> requests = speculation_requests();
  const std::vector<Result> plain = generate_all(*engine_, requests, "none");
  for (const char* plan :
       {"@bigram:policy=eagle2,topk=3", "@bigram:n-max=4", "@bigram", "@bigram,draft:size=12",
        "@bigram,ngram:policy=auto", "@bigram:policy=@eagle2", "draft,@bigram,@draft"}) {
    for (const int parallel : {1, 4}) {
      const std::vector<Result> drafted = generate_all(*engine_, requests, plan, parallel);
      for (std::size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(drafted[i].error, "");
        EXPECT_EQ(drafted[i].tokens, plain[i].tokens) << plan;
      }
    }
  }
  const Result result = one("@bigram:policy=eagle2");
  EXPECT_GT(result.speculation.accepted_tokens, 0);
  EXPECT_EQ(result.speculation.type, "@bigram");
}

/// The built-in one's counts, in all of which its acceptance is.
TEST_F(CustomDrafters, DraftWhatTheBuiltInOneDoesAroundIt) {
  const std::vector<Request> requests = speculation_requests();
  for (const char* name : {"draft", "ngram", "layerskip"}) {
    for (const char* shape : {":policy=eagle2,topk=3,size=10", ":n-max=5,policy=chain",
                              ":verify=rejection,n-max=3", ":policy=eagle2,coupling=0"}) {
      engine_->forget();
      const std::vector<Result> own = generate_all(*engine_, requests, name + std::string(shape));
      engine_->forget();
      const std::vector<Result> around =
          generate_all(*engine_, requests, "@" + (name + std::string(shape)), 3);
      expect_equal_runs(around, own, name + std::string(shape));
    }
  }
}

TEST_F(CustomDrafters, KeepToGrammars) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  for (Request request : speculation_requests()) {
    request.grammar = Grammar{.kind = GrammarKind::Regex, .text = "[a-z ]{20,40}\\.", .field = {}};
    const auto with = [&](const char* plan) {
      request.speculation = SpeculationPlan::parse(plan);
      return engine_->generate(request);
    };
    const Result plain = with("none");
    for (const char* plan : {"@bigram:policy=eagle2", "@draft:policy=eagle2", "@ngram,@bigram"})
      EXPECT_EQ(with(plan).tokens, plain.tokens) << plan;
    expect_equal_counts(with("@draft:policy=eagle2").speculation, with("draft:policy=eagle2").speculation);
  }
}

/// Many at once, with memory for few of them, and again from kept texts, whose rows a built-in drafter has.
TEST_F(CustomDrafters, GoOnInSessionsAsBefore) {
  std::vector<Request> requests = speculation_requests(100);
  const std::vector<Result> plain = generate_all(*engine_, requests, "none");
  constexpr std::int64_t kMemory = 24 * 40960;  // for about two requests
  for (const char* plan :
       {"@bigram:policy=eagle2", "@draft:policy=eagle2,size=8", "@suffix", "@draft,@ngram:policy=auto"}) {
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
          if (repeat == 1 && memory == 0) {
            EXPECT_GT(result.cached_tokens, 0);
          }
        }
      }
    }
  }
}

/// What it is told adds up to the text, and what was drafted of it to what was accepted.
TEST_F(CustomDrafters, AreToldTheText) {
  struct Told {
    std::vector<TokenId> text;
    std::int64_t drafted = 0;
    int resets = 0;
  };
  class Listener final : public CustomDrafter {
   public:
    explicit Listener(Told& told) : told_(told) {}
    void reset() override {
      told_.text.clear();
      ++told_.resets;
    }
    void accepted(std::span<const TokenId> tokens, int drafted) override {
      told_.text.insert(told_.text.end(), tokens.begin(), tokens.end());
      told_.drafted += drafted;
      EXPECT_LT(drafted, std::ssize(tokens));
    }
    void propose(const DraftRequest& request, std::vector<Proposal>& out) override {
      EXPECT_TRUE(std::equal(told_.text.begin(), told_.text.end(), request.text.begin(), request.text.end()));
      EXPECT_EQ(request.tokens.front(), request.text.back());
      for (const std::int32_t node : request.frontier)
        out.push_back({.parent = node, .token = 300, .log_prob = -3});
    }

   private:
    Told& told_;
  };
  Told told;
  EngineOptions options = testing_support::stories_engine_options(testing_support::stories_path().string());
  options.cost_cache = "none";
  options.custom_drafters.push_back(
      {.name = "listener", .make = [&](DrafterSetup&) { return std::make_unique<Listener>(told); }});
  Engine engine(options);
  Request request = speculation_requests()[0];
  for (int i = 0; i < 26; ++i) request.prompt += " Once upon a time there was a dog.";  // more than one pass
  for (const char* plan : {"@listener:policy=eagle2", "@listener,draft:policy=eagle2"}) {
    told = {};
    request.speculation = SpeculationPlan::parse(plan);
    const Result result = engine.generate(request);
    std::vector<TokenId> text = engine.prompt_tokens(request);
    EXPECT_GT(text.size(), 256u);
    text.insert(text.end(), result.tokens.begin(), result.tokens.end());
    EXPECT_EQ(told.text, text);
    EXPECT_EQ(told.drafted, result.speculation.accepted_tokens);
    EXPECT_EQ(told.resets, 1);
  }
}

TEST_F(CustomDrafters, DraftWholeTreesAtOnce) {
  traits_ = kAtOnce;
  const std::vector<TokenId> written = one("none").tokens;
  const std::size_t prompt = engine_->prompt_tokens(speculation_requests()[0]).size();
  script_ = [&](const DraftRequest& request, std::vector<Proposal>& out) {
    ASSERT_EQ(request.frontier.size(), 1u);
    EXPECT_EQ(request.tokens.size(), 1u);
    // A wrong branch, likelier; then the right one.
    out.push_back({.parent = 0, .token = 400, .log_prob = -0.5f});
    out.push_back({.parent = 1, .token = 401, .log_prob = -0.5f});
    std::int32_t parent = 0;
    for (std::size_t i = request.text.size() - prompt;
         i < written.size() && std::ssize(out) < request.most_nodes; ++i) {
      out.push_back({.parent = parent, .token = written[i], .log_prob = -0.1f});
      parent = static_cast<std::int32_t>(out.size());
    }
  };
  const Result result = one("@scripted:policy=eagle2,size=10");
  EXPECT_EQ(result.tokens, written);
  EXPECT_GT(result.speculation.mean_accepted_length, 6);
}

TEST_F(CustomDrafters, WhatTheyDoWrongEndsTheirRequest) {
  struct Case {
    ScriptedDrafter::Propose propose;
    const char* message;
    DrafterTraits traits = kLevels;
  };
  const auto proposes = [](std::vector<Proposal> some) -> ScriptedDrafter::Propose {
    return [some = std::move(some)](const DraftRequest&, std::vector<Proposal>& out) { out = some; };
  };
  const Case cases[] = {
      {proposes({{0, 512, 0}}), "proposal 0: token 512 is outside the vocabulary of 512"},
      {proposes({{0, 3, -1}, {0, -1, -1}}), "proposal 1: token -1 is outside the vocabulary"},
      {proposes({{0, 3, std::nanf("")}}), "is no logarithm of a probability"},
      {proposes({{0, 3, 0.5f}}), "0.5 is no logarithm of a probability"},
      {proposes({{0, 3, -INFINITY}}), "-inf is no logarithm of a probability"},
      {proposes({{7, 3, -1}}), "its parent 7 is no node of the frontier"},
      {proposes({{0, 3, -1}, {1, 4, -1}}), "its parent 1 is no node of the frontier"},
      {proposes({{0, 3, -1}, {-1, 4, -1}}),
       "its parent -1 is no node of the frontier and no earlier proposal", kAtOnce},
      {proposes({{1, 3, -1}}), "its parent 1 is no node of the frontier and no earlier proposal", kAtOnce},
      {proposes({{2, 3, -1}, {1, 3, -1}}), "its parent 2 is no node of the frontier and no earlier", kAtOnce},
      {proposes({{0, 3, -1}, {0, 4, -1}, {0, 5, -1}, {0, 6, -1}}),
       "4 tokens were proposed where at most 3 were asked for"},
      {proposes({{0, 3, -1}, {1, 4, -1}, {1, 5, -1}}),
       "node 1 has more children than the 1 asked for",
       {.one_shot = true, .has_probabilities = false}},
      {proposes({{0, 3, -1}, {1, 4, -1}}),
       "it is deeper than its max_depth of 1",
       {.one_shot = true, .branching = true, .has_probabilities = false, .max_depth = 1}},
      {[](const DraftRequest&, std::vector<Proposal>&) { throw std::runtime_error("no idea"); }, "no idea"},
  };
  for (const Case& wrong : cases) {
    SCOPED_TRACE(wrong.message);
    traits_ = wrong.traits;
    int rounds = 0;
    script_ = [&](const DraftRequest& request, std::vector<Proposal>& out) {
      if (request.frontier.front() == 0 && ++rounds < 3) return;  // it begins well
      wrong.propose(request, out);
    };
    testing_support::expect_to_fail_alone(*engine_, "@scripted:policy=eagle2,topk=3", "drafter @scripted",
                                          wrong.message);
  }
}

/// Only a built-in drafter can draw what rejection sampling needs.
TEST_F(CustomDrafters, WithProbabilitiesLeaveAllToTheBuiltIn) {
  traits_ = {};
  script_ = [](const DraftRequest&, std::vector<Proposal>& out) { out.push_back({0, 3, -1}); };
  Request request = speculation_requests()[1];
  request.speculation = SpeculationPlan::parse("@scripted:verify=rejection,n-max=3");
  EXPECT_THAT(error_of([&] { engine_->generate(request); }), HasSubstr("only its built-in drafter can draw"));
}

TEST_F(CustomDrafters, HaveOneBuiltInAndUseItByItsRules) {
  BuiltInDrafter* inner = nullptr;
  on_setup_ = [&](DrafterSetup& setup) { inner = &setup.built_in("draft"); };
  const auto refused = [&](ScriptedDrafter::Propose propose) {
    script_ = std::move(propose);
    return error_of([] { one("@scripted:policy=eagle2,topk=3"); });
  };
  const std::int32_t root[] = {0};
  const std::int32_t same[] = {0, 0};
  const std::int32_t foreign[] = {3};
  EXPECT_THAT(refused([&](const DraftRequest&, std::vector<Proposal>&) {
                inner->draft(root);
                inner->draft(root);
              }),
              HasSubstr("called twice in one propose()"));
  EXPECT_THAT(refused([&](const DraftRequest&, std::vector<Proposal>&) { inner->draft(same); }),
              HasSubstr("node 0 was given to the built-in drafter twice"));
  EXPECT_THAT(refused([&](const DraftRequest&, std::vector<Proposal>&) { inner->draft(foreign); }),
              HasSubstr("node 3 is not of the frontier"));
  EXPECT_THAT(refused([&](const DraftRequest&, std::vector<Proposal>& out) {
                inner->draft(root);
                out.push_back({0, 3, -1});
              }),
              HasSubstr("where at most 3 were asked for"));
  EXPECT_THAT(refused([&](const DraftRequest& request, std::vector<Proposal>& out) {
                if (request.frontier.front() == 0) {
                  out.push_back({0, 3, -1});
                } else {
                  inner->draft(request.frontier);
                }
              }),
              HasSubstr("node 1 was not added by its built-in drafter"));
  // Some nodes it leaves to the built-in one, for others it proposes.
  const std::vector<TokenId> plain = one("none").tokens;
  script_ = [&](const DraftRequest& request, std::vector<Proposal>& out) {
    if (request.frontier.front() == 0) return inner->draft(root);
    inner->draft(request.frontier.first(1));
    for (const std::int32_t node : request.frontier.subspan(1)) out.push_back({node, 300, -1});
  };
  const Result mixed = one("@scripted:policy=eagle2,topk=3,depth=2");
  EXPECT_EQ(mixed.tokens, plain);
  EXPECT_GT(mixed.speculation.accepted_tokens, 20);

  script_ = {};
  on_setup_ = [](DrafterSetup& setup) { setup.built_in("eagle3"); };
  EXPECT_THAT(error_of([] { one("@scripted"); }),
              HasSubstr("drafter @scripted: there is no drafter 'eagle3' in this engine"));
  on_setup_ = [](DrafterSetup& setup) {
    setup.built_in("draft");
    setup.built_in("ngram");
  };
  EXPECT_THAT(error_of([] { one("@scripted"); }), HasSubstr("expected at most one"));
  on_setup_ = [](DrafterSetup& setup) { setup.built_in("ngram"); };
  EXPECT_THAT(error_of([] { one("@scripted"); }), HasSubstr("one_shot if its built-in drafter is"));
}

TEST_F(CustomDrafters, HaveSettingsAndForget) {
  std::map<std::string, std::string> settings;
  on_setup_ = [&](DrafterSetup& setup) {
    settings = setup.settings;
    EXPECT_EQ(setup.vocab, 512);
    EXPECT_GT(setup.context, 60);
  };
  one("@scripted:policy=eagle2,drafter=@scripted.depth=3;@bigram.x=1;@scripted.name=a b");
  EXPECT_EQ(settings, (std::map<std::string, std::string>{{"depth", "3"}, {"name", "a b"}}));
  const int before = forgotten_;
  engine_->forget();
  EXPECT_EQ(forgotten_, before + 1);
}

TEST_F(CustomDrafters, AreCalledOnTheDecodingThreadInTheHostsEnvironment) {
  std::set<std::thread::id> threads;
  std::set<int> modes;
  script_ = [&](const DraftRequest&, std::vector<Proposal>& out) {
    threads.insert(std::this_thread::get_id());
    modes.insert(std::fegetround());
    out.push_back({0, 3, -1});
  };
  std::fesetround(FE_UPWARD);
  one("@scripted:n-max=1");
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(modes, std::set{FE_UPWARD});
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST(CustomDrafterNames, AreCheckedBeforeAModelIsRead) {
  EngineOptions options = testing_support::stories_engine_options();
  const auto make = [](DrafterSetup&) { return std::make_unique<BigramDrafter>(); };
  options.custom_drafters = {{.name = "my drafter", .make = make}};
  EXPECT_THAT(error_of([&] { Engine{options}; }), HasSubstr("letters, digits"));
  options.custom_drafters = {{.name = "a", .make = make}, {.name = "a", .make = make}};
  EXPECT_THAT(error_of([&] { Engine{options}; }), HasSubstr("there are two of this name"));
  options.custom_drafters = {{.name = "a"}};
  EXPECT_THAT(error_of([&] { Engine{options}; }), HasSubstr("makes none"));
  options.custom_drafters = {{.name = "a", .make = make}};
  options.draft_models = {{.name = "a", .path = testing_support::stories_path().string()}};
  EXPECT_THAT(error_of([&] { Engine{options}; }), HasSubstr("there are two of this name"));
  options.draft_models.clear();
  options.speculation = SpeculationPlan::parse("@b:n-max=3");
  EXPECT_THAT(error_of([&] { Engine{options}; }), HasSubstr("those that there are: @a"));
}

}  // namespace
}  // namespace augur
