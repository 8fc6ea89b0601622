// The promise over shortlists of the vocabulary: whatever a drafter's head leaves out, the tokens stay those
// of plain decoding.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/error_of.h"
#include "support/generation.h"
#include "support/golden_head.h"
#include "support/vocabulary_parts.h"
#include "vocab/vocabulary_choice.h"

namespace augur {
namespace {

using testing_support::error_of;
using testing_support::generate;
using testing_support::Generated;
using testing_support::golden_head_path;
using testing_support::GoldenTarget;
using testing_support::one;
using testing_support::some_clusters;
using testing_support::some_frequencies;
using testing_support::Stories;
using testing_support::TemporaryFolder;

/// The parts of a vocabulary choice in a folder of their own.
struct Parts {
  Parts(std::int32_t vocab, std::int64_t width, RouterInput input) {
    write_token_order(folder.path() / "frequencies", some_frequencies(vocab), {});
    some_clusters(vocab, 12, input, width).write(folder.path() / "clusters", {});
  }
  std::string spec(const char* kind, const char* numbers) const {
    const bool routed = std::string_view(kind) == "dynaspec";
    return fmt::format("{}:{}{}", kind, (folder.path() / (routed ? "clusters" : "frequencies")).string(),
                       numbers);
  }
  /// Every kind, small enough to leave much out.
  std::vector<std::string> specs() const {
    return {spec("frspec", ":70"), spec("pafr", ":70"), spec("hot", ":50"), spec("dynaspec", ""),
            spec("dynaspec", ":3")};
  }
  TemporaryFolder folder;
};

std::unique_ptr<TreePolicy> policy(bool tree) {
  if (tree) return std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 4, 20});
  return std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 4});
}

struct Head {
  const char* folder;
  const char* type;
  RouterInput router;
};

class LosslessVocabularies : public testing::TestWithParam<Head> {};

