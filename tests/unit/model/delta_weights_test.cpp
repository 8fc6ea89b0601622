// Gated delta rules' weights (Qwen3-Next, Qwen3.5): which row of which tensor becomes which of the engine's,
// from folders and from GGUF files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/convert.h"
#include "files/gguf/model.h"
#include "model/calibration.h"
#include "model/model.h"
#include "model/weights.h"
#include "support/error_of.h"
#include "support/golden_models.h"
#include "support/quantised_models.h"
#include "support/random_folder.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_support::error_of;

/// Two layers, a delta rule and attention: 2 key heads, 6 value heads, all of 8.
json small(std::string_view family) {
  json config = {{"model_type", family},
                 {"hidden_size", 32},
                 {"intermediate_size", 32},
                 {"num_hidden_layers", 2},
                 {"full_attention_interval", 2},
                 {"num_attention_heads", 4},
                 {"num_key_value_heads", 2},
                 {"head_dim", 8},
                 {"vocab_size", 512},
                 {"max_position_embeddings", 64},
                 {"linear_num_key_heads", 2},
                 {"linear_num_value_heads", 6},
                 {"linear_key_head_dim", 8},
                 {"linear_value_head_dim", 8},
                 {"linear_conv_kernel_dim", 3}};
  if (family != "qwen3_5_text") {
    config.update({{"num_experts", 3},
                   {"num_experts_per_tok", 2},
                   {"moe_intermediate_size", 32},
                   {"shared_expert_intermediate_size", 64}});
  }
  return config;
}

/// A layer that drafts, and what goes with it.
std::vector<SafetensorsWriter::Entry> drafting(bool experts) {
  std::vector<SafetensorsWriter::Entry> entries;
  const auto add = [&](const std::string& name, const Shape& shape) {
    entries.push_back({.name = "mtp." + name + ".weight", .dtype = DType::F32, .shape = shape});
  };
  add("fc", {32, 64});
  for (const char* norm : {"norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden", "layers.0.input_layernorm",
                           "layers.0.post_attention_layernorm"})
    add(norm, {32});
  add("layers.0.self_attn.q_proj", {64, 32});
  add("layers.0.self_attn.o_proj", {32, 32});
  add("layers.0.self_attn.q_norm", {8});
  if (!experts) {
    add("layers.0.mlp.up_proj", {32, 32});
    return entries;
  }
  for (int e = 0; e < 3; ++e) add("layers.0.mlp.experts." + std::to_string(e) + ".down_proj", {32, 32});
  return entries;
}

std::vector<float> row_of(const PackedMatrix& matrix, std::int64_t row) {
  std::vector<float> values(static_cast<std::size_t>(matrix.padded_k()));
  matrix.get_row(row, values.data());
  values.resize(static_cast<std::size_t>(matrix.k()));
  return values;
}
std::vector<float> row_of(const FusedMatrix& matrix, std::int64_t row) {
  for (const PackedMatrix& part : matrix.matrices) {
    if (row < part.n()) return row_of(part, row);
    row -= part.n();
  }
  return {};
}

class DeltaWeights : public testing::Test {
 protected:
  void expect_the_same(const Checkpoint& folder, const Checkpoint& file);

  void write(const json& config, const std::vector<SafetensorsWriter::Entry>& more = {}) {
    testing_support::write_random_folder(folder_.path(), config, more);
    checkpoint_ = Checkpoint::open(folder_.path());
  }
  static ModelConfig config_of(const Checkpoint& checkpoint) {
    return ModelConfig::from_json(checkpoint.config(), checkpoint.path().string());
  }
  ModelWeights pack(const Checkpoint& checkpoint, WeightForm form = {.floats = DType::F32}) {
    StoredWeights source(checkpoint.weights(), false);
    source.pass_over_all("mtp.");
    return pack_weights(pool_, config_of(checkpoint), form, source, {});
  }
  std::filesystem::path quantize(const Checkpoint& checkpoint, DType type, const char* name = "model.gguf") {
    quantize_model(pool_, checkpoint, folder_.path() / name, {.type = type});
    return folder_.path() / name;
  }

