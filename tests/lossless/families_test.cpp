// The promise for a tiny model of every family: with drafters that need no files, greedy and sampled, as a
// chain and as a tree, alone and in a batch, the tokens are those of plain decoding, over windows' edges.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "support/generation.h"
#include "support/golden_models.h"
#include "support/no_tokenizer.h"

namespace augur {
namespace {

using testing_support::generate;
using testing_support::Generated;
using testing_support::GenerateOptions;
using testing_support::golden_model_names;
using testing_support::golden_model_path;
using testing_support::one;

constexpr std::int64_t kTokens = 40;

class LosslessFamilies : public testing::TestWithParam<std::string> {};

TEST_P(LosslessFamilies, TokensAreThoseOfPlainDecoding) {
  Backend backend(2);
  const std::string path = golden_model_path(GetParam()).string();
  const std::unique_ptr<Device> device = testing_support::test_device(backend);
  const auto model =
      Model::load(backend, Checkpoint::open(path),
                  {.context = testing_support::golden_model_context(GetParam()), .device = device.get()});
  const testing_support::NoTokenizer tokenizer;
  std::mt19937 random(3);
  std::vector<std::vector<TokenId>> prompts;
  for (const int length : {1, 9, 20, 60, 110}) {
    if (length + kTokens > model->context()) break;
    prompts.emplace_back();
    // With repetitions, for the n-grams.
    for (int i = 0; i < length; ++i) {
      prompts.back().push_back(i % 16 < 8 || i < 16 ? static_cast<TokenId>(random() % 40)
                                                    : prompts.back()[static_cast<std::size_t>(i - 8)]);
    }
  }
  for (const SamplingOptions& sampling :
       {SamplingOptions{}, SamplingOptions{.temperature = 0.8f, .top_k = 40, .seed = 7}}) {
    const Generated plain = generate(*model, prompts, {.sampling = sampling, .tokens = kTokens});
    for (const char* type : {"ngram", "layerskip"}) {
      const auto drafters = find_drafter_type(type).load({.backend = backend,
                                                          .target = *model,
                                                          .tokenizer = tokenizer,
                                                          .target_path = path,
                                                          .context = model->context()});
      for (const bool tree : {false, true}) {
        SCOPED_TRACE(
            fmt::format("{}, {}, {}", type, sampling.temperature, tree ? "trees, 3 at once" : "chains"));
        GenerateOptions options{.sampling = sampling, .tokens = kTokens};
        options.parallel = tree ? 3 : 1;
        options.speculators = [&]() -> std::vector<Speculator> {
          std::unique_ptr<TreePolicy> policy;
          if (tree) {
            policy = std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 5, 20});
          } else {
            policy = std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 8});
          }
          return one(drafters->make({.exit_layer = 1, .context = model->context()}), std::move(policy));
        };
        const Generated fast = generate(*model, prompts, options);
        ASSERT_EQ(fast.tokens, plain.tokens);
        EXPECT_GT(fast.total.drafted_tokens, 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LosslessFamilies, testing::ValuesIn(golden_model_names()),
                         [](const auto& v) { return v.param; });

}  // namespace
}  // namespace augur
