#include "model/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model_fixture.h"
#include "support/error_of.h"

namespace augur::test {
namespace {

using testing::HasSubstr;
using testing_support::error_of;

std::vector<TokenId> some_text(int tokens) {
  std::vector<TokenId> text;
  for (int i = 0; i < tokens; ++i) text.push_back(static_cast<TokenId>((i * 37 + 11) % 150));
  return text;
}

// What layer 0 reads first is known without running it: rows of the embedding after a norm of ones.
TEST(Calibration, MeanSquaresAreThoseOfTheRowsThatProductsRead) {
  Backend backend(2);
  const ModelConfig config = tiny_config();
  const auto model = Model::random(backend, config, 3, {.weights = WeightFormat::F32});
  const std::vector<TokenId> text = some_text(450);  // three pieces, the context being 200
  const ImportanceMatrix matrix = calibrate(*model, text, "a text");
  EXPECT_EQ(matrix.size(), static_cast<std::size_t>(config.layers) * 7);
  EXPECT_EQ(matrix.source(), "a text");

  const auto hidden = static_cast<std::size_t>(config.hidden);
  std::vector<float> rows(text.size() * hidden);
  model->embed(text, rows.data());
  std::vector<double> expected(hidden);
  for (std::size_t r = 0; r < text.size(); ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < hidden; ++i) sum += std::pow(rows[r * hidden + i], 2);
    const double mean = sum / static_cast<double>(hidden) + static_cast<double>(config.norm_eps);
    for (std::size_t i = 0; i < hidden; ++i) expected[i] += std::pow(rows[r * hidden + i], 2) / mean;
  }
  for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"}) {
    const std::span<const float> found = matrix.of(name);
    ASSERT_EQ(found.size(), hidden) << name;
    for (std::size_t i = 0; i < hidden; ++i) {
      ASSERT_NEAR(found[i], expected[i] / static_cast<double>(text.size()), 1e-4) << name << ", column " << i;
    }
  }
  EXPECT_EQ(matrix.of("blk.2.attn_output.weight").size(),
            static_cast<std::size_t>(config.heads * config.head_dim));
  EXPECT_EQ(matrix.of("blk.2.ffn_down.weight").size(), static_cast<std::size_t>(config.intermediate));
}

TEST(Calibration, SeesShortConvolutionsProducts) {
  Backend backend(2);
  ModelConfig config = tiny_config("lfm2");
  config.kinds.push_back({.rope = {.none = true}, .conv = {.taps = 3}});
  config.kind_of.assign(static_cast<std::size_t>(config.layers), 0);
  config.kind_of[0] = 1;
  const auto model = Model::random(backend, config, 3, {.weights = WeightFormat::F32});
  const ImportanceMatrix matrix = calibrate(*model, some_text(100), "a text");
  const auto hidden = static_cast<std::size_t>(config.hidden);
  EXPECT_EQ(matrix.of("blk.0.shortconv.in_proj.weight").size(), hidden);
  EXPECT_EQ(matrix.of("blk.0.shortconv.out_proj.weight").size(), hidden);
  EXPECT_TRUE(matrix.of("blk.0.attn_q.weight").empty());
  EXPECT_EQ(matrix.of("blk.1.attn_q.weight").size(), hidden);
}

