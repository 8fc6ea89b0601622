// The promise with every kind of draft head: untrained, they propose nonsense, and the tokens stay those of
// plain decoding.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "draft/detect.h"
#include "support/generation.h"
#include "support/golden_head.h"

namespace augur {
namespace {

using testing_support::generate;
using testing_support::Generated;
using testing_support::GoldenTarget;
using testing_support::one;

struct Head {
  const char* folder;
  const char* type;
};

class LosslessHeads : public testing::TestWithParam<Head> {
 protected:
  /// Texts of a few tokens, one of a single token, one longer than a drafter holds back.
  static std::vector<std::vector<TokenId>> prompts() {
    std::mt19937 random(1);
    std::vector<std::vector<TokenId>> out;
    for (const int length : {1, 2, 9, 30, 300}) {
      out.emplace_back();
      for (int i = 0; i < length; ++i) out.back().push_back(static_cast<TokenId>(random() % 192));
    }
    return out;
  }
};

TEST_P(LosslessHeads, TokensAreThoseOfPlainDecoding) {
  const Checkpoint head = Checkpoint::open(testing_support::golden_head_path(GetParam().folder));
  ASSERT_EQ(detect_drafter_type(head), GetParam().type);
  GoldenTarget target(WeightFormat::BF16);
  const auto shared = target.load(GetParam().type, head);
  const SamplingParams samplings[] = {{}, {.temperature = 1.0f, .top_p = 0.95f, .seed = 5}};
  for (const SamplingParams& sampling : samplings) {
    const Generated plain = generate(*target.model, prompts(), {.sampling = sampling, .tokens = 40});
    for (const bool tree : {false, true}) {
      for (const std::size_t parallel : {std::size_t{1}, std::size_t{3}}) {
        SCOPED_TRACE(fmt::format("{}, temperature {}, {} at once", tree ? "tree" : "chain",
                                 sampling.temperature, parallel));
        const Generated fast =
            generate(*target.model, prompts(),
                     {.sampling = sampling, .tokens = 40, .parallel = parallel, .speculators = [&] {
                        std::unique_ptr<TreePolicy> policy;
                        if (tree) {
                          policy = std::make_unique<Eagle2Policy>(Eagle2Policy::Options{4, 4, 20});
                        } else {
                          policy = std::make_unique<ChainPolicy>(ChainPolicy::Options{.max = 4});
                        }
                        return one(shared->make({.context = target.model->context()}), std::move(policy));
                      }});
        ASSERT_EQ(fast.tokens, plain.tokens);
        EXPECT_GT(fast.total.drafted_tokens, 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Heads, LosslessHeads,
    testing::Values(Head{"eagle", "eagle"}, Head{"eagle_qkv_bias", "eagle"},
                    Head{"eagle3_official", "eagle3"}, Head{"eagle3_speculators", "eagle3"},
                    Head{"eagle3_own_width", "eagle3"}, Head{"eagle31", "eagle3"},
                    Head{"eagle3_two_layers", "eagle3"}, Head{"peagle", "eagle3"},
                    Head{"mtp_deepseek", "mtp"}, Head{"mtp_fastmtp", "mtp"}, Head{"mtp_mimo", "mtp"},
                    Head{"medusa", "medusa"}, Head{"medusa_two_layers", "medusa"}, Head{"hydra", "hydra"},
                    Head{"hydra_plus_plus", "hydra"}, Head{"layerskip", "layerskip"},
                    Head{"dflash", "dflash"}, Head{"dflash_sliding", "dflash"},
                    Head{"dflash_sliding_bidirectional", "dflash"}, Head{"dspark", "dspark"},
                    Head{"dspark_gated", "dspark"}, Head{"dspark_rnn", "dspark"}),
    [](const auto& test) { return std::string(test.param.folder); });

}  // namespace
}  // namespace augur
