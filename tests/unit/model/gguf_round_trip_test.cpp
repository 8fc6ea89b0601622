// What config.json says of a model, its GGUF file says, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "files/gguf/architectures.h"
#include "model/families.h"
#include "model/gguf_metadata.h"
#include "support/error_of.h"
#include "support/quantised_models.h"

namespace augur {
namespace {

using nlohmann::json;

class GgufRoundTrip : public testing::Test {
 protected:
  /// A folder with this configuration, the vocabulary of stories260k, and of its tensors those from which a
  /// GGUF file's reader concludes anything.
  Checkpoint folder(const json& config) {
    std::filesystem::copy_file(testing_support::stories_path() / "tokenizer.model",
                               folder_.path() / "tokenizer.model",
                               std::filesystem::copy_options::overwrite_existing);
    std::ofstream(folder_.path() / "config.json") << config;
    std::vector<SafetensorsWriter::Entry> entries;
    const auto add = [&](const std::string& name, const Shape& shape) {
      entries.push_back({.name = name, .dtype = DType::F32, .shape = shape});
    };
    add("model.embed_tokens.weight", {512, 256});
    if (!config.value("tie_word_embeddings", false)) add("lm_head.weight", {512, 256});
    const LayerSpec layer = ModelConfig::from_json(config, "config.json").layer(0);
    if (layer.qkv_bias) add("model.layers.0.self_attn.q_proj.bias", {256});
    if (layer.o_bias) add("model.layers.0.self_attn.o_proj.bias", {256});
    if (layer.mlp_bias) add("model.layers.0.mlp.up_proj.bias", {512});
    if (layer.recurrent.conv_bias) add("model.layers.0.mamba.conv1d.bias", {layer.recurrent.channels()});
    if (config["model_type"] == "nemotron_h" && config.value("mlp_bias", false))
      add("backbone.layers.1.mixer.up_proj.bias", {512});
    SafetensorsWriter writer(folder_.path() / "model.safetensors", entries);
    for (const SafetensorsWriter::Entry& entry : entries) {
      std::int64_t count = 1;
      for (const std::int64_t extent : entry.shape) count *= extent;
      const std::vector<float> ones(static_cast<std::size_t>(count), 1.0f);
      writer.write(std::as_bytes(std::span<const float>(ones)));
    }
    writer.finish();
    return Checkpoint::open(folder_.path());
  }

  static ModelConfig read(const Checkpoint& checkpoint) {
    return ModelConfig::from_json(checkpoint.config(), checkpoint.path().string());
  }

  Checkpoint gguf_of(const Checkpoint& checkpoint) {
    const std::filesystem::path out = folder_.path() / "model.gguf";
    ThreadPool pool(1);
    quantize_model(pool, checkpoint, out, {.type = DType::BF16});
    return Checkpoint::open(out);
  }

  void expect_the_same(const json& config) {
    const Checkpoint from = folder(config);
    ModelConfig expected = read(from);
    const GgufArchitecture& architecture = gguf_architecture_of(expected);
    expected.family = architecture.model_type;
    for (LayerSpec& kind : expected.kinds)
      kind.recurrent.interleaved = kind.recurs() && architecture.delta_interleaved;
    EXPECT_EQ(read(gguf_of(from)), expected) << config;
  }