  /// Of a tensor of layer `layer`.
  std::vector<float> stored(int layer, const std::string& name, std::int64_t row = 0) const {
    const StoredTensor& tensor =
        *checkpoint_.weights().find("model.layers." + std::to_string(layer) + "." + name);
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

constexpr int kKeys = 2, kValues = 6, kShared = kValues / kKeys, kDim = 8, kTaps = 3;
constexpr int kChannels = (2 * kKeys + kValues) * kDim;
constexpr int kFirstA = 16;  // in the gates' matrix, whose halves are whole panels

TEST_F(DeltaWeights, RowsThatLieApart) {
  write(small("qwen3_5_text"));
  const ModelWeights weights = pack(checkpoint_);
  const FusedMatrix& qkv = weights.layers[0].qkv;
  for (int i = 0; i < kChannels; ++i)
    ASSERT_EQ(row_of(qkv, i), stored(0, "linear_attn.in_proj_qkv.weight", i)) << i;
  for (int i = 0; i < kValues * kDim; ++i)
    ASSERT_EQ(row_of(qkv, kChannels + i), stored(0, "linear_attn.in_proj_z.weight", i)) << i;
  for (int i = 0; i < kValues; ++i) {
    const PackedMatrix& gates = weights.layers[0].recurrent_gates;
    ASSERT_EQ(row_of(gates, i), stored(0, "linear_attn.in_proj_b.weight", i)) << i;
    ASSERT_EQ(row_of(gates, kFirstA + i), stored(0, "linear_attn.in_proj_a.weight", i)) << i;
  }
  for (int i = 0; i < 32; ++i)
    ASSERT_EQ(row_of(weights.layers[0].o, i), stored(0, "linear_attn.out_proj.weight", i)) << i;
}

TEST_F(DeltaWeights, RowsThatLieByKeyHead) {
  write(small("qwen3_next"));
  const ModelWeights weights = pack(checkpoint_);
  const FusedMatrix& qkv = weights.layers[0].qkv;
  const PackedMatrix& gates = weights.layers[0].recurrent_gates;
  const auto expect = [&](int row, const char* name, int from) {
    EXPECT_EQ(row_of(qkv, row), stored(0, name, from)) << row << " from " << from;
  };
  constexpr int kGroup = 2 * kDim + 2 * kShared * kDim;
  for (int k = 0; k < kKeys; ++k) {
    for (int i = 0; i < kDim; ++i) {
      expect(k * kDim + i, "linear_attn.in_proj_qkvz.weight", k * kGroup + i);
      expect((kKeys + k) * kDim + i, "linear_attn.in_proj_qkvz.weight", k * kGroup + kDim + i);
    }
    for (int v = 0; v < kShared; ++v) {
      const int head = k * kShared + v;
      for (int i = 0; i < kDim; ++i) {
        const int from = k * kGroup + 2 * kDim + v * kDim + i;
        expect((2 * kKeys + head) * kDim + i, "linear_attn.in_proj_qkvz.weight", from);
        expect(kChannels + head * kDim + i, "linear_attn.in_proj_qkvz.weight", from + kShared * kDim);
      }
      const int b = k * 2 * kShared + v;
      EXPECT_EQ(row_of(gates, head), stored(0, "linear_attn.in_proj_ba.weight", b));
      EXPECT_EQ(row_of(gates, kFirstA + head), stored(0, "linear_attn.in_proj_ba.weight", b + kShared));
    }
  }
}

TEST_F(DeltaWeights, AGateBehindEachHeadsQuery) {
  for (const char* family : {"qwen3_next", "qwen3_5_text"}) {
    write(small(family));
    const ModelWeights weights = pack(checkpoint_);
    const FusedMatrix& qkv = weights.layers[1].qkv;
    for (int head = 0; head < 4; ++head) {
      for (int i = 0; i < 8; ++i) {
        ASSERT_EQ(row_of(qkv, head * 8 + i), stored(1, "self_attn.q_proj.weight", head * 16 + i));
        ASSERT_EQ(row_of(qkv, 64 + head * 8 + i), stored(1, "self_attn.q_proj.weight", head * 16 + 8 + i));
      }
    }
    for (int i = 0; i < 16; ++i) {
      ASSERT_EQ(row_of(qkv, 32 + i), stored(1, "self_attn.k_proj.weight", i));
      ASSERT_EQ(row_of(qkv, 48 + i), stored(1, "self_attn.v_proj.weight", i));
    }
    EXPECT_EQ(qkv.matrices.back().n(), 96);
  }
  json ungated = small("qwen3_5_text");
  ungated["attn_output_gate"] = false;
  write(ungated);
  const ModelWeights weights = pack(checkpoint_);
  EXPECT_EQ(weights.layers[1].qkv.matrices.back().n(), 64);
  EXPECT_EQ(row_of(weights.layers[1].qkv, 9), stored(1, "self_attn.q_proj.weight", 9));
}

TEST_F(DeltaWeights, Vectors) {
  write(small("qwen3_5_text"));
  const ModelWeights weights = pack(checkpoint_);
  const LayerWeights& layer = weights.layers[0];
  ASSERT_EQ(layer.taps.size(), static_cast<std::size_t>(kTaps * kChannels));
  for (int c = 0; c < kChannels; ++c) {
    const std::vector<float> taps = stored(0, "linear_attn.conv1d.weight", c);
    for (int t = 0; t < kTaps; ++t)
      ASSERT_EQ(layer.taps[static_cast<std::size_t>(t * kChannels + c)], taps[static_cast<std::size_t>(t)]);
  }
  const std::vector<float> logarithms = stored(0, "linear_attn.A_log");
  ASSERT_EQ(layer.recurrent_decay.size(), logarithms.size());
  for (std::size_t i = 0; i < logarithms.size(); ++i)
    EXPECT_FLOAT_EQ(layer.recurrent_decay[i], -std::exp(logarithms[i]));
  EXPECT_EQ(layer.recurrent_bias, stored(0, "linear_attn.dt_bias"));
  EXPECT_EQ(layer.recurrent_norm,
            stored(0, "linear_attn.norm.weight"));  // as it is, where others have 1 less
  EXPECT_FLOAT_EQ(layer.attention_norm[3], 1 + stored(0, "input_layernorm.weight")[3]);
  EXPECT_TRUE(layer.q_norm.empty() && layer.qkv_bias.empty() && layer.taps_bias.empty());
}

/// What decides how much of a state is kept and written is exact, whatever the others' form.
TEST_F(DeltaWeights, GatesAreFloats) {
  write(small("qwen3_5_text"));
  const Checkpoint file = Checkpoint::open(quantize(checkpoint_, DType::Q8_0));
  const ModelWeights weights = pack(file, {.floats = DType::BF16, .native = true});
  ASSERT_EQ(weights.layers[0].qkv.matrices.size(), 1u);
  EXPECT_EQ(weights.layers[0].qkv.matrices[0].type(), DType::Q8_0);
  EXPECT_EQ(weights.layers[0].recurrent_gates.type(), DType::F32);
}

TEST_F(DeltaWeights, ErrorsNameTheTensor) {
  write(small("qwen3_next"));
  const auto failure = [&](const json& config) {
    StoredWeights source(checkpoint_.weights(), false);
    return error_of([&] {
      pack_weights(pool_, ModelConfig::from_json(config, "config.json"), {.floats = DType::F32}, source, {});
    });
  };
  EXPECT_THAT(failure(small("qwen3_next")), HasSubstr("no error")) << "the model itself";
  const auto with = [](const char* key, int value) {
    json config = small("qwen3_next");
    config[key] = value;
    return config;
  };
  EXPECT_THAT(failure(with("linear_num_value_heads", 4)),
              HasSubstr("linear_attn.in_proj_qkvz.weight: expected"));
  EXPECT_THAT(failure(with("linear_conv_kernel_dim", 4)), HasSubstr("linear_attn.conv1d.weight: expected"));
}

/// Compares a file's weights with a folder's, which may have the value heads in another order.
class SameWeights {
 public:
  SameWeights(const ModelConfig& folder, const ModelConfig& file)
      : delta_(folder.recurrent()), moved_(file.recurrent().interleaved) {}

  void expect(const LayerWeights& folder, const LayerWeights& file, const LayerSpec& spec) const {
    expect_near(file.attention_norm, folder.attention_norm);
    expect_near(file.mlp_norm, folder.mlp_norm);
    expect_near(file.q_norm, folder.q_norm);
    EXPECT_EQ(file.recurrent_norm, folder.recurrent_norm);
    if (!spec.attends()) return expect_rule(folder, file);
    for (const PackedMatrix& matrix : folder.qkv.matrices) {
      for (int i = 0; i < matrix.n(); ++i) ASSERT_EQ(row_of(file.qkv, i), row_of(folder.qkv, i)) << i;
    }
  }

 private:
  static void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6) << i;
  }
  /// Of the file's value head j, the folder's.
  int head(int j) const {
    const int shared = delta_.value_heads / delta_.key_heads;
    return moved_ ? j % delta_.key_heads * shared + j / delta_.key_heads : j;
  }
  int value(int i) const { return head(i / delta_.value_dim) * delta_.value_dim + i % delta_.value_dim; }

