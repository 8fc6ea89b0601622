#include "model/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <list>

#include "base/error.h"
#include "unit/model/model_fixture.h"

namespace augur::test {
namespace {

using testing::HasSubstr;

/// Tensors in memory: element i of tensor t is t + i / 1024.
class MemoryStore : public WeightStore {
 public:
  MemoryStore() { description_ = "memory"; }
  void add(const std::string& name, const Shape& shape) {
    std::int64_t count = 1;
    for (const auto size : shape) count *= size;
    auto& values = values_.emplace_back(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(values_.size()) + static_cast<float>(i) / 1024;
    }
    tensors_[name] = {.name = name,
                      .dtype = DType::F32,
                      .shape = shape,
                      .bytes = std::as_bytes(std::span<const float>(values)),
                      .interleaved_heads = 0,
                      .file = "memory"};
  }
  void remove(const std::string& name) { tensors_.erase(name); }
  void set(const std::string& name, std::size_t index, float value) {
    const auto* bytes = tensors_.find(name)->second.bytes.data();
    const auto found = std::find_if(values_.begin(), values_.end(), [&](const std::vector<float>& v) {
      return std::as_bytes(std::span<const float>(v)).data() == bytes;
    });
    found->at(index) = value;
  }
  float value(const std::string& name, std::int64_t row, std::int64_t column) const {
    const StoredTensor& tensor = tensors_.find(name)->second;
    float v;
    std::memcpy(&v, tensor.bytes.data() + static_cast<std::size_t>(row * tensor.shape.back() + column) * 4,
                4);
    return v;
  }