  testing_support::TemporaryFolder folder_;
};

json model(std::string_view family) {
  json config = {{"model_type", family},
                 {"hidden_size", 256},
                 {"intermediate_size", 512},
                 {"num_hidden_layers", 2},
                 {"num_attention_heads", 4},
                 {"num_key_value_heads", 2},
                 {"head_dim", 64},
                 {"vocab_size", 512},
                 {"max_position_embeddings", 2048},
                 {"rms_norm_eps", 1e-5},
                 {"rope_theta", 500000.0},
                 {"tie_word_embeddings", false},
                 {"sliding_window", nullptr},
                 {"use_sliding_window", false}};
  config[find_family(family)->intermediate] = 512;
  if (find_family(family)->single_blocks) {
    config["hybrid_override_pattern"] = "*-";
    return config;
  }
  const ExpertRule experts = find_family(family)->experts;
  if (experts != ExpertRule::None) {
    config.update({{"num_local_experts", 4},
                   {"num_experts_per_tok", 2},
                   {"norm_topk_prob", !find_family(family)->shared_expert || find_family(family)->delta}});
    if (experts == ExpertRule::Qwen || experts == ExpertRule::Lfm2) config["moe_intermediate_size"] = 128;
    if (experts == ExpertRule::Lfm2) config["num_dense_layers"] = 1;
    if (find_family(family)->shared_expert) config["shared_expert_intermediate_size"] = 192;
  }
  if (find_family(family)->mamba != nullptr) {
    config.update({{"layer_types", {"mamba", "attention"}},
                   {"position_embedding_type", "rope"},
                   {"mamba_n_heads", 8},
                   {"mamba_d_state", 32}});
  }
  if (find_family(family)->delta) config["full_attention_interval"] = 2;
  if (find_family(family)->query_growth) config["rope_scaling"] = nullptr;
  if (find_family(family)->query_scalar > 0) config["query_pre_attn_scalar"] = 64;
  return config;
}

json with(json config, const char* key, json value) {
  config[key] = std::move(value);
  return config;
}

bool truncates(const Family& family) {
  return find_gguf_architecture(gguf_architecture(family.name),
                                {.experts = family.experts != ExpertRule::None})
      ->yarn_truncates;
}

TEST_F(GgufRoundTrip, KeepsWhatEveryFamilySays) {
  for (const Family& family : families()) {
    const json plain = model(family.name);
    expect_the_same(plain);
    expect_the_same(with(plain, "tie_word_embeddings", true));
    for (const bool there : {false, true}) {
      if (family.qkv_bias > BiasRule::Always) expect_the_same(with(plain, family.qkv_bias_key, there));
      if (family.o_bias > BiasRule::Always) expect_the_same(with(plain, family.o_bias_key, there));
      if (family.mlp_bias > BiasRule::Always) expect_the_same(with(plain, family.mlp_bias_key, there));
    }
    if (family.single_blocks) {
      json experts = with(with(plain, "hybrid_override_pattern", "E*E*"), "num_hidden_layers", nullptr);
      experts.update({{"n_routed_experts", 8},
                      {"num_experts_per_tok", 3},
                      {"intermediate_size", 128},  // which files have no place for
                      {"moe_intermediate_size", 128},
                      {"moe_shared_expert_intermediate_size", 320},
                      {"routed_scaling_factor", 2.5}});
      expect_the_same(experts);
      expect_the_same(with(experts, "norm_topk_prob", false));
    }
    if (family.window == WindowRule::Always || family.window == WindowRule::Pattern) {
      expect_the_same(with(plain, "sliding_window", 1024));
    }
    if (family.conv) {
      expect_the_same(with(plain, "layer_types", json::array({"conv", "full_attention"})));
      expect_the_same(with(with(plain, "full_attn_idxs", json::array({0})), "conv_L_cache", 5));
    }
    if (family.delta) {
      expect_the_same(with(plain, "layer_types", json::array({"full_attention", "linear_attention"})));
      expect_the_same(with(with(plain, "linear_num_key_heads", 4), "linear_num_value_heads", 12));
      json sizes = with(with(plain, "linear_key_head_dim", 32), "linear_value_head_dim", 32);
      expect_the_same(with(with(sizes, "linear_conv_kernel_dim", 2), "partial_rotary_factor", 0.5));
      expect_the_same(with(with(plain, "num_hidden_layers", 8), "full_attention_interval", 4));
    }
    if (family.nope) expect_the_same(with(plain, "position_embedding_type", "nope"));
    if (family.experts == ExpertRule::Granite) expect_the_same(with(plain, "num_local_experts", 0));
    if (family.mamba != nullptr) {
      json dense = with(plain, "num_local_experts", 0);
      expect_the_same(with(dense, "layer_types", json::array({"attention", "attention"})));
      expect_the_same(with(with(plain, "mamba_n_groups", 4), "mamba_n_heads", 16));
      json sizes = with(with(plain, "mamba_d_head", 24), "mamba_expand", 3);
      expect_the_same(with(with(sizes, "mamba_n_heads", 32), "mamba_d_conv", 3));
      expect_the_same(with(dense, "mamba_conv_bias", false));
    }
    if (family.window == WindowRule::Pattern) {
      json windowed = with(with(plain, "sliding_window", 1024), "sliding_window_pattern", 2);
      if (family.local_rotation) windowed["rope_local_base_freq"] = 777.0;
      if (family.caps) windowed["final_logit_softcapping"] = 25.0;
      expect_the_same(windowed);
    }
  }
}

TEST_F(GgufRoundTrip, WhatGgufCannotSayOfExpertsIsRefused) {
  const auto refused = [&](const json& config, const char* word) {
    const Checkpoint from = folder(config);
    EXPECT_THAT(testing_support::error_of([&] { gguf_of(from); }), testing::HasSubstr(word));
  };
  refused(with(model("qwen3_moe"), "norm_topk_prob", false), "norm_topk_prob");
  refused(with(model("qwen2_moe"), "norm_topk_prob", true), "norm_topk_prob");
  refused(with(model("qwen3_moe"), "mlp_only_layers", json::array({0})), "layers' experts differ");
  refused(with(model("qwen3_moe"), "mlp_only_layers", json::array({0, 1})), "no layer has experts");
}

TEST_F(GgufRoundTrip, WhatGgufCannotSayOfDeltaRulesIsRefused) {
  for (const char* family : {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}) {
    const auto refused = [&](const char* key, const json& value) {
      const Checkpoint from = folder(with(model(family), key, value));
      EXPECT_THAT(testing_support::error_of([&] { gguf_of(from); }), testing::HasSubstr(key)) << family;
    };
    refused("attn_output_gate", false);
    refused("linear_value_head_dim", 64);
    refused("layer_types", json::array({"full_attention", "full_attention"}));
  }
}

TEST_F(GgufRoundTrip, WhatGgufCannotSayOfGranite4IsRefused) {
  const auto refused = [&](const char* key, const json& value, const char* word) {
    const Checkpoint from = folder(with(model("granitemoehybrid"), key, value));
    EXPECT_THAT(testing_support::error_of([&] { gguf_of(from); }), testing::HasSubstr(word));
  };
  refused("time_step_limit", json::array({0.1, 2.0}), "time_step_limit");
  refused("layer_types", json::array({"attention", "attention"}), "num_local_experts");
}

TEST_F(GgufRoundTrip, KeepsEveryScalingThatGgufKnows) {
  const double factor_16 = 0.1 * std::log(16) + 1;
  for (const Family& family : families()) {
    if (family.single_blocks) continue;  // does not rotate
    for (json scaling : std::initializer_list<json>{
             {{"rope_type", "linear"}, {"factor", 4.0}},
             {{"rope_type", "llama3"},
              {"factor", 32.0},
              {"low_freq_factor", 1.0},
              {"high_freq_factor", 4.0},
              {"original_max_position_embeddings", 8192}},
             {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 512}},
             {{"rope_type", "yarn"}, {"factor", 16.0}, {"beta_fast", 16.0}, {"beta_slow", 2.0}},
             {{"rope_type", "yarn"}, {"factor", 16.0}, {"attention_factor", factor_16}},
             {{"rope_type", "yarn"}, {"factor", 16.0}, {"attention_factor", 0.5 * factor_16}}}) {
      // Whether YaRN truncates follows from the architecture.
      if (scaling["rope_type"] == "yarn" && !truncates(family)) scaling["truncate"] = false;
      expect_the_same(with(model(family.name), "rope_scaling", scaling));
    }
  }
}

TEST_F(GgufRoundTrip, ATruncationThatReadersWouldNotAssumeIsRefused) {
  for (const Family& family : families()) {
    if (family.single_blocks) continue;  // does not rotate
    const Checkpoint from =
        folder(with(model(family.name), "rope_scaling",
                    {{"rope_type", "yarn"}, {"factor", 4.0}, {"truncate", !truncates(family)}}));
    EXPECT_THAT(testing_support::error_of([&] { gguf_of(from); }), testing::HasSubstr("rope_scaling"));
  }
}

TEST_F(GgufRoundTrip, KeepsHowWindowedLayersAndQueriesDiffer) {
  const json yarn = {{"rope_type", "yarn"},
                     {"factor", 8.0},
                     {"original_max_position_embeddings", 512},
                     {"attention_factor", 0.5 * (0.1 * std::log(8) + 1)}};
  const json olmo = with(with(model("olmo3"), "num_hidden_layers", 5), "sliding_window", 64);
  expect_the_same(with(olmo, "rope_scaling", yarn));
  for (const char* type : {"yarn", "default"}) {
    expect_the_same(with(model("ministral3"), "rope_parameters",
                         {{"rope_type", type},
                          {"factor", 8.0},
                          {"original_max_position_embeddings", 512},
                          {"mscale", 1.0},
                          {"mscale_all_dim", 1.0},
                          {"llama_4_scaling_beta", 0.125}}));
  }
  for (const double share : {0.25, 1.0}) {
    for (const char* family : {"glm", "glm4"}) {
      expect_the_same(with(model(family), "partial_rotary_factor", share));
    }
  }
  json granite = with(with(model("granite_swa"), "num_hidden_layers", 5), "sliding_window", 64);
  expect_the_same(granite);
  granite["layer_rope_theta"] = {0, 5e5, 5e5, 0, 5e5};
  expect_the_same(granite);
  granite["layer_rope_theta"] = {0, 0, 0, 0, 5e5};
  expect_the_same(granite);
  granite["layer_rope_theta"] = {0, 5e5, 5e5, 1e4, 5e5};
  const Checkpoint other = folder(granite);
  EXPECT_THAT(testing_support::error_of([&] { gguf_of(other); }), testing::HasSubstr("layer_rope_theta"));
  const json alpha = {{"type", "dynamic"}, {"alpha", 50.0}, {"factor", 1.0}};
  const Checkpoint hunyuan = folder(with(model("hunyuan_v1_dense"), "rope_scaling", alpha));
  ModelConfig expected = read(hunyuan);
  RopeConfig& rope = expected.kinds[0].rope;
  EXPECT_EQ(rope.scaling, RopeConfig::Scaling::None);
  rope.theta = static_cast<double>(static_cast<float>(rope.theta));
  EXPECT_EQ(read(gguf_of(hunyuan)), expected);
}

/// llama.cpp takes rope.scaling.attn_factor as a factor to 1 + 0.1 ln(factor).
TEST_F(GgufRoundTrip, YarnsAttentionFactorIsRelativeInTheFile) {
  const Checkpoint file = gguf_of(
      folder(with(model("llama"), "rope_scaling",
                  {{"rope_type", "yarn"}, {"factor", 16.0}, {"mscale", 1.0}, {"mscale_all_dim", 1.0}})));
  EXPECT_NEAR(*file.gguf()->find_float("llama.rope.scaling.attn_factor"), 1 / (0.1 * std::log(16) + 1), 1e-6);
  EXPECT_NEAR(read(file).rope().attention_factor, 1.0, 1e-6);
}

/// As llama.cpp's converter writes it: max_position_embeddings, which the factor is yet to be applied to.
TEST_F(GgufRoundTrip, LinearScalingHasTheOriginalContextInTheFile) {
  const Checkpoint file =
      gguf_of(folder(with(model("llama"), "rope_scaling", {{"rope_type", "linear"}, {"factor", 4.0}})));
  EXPECT_EQ(file.gguf()->find_int("llama.context_length"), 2048);
  EXPECT_EQ(read(file).max_context, 8192);
}

TEST_F(GgufRoundTrip, GemmasContextIsTheScaledOne) {
  const json config = with(model("gemma3_text"), "max_position_embeddings", 131072);
  const Checkpoint file =
      gguf_of(folder(with(config, "rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}})));
  EXPECT_EQ(file.gguf()->find_int("gemma3.context_length"), 131072);
  EXPECT_EQ(read(file).max_context, 131072);
  EXPECT_EQ(read(file).context_limit, 131072);
  EXPECT_EQ(read(file).rope().factor, 8);
}

TEST_F(GgufRoundTrip, RotationsThatGgufCannotSayAreRefused) {
  const auto refused = [&](const json& config, const char* word) {
    const Checkpoint from = folder(config);
    EXPECT_THAT(testing_support::error_of([&] { gguf_of(from); }), testing::HasSubstr(word));
  };
  const json smollm3 = with(model("smollm3"), "num_hidden_layers", 8);
  expect_the_same(smollm3);
  expect_the_same(with(smollm3, "no_rope_layer_interval", 4));
  expect_the_same(with(smollm3, "no_rope_layers", {1, 1, 1, 0, 1, 1, 1, 0}));
  refused(with(smollm3, "no_rope_layer_interval", 2), "no_rope_layer_interval");
  refused(with(smollm3, "no_rope_layer_interval", 8), "no_rope_layer_interval");
  refused(with(smollm3, "no_rope_layers", {1, 1, 1, 1, 1, 1, 1, 1}), "no_rope_layers");
  // The layers with a window turn as the others do, or, in Gemma 3, by a base of their own and unscaled.
  const auto parameters = [](json full, json window) {
    return json{{"full_attention", std::move(full)}, {"sliding_attention", std::move(window)}};
  };
  const json plain = {{"rope_type", "default"}, {"rope_theta", 1e6}};
  const json other = {{"rope_type", "default"}, {"rope_theta", 5e3}};
  const json scaled = {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 1e6}};
  const auto windowed = [](const char* family) { return with(model(family), "sliding_window", 1024); };
  expect_the_same(with(windowed("gemma2"), "rope_parameters", parameters(plain, plain)));
  refused(with(windowed("gemma2"), "rope_parameters", parameters(plain, other)), "rope_parameters");
  expect_the_same(with(windowed("gemma3_text"), "rope_parameters", parameters(scaled, other)));
  expect_the_same(with(windowed("gemma3_text"), "rope_parameters", parameters(plain, plain)));
  refused(with(windowed("gemma3_text"), "rope_parameters", parameters(scaled, scaled)), "rope_parameters");
}

TEST_F(GgufRoundTrip, AnActivationThatReadersWouldNotAssumeIsRefused) {
  const Checkpoint from = folder(with(model("llama"), "hidden_act", "gelu_pytorch_tanh"));
  EXPECT_THAT(testing_support::error_of([&] { gguf_of(from); }), testing::HasSubstr("hidden_act"));
}

TEST_F(GgufRoundTrip, KeepsWindowsOfSomeLayers) {
  for (const char* family : {"qwen2", "qwen3", "smollm3"}) {
    const json config = with(with(model(family), "use_sliding_window", true), "sliding_window", 1024);
    expect_the_same(with(config, "max_window_layers", 1));
    expect_the_same(with(config, "max_window_layers", 0));
  }
  for (const char* type : {"linear", "yarn"}) {
    const json scaled = with(model("mistral"), "rope_scaling", {{"rope_type", type}, {"factor", 4.0}});
    for (const int window : {512, 4096, 8192}) expect_the_same(with(scaled, "sliding_window", window));
  }
}

}  // namespace
}  // namespace augur