  void expect_rule(const LayerWeights& folder, const LayerWeights& file) const {
    const auto keys = static_cast<int>(2 * delta_.keys());
    const auto channels = static_cast<int>(delta_.channels());
    const auto values = static_cast<int>(delta_.values());
    ASSERT_EQ(file.taps.size(), folder.taps.size());
    for (int c = 0; c < channels; ++c) {
      const int from = c < keys ? c : keys + value(c - keys);
      ASSERT_EQ(row_of(file.qkv, c), row_of(folder.qkv, from)) << c;
      for (int t = 0; t < delta_.taps; ++t)
        ASSERT_EQ(file.taps.at(static_cast<std::size_t>(t * channels + c)),
                  folder.taps.at(static_cast<std::size_t>(t * channels + from)));
    }
    for (int i = 0; i < values; ++i) {
      ASSERT_EQ(row_of(file.qkv, channels + i), row_of(folder.qkv, channels + value(i))) << i;
      for (int r = 0; r < folder.o.n(); ++r)
        ASSERT_EQ(row_of(file.o, r).at(static_cast<std::size_t>(i)),
                  row_of(folder.o, r).at(static_cast<std::size_t>(value(i))));
    }
    for (int j = 0; j < delta_.value_heads; ++j) {
      const auto a = static_cast<int>(file.recurrent_gates.n() / 2);
      ASSERT_EQ(row_of(file.recurrent_gates, j), row_of(folder.recurrent_gates, head(j))) << j;
      ASSERT_EQ(row_of(file.recurrent_gates, a + j), row_of(folder.recurrent_gates, a + head(j))) << j;
      const auto at = static_cast<std::size_t>(j);
      const auto from = static_cast<std::size_t>(head(j));
      EXPECT_FLOAT_EQ(file.recurrent_decay.at(at), folder.recurrent_decay.at(from));
      EXPECT_EQ(file.recurrent_bias.at(at), folder.recurrent_bias.at(from));
    }
  }

