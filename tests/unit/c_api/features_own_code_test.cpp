// A program's own part in decoding in C and in C++: the same.
#include <augur/custom_drafter.h>
#include <augur/custom_policy.h>

#include <array>
#include <cmath>
#include <limits>

#include "features_in_cpp.h"

namespace {

using namespace augur;
using namespace augur::testing_support;

/// Greedy and sampled, by each plan, of which the first is "none": ids, text, and what drafting did. Plans
/// change no text.
void add_drafted(Outcome& out, Engine& engine, Request request, const std::vector<const char*>& plans) {
  std::array<std::vector<TokenId>, 2> plain;
  std::int64_t accepted = 0;
  for (std::size_t i = 0; i < 2 * plans.size(); ++i) {
    request.speculation = SpeculationPlan::parse(plans[i / 2]);
    request.sampling.temperature = i % 2 == 0 ? 0 : 0.8;
    request.sampling.seed = 11;
    const Result result = engine.generate(request);
    out.add(static_cast<double>(result.speculation.calls));
    out.add(static_cast<double>(result.speculation.drafted_tokens));
    out.add(static_cast<double>(result.speculation.accepted_tokens));
    out.add(result);
    accepted += result.speculation.accepted_tokens;
    if (i < 2) plain[i] = result.tokens;
    EXPECT_EQ(result.tokens, plain[i % 2]) << plans[i / 2];
  }
  EXPECT_GT(accepted, 0);
}

/// No token twice in a row.
void not_again(std::span<const TokenId> tokens, std::span<float> logits) {
  logits[static_cast<std::size_t>(tokens.back())] = -std::numeric_limits<float>::infinity();
}

TEST(CFeatures, LogitsProcessor) {
  expect_same(feature_logits_processor, [](Outcome& out) {
    Engine engine(usual_feature_options());
    Request request = usual_feature_request();
    request.logits_processors = {not_again};
    add_drafted(out, engine, request, {"none", "draft:policy=eagle2", "ngram:n-max=4"});
  });
}

const std::vector<TokenId> kText = {1, 403, 407, 261, 378, 400};

void add_floats(Outcome& out, std::span<const float> numbers) {
  for (const float number : numbers) out.add(static_cast<double>(number));
}

TEST(CFeatures, Logits) {
  expect_same(feature_logits, [](Outcome& out) {
    Engine engine(usual_feature_options());
    add_floats(out, engine.logits(kText));
    engine.logits(kText, [&](std::int64_t first, std::span<const float> rows) {
      out.add(static_cast<double>(first));
      for (std::size_t i = 0; i < rows.size(); i += 512) add_floats(out, rows.subspan(i, 4));
    });
    out.add_failure([&] { engine.logits({}); });
    const std::atomic<bool> cancel = true;
    out.add_failure([&] { engine.logits(kText, &cancel); });
  });
}

TEST(CFeatures, HiddenStates) {
  expect_same(feature_hidden_states, [](Outcome& out) {
    Engine engine(usual_feature_options());
    const int layers = engine.info().layers;
    for (int layer = 0; layer <= layers; ++layer) add_floats(out, engine.hidden_states(kText, layer));
    out.add_failure([&] { engine.hidden_states(kText, layers + 1); });
  });
}

TEST(CFeatures, Embed) {
  expect_same(feature_embed, [](Outcome& out) {
    Engine engine(usual_feature_options());
    add_floats(out, engine.embed(kText));
    add_floats(out, engine.embed(kText, {.pooling = Pooling::Mean, .normalised = false}));
  });
}

TEST(CFeatures, Score) {
  expect_same(feature_score, [](Outcome& out) {
    Engine engine(usual_feature_options());
    const auto add_score = [&](std::size_t index, const TextScore& score) {
      out.add(static_cast<double>(index));
      add_floats(out, score.logprobs);
      out.add(score.sum);
      out.add(static_cast<double>(score.greedy));
    };
    add_score(0, engine.score(kText, 2));
    std::vector<ScoredText> texts(2);
    texts[0].tokens = kText;
    texts[1].tokens.assign(kText.begin(), kText.begin() + 4);
    texts[1].from = 3;
    engine.score_many(texts, add_score);
    texts[1].from = 0;
    out.add_failure([&] { engine.score_many(texts, add_score); });
  });
}

/// Proposes after a token what followed it when it was last seen.
class Bigrams final : public CustomDrafter {
 public:
  DrafterTraits traits() const override { return {.has_probabilities = false, .learns = true}; }
  void reset() override {
    newest_ = -1;
    next_.fill(-1);
  }
  void accepted(std::span<const TokenId> tokens, int /*drafted*/) override {
    for (const TokenId token : tokens) {
      if (newest_ >= 0) next_[static_cast<std::size_t>(newest_)] = token;
      newest_ = token;
    }
  }
  void propose(const DraftRequest& request, std::vector<Proposal>& out) override {
    for (const std::int32_t node : request.frontier) {
      const TokenId next = next_[static_cast<std::size_t>(request.tokens[static_cast<std::size_t>(node)])];
      if (next >= 0 && std::ssize(out) < request.most_nodes)
        out.push_back({.parent = node, .token = next, .log_prob = -0.5f});
    }
  }