TEST_P(LosslessVocabularies, TokensAreThoseOfPlainDecoding) {
  const Checkpoint head = Checkpoint::open(golden_head_path(GetParam().folder));
  GoldenTarget target(WeightFormat::BF16);
  const ModelConfig& config = target.model->config();
  const Parts parts(config.vocab, config.hidden, GetParam().router);
  std::mt19937 random(1);
  std::vector<std::vector<TokenId>> prompts;
  for (const int length : {2, 30, 300}) {
    prompts.emplace_back();
    for (int i = 0; i < length; ++i) prompts.back().push_back(static_cast<TokenId>(random() % 192));
  }
  const SamplingParams samplings[] = {{}, {.temperature = 1.0f, .repetition_penalty = 1.1f, .seed = 5}};
  for (const SamplingParams& sampling : samplings) {
    const Generated plain = generate(*target.model, prompts, {.sampling = sampling, .tokens = 30});
    for (const std::string& spec : parts.specs()) {
      const VocabularyChoice choice(VocabularySpec::parse(spec), target.model->fingerprint(), {});
      const auto shared = target.load(GetParam().type, head, &choice);
      for (const std::size_t parallel : {std::size_t{1}, std::size_t{3}}) {
        SCOPED_TRACE(fmt::format("{}, temperature {}, {} at once", spec, sampling.temperature, parallel));
        const Generated fast =
            generate(*target.model, prompts,
                     {.sampling = sampling, .tokens = 30, .parallel = parallel, .speculators = [&] {
                        return one(shared->make({.context = target.model->context()}), policy(parallel == 3));
                      }});
        ASSERT_EQ(fast.tokens, plain.tokens);
        EXPECT_GT(fast.total.drafted_tokens, 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, LosslessVocabularies,
                         testing::Values(Head{"eagle", "eagle", RouterInput::Previous},
                                         Head{"eagle3_official", "eagle3", RouterInput::Previous},
                                         Head{"eagle31", "eagle3", RouterInput::State},
                                         Head{"mtp_deepseek", "mtp", RouterInput::Previous},
                                         Head{"medusa", "medusa", RouterInput::State},
                                         Head{"hydra", "hydra", RouterInput::State},
                                         Head{"layerskip", "layerskip", RouterInput::State}),
                         [](const auto& test) { return std::string(test.param.folder); });

TEST(VocabularyOfPlaceholders, StaysTheSameForAllDepths) {
  const Checkpoint head = Checkpoint::open(golden_head_path("peagle"));
  GoldenTarget target(WeightFormat::BF16);
  const ModelConfig& config = target.model->config();
  const Parts parts(config.vocab, config.hidden, RouterInput::State);
  const std::vector<std::vector<TokenId>> prompts{{5, 7, 11}, {3, 1, 4, 1, 5, 9, 2, 6}};
  const Generated plain = generate(*target.model, prompts, {.tokens = 30});
  for (const char* kind : {"frspec", "pafr", "hot"}) {
    const VocabularyChoice choice(VocabularySpec::parse(parts.spec(kind, ":60")), target.model->fingerprint(),
                                  {});
    const auto shared = target.load("eagle3", head, &choice);
    const Generated fast =
        generate(*target.model, prompts, {.tokens = 30, .parallel = 2, .speculators = [&] {
                                            return one(shared->make({.context = 256}), policy(true));
                                          }});
    EXPECT_EQ(fast.tokens, plain.tokens);
    EXPECT_GT(fast.total.drafted_tokens, 0);
  }
  const VocabularyChoice clusters(VocabularySpec::parse(parts.spec("dynaspec", "")),
                                  target.model->fingerprint(), {});
  EXPECT_THAT(error_of([&] { target.load("eagle3", head, &clusters); }),
              testing::HasSubstr("use frspec, pafr or hot"));
}

TEST(VocabularyOfHeads, RefusesRoutersThatReadWhatTheDrafterLacks) {
  const Checkpoint head = Checkpoint::open(golden_head_path("medusa"));
  GoldenTarget target(WeightFormat::BF16);
  const ModelConfig& config = target.model->config();
  const Parts parts(config.vocab, config.hidden, RouterInput::Previous);
  const VocabularyChoice clusters(VocabularySpec::parse(parts.spec("dynaspec", "")),
                                  target.model->fingerprint(), {});
  EXPECT_THAT(error_of([&] { target.load("medusa", head, &clusters); }), testing::HasSubstr("router_input"));
}

/// With a drafter that is right, what a list has is accepted and what it lacks is not.
TEST(VocabularyOfDraftModel, AcceptsWhatItsListHas) {
  Stories stories;
  const Checkpoint head = Checkpoint::open(testing_support::stories_path());
  const std::vector<std::vector<TokenId>> prompts{stories.prompt("Once upon a time"),
                                                  stories.prompt("One day,")};
  const Parts parts(512, stories.model->config().hidden, RouterInput::State);
  const SamplingParams samplings[] = {{}, {.temperature = 0.8f, .seed = 5}};
  for (const SamplingParams& sampling : samplings) {
    const Generated plain = generate(*stories.model, prompts, {.sampling = sampling, .tokens = 60});
    double accepted_length[2] = {};
    for (const bool whole : {false, true}) {
      for (const char* kind : {"frspec", "pafr", "hot", "dynaspec"}) {
        const bool routed = std::string_view(kind) == "dynaspec";
        const std::string spec =
            parts.spec(kind, routed ? (whole ? ":12" : ":4") : (whole ? ":512" : ":200"));
        SCOPED_TRACE(spec);
        const VocabularyChoice choice(VocabularySpec::parse(spec), stories.model->fingerprint(), {});
        const auto shared = find_drafter_type("draft").load({.backend = stories.backend,
                                                             .target = *stories.model,
                                                             .tokenizer = *stories.tokenizer,
                                                             .target_path = "stories260k",
                                                             .head = &head,
                                                             .context = 512,
                                                             .vocabulary = &choice});
        const Generated fast =
            generate(*stories.model, prompts, {.sampling = sampling, .tokens = 60, .speculators = [&] {
                                                 return one(shared->make({.context = 512}), policy(false));
                                               }});
        EXPECT_EQ(fast.tokens, plain.tokens);
        const double length = fast.total.mean_accepted_length();
        if (whole && std::string_view(kind) != "pafr") {
          EXPECT_GT(length, sampling.greedy() ? 4.5 : 3.0);
        }
        accepted_length[whole] += length;
      }
    }
    EXPECT_LT(accepted_length[0], accepted_length[1]);
  }
}

}  // namespace
}  // namespace augur