  RecurrentSpec delta_;
  bool moved_;
};

void DeltaWeights::expect_the_same(const Checkpoint& folder, const Checkpoint& file) {
  const ModelConfig read = config_of(file);
  ModelConfig expected = config_of(folder);
  const SameWeights same(expected, read);
  for (LayerSpec& kind : expected.kinds)
    kind.recurrent.interleaved = kind.recurs() && read.recurrent().interleaved;
  EXPECT_EQ(read, expected);
  EXPECT_EQ(read.recurrent().interleaved, read.family != "qwen3_next");
  const ModelWeights a = pack(folder);
  const ModelWeights b = pack(file);
  for (int i = 0; i < read.layers; ++i)
    same.expect(a.layers[static_cast<std::size_t>(i)], b.layers[static_cast<std::size_t>(i)], read.layer(i));
}

/// Matrices bit by bit; norms and decays are stored as other numbers in files.
void expect_the_folder(const std::filesystem::path& made, const std::filesystem::path& expected) {
  const Checkpoint a = Checkpoint::open(made);
  const Checkpoint b = Checkpoint::open(expected);
  EXPECT_FALSE(a.config().contains("linear_value_heads_interleaved"));
  ASSERT_EQ(a.weights().tensors().size(), b.weights().tensors().size());
  for (const auto& [name, tensor] : b.weights().tensors()) {
    const StoredTensor& found = a.weights().require(name, tensor.shape);
    EXPECT_EQ(found.dtype, tensor.dtype) << name;
    if (tensor.dtype == DType::BF16) {
      EXPECT_TRUE(
          std::equal(found.bytes.begin(), found.bytes.end(), tensor.bytes.begin(), tensor.bytes.end()))
          << name;
      continue;
    }
    std::vector<float> values(static_cast<std::size_t>(tensor.shape[0]));
    std::vector<float> others(values.size());
    read_rows(found, 0, 1, values.data());
    read_rows(tensor, 0, 1, others.data());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], others[i], 1e-6) << name << i;
  }
}