 private:
  TokenId newest_ = -1;
  std::array<TokenId, 512> next_{};
};

CustomDrafterType bigram_type() {
  return {.name = "bigram", .make = [](DrafterSetup&) {
            auto made = std::make_unique<Bigrams>();
            made->reset();
            return made;
          }};
}

/// Leaves all to the built-in drafter "draft".
class Around final : public CustomDrafter {
 public:
  explicit Around(DrafterSetup& setup) : built_in_(setup.built_in("draft")) {}
  DrafterTraits traits() const override { return built_in_.traits(); }
  void propose(const DraftRequest& request, std::vector<Proposal>&) override {
    built_in_.draft(request.frontier);
  }

 private:
  BuiltInDrafter& built_in_;
};

TEST(CFeatures, OwnDrafter) {
  expect_same(feature_own_drafter, [](Outcome& out) {
    EngineOptions options = usual_feature_options();
    options.custom_drafters = {bigram_type(), {.name = "around", .make = [](DrafterSetup& setup) {
                                                 return std::make_unique<Around>(setup);
                                               }}};
    Engine engine(options);
    add_drafted(out, engine, usual_feature_request(),
                {"none", "@bigram:policy=eagle2", "@bigram:n-max=3", "@around:policy=eagle2,topk=3,size=10",
                 "@bigram,@around:policy=eagle2"});
    Request request = usual_feature_request();
    request.speculation = SpeculationPlan::parse("@bigram:policy=eagle2");
    request.logits_processors = {not_again};
    out.add(Session(engine).submit(request).wait());
  });
}

/// Every node that was added last grows two children, `levels` times; the first seven nodes stay.
class Wide final : public CustomPolicy {
 public:
  Wide(int levels, int& rounds) : levels_(levels), rounds_(rounds) {}
  void begin(const PolicyRound& round) override {
    level_ = round.room < 7 || round.levels < levels_ ? levels_ : 0;
    grown_ = 0;
  }
  int grow(const DraftedTree& tree, std::vector<std::int32_t>& nodes) override {
    if (level_++ >= levels_) return 0;
    for (; grown_ < static_cast<std::int32_t>(tree.tokens.size()); ++grown_) nodes.push_back(grown_);
    return 2;
  }
  void keep(const DraftedTree&, std::vector<std::int32_t>& nodes) override {
    if (nodes.size() > 8) nodes.resize(8);
  }
  void observe(const VerifiedRound&) override { ++rounds_; }

 private:
  const int levels_;
  int& rounds_;
  int level_ = 0;
  std::int32_t grown_ = 0;
};

TEST(CFeatures, OwnPolicy) {
  expect_same(feature_own_policy, [](Outcome& out) {
    int rounds = 0;
    EngineOptions options = usual_feature_options();
    options.custom_drafters = {bigram_type()};
    options.custom_policies = {{.name = "wide", .make = [&](const PolicySetup& setup) {
                                  return std::make_unique<Wide>(std::stoi(setup.settings.at("levels")),
                                                                rounds);
                                }}};
    Engine engine(options);
    add_drafted(out, engine, usual_feature_request(),
                {"none", "draft:policy=@wide:levels=3", "@bigram:policy=@wide:levels=2"});
    EXPECT_GT(rounds, 0);
    out.add(rounds);
  });
}

}  // namespace