 private:
  std::list<std::vector<float>> values_;
};

void fill(MemoryStore& store, const ModelConfig& c) {
  store.add("model.embed_tokens.weight", {c.vocab, c.hidden});
  store.add("model.norm.weight", {c.hidden});
  if (!c.tied_embeddings) store.add("lm_head.weight", {c.vocab, c.hidden});
  for (int i = 0; i < c.layers; ++i) {
    const std::string layer = fmt::format("model.layers.{}.", i);
    const std::int64_t q = c.heads * c.head_dim;
    const std::int64_t kv = c.kv_heads * c.head_dim;
    store.add(layer + "input_layernorm.weight", {c.hidden});
    store.add(layer + "post_attention_layernorm.weight", {c.hidden});
    store.add(layer + "self_attn.q_proj.weight", {q, c.hidden});
    store.add(layer + "self_attn.k_proj.weight", {kv, c.hidden});
    store.add(layer + "self_attn.v_proj.weight", {kv, c.hidden});
    store.add(layer + "self_attn.o_proj.weight", {c.hidden, q});
    store.add(layer + "mlp.gate_proj.weight", {c.intermediate, c.hidden});
    store.add(layer + "mlp.up_proj.weight", {c.intermediate, c.hidden});
    store.add(layer + "mlp.down_proj.weight", {c.hidden, c.intermediate});
    if (c.layer(i).qkv_bias) {
      store.add(layer + "self_attn.q_proj.bias", {q});
      store.add(layer + "self_attn.k_proj.bias", {kv});
      store.add(layer + "self_attn.v_proj.bias", {kv});
    }
  }
}

class WeightsTest : public testing::Test {
 protected:
  ModelWeights pack() {
    StoredWeights source(store_, config_.tied_embeddings);
    return pack_weights(pool_, config_, {.floats = DType::F32}, source, {});
  }
  std::string failure() {
    try {
      pack();
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  }

  ThreadPool pool_{2};
  ModelConfig config_ = tiny_config("qwen2");
  MemoryStore store_;
};

TEST_F(WeightsTest, PacksRowsWhereTheyBelong) {
  fill(store_, config_);
  const ModelWeights weights = pack();
  const LayerWeights& layer = weights.layers[1];
  std::vector<float> row(72);
  const auto expect_row = [&](const PackedMatrix& m, std::int64_t at, const std::string& tensor,
                              std::int64_t from) {
    m.get_row(at, row.data());
    for (std::int64_t i = 0; i < m.k(); ++i) {
      ASSERT_EQ(row[static_cast<std::size_t>(i)], store_.value(tensor, from, i)) << tensor << " row " << from;
    }
  };
  expect_row(layer.qkv.matrices[0], 59, "model.layers.1.self_attn.q_proj.weight", 59);
  expect_row(layer.qkv.matrices[0], 60, "model.layers.1.self_attn.k_proj.weight", 0);
  expect_row(layer.qkv.matrices[0], 80, "model.layers.1.self_attn.v_proj.weight", 0);
  expect_row(layer.qkv.matrices[0], 75, "model.layers.1.self_attn.k_proj.weight", 15);
  expect_row(layer.qkv.matrices[0], 99, "model.layers.1.self_attn.v_proj.weight", 19);
  expect_row(layer.gate_up, 15, "model.layers.1.mlp.gate_proj.weight", 15);
  expect_row(layer.gate_up, 16, "model.layers.1.mlp.up_proj.weight", 0);
  expect_row(layer.gate_up, 32 * 4 + 7, "model.layers.1.mlp.gate_proj.weight", 71);
  expect_row(layer.gate_up, 32 * 4 + 23, "model.layers.1.mlp.up_proj.weight", 71);
  expect_row(layer.down, 39, "model.layers.1.mlp.down_proj.weight", 39);
  expect_row(weights.lm_head(), 149, "lm_head.weight", 149);
  EXPECT_EQ(layer.qkv_bias[75], store_.value("model.layers.1.self_attn.k_proj.bias", 0, 15));
  EXPECT_EQ(layer.qkv_bias[99], store_.value("model.layers.1.self_attn.v_proj.bias", 0, 19));
  layer.gate_up.get_row(32 * 4 + 8, row.data());
  EXPECT_EQ(row[0], 0.0f);  // padding behind the last gate row
}

TEST_F(WeightsTest, ErrorsNameTheTensor) {
  fill(store_, config_);
  store_.remove("model.layers.2.mlp.up_proj.weight");
  EXPECT_THAT(failure(), HasSubstr("model.layers.2.mlp.up_proj.weight is missing"));
  store_.add("model.layers.2.mlp.up_proj.weight", {40, 72});
  EXPECT_THAT(failure(),
              HasSubstr("model.layers.2.mlp.up_proj.weight: expected shape [72, 40], found [40, 72]"));
  store_.add("model.layers.2.mlp.up_proj.weight", {72, 40});
  EXPECT_EQ(failure(), "accepted");
  store_.add("model.layers.0.self_attn.rotary_emb.inv_freq", {5});
  EXPECT_EQ(failure(), "accepted");
  store_.add("model.layers.3.mlp.up_proj.weight", {72, 40});
  EXPECT_THAT(failure(), HasSubstr("model.layers.3.mlp.up_proj.weight"));
}

TEST_F(WeightsTest, WeightsAreNumbers) {
  fill(store_, config_);
  store_.set("model.layers.1.mlp.up_proj.weight", 7 * 40 + 3, NAN);
  EXPECT_EQ(failure(),
            "memory: tensor model.layers.1.mlp.up_proj.weight: row 7: expected numbers, found nan");
  store_.set("model.layers.1.mlp.up_proj.weight", 7 * 40 + 3, std::numeric_limits<float>::max());
  EXPECT_EQ(failure(), "accepted");
  store_.set("model.norm.weight", 39, -INFINITY);
  EXPECT_EQ(failure(), "memory: tensor model.norm.weight: row 0: expected numbers, found -inf");
}

TEST_F(WeightsTest, MemoryIsKnownWithoutPacking) {
  fill(store_, config_);
  const ModelWeights weights = pack();
  std::int64_t bytes = weights.embedding.bytes() + weights.head.bytes();
  for (const LayerWeights& layer : weights.layers) {
    for (const PackedMatrix& matrix : layer.qkv.matrices) bytes += matrix.bytes();
    bytes += layer.o.bytes() + layer.gate_up.bytes() + layer.down.bytes();
  }
  StoredWeights source(store_, config_.tied_embeddings);
  EXPECT_EQ(packed_weight_bytes(config_, {.floats = DType::F32}, source), bytes);
  store_.remove("model.layers.2.mlp.up_proj.weight");
  EXPECT_THROW(packed_weight_bytes(config_, {.floats = DType::F32}, source), Error);
}

TEST_F(WeightsTest, TiedModelsMayStoreTheHeadAgain) {
  config_.tied_embeddings = true;
  fill(store_, config_);
  store_.add("lm_head.weight", {150, 40});
  const ModelWeights weights = pack();
  EXPECT_EQ(&weights.lm_head(), &weights.embedding);
}

TEST_F(WeightsTest, AbsurdSizesFailBeforeAnythingIsAllocated) {
  ModelConfig huge = tiny_config();
  huge.layers = 4096;
  huge.hidden = 1 << 17;
  huge.intermediate = 1 << 20;
  huge.vocab = 1 << 24;
  Backend backend(1);
  EXPECT_THROW(Model::random(backend, huge, 1), Error);
}

TEST_F(WeightsTest, ACacheThatCannotBeIsRefusedBeforeAnythingIsPacked) {
  Backend backend(1, false, Isa::Portable);
  bool packed = false;
  try {
    Model::random(backend, tiny_config(), 1,
                  {.kv = KvFormat::Q8_0, .progress = [&](double) { packed = true; }});
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("heads of 10"));
  }
  EXPECT_FALSE(packed);
}

TEST_F(WeightsTest, ContextBeyondTheLimitIsRefused) {
  Backend backend(1);
  EXPECT_THROW(Model::random(backend, tiny_config(), 1, {.context = 201}), Error);
  EXPECT_THROW(Model::random(backend, tiny_config(), 1, {.context = -1}), Error);
  EXPECT_EQ(Model::random(backend, tiny_config(), 1, {.context = 50})->context(), 50);
}

}  // namespace
}  // namespace augur::test