/// The first files of Qwen3-Next had the folder's one matrix for queries, keys, values and gates.
TEST_F(DeltaWeights, TheFirstFilesAreTheSameModel) {
  write(small("qwen3_next"), drafting(true));
  const GgufFile usual = GgufFile::open(quantize(checkpoint_, DType::F32));
  GgufMetadata metadata;
  for (const auto& [name, stored] : usual.metadata()) metadata.copy(name, stored);
  std::vector<GgufWriter::Entry> entries;
  std::vector<StoredTensor> tensors;
  for (const GgufTensorInfo& info : usual.tensor_infos()) {
    StoredTensor tensor = usual.tensor(info);
    std::string name = info.name;
    const std::string layer = name.substr(0, std::min(name.find('.', 4), name.size()));
    if (name == layer + ".attn_gate.weight") continue;
    if (name == layer + ".attn_qkv.weight") {
      name = layer + ".ssm_in.weight";
      tensor =
          *checkpoint_.weights().find("model.layers." + layer.substr(4) + ".linear_attn.in_proj_qkvz.weight");
    }
    entries.push_back({name, tensor.dtype, tensor.shape});
    tensors.push_back(tensor);
  }
  ASSERT_LT(entries.size(), usual.tensor_infos().size());
  GgufWriter writer(folder_.path() / "first.gguf", metadata, entries);
  for (const StoredTensor& tensor : tensors) writer.write(tensor.bytes);
  writer.finish();
  const Checkpoint first = Checkpoint::open(folder_.path() / "first.gguf");
  EXPECT_NE(first.gguf()->find_tensor("blk.0.ssm_in.weight"), nullptr);
  expect_the_same(checkpoint_, first);
  // A folder has it as it is.
  convert_to_folder(checkpoint_, folder_.path() / "expected", ConvertOptions{});
  convert_to_folder(first, folder_.path() / "made", ConvertOptions{});
  expect_the_folder(folder_.path() / "made", folder_.path() / "expected");
  // Written anew it is as files are today.
  const Checkpoint again = Checkpoint::open(quantize(first, DType::F32, "again.gguf"));
  expect_the_same(checkpoint_, again);
}

class DeltaFiles : public DeltaWeights, public testing::WithParamInterface<const char*> {};

