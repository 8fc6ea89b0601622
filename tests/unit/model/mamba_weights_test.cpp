// Mamba2's weights (Granite 4): which row of which tensor becomes which of the engine's, from folders and
// from GGUF files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/convert.h"
#include "files/gguf/model.h"
#include "model/calibration.h"
#include "model/model.h"
#include "support/error_of.h"
#include "support/golden_models.h"
#include "support/quantised_models.h"
#include "support/random_folder.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_support::error_of;

class MambaWeights : public testing::Test {
 protected:
  static constexpr int kGroups = 2, kHeads = 4, kDim = 16, kState = 16, kTaps = 3;
  static constexpr int kKeys = kGroups * kState, kValues = kHeads * kDim, kChannels = 2 * kKeys + kValues;

  static json small() {
    return {{"model_type", "granitemoehybrid"},
            {"hidden_size", 32},
            {"intermediate_size", 32},
            {"shared_intermediate_size", 64},
            {"num_local_experts", 3},
            {"num_experts_per_tok", 2},
            {"num_hidden_layers", 2},
            {"layer_types", {"mamba", "attention"}},
            {"position_embedding_type", "nope"},
            {"num_attention_heads", 4},
            {"num_key_value_heads", 2},
            {"vocab_size", 512},
            {"max_position_embeddings", 64},
            {"mamba_n_heads", kHeads},
            {"mamba_n_groups", kGroups},
            {"mamba_d_head", kDim},
            {"mamba_d_state", kState},
            {"mamba_d_conv", kTaps}};
  }
  static std::vector<float> row_of(const PackedMatrix& matrix, std::int64_t row) {
    std::vector<float> values(static_cast<std::size_t>(matrix.padded_k()));
    matrix.get_row(row, values.data());
    values.resize(static_cast<std::size_t>(matrix.k()));
    return values;
  }

  /// Where a channel (queries C, keys B, values x) is among the stored ones (x, B, C).
  static int stored_channel(int channel) {
    if (channel < kKeys) return kValues + kKeys + channel;
    return channel < 2 * kKeys ? kValues + channel - kKeys : channel - 2 * kKeys;
  }
  void write(const json& config) {
    testing_support::write_random_folder(folder_.path(), config);
    checkpoint_ = Checkpoint::open(folder_.path());
  }
  ModelWeights pack(const Checkpoint& checkpoint, WeightForm form = {.floats = DType::F32}) {
    const ModelConfig config = ModelConfig::from_json(checkpoint.config(), checkpoint.path().string());
    StoredWeights source(checkpoint.weights(), config.tied_embeddings);
    return pack_weights(pool_, config, form, source, {});
  }
  Checkpoint quantised(DType type) {
    const std::filesystem::path out = folder_.path() / "model.gguf";
    quantize_model(pool_, checkpoint_, out, {.type = type});
    return Checkpoint::open(out);
  }
  /// Of a tensor of the first layer.
  std::vector<float> stored(const std::string& name, std::int64_t row = 0) const {
    const StoredTensor& tensor = *checkpoint_.weights().find("model.layers.0.mamba." + name);
    std::int64_t length = 1;
    for (std::size_t i = tensor.shape.size() < 2 ? 0 : 1; i < tensor.shape.size(); ++i)
      length *= tensor.shape[i];
    std::vector<float> values(static_cast<std::size_t>(length));
    read_rows(tensor, row, 1, values.data());
    return values;
  }

  testing_support::TemporaryFolder folder_;
  ThreadPool pool_{2};
  Checkpoint checkpoint_;
};

TEST_F(MambaWeights, RowsOfTheFirstProduct) {
  write(small());
  const LayerWeights layer = std::move(pack(checkpoint_).layers[0]);
  ASSERT_EQ(layer.qkv.matrices.size(), 1u);
  const PackedMatrix& qkvz = layer.qkv.matrices[0];
  for (int i = 0; i < kChannels; ++i)
    ASSERT_EQ(row_of(qkvz, i), stored("in_proj.weight", kValues + stored_channel(i))) << i;
  for (int i = 0; i < kValues; ++i)
    ASSERT_EQ(row_of(qkvz, kChannels + i), stored("in_proj.weight", i)) << "z " << i;
  for (int i = 0; i < kHeads; ++i)
    ASSERT_EQ(row_of(layer.recurrent_gates, i), stored("in_proj.weight", kValues + kChannels + i)) << i;
  for (int i = 0; i < 32; ++i) ASSERT_EQ(row_of(layer.o, i), stored("out_proj.weight", i)) << i;
}

TEST_F(MambaWeights, Vectors) {
  write(small());
  const LayerWeights layer = std::move(pack(checkpoint_).layers[0]);
  for (int c = 0; c < kChannels; ++c) {
    const std::vector<float> taps = stored("conv1d.weight", stored_channel(c));
    for (int t = 0; t < kTaps; ++t)
      ASSERT_EQ(layer.taps.at(static_cast<std::size_t>(t * kChannels + c)),
                taps[static_cast<std::size_t>(t)]);
    ASSERT_EQ(layer.taps_bias.at(static_cast<std::size_t>(c)),
              stored("conv1d.bias")[static_cast<std::size_t>(stored_channel(c))]);
  }
  const std::vector<float> logarithms = stored("A_log");
  for (std::size_t h = 0; h < kHeads; ++h)
    EXPECT_FLOAT_EQ(layer.recurrent_decay.at(h), -std::exp(logarithms[h]));
  EXPECT_EQ(layer.recurrent_bias, stored("dt_bias"));
  EXPECT_EQ(layer.recurrent_skip, stored("D"));
  EXPECT_EQ(layer.recurrent_norm, stored("norm.weight"));
  EXPECT_EQ(layer.recurrent_norm.size(), static_cast<std::size_t>(kValues));
}

