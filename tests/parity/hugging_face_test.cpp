#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "parity/greedy.h"
#include "support/golden_models.h"

// Tiny random models of every family, with what Hugging Face's transformers computes from them in float32:
// see tests/golden/make_model_golden.py.

namespace augur::test {
namespace {

using testing_support::golden_model_names;
using testing_support::golden_model_path;

/// Largest difference of the logits of the model at `path` from those expected of the golden model `name`.
double largest_difference(const std::filesystem::path& path, const std::string& name, Isa isa,
                          WeightFormat type) {
  const auto expected = nlohmann::json::parse(std::ifstream(golden_model_path(name) / "expected.json"));
  const auto tokens = expected.at("tokens").get<std::vector<TokenId>>();
  Backend backend(2, false, isa);
  const auto model = Model::load(backend, Checkpoint::open(path),
                                 {.weights = type, .context = static_cast<std::int64_t>(tokens.size())});
  KvCache cache = model->make_cache();
  LogitsReader logits(*model);
  double worst = 0;
  std::vector<float> all_rows;
  prefill(*model, tokens, cache, {.rows_done = [&](std::int64_t, std::span<const float> hidden) {
    all_rows.insert(all_rows.end(), hidden.begin(), hidden.end());
  }});
  const auto hidden = static_cast<std::size_t>(model->config().hidden);
  for (std::size_t i = 0; i < expected.at("positions").size(); ++i) {
    const auto position = expected.at("positions")[i].get<std::size_t>();
    const auto row = logits.of(std::span(all_rows).subspan(position * hidden, hidden));
    const auto want = expected.at("logits")[i].get<std::vector<double>>();
    EXPECT_EQ(want.size(), row.size());
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double difference = std::abs(static_cast<double>(row[j]) - want[j]);
      worst = difference <= worst ? worst : difference;  // a NaN counts as worst
    }
  }
  return worst;
}

class HuggingFaceTest : public testing::TestWithParam<std::string> {
 protected:
  double largest_difference(Isa isa, WeightFormat type) {
    return test::largest_difference(golden_model_path(GetParam()), GetParam(), isa, type);
  }
};

TEST_P(HuggingFaceTest, LogitsAgreeInFloat32) {
  for (const Isa isa : supported_isas()) {
    const double difference = largest_difference(isa, WeightFormat::F32);
    EXPECT_LT(difference, 1e-4) << name(isa);
    RecordProperty("max_difference_" + std::string(name(isa)), std::to_string(difference));
  }
}

// The weights are exact in bf16; activations, keys and values are rounded to 8 bits, so that a logit (of
// standard deviation 1.5) carries a few roundings of relative size 2^-9 from each of the steps. gpt-oss's
// (up + 1) * gate, of weights as large as the others', makes its activations, and so their roundings, larger.
TEST_P(HuggingFaceTest, LogitsAreCloseInBf16) {
  const double tolerance = GetParam().starts_with("gpt_oss") ? 0.3 : 0.15;
  for (const Isa isa : supported_isas())
    EXPECT_LT(largest_difference(isa, WeightFormat::BF16), tolerance) << name(isa);
}

TEST(GptOssFolder, ExpertsInMxfp4StayIt) {
  Backend backend(1);
  const auto model = Model::load(backend, Checkpoint::open(golden_model_path("gpt_oss_mxfp4")));
  EXPECT_EQ(std::ranges::count(model->types(), DType::MXFP4), 1) << model->weight_types();
}

/// The same models in files that llama.cpp's converter wrote: see tests/golden/make_gguf_model_golden.py.
class ConvertedFilesTest : public testing::TestWithParam<std::string> {};

TEST_P(ConvertedFilesTest, LogitsAreHuggingFaces) {
  const std::filesystem::path file = testing_support::golden_gguf_path(GetParam());
  EXPECT_LT(largest_difference(file, GetParam(), supported_isas().back(), WeightFormat::F32), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Models, ConvertedFilesTest, testing::ValuesIn(testing_support::golden_gguf_names()),
                         [](const auto& v) { return v.param; });

INSTANTIATE_TEST_SUITE_P(Models, HuggingFaceTest, testing::ValuesIn(golden_model_names()),
                         [](const auto& v) { return v.param; });

}  // namespace
}  // namespace augur::test