TEST_P(DeltaFiles, AFileOfAFolderHasItsWeights) {
  const bool experts = std::string_view(GetParam()) != "qwen3_5_text";
  write(small(GetParam()), drafting(experts));
  const Checkpoint file = Checkpoint::open(quantize(checkpoint_, DType::F32));
  expect_the_same(checkpoint_, file);

  // What drafts goes along: behind the layers, and under its own names again.
  const std::string architecture = file.gguf()->architecture();
  EXPECT_EQ(file.gguf()->find_int(architecture + ".block_count"), 3);
  EXPECT_EQ(file.gguf()->find_int(architecture + ".nextn_predict_layers"), 1);
  EXPECT_NE(file.gguf()->find_tensor("blk.2.nextn.eh_proj.weight"), nullptr);
  EXPECT_NE(file.gguf()->find_tensor("blk.2.attn_q.weight"), nullptr);
  for (const auto& [name, tensor] : checkpoint_.weights().tensors()) {
    if (!name.starts_with("mtp.")) continue;
    const StoredTensor* const there = file.weights().find(name);
    ASSERT_NE(there, nullptr) << name;
    EXPECT_EQ(there->shape, tensor.shape) << name;
    std::vector<float> from(static_cast<std::size_t>(tensor.shape.back()));
    std::vector<float> to(from.size());
    read_rows(tensor, 0, 1, from.data());
    read_rows(*there, 0, 1, to.data());
    for (std::size_t i = 0; i < from.size(); ++i) ASSERT_NEAR(to[i], from[i], 1e-6) << name;
  }

  // And so from a file to the next, whose values heads stay where they are.
  const Checkpoint again = Checkpoint::open(quantize(file, DType::F32, "again.gguf"));
  expect_the_same(checkpoint_, again);
  EXPECT_EQ(again.weights().tensors().size(), file.weights().tensors().size());
}

TEST_P(DeltaFiles, SmallTensorsOfTheStatesStayWhatTheyAre) {
  write(small(GetParam()));
  for (const Checkpoint& from :
       {checkpoint_, Checkpoint::open(quantize(checkpoint_, DType::F32, "first.gguf"))}) {
    const Checkpoint file = Checkpoint::open(quantize(from, DType::Q4_0));
    const auto type = [&](const std::string& name) {
      const GgufTensorInfo* const found = file.gguf()->find_tensor("blk.0." + name);
      return found == nullptr ? DType::I8 : file.gguf()->tensor(*found).dtype;
    };
    for (const char* name : {"ssm_a", "ssm_dt.bias", "ssm_norm.weight", "ssm_conv1d.weight"})
      EXPECT_EQ(type(name), DType::F32) << name;
    for (const char* name : {"attn_qkv.weight", "attn_gate.weight"})
      EXPECT_EQ(type(name), DType::Q4_0) << name;
    const bool together = std::string_view(GetParam()) == "qwen3_next";
    EXPECT_EQ(type(together ? "ssm_ba.weight" : "ssm_alpha.weight"), DType::F32);
  }
}

/// Rows that lie scattered in blocks are put together as they are.
TEST_P(DeltaFiles, QuantisedRowsKeepTheirBlocks) {
  write(small(GetParam()));
  const Checkpoint file = Checkpoint::open(quantize(checkpoint_, DType::Q8_0));
  const ModelWeights exact = pack(checkpoint_);
  const ModelWeights weights = pack(file, {.floats = DType::F32, .native = true});
  const FusedMatrix& qkv = weights.layers[1].qkv;
  for (const PackedMatrix& matrix : qkv.matrices) EXPECT_EQ(matrix.type(), DType::Q8_0);
  for (int row = 0; row < 96; ++row) {
    const std::vector<float> found = row_of(qkv, row);
    const std::vector<float> expected = row_of(exact.layers[1].qkv, row);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 0.01) << row;
  }
}