TEST(Calibration, SeesLayersOfOneBlockWithoutGates) {
  Backend backend(2);
  ModelConfig config = tiny_config("nemotron_h");
  LayerSpec dense = {.blocks = Blocks::FeedForward, .activation = Activation::SquaredRelu};
  LayerSpec experts = dense;
  experts.experts = {
      .count = 4, .active = 2, .width = 24, .sigmoid = true, .shared = 48, .shared_gate = false};
  config.kinds = {{.blocks = Blocks::Mixer, .rope = {.none = true}}, dense, experts};
  config.kind_of = {0, 1, 2};
  config.layers = 3;
  const auto model = Model::random(backend, config, 3, {.weights = WeightFormat::F32});
  const ImportanceMatrix matrix = calibrate(*model, some_text(100), "a text");
  EXPECT_EQ(matrix.size(), 4u + 2 + 4);
  const auto hidden = static_cast<std::size_t>(config.hidden);
  EXPECT_EQ(matrix.of("blk.0.attn_q.weight").size(), hidden);
  EXPECT_EQ(matrix.of("blk.1.ffn_up.weight").size(), hidden);
  EXPECT_EQ(matrix.of("blk.1.ffn_down.weight").size(), static_cast<std::size_t>(config.intermediate));
  EXPECT_EQ(matrix.of("blk.2.ffn_up_exps.weight").size(), 4 * hidden);
  EXPECT_EQ(matrix.of("blk.2.ffn_down_exps.weight").size(), 4u * 24);
  EXPECT_EQ(matrix.of("blk.2.ffn_up_shexp.weight").size(), hidden);
  EXPECT_EQ(matrix.of("blk.2.ffn_down_shexp.weight").size(), 48u);
}

TEST(Calibration, OfStackedExpertsHasOneRowForEach) {
  Backend backend(2);
  ModelConfig config = tiny_config("qwen3_moe");
  config.kinds[0].experts = {.count = 8, .active = 2, .width = 24};
  const auto model = Model::random(backend, config, 3, {.weights = WeightFormat::BF16});
  const ImportanceMatrix matrix = calibrate(*model, some_text(100), "a text");
  for (int layer = 0; layer < config.layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer);
    EXPECT_EQ(matrix.of(block + ".ffn_gate_exps.weight").size(), 8u * 40);
    EXPECT_EQ(matrix.of(block + ".ffn_up_exps.weight").size(), 8u * 40);
    EXPECT_EQ(matrix.of(block + ".ffn_down_exps.weight").size(), 8u * 24);
  }
}

TEST(Calibration, SeesTheSharedExpertBesideTheOthers) {
  Backend backend(2);
  ModelConfig config = tiny_config("qwen2_moe");
  config.kinds[0].experts = {.count = 4, .active = 2, .width = 24, .shared = 48};
  const auto model = Model::random(backend, config, 3, {.weights = WeightFormat::F32});
  const ImportanceMatrix matrix = calibrate(*model, some_text(100), "a text");
  const auto hidden = static_cast<std::size_t>(config.hidden);
  for (int layer = 0; layer < config.layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer);
    const std::span<const float> gate = matrix.of(block + ".ffn_gate_shexp.weight");
    const std::span<const float> up = matrix.of(block + ".ffn_up_shexp.weight");
    ASSERT_EQ(gate.size(), hidden);
    EXPECT_TRUE(std::equal(gate.begin(), gate.end(), up.begin(), up.end()));
    // Rows come out of a norm of ones.
    double sum = 0;
    for (const float column : gate) sum += static_cast<double>(column);
    EXPECT_NEAR(sum / static_cast<double>(hidden), 1, 1e-3);
    EXPECT_EQ(matrix.of(block + ".ffn_down_shexp.weight").size(), 48u);
    EXPECT_TRUE(matrix.of(block + ".ffn_gate.weight").empty());
  }
}

TEST(Calibration, WantsFloatsAndAText) {
  Backend backend(1);
  ModelConfig config = tiny_config();
  config.hidden = 64;
  config.intermediate = 64;
  const auto quantised = Model::random(backend, config, 3, {.form = WeightForm{.quantize = DType::Q8_0}});
  EXPECT_THAT(error_of([&] { calibrate(*quantised, some_text(10), "a text"); }),
              HasSubstr("rows of 8-bit blocks"));
  EXPECT_THAT(error_of([&] { calibrate(*quantised, {}, "empty.txt"); }), HasSubstr("empty.txt"));
}

}  // namespace
}  // namespace augur::test
