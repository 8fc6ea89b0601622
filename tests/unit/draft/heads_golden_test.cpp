// Medusa and Hydra heads against an independent implementation of the papers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "draft/drafter.h"
#include "policy/chain_policy.h"
#include "policy/eagle2_policy.h"
#include "support/golden_head.h"
#include "support/stories.h"

namespace augur {
namespace {

using testing::HasSubstr;
using testing_support::golden_head_path;
using testing_support::GoldenHead;
using testing_support::GoldenRun;
using testing_support::GoldenTarget;
using testing_support::TemporaryFolder;

struct Head {
  const char* folder;
  const char* type;
  const char* file;
};

class HeadsGolden : public testing::TestWithParam<Head> {
 protected:
  float worst_difference(WeightFormat type, float tolerance) {
    GoldenTarget target(type);
    const GoldenHead head(GetParam().folder);
    const auto model = target.load(GetParam().type, head.checkpoint);
    GoldenRun run(head, *model, tolerance, false);
    run.run();
    return run.worst();
  }
};

TEST_P(HeadsGolden, LogitsOfAllRounds) {
  EXPECT_GT(worst_difference(WeightFormat::F32, 1e-4f), 0.0f);
}

TEST_P(HeadsGolden, EveryDepthIsDraftedAndNoMore) {
  GoldenTarget target(WeightFormat::BF16);
  const GoldenHead head(GetParam().folder);
  const auto model = target.load(GetParam().type, head.checkpoint);
  const auto one = model->make({.context = 256});
  const std::vector<float> features = head.values("features");
  const auto text = head.expected["text"].get<std::vector<TokenId>>();
  const std::span<const TokenId> prompt = std::span(text).first(7);
  one->sync({.tokens = prompt, .features = features.data(), .next = text[7]});
  Eagle2Policy policy({.top_k = 3, .levels = 10, .size = 100});
  DraftTree tree;
  tree.reset(text[7], 7);
  policy.begin({.room = 1000, .max_depth = 100, .drafter = one->traits()});
  std::vector<std::int32_t> frontier;
  for (policy.next_frontier(tree, frontier); !frontier.empty(); policy.next_frontier(tree, frontier)) {
    one->expand(tree, frontier, {.top_k = policy.width(), .max_nodes = 1000});
  }
  EXPECT_EQ(tree.max_depth(), 3);
  EXPECT_EQ(tree.size(), 1 + 3 + 9 + 9);
  // A text that the target has not run any row of has no state to draft from.
  one->reset();
  tree.reset(text[0], 0);
  one->expand(tree, std::vector<std::int32_t>{0}, {.top_k = 2, .max_nodes = 2});
  EXPECT_TRUE(tree.only_root());
}

/// What loading a changed copy of the head says.
class HeadsRefusal : public HeadsGolden {
 protected:
  std::string refusal(const std::string& config, Model& target, Backend& backend) {
    TemporaryFolder folder;
    const auto from = golden_head_path(GetParam().folder);
    std::filesystem::copy_file(from / GetParam().file, folder.path() / GetParam().file);
    std::ofstream(folder.path() / "config.json") << config;
    const Checkpoint head = Checkpoint::open(folder.path());
    const testing_support::NoTokenizer tokenizer;
    try {
      find_drafter_type(GetParam().type)
          .load({.backend = backend,
                 .target = target,
                 .tokenizer = tokenizer,
                 .target_path = "the-target",
                 .head = &head,
                 .context = 64});
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
};

TEST_P(HeadsRefusal, NamesWhatDoesNotFit) {
  GoldenTarget target(WeightFormat::BF16);
  EXPECT_EQ(refusal("{}", *target.model, target.backend), "");
  const std::string layers =
      refusal(fmt::format(R"({{"{}_num_layers": 9}})", GetParam().type), *target.model, target.backend);
  EXPECT_THAT(layers, HasSubstr("num_layers is 9"));

  ModelConfig config = target.model->config();
  config.vocab = 200;
  const auto wider = Model::random(target.backend, config, 1, {.context = 64});
  const std::string vocab = refusal("{}", *wider, target.backend);
  EXPECT_THAT(vocab, HasSubstr("192 tokens"));
  EXPECT_THAT(vocab, HasSubstr("the-target has 200"));
  config = target.model->config();
  config.hidden = 32;
  const auto thinner = Model::random(target.backend, config, 1, {.context = 64});
  const std::string hidden = refusal("{}", *thinner, target.backend);
  EXPECT_THAT(hidden, HasSubstr("hidden states of 64"));
  EXPECT_THAT(hidden, HasSubstr("the-target have 32"));
}

const Head kHeads[] = {{"medusa", "medusa", "medusa_lm_head.pt"},
                       {"medusa_two_layers", "medusa", "medusa_lm_head.pt"},
                       {"hydra", "hydra", "hydra_lm_head.pt"},
                       {"hydra_plus_plus", "hydra", "hydra_lm_head.pt"}};
const auto kName = [](const auto& test) { return std::string(test.param.folder); };
INSTANTIATE_TEST_SUITE_P(Heads, HeadsGolden, testing::ValuesIn(kHeads), kName);
INSTANTIATE_TEST_SUITE_P(Heads, HeadsRefusal, testing::ValuesIn(kHeads), kName);

}  // namespace
}  // namespace augur