TEST_P(DeltaFiles, HostileMetadataAreRefused) {
  write(small(GetParam()), drafting(std::string_view(GetParam()) != "qwen3_5_text"));
  const std::filesystem::path path = quantize(checkpoint_, DType::F32);
  const GgufFile file = GgufFile::open(path);
  const std::string prefix = file.architecture() + ".";
  const auto failure = [&](const char* key, std::uint32_t value) {
    GgufMetadata metadata;
    for (const auto& [name, stored] : file.metadata()) metadata.copy(name, stored);
    metadata.set_u32(prefix + key, value);
    std::vector<GgufWriter::Entry> entries;
    for (const GgufTensorInfo& info : file.tensor_infos())
      entries.push_back({info.name, file.tensor(info).dtype, info.shape});
    GgufWriter writer(folder_.path() / "hostile.gguf", metadata, entries);
    for (const GgufTensorInfo& info : file.tensor_infos()) writer.write(file.tensor(info).bytes);
    writer.finish();
    return error_of([&] {
      const Checkpoint hostile = Checkpoint::open(folder_.path() / "hostile.gguf");
      pack(hostile);
    });
  };
  EXPECT_THAT(failure("nextn_predict_layers", 3), HasSubstr("nextn_predict_layers"));
  EXPECT_THAT(failure("nextn_predict_layers", 0xffffffff), HasSubstr("nextn_predict_layers"));
  EXPECT_THAT(failure("nextn_predict_layers", 0), HasSubstr("layers.2"));  // which drafts
  EXPECT_THAT(failure("block_count", 0), HasSubstr("block_count"));
  EXPECT_THAT(failure("block_count", 2), HasSubstr("recurrent_layers"));
  EXPECT_THAT(failure("ssm.inner_size", 47), HasSubstr("ssm.inner_size"));
  EXPECT_THAT(failure("ssm.inner_size", 0), HasSubstr("ssm.inner_size"));
  EXPECT_THAT(failure("ssm.time_step_rank", 0), HasSubstr("ssm.time_step_rank"));
  EXPECT_THAT(failure("ssm.time_step_rank", 3), HasSubstr("linear_num_value_heads"));
  EXPECT_THAT(failure("ssm.group_count", 0xffffffff), HasSubstr("ssm.group_count"));
  EXPECT_THAT(failure("ssm.group_count", 6), HasSubstr("linear_attn"));
  EXPECT_THAT(failure("ssm.state_size", 1 << 29), HasSubstr("linear_key_head_dim"));
  EXPECT_THAT(failure("ssm.conv_kernel", 1), HasSubstr("linear_conv_kernel_dim"));
  EXPECT_THAT(failure("ssm.conv_kernel", 4), HasSubstr("linear_attn.conv1d.weight"));
  EXPECT_THAT(failure("attention.recurrent_layers", 1), HasSubstr("recurrent_layers"));
}

/// Those of llama.cpp's converter.
TEST_F(DeltaWeights, AConvertedFileHasTheFoldersWeights) {
  int compared = 0;
  for (const std::string& name : testing_support::golden_gguf_names()) {
    const Checkpoint folder = Checkpoint::open(testing_support::golden_model_path(name));
    if (config_of(folder).recurrent().key_heads == 0 || config_of(folder).recurrent().mamba()) continue;
    SCOPED_TRACE(name);
    expect_the_same(folder, Checkpoint::open(testing_support::golden_gguf_path(name)));
    ++compared;
  }
  EXPECT_EQ(compared, 5);
}

/// What the columns matter is said of the file's, whichever the model was read from.
TEST_P(DeltaFiles, CalibrationIsInTheFilesOrder) {
  write(small(GetParam()));
  const Checkpoint file = Checkpoint::open(quantize(checkpoint_, DType::F32));
  std::vector<TokenId> text;
  for (int i = 0; i < 60; ++i) text.push_back(i * 37 % 500);
  Backend backend(2);
  const auto of = [&](const Checkpoint& checkpoint) {
    return calibrate(*Model::load(backend, checkpoint, {.weights = WeightFormat::F32}), text, "a text");
  };
  const ImportanceMatrix folders = of(checkpoint_);
  const ImportanceMatrix files = of(file);
  for (const char* name : {"attn_qkv", "attn_gate", "ssm_out"}) {
    const std::string matrix = fmt::format("blk.0.{}.weight", name);
    const std::span<const float> a = folders.of(matrix);
    const std::span<const float> b = files.of(matrix);
    ASSERT_EQ(a.size(), std::string_view(name) == "ssm_out" ? 48u : 32u);
    ASSERT_EQ(b.size(), a.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-3 * a[i]) << matrix << i;
  }
}