TEST_F(MambaWeights, AFilesAreTheFolders) {
  write(small());
  const ModelWeights folder = pack(checkpoint_);
  const Checkpoint file = quantised(DType::F32);
  EXPECT_EQ(file.gguf()->architecture(), "granitehybrid");
  EXPECT_EQ(file.gguf()->find_tensor("blk.0.ssm_norm.weight")->shape, (Shape{kGroups, kValues / kGroups}));
  EXPECT_EQ(file.gguf()->find_tensor("blk.0.ssm_a")->shape, (Shape{kHeads, 1}));
  const ModelWeights other = pack(file);
  const LayerWeights& a = folder.layers[0];
  const LayerWeights& b = other.layers[0];
  for (int i = 0; i < kChannels + kValues; ++i)
    ASSERT_EQ(row_of(b.qkv.matrices[0], i), row_of(a.qkv.matrices[0], i)) << i;
  for (const auto member :
       {&LayerWeights::taps, &LayerWeights::taps_bias, &LayerWeights::recurrent_decay,
        &LayerWeights::recurrent_bias, &LayerWeights::recurrent_skip, &LayerWeights::recurrent_norm})
    EXPECT_EQ(b.*member, a.*member);
  for (int i = 0; i < 32; ++i)
    ASSERT_EQ(row_of(other.layers[1].experts[2].down, i), row_of(folder.layers[1].experts[2].down, i)) << i;
}

/// What decides how much of a state is kept and written is exact, whatever the others' form; a file's small
/// tensors stay float32 when it is written anew.
TEST_F(MambaWeights, SmallTensorsAreFloats) {
  write(small());
  const Checkpoint file = quantised(DType::Q8_0);
  const ModelWeights weights = pack(file, {.floats = DType::BF16, .native = true});
  EXPECT_EQ(weights.layers[0].qkv.matrices.at(0).type(), DType::Q8_0);
  EXPECT_EQ(weights.layers[0].recurrent_gates.type(), DType::F32);
  const std::filesystem::path again = folder_.path() / "again.gguf";
  quantize_model(pool_, file, again, {.type = DType::Q4_0});
  const GgufFile written = GgufFile::open(again);
  for (const char* name : {"ssm_a", "ssm_d", "ssm_norm.weight", "ssm_conv1d.weight", "ssm_conv1d.bias",
                           "ssm_dt.bias", "ffn_gate_inp.weight"})
    EXPECT_EQ(written.tensor(*written.find_tensor(fmt::format("blk.0.{}", name))).dtype, DType::F32) << name;
  for (const char* name : {"ssm_in.weight", "ssm_out.weight"})
    EXPECT_EQ(written.tensor(*written.find_tensor(fmt::format("blk.0.{}", name))).dtype, DType::Q4_0) << name;
}

TEST_F(MambaWeights, ErrorsNameTheTensor) {
  write(small());
  const auto failure = [&](const char* key, const json& value) {
    json config = small();
    config[key] = value;
    StoredWeights source(checkpoint_.weights(), false);
    return error_of([&] {
      pack_weights(pool_, ModelConfig::from_json(config, "config.json"), {.floats = DType::F32}, source, {});
    });
  };
  EXPECT_THAT(failure("vocab_size", 512), HasSubstr("no error")) << "the model itself";
  EXPECT_THAT(failure("mamba_d_state", 24), HasSubstr("mamba.in_proj.weight: expected"));
  EXPECT_THAT(failure("mamba_n_groups", 1), HasSubstr("mamba.in_proj.weight: expected"));
  EXPECT_THAT(failure("mamba_d_conv", 4), HasSubstr("mamba.conv1d.weight: expected"));
  EXPECT_THAT(failure("mamba_conv_bias", false), HasSubstr("mamba.conv1d.bias"));
}

/// The folder of a file would have to have the decays' logarithms.
TEST_F(MambaWeights, AFolderOfAFileIsRefused) {
  write(small());
  const Checkpoint file = quantised(DType::F32);
  EXPECT_THAT(error_of([&] { convert_to_folder(file, folder_.path() / "out", ConvertOptions{}); }),
              HasSubstr("granitehybrid"));
}

/// What the columns matter is said of the file's matrices.
TEST_F(MambaWeights, Calibration) {
  write(small());
  std::vector<TokenId> text;
  for (int i = 0; i < 60; ++i) text.push_back(i * 37 % 500);
  Backend backend(2);
  const auto model = Model::load(backend, checkpoint_, {.weights = WeightFormat::F32});
  const ImportanceMatrix matrix = calibrate(*model, text, "a text");
  EXPECT_EQ(matrix.of("blk.0.ssm_in.weight").size(), 32u);
  EXPECT_EQ(matrix.of("blk.0.ssm_out.weight").size(), static_cast<std::size_t>(kValues));
  EXPECT_EQ(matrix.of("blk.1.attn_q.weight").size(), 32u);
  EXPECT_EQ(matrix.of("blk.0.ffn_gate_shexp.weight").size(), 32u);
  EXPECT_EQ(matrix.of("blk.0.ffn_down_exps.weight").size(), 3u * 32);
}

}  // namespace
}  // namespace augur
