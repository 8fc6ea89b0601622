#include <gtest/gtest.h>

#include "parity/greedy.h"

// The answer published with llama2.c's own tests: 200 greedy steps from BOS alone.

namespace augur::test {
namespace {

constexpr const char* kAnswer =
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, "
    "she saw "
    "a big, red ball. She wanted to play with it, but it was too high.\n"
    "Lily's mom said, \"Lily, let's go to the park.\" Lily was sad and didn't know what to do. She said, \"I "
    "want to "
    "play with your ball, but I can't find it.\"\n"
    "Lily was sad and didn't know what to do. She said, \"I'm sorry, Lily. I didn't know what to do.\"\n"
    "Lily didn't want to help her mom, so she";

class Stories260k : public testing::TestWithParam<WeightType> {};

TEST_P(Stories260k, KnownAnswer) {
  const auto checkpoint = Checkpoint::open(std::string(AUGUR_SOURCE_DIR) + "/models/stories260k");
  const auto tokenizer = checkpoint.load_tokenizer();
  for (const Isa isa : supported_isas()) {
    Backend backend(2, false, isa);
    const auto model = Model::load(backend, checkpoint, {.weights = GetParam()});
    // llama2.c counts BOS among its 200 steps' positions: 200 forwards.
    EXPECT_EQ(tokenizer->decode(greedy(*model, {tokenizer->bos.value()}, 200)), kAnswer) << name(isa);
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, Stories260k, testing::Values(WeightType::F32, WeightType::BF16),
                         [](const auto& v) { return v.param == WeightType::F32 ? "F32" : "BF16"; });

}  // namespace
}  // namespace augur::test