TEST_P(DeltaFiles, AFolderOfAFileIsTheFolderThatItWasMadeOf) {
  write(small(GetParam()), drafting(std::string_view(GetParam()) != "qwen3_5_text"));
  const std::filesystem::path expected = folder_.path() / "expected";
  convert_to_folder(checkpoint_, expected, ConvertOptions{});
  const Checkpoint file = Checkpoint::open(quantize(checkpoint_, DType::F32));
  const std::filesystem::path made = folder_.path() / "made";
  convert_to_folder(file, made, ConvertOptions{});
  expect_the_folder(made, expected);
  EXPECT_EQ(config_of(Checkpoint::open(made)), config_of(checkpoint_));
}

TEST_F(DeltaWeights, AFileThatDoesNotFitIsNoFolder) {
  write(small("qwen3_5_text"));
  const GgufFile file = GgufFile::open(quantize(checkpoint_, DType::F32));
  const auto failure = [&](const char* key, std::uint32_t value, float decay) {
    GgufMetadata metadata;
    for (const auto& [name, stored] : file.metadata()) metadata.copy(name, stored);
    if (*key != '\0') metadata.set_u32(file.architecture() + "." + key, value);
    std::vector<GgufWriter::Entry> entries;
    for (const GgufTensorInfo& info : file.tensor_infos())
      entries.push_back({info.name, file.tensor(info).dtype, info.shape});
    GgufWriter writer(folder_.path() / "hostile.gguf", metadata, entries);
    for (const GgufTensorInfo& info : file.tensor_infos()) {
      const std::vector<float> decays(static_cast<std::size_t>(info.shape[0]), decay);
      const bool is_decay = info.name == "blk.0.ssm_a";
      writer.write(is_decay ? std::as_bytes(std::span(decays)) : file.tensor(info).bytes);
    }
    writer.finish();
    const std::filesystem::path out = folder_.path() / "out";
    const std::string error = error_of(
        [&] { convert_to_folder(Checkpoint::open(folder_.path() / "hostile.gguf"), out, ConvertOptions{}); });
    EXPECT_FALSE(std::filesystem::exists(out));
    return error;
  };
  for (const float decay :
       {0.0f, 1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    EXPECT_THAT(failure("", 0, decay), HasSubstr("linear_attn.A: expected negative numbers")) << decay;
  EXPECT_THAT(failure("ssm.group_count", 4, -1), HasSubstr("multiple of key heads"));
  EXPECT_THAT(failure("ssm.group_count", 3, -1), HasSubstr("linear_attn."));
  EXPECT_THAT(failure("ssm.group_count", 0, -1), HasSubstr("ssm.group_count"));
  EXPECT_THAT(failure("ssm.state_size", 1 << 29, -1), HasSubstr("linear_key_head_dim"));
  EXPECT_THAT(failure("ssm.conv_kernel", 4, -1), HasSubstr("linear_attn.conv1d.weight"));
}

/// Either its bytes are refused, or they are those of another model; nothing is read that is not there.
TEST_P(DeltaFiles, DamagedFilesAreErrorsOrModels) {
  write(small(GetParam()), drafting(std::string_view(GetParam()) != "qwen3_5_text"));
  const std::filesystem::path path = quantize(checkpoint_, DType::Q4_0);
  std::ifstream file(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto keys = static_cast<unsigned>(whole.find("tokenizer.ggml"));  // the models' come before
  const auto infos = static_cast<unsigned>(whole.find("blk.0."));
  const std::filesystem::path damaged = folder_.path() / "damaged.gguf";
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    for (int j = 0; j < 2; ++j) {
      const unsigned at = i % 2 == 0 ? random() % keys : infos + random() % 3000;
      bytes[at] = static_cast<char>(random());
    }
    std::ofstream(damaged, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    const std::string error = error_of([&] { pack(Checkpoint::open(damaged), {.native = true}); });
    refused += error == "no error" ? 0 : 1;
  }
  EXPECT_GT(refused, 100);
}

INSTANTIATE_TEST_SUITE_P(Families, DeltaFiles,
                         testing::Values("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"),
                         [](const auto& v) { return std::string(v.param); });

}  // namespace
}  // namespace augur
