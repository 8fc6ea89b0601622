// The promise for texts that a grammar constrains, on tiny models: every drafter under every policy, beside
// the drafter that a grammar brings, greedy and sampled, writes what plain decoding writes under the same
// grammar. Drafters propose much that a grammar does not allow, in trees that branch.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "draft/grammar_drafter.h"
#include "draft/ngram_drafter.h"
#include "support/drafter_cases.h"
#include "support/generation.h"
#include "support/grammar_cases.h"
#include "support/policy_forms.h"
#include "support/policy_plan.h"
#include "support/random_parts.h"

namespace augur {
namespace {

using testing_support::DrafterCase;
using testing_support::generate;
using testing_support::Generated;
using testing_support::GenerateOptions;
using testing_support::GrammarCase;
using testing_support::PieceTokenizer;
using testing_support::TemporaryFolder;
using testing_support::TinyTarget;

/// Texts under one grammar, plain and with drafts.
class ConstrainedTexts {
 public:
  ConstrainedTexts(Model& model, std::vector<std::vector<TokenId>> prompts, GenerateOptions options)
      : model_(model),
        prompts_(std::move(prompts)),
        options_(std::move(options)),
        plain_(generate(model, prompts_, options_)) {}

  /// Adds the accepted tokens to `accepted`.
  void expect_lossless(PolicyModel& policy, std::size_t parallel, testing_support::SpeculatorFactory drafters,
                       std::int64_t& accepted) const {
    GenerateOptions options = options_;
    options.parallel = parallel;
    options.policy = &policy;
    options.costs = testing_support::cheap_drafts;
    options.speculators = std::move(drafters);
    Generated fast;
    ASSERT_NO_THROW(fast = generate(model_, prompts_, options));
    ASSERT_EQ(fast.tokens, plain_.tokens);
    accepted += fast.total.accepted_tokens;
  }

 private:
  Model& model_;
  std::vector<std::vector<TokenId>> prompts_;
  GenerateOptions options_;
  Generated plain_;
};

GenerateOptions constrained(GrammarCompiler& compiler, const Tokenizer& tokenizer, const GrammarCase& grammar,
                            const SamplingOptions& sampling, std::int64_t tokens) {
  GenerateOptions options{.sampling = sampling, .tokens = tokens};
  options.constraint = testing_support::constraint_of(compiler, grammar.grammar);
  options.eos = tokenizer.eos;
  return options;
}

class LosslessGrammars : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  }
};

TEST_P(LosslessGrammars, TokensAreThoseOfPlainDecoding) {
  std::int64_t accepted = 0;
  for (const DrafterCase& c : testing_support::one_of_each_type(testing_support::tiny_drafter_cases())) {
    TinyTarget target(c);
    // One that ranks no candidates cannot fill a static tree, which it says.
    if (GetParam() == "static" && target.make()->traits().one_shot) continue;
    const PieceTokenizer pieces;
    const Tokenizer& tokenizer = target.tokenizer() != nullptr ? *target.tokenizer() : pieces;
    GrammarCompiler compiler(tokenizer, target.model().config().vocab);
    TemporaryFolder parts;
    testing_support::write_random_parts(parts.path(), target.model().config().hidden);
    // Twice the same, so that look-ups know what the first text goes on with.
    std::vector<std::vector<TokenId>> prompts(target.prompts().begin() + 1, target.prompts().begin() + 3);
    prompts.push_back(prompts.front());
    const auto drafters = [&] {
      auto speculators = testing_support::one(target.make(), nullptr);
      if (!c.needs_constraint())
        speculators.push_back({std::make_unique<GrammarDrafter>(tokenizer), nullptr});
      return speculators;
    };
    for (const GrammarCase& g : testing_support::grammar_cases()) {
      for (const float temperature : {0.0f, 0.8f}) {
        const ConstrainedTexts texts(
            target.model(), prompts,
            constrained(compiler, tokenizer, g, {.temperature = temperature, .seed = 5}, 24));
        for (const std::string& form : testing_support::policy_forms(GetParam())) {
          SCOPED_TRACE(fmt::format("{}, {}, {}, temperature {}", c.name, form, g.name, temperature));
          const auto policy = load_policy(testing_support::policy_plan(form), &target.model(), parts.path());
          ASSERT_NO_FATAL_FAILURE(texts.expect_lossless(*policy, 2, drafters, accepted));
        }
      }
    }
  }
  EXPECT_GT(accepted, 0);
}

INSTANTIATE_TEST_SUITE_P(Registered, LosslessGrammars, testing::ValuesIn(testing_support::policy_names()),
                         [](const auto& test) { return test.param; });

/// What users run, on random weights: a head, look-ups and what the grammar forces, all under one auto, for
/// many draws.
TEST(LosslessGrammar, FiveHundredSampledTexts) {
  if (!have_grammars()) GTEST_SKIP() << "built without xgrammar";
  TinyTarget target({.name = "eagle", .type = "eagle", .folder = testing_support::golden_head_path("eagle")});
  const PieceTokenizer tokenizer;
  GrammarCompiler compiler(tokenizer, target.model().config().vocab);
  const auto policy = load_policy(testing_support::policy_plan("auto"));
  const std::vector<GrammarCase> grammars = testing_support::grammar_cases();
  const auto drafters = [&] {
    auto all = testing_support::one(std::make_unique<NgramDrafter>(1, 3), nullptr);
    all.push_back({std::make_unique<GrammarDrafter>(tokenizer), nullptr});
    all.push_back({target.make(), nullptr});
    return all;
  };
  std::int64_t accepted = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const ConstrainedTexts text(target.model(), {target.prompts()[1]},
                                constrained(compiler, tokenizer, grammars[seed % grammars.size()],
                                            {.temperature = 0.8f, .seed = seed}, 40));
    ASSERT_NO_FATAL_FAILURE(text.expect_lossless(*policy, 1, drafters, accepted));
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace augur
