#include <gtest/gtest.h>

#include "parity/greedy.h"
#include "support/stories_answer.h"

// The answer published with llama2.c's own tests: 200 greedy steps from BOS alone.

namespace augur::test {
namespace {

class Stories260k : public testing::TestWithParam<WeightFormat> {};

TEST_P(Stories260k, KnownAnswer) {
  const auto checkpoint = Checkpoint::open(std::string(AUGUR_SOURCE_DIR) + "/models/stories260k");
  const auto tokenizer = checkpoint.load_tokenizer();
  for (const Isa isa : supported_isas()) {
    Backend backend(2, false, isa);
    const auto model = Model::load(backend, checkpoint, {.weights = GetParam()});
    // llama2.c counts BOS among its 200 steps' positions: 200 forwards.
    EXPECT_EQ(tokenizer->decode(greedy(*model, {tokenizer->bos.value()}, 200)),
              testing_support::kStoriesKnownAnswer)
        << name(isa);
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, Stories260k, testing::Values(WeightFormat::F32, WeightFormat::BF16),
                         [](const auto& v) { return v.param == WeightFormat::F32 ? "F32" : "BF16"; });

}  // namespace
}  // namespace augur::test
