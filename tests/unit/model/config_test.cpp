#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace augur {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json llama() {
  return {{"model_type", "llama"},  {"hidden_size", 64},        {"intermediate_size", 128},
          {"num_hidden_layers", 2}, {"num_attention_heads", 4}, {"vocab_size", 300}};
}

ModelConfig parse(const json& config) {
  return ModelConfig::from_json(config, "config.json");
}

std::string failure(const json& config) {
  try {
    parse(config);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

json with(json config, const char* key, json value) {
  config[key] = std::move(value);
  return config;
}

TEST(ModelConfig, DefaultsOfLlama) {
  const ModelConfig c = parse(llama());
  EXPECT_EQ(c.family, "llama");
  EXPECT_EQ(c.kv_heads, 4);
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.max_context, 2048);
  EXPECT_FLOAT_EQ(c.norm_eps, 1e-6f);
  EXPECT_EQ(c.rope().theta, 10000.0);
  EXPECT_EQ(c.rope().scaling, RopeConfig::Scaling::None);
  EXPECT_FALSE(c.tied_embeddings);
  EXPECT_EQ(c.kinds, std::vector{LayerSpec()});
}

TEST(ModelConfig, NullMeansAbsent) {
  json config = llama();
  for (const char* key :
       {"num_key_value_heads", "head_dim", "rope_scaling", "rope_theta", "attention_bias"}) {
    config[key] = nullptr;
  }
  EXPECT_EQ(parse(config).kv_heads, 4);
  EXPECT_EQ(parse(config).head_dim, 16);
}

TEST(ModelConfig, LlamaBiases) {
  const ModelConfig c = parse(with(with(llama(), "attention_bias", true), "mlp_bias", true));
  EXPECT_TRUE(c.layer(0).qkv_bias && c.layer(0).o_bias && c.layer(0).mlp_bias);
}

TEST(ModelConfig, MistralDefaults) {
  json config = with(llama(), "model_type", "mistral");
  config["num_attention_heads"] = 16;
  config["hidden_size"] = 256;
  EXPECT_EQ(parse(config).kv_heads, 8);                                         // absent: the class's default
  EXPECT_EQ(parse(with(config, "num_key_value_heads", nullptr)).kv_heads, 16);  // null: as many as heads
  EXPECT_EQ(parse(config).layer(1).window, 4096);
  EXPECT_EQ(parse(config).max_context, 131072);
  EXPECT_EQ(parse(with(config, "sliding_window", nullptr)).layer(0).window, 0);
  EXPECT_EQ(parse(with(config, "sliding_window", 1024)).layer(0).window, 1024);
}

using Windows = std::vector<std::int64_t>;

Windows windows(const ModelConfig& config) {
  Windows result;
  for (int i = 0; i < config.layers; ++i) result.push_back(config.layer(i).window);
  return result;
}

TEST(ModelConfig, Gemma) {
  json config = with(with(llama(), "model_type", "gemma3_text"), "num_hidden_layers", 7);
  config["sliding_window"] = 512;
  config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 8}};
  const ModelConfig c = parse(config);
  EXPECT_EQ(windows(c), (Windows{512, 512, 512, 512, 512, 0, 512}));
  EXPECT_EQ(c.layer(0).rope, RopeConfig{});
  EXPECT_EQ(c.layer(5).rope.theta, 1e6);
  EXPECT_EQ(c.layer(5).rope.factor, 8);
  EXPECT_EQ(c.rope(), c.layer(5).rope);
  EXPECT_EQ(c.max_context, 131072);  // it is the length that the scaling has extended
  EXPECT_EQ(c.context_limit, 131072);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_EQ(c.embedding_scale, 8.0f);
  EXPECT_EQ(c.norm_offset, 1.0f);
  EXPECT_EQ(c.layer(0).norms, NormPlace::Both);
  EXPECT_EQ(c.layer(0).activation, Activation::GeluTanh);
  EXPECT_EQ(c.layer(0).score_scale, 0.0625f);
  EXPECT_EQ(c.layer(0).score_cap, 0);
  config["rope_local_base_freq"] = 500;
  config["sliding_window_pattern"] = 2;
  EXPECT_EQ(parse(config).layer(0).rope.theta, 500);
  EXPECT_EQ(windows(parse(config)), (Windows{512, 0, 512, 0, 512, 0, 512}));

  config["model_type"] = "gemma2";
  EXPECT_EQ(parse(config).layer(0).score_cap, 50);
  EXPECT_EQ(parse(config).logit_cap, 30);
  EXPECT_EQ(parse(with(config, "final_logit_softcapping", nullptr)).logit_cap, 0);
}

TEST(ModelConfig, Experts) {
  json config = with(with(llama(), "model_type", "qwen3_moe"), "num_hidden_layers", 4);
  config["num_experts"] = 16;
  config["num_experts_per_tok"] = 4;
  config["moe_intermediate_size"] = 32;
  config["decoder_sparse_step"] = 2;
  config["mlp_only_layers"] = {3};
  const ModelConfig c = parse(config);
  EXPECT_EQ(c.kinds.size(), 2u);
  EXPECT_EQ(c.layer(0).experts.count, 0);
  EXPECT_EQ(c.layer(1).experts,
            (ExpertSpec{.count = 16, .active = 4, .width = 32, .softmax_of_all = true, .normalise = false}));
  EXPECT_EQ(c.layer(3).experts.count, 0);
  for (const char* key :
       {"num_experts", "num_experts_per_tok", "moe_intermediate_size", "decoder_sparse_step"}) {
    for (const json& bad : {json(0), json(-1), json(1e9), json("8"), json(INT64_MAX)}) {
      EXPECT_THAT(failure(with(config, key, bad)), HasSubstr(key)) << bad;
    }
  }
  EXPECT_THAT(failure(with(config, "num_experts_per_tok", 17)), HasSubstr("17 of 16 experts"));
  EXPECT_THAT(failure(with(config, "mlp_only_layers", {4})), HasSubstr("mlp_only_layers"));
  EXPECT_THAT(failure(with(config, "mlp_only_layers", {-1})), HasSubstr("mlp_only_layers"));
}

json nemotron() {
  return {{"model_type", "nemotron_h"},  {"hidden_size", 64},
          {"intermediate_size", 96},     {"num_attention_heads", 16},
          {"vocab_size", 300},           {"layers_block_type", {"mlp", "full_attention", "moe"}},
          {"n_routed_experts", 8},       {"num_experts_per_tok", 3},
          {"moe_intermediate_size", 24}, {"moe_shared_expert_intermediate_size", 40}};
}

TEST(ModelConfig, LayersOfOneBlock) {
  const ModelConfig config = parse(nemotron());
  ASSERT_EQ(config.layers, 3);
  EXPECT_EQ(config.kinds.size(), 3u);
  EXPECT_EQ(config.kv_heads, 8);
  EXPECT_EQ(config.head_dim, 128);
  EXPECT_FLOAT_EQ(config.norm_eps, 1e-5f);
  EXPECT_EQ(config.layer(0).blocks, Blocks::FeedForward);
  EXPECT_FALSE(config.layer(0).attends());
  EXPECT_EQ(config.layer(0).activation, Activation::SquaredRelu);
  EXPECT_EQ(config.layer(1).blocks, Blocks::Mixer);
  EXPECT_TRUE(config.layer(1).attends() && config.layer(1).rope.none);
  EXPECT_EQ(config.first_attention(), 1);
  EXPECT_EQ(config.attention_layers(), 1);
  EXPECT_EQ(config.layer(2).experts, (ExpertSpec{.count = 8,
                                                 .active = 3,
                                                 .width = 24,
                                                 .sigmoid = true,
                                                 .chosen_by_bias = true,
                                                 .sum_offset = 1e-20f,
                                                 .shared = 40,
                                                 .shared_gate = false}));
  json older = nemotron();
  older.erase("layers_block_type");
  older.update({{"hybrid_override_pattern", "-*E"}, {"num_hidden_layers", 3}, {"attention_head_dim", 32}});
  const ModelConfig spelled = parse(older);
  EXPECT_EQ(spelled.head_dim, 32);
  EXPECT_EQ(spelled.kinds, config.kinds);
  EXPECT_EQ(parse(with(nemotron(), "layers_block_type", {"mlp", "attention", "moe"})).kinds, config.kinds);
}

TEST(ModelConfig, ErrorsInLayersOfOneBlock) {
  const auto refused = [](const char* key, const json& value, const char* why) {
    EXPECT_THAT(failure(with(nemotron(), key, value)), testing::AllOf(HasSubstr(key), HasSubstr(why)))
        << value;
  };
  refused("layers_block_type", {"mlp", "moe"}, "expected a layer with attention");
  refused("layers_block_type", {"full_attention", "retention"}, "\"retention\" is not supported");
  refused("layers_block_type", {"full_attention", 7}, "7 is not supported");
  refused("layers_block_type", "full_attention", "expected a list");
  refused("layers_block_type", json::array(), "0 layers");
  refused("num_hidden_layers", 4, "num_hidden_layers says");
  refused("mlp_hidden_act", "silu", "relu2");
  refused("attention_bias", true, "not supported");
  refused("mlp_bias", true, "where there are experts");
  refused("n_group", 2, "expected 1");
  refused("num_experts_per_tok", 9, "9 of 8");
  json older = nemotron();
  older.erase("layers_block_type");
  EXPECT_THAT(failure(older), HasSubstr("hybrid_override_pattern"));
  EXPECT_THAT(failure(with(older, "hybrid_override_pattern", "-*X")), HasSubstr("'X'"));
}

json lfm2() {
  return {{"model_type", "lfm2"},   {"hidden_size", 64},         {"intermediate_size", 3000},
          {"num_hidden_layers", 3}, {"num_attention_heads", 16}, {"vocab_size", 300}};
}

TEST(ModelConfig, ShortConvolutions) {
  const ModelConfig attention = parse(lfm2());
  EXPECT_EQ(attention.conv(), ShortConvSpec());
  EXPECT_EQ(attention.attention_layers(), 3);
  EXPECT_EQ(attention.intermediate, 2048);  // two thirds, up to a multiple of 256
  EXPECT_TRUE(attention.tied_embeddings);
  EXPECT_FLOAT_EQ(attention.norm_eps, 1e-5f);

  json config = with(with(lfm2(), "full_attn_idxs", {1}), "conv_L_cache", 4);
  config.update({{"norm_eps", 1e-4}, {"block_ff_dim", 300}, {"tie_embedding", false}, {"conv_bias", true}});
  const ModelConfig older = parse(with(config, "block_ffn_dim_multiplier", nullptr));
  EXPECT_EQ(older.conv(), (ShortConvSpec{.taps = 4, .bias = true}));
  EXPECT_FALSE(older.layer(0).attends());
  EXPECT_EQ(older.layer(0).sight(), 4);
  EXPECT_TRUE(older.layer(1).attends());
  EXPECT_EQ(older.first_attention(), 1);
  EXPECT_EQ(older.attention_layers(), 1);
  EXPECT_FALSE(older.rope().none);
  EXPECT_EQ(older.intermediate, 200);
  EXPECT_FALSE(older.tied_embeddings);
  EXPECT_FLOAT_EQ(older.norm_eps, 1e-4f);
  EXPECT_EQ(parse(with(lfm2(), "block_auto_adjust_ff_dim", false)).intermediate, 3000);
}

TEST(ModelConfig, ErrorsInShortConvolutions) {
  const auto refused = [](const char* key, const json& value, const char* why) {
    EXPECT_THAT(failure(with(lfm2(), key, value)), testing::AllOf(HasSubstr(key), HasSubstr(why))) << value;
  };
  refused("layer_types", {"conv", "conv", "conv"}, "a layer with attention");
  refused("layer_types", {"conv", "full_attention"}, "a list of 3");
  refused("layer_types", {"conv", "mamba", "full_attention"}, "mamba");
  refused("layer_types", "conv", "a list of 3");
  refused("full_attn_idxs", json::array(), "a layer with attention");
  refused("full_attn_idxs", {3}, "no layer of 3");
  refused("full_attn_idxs", {-1}, "no layer of 3");
  refused("full_attn_idxs", 1, "a list of layers");
  refused("conv_L_cache", 1, "conv_L_cache");
  refused("conv_L_cache", 1 << 20, "conv_L_cache");
  refused("block_ffn_dim_multiplier", 1e6, "no width");
  EXPECT_THAT(failure(with(lfm2(), "block_multiple_of", 1 << 20)), HasSubstr("no width"));
  EXPECT_THAT(failure(with(lfm2(), "intermediate_size", 1)), HasSubstr("no width"));
  EXPECT_THAT(failure(with(with(lfm2(), "intermediate_size", 1), "block_ffn_dim_multiplier", nullptr)),
              HasSubstr("no width"));
  EXPECT_THAT(failure(with(llama(), "layer_types", {"conv", "full_attention"})), HasSubstr("layer_types"));
}

json qwen35() {
  return {{"model_type", "qwen3_5_text"}, {"hidden_size", 64},         {"intermediate_size", 128},
          {"num_hidden_layers", 8},       {"num_attention_heads", 16}, {"vocab_size", 300}};
}

TEST(ModelConfig, DeltaRules) {
  const ModelConfig defaults = parse(qwen35());
  EXPECT_EQ(defaults.family, "qwen3_5_text");
  EXPECT_EQ(defaults.recurrent(),
            (RecurrentSpec{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128, .taps = 4}));
  EXPECT_EQ(defaults.conv(), ShortConvSpec());
  EXPECT_EQ(defaults.norm_offset, 1.0f);
  EXPECT_EQ(defaults.kv_heads, 4);
  EXPECT_EQ(defaults.head_dim, 256);
  EXPECT_EQ(defaults.rope().dims, 64);
  EXPECT_EQ(defaults.first_attention(), 3);
  EXPECT_EQ(defaults.attention_layers(), 2);
  const LayerSpec& rule = defaults.layer(0);
  EXPECT_FALSE(rule.attends() || rule.gated);
  EXPECT_TRUE(rule.rope.none);
  EXPECT_EQ(rule.qk_norm, QkNorm::None);
  const LayerSpec& attention = defaults.layer(7);
  EXPECT_TRUE(attention.gated);
  EXPECT_EQ(attention.qk_norm, QkNorm::PerHead);
  EXPECT_EQ(attention.recurrent, RecurrentSpec());

  json config = qwen35();
  config.update({{"model_type", "qwen3_5"},
                 {"linear_num_key_heads", 3},
                 {"linear_num_value_heads", 9},
                 {"linear_key_head_dim", 6},
                 {"linear_value_head_dim", 10},
                 {"linear_conv_kernel_dim", 2},
                 {"linear_value_heads_interleaved", true},
                 {"attn_output_gate", false},
                 {"output_gate_type", "swish"},
                 {"mamba_ssm_dtype", "float32"},
                 {"mtp_num_hidden_layers", 1},
                 {"mtp_use_dedicated_embeddings", false},
                 {"num_hidden_layers", 2},
                 {"layer_types", {"full_attention", "linear_attention"}},
                 {"rope_parameters",
                  {{"rope_type", "default"},
                   {"rope_theta", 1e7},
                   {"partial_rotary_factor", 0.5},
                   {"mrope_section", {11, 11, 10}},
                   {"mrope_interleaved", true}}}});
  const ModelConfig other = parse(config);
  EXPECT_EQ(other.family, "qwen3_5_text");
  const RecurrentSpec delta = other.recurrent();
  EXPECT_EQ(
      delta,
      (RecurrentSpec{
          .key_heads = 3, .value_heads = 9, .key_dim = 6, .value_dim = 10, .taps = 2, .interleaved = true}));
  EXPECT_EQ(delta.channels(), 3 * 6 * 2 + 9 * 10);
  EXPECT_EQ(delta.key_head(5), 2);
  EXPECT_EQ(other.first_attention(), 0);
  EXPECT_FALSE(other.layer(0).gated);
  EXPECT_EQ(other.rope().dims, 128);
  EXPECT_EQ(other.rope().theta, 1e7);
  EXPECT_EQ(parse(with(qwen35(), "full_attention_interval", 2)).attention_layers(), 4);
}

TEST(ModelConfig, DeltaRulesWithExperts) {
  json config = with(qwen35(), "model_type", "qwen3_5_moe_text");
  config.erase("intermediate_size");
  config.update({{"num_experts", 8},
                 {"num_experts_per_tok", 2},
                 {"moe_intermediate_size", 24},
                 {"shared_expert_intermediate_size", 40}});
  const ExpertSpec experts = {.count = 8, .active = 2, .width = 24, .normalise = true, .shared = 40};
  for (const int layer : {0, 3}) EXPECT_EQ(parse(config).layer(layer).experts, experts) << layer;
  EXPECT_THAT(failure(with(config, "norm_topk_prob", false)), HasSubstr("norm_topk_prob"));
  EXPECT_THAT(failure(with(config, "mlp_only_layers", {1})), HasSubstr("mlp_only_layers"));
  EXPECT_THAT(failure(with(config, "decoder_sparse_step", 2)), HasSubstr("decoder_sparse_step"));
  EXPECT_THAT(failure(with(config, "moe_intermediate_size", 0)), HasSubstr("moe_intermediate_size"));

  json next = with(with(config, "model_type", "qwen3_next"), "intermediate_size", 72);
  EXPECT_EQ(parse(next).layer(0).experts, experts);
  EXPECT_EQ(parse(with(next, "mlp_only_layers", {1})).layer(1).experts, ExpertSpec());
  EXPECT_FALSE(parse(with(next, "norm_topk_prob", false)).layer(0).experts.normalise);
}

TEST(ModelConfig, ErrorsInDeltaRules) {
  const auto refused = [](const char* key, const json& value, const char* why) {
    EXPECT_THAT(failure(with(qwen35(), key, value)), testing::AllOf(HasSubstr(key), HasSubstr(why))) << value;
  };
  refused("linear_num_value_heads", 24, "24 is no multiple of linear_num_key_heads 16");
  refused("linear_num_value_heads", 8, "8 is no multiple");
  refused("linear_num_value_heads", 4096, "at most 131072 numbers");
  for (const char* key : {"linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
                          "linear_value_head_dim", "linear_conv_kernel_dim"}) {
    for (const json& value : {json(0), json(-1), json(1 << 20), json(1e30), json("4"), json(true)})
      refused(key, value, "config.json");
  }
  refused("linear_conv_kernel_dim", 1, "linear_conv_kernel_dim");
  refused("full_attention_interval", 9, "a layer with attention");
  refused("full_attention_interval", 0, "full_attention_interval");
  refused("layer_types", json::array({"linear_attention"}), "a list of 8");
  refused("layer_types", json(std::vector<std::string>(8, "linear_attention")), "a layer with attention");
  refused("layer_types", json(std::vector<std::string>(8, "mamba")), "mamba");
  refused("layer_types", json(std::vector<std::string>(8, "sliding_attention")), "sliding_attention");
  refused("output_gate_type", "sigmoid", "sigmoid");
  refused("attention_bias", true, "not supported");
  EXPECT_THAT(failure(with(llama(), "linear_num_value_heads", 32)), HasSubstr("linear_num_value_heads"));
  EXPECT_THAT(failure(with(llama(), "layer_types", {"linear_attention", "full_attention"})),
              HasSubstr("layer_types"));
}

json granite4() {
  return {{"model_type", "granitemoehybrid"},
          {"hidden_size", 64},
          {"intermediate_size", 24},
          {"shared_intermediate_size", 96},
          {"num_local_experts", 0},
          {"num_hidden_layers", 3},
          {"num_attention_heads", 4},
          {"vocab_size", 300},
          {"layer_types", {"mamba", "attention", "mamba"}},
          {"mamba_n_heads", 16}};
}

TEST(ModelConfig, Mamba) {
  const ModelConfig defaults = parse(granite4());
  EXPECT_EQ(defaults.recurrent(), (RecurrentSpec{.rule = RecurrentRule::Mamba2,
                                                 .key_heads = 1,
                                                 .value_heads = 16,
                                                 .key_dim = 256,
                                                 .value_dim = 8,
                                                 .taps = 4,
                                                 .conv_bias = true}));
  EXPECT_EQ(defaults.recurrent().norm_width(), 128);
  EXPECT_EQ(defaults.intermediate, 96);
  EXPECT_EQ(defaults.experts(), ExpertSpec());
  EXPECT_EQ(defaults.first_attention(), 1);
  EXPECT_TRUE(defaults.layer(1).attends() && !defaults.layer(0).attends() && defaults.layer(2).recurs());
  EXPECT_TRUE(defaults.layer(1).rope.none) << "where position_embedding_type is absent";
  EXPECT_FALSE(parse(with(granite4(), "position_embedding_type", "rope")).layer(1).rope.none);
  EXPECT_TRUE(parse(with(granite4(), "position_embedding_type", nullptr)).layer(1).rope.none);

  json config = granite4();
  config.update({{"mamba_n_groups", 8},
                 {"mamba_d_state", 12},
                 {"mamba_d_head", 10},
                 {"mamba_expand", 3},
                 {"mamba_d_conv", 2},
                 {"mamba_conv_bias", false},
                 {"layer_types", {"linear_attention", "full_attention", "full_attention"}},
                 {"time_step_limit", {0.25, {{"__float__", "Infinity"}}}},
                 {"num_local_experts", 4},
                 {"num_experts_per_tok", 2}});
  EXPECT_THAT(failure(config), HasSubstr("mamba_expand"));
  config.erase("mamba_expand");
  const ModelConfig other = parse(config);
  EXPECT_EQ(other.recurrent(), (RecurrentSpec{.rule = RecurrentRule::Mamba2,
                                              .key_heads = 8,
                                              .value_heads = 16,
                                              .key_dim = 12,
                                              .value_dim = 10,
                                              .taps = 2,
                                              .step_min = 0.25f}));
  EXPECT_EQ(other.recurrent().norm_width(), 20);
  EXPECT_EQ(other.recurrent().key_head(5), 2);
  const ExpertSpec experts = {
      .count = 4, .active = 2, .width = 24, .softmax_of_all = false, .shared = 96, .shared_gate = false};
  for (const int layer : {0, 2}) EXPECT_EQ(other.layer(layer).experts, experts) << layer;
  EXPECT_EQ(parse(with(granite4(), "time_step_limit", {0.5, 2})).recurrent().step_max, 2.0f);
  EXPECT_EQ(parse(with(granite4(), "time_step_limit", {0, nullptr})).recurrent(), defaults.recurrent());
  EXPECT_EQ(parse(with(granite4(), "layer_types", {"attention", "attention", "attention"})).recurrent(),
            RecurrentSpec());
}

TEST(ModelConfig, ErrorsInMamba) {
  const auto refused = [](const char* key, const json& value, const char* why) {
    EXPECT_THAT(failure(with(granite4(), key, value)), testing::AllOf(HasSubstr(key), HasSubstr(why)))
        << value;
  };
  refused("mamba_n_heads", 24, "24 heads cannot share");
  refused("mamba_n_heads", 4096, "4096 heads cannot share");
  for (const char* key :
       {"mamba_n_heads", "mamba_n_groups", "mamba_d_state", "mamba_d_head", "mamba_d_conv", "mamba_expand"}) {
    for (const json& value : {json(0), json(-1), json(1 << 20), json(1e30), json("4"), json(true)})
      refused(key, value, "config.json");
  }
  EXPECT_THAT(failure(with(granite4(), "mamba_n_groups", 3)),
              HasSubstr("16 is no multiple of mamba_n_groups 3"));
  json wide = with(with(granite4(), "mamba_d_head", 1024), "mamba_n_heads", 256);
  EXPECT_THAT(failure(wide), HasSubstr("at most 131072 numbers"));
  refused("mamba_d_conv", 1, "mamba_d_conv");
  refused("mamba_proj_bias", true, "not supported");
  refused("mamba_conv_bias", 3, "mamba_conv_bias");
  for (const json& limits : {json(1), json::array({1}), json::array({-1, 2}), json::array({3, 2}),
                             json::array({"a", 2}), json::array({0, 1e30})})
    refused("time_step_limit", limits, "time_step_limit");
  refused("layer_types", json::array({"mamba"}), "a list of 3");
  refused("layer_types", json(std::vector<std::string>(3, "mamba")), "a layer with attention");
  refused("layer_types", json::array({"mamba", "conv", "attention"}), "conv");
  json unsaid = granite4();
  unsaid.erase("layer_types");
  EXPECT_THAT(failure(unsaid), HasSubstr("a layer with attention"));
  unsaid = granite4();
  unsaid.erase("num_local_experts");
  EXPECT_THAT(failure(unsaid), HasSubstr("num_local_experts"));
  EXPECT_THAT(failure(with(granite4(), "num_local_experts", 4)), HasSubstr("num_experts_per_tok"));
  EXPECT_THAT(failure(with(llama(), "mamba_n_heads", 16)), HasSubstr("mamba_n_heads"));
  EXPECT_THAT(failure(with(llama(), "layer_types", {"mamba", "attention"})), HasSubstr("layer_types"));
}

TEST(ModelConfig, LayersWithoutRotation) {
  json config = with(with(llama(), "model_type", "smollm3"), "num_hidden_layers", 5);
  EXPECT_FALSE(parse(config).layer(2).rope.none);
  EXPECT_TRUE(parse(config).layer(3).rope.none);
  config["no_rope_layers"] = {1, 0, 1, 1, 1};
  EXPECT_TRUE(parse(config).layer(1).rope.none);
  EXPECT_FALSE(parse(config).layer(3).rope.none);
  EXPECT_EQ(parse(config).rope().theta, 2e6);
  for (const json& bad : {json(1), json::array({1, 0}), json::array({1, 0, 2, 1, 1})}) {
    EXPECT_THAT(failure(with(config, "no_rope_layers", bad)), HasSubstr("no_rope_layers"));
  }
}

TEST(ModelConfig, LongRope) {
  json config = with(with(llama(), "model_type", "phi3"), "max_position_embeddings", 4096);
  config["original_max_position_embeddings"] = 1024;
  config["partial_rotary_factor"] = 0.5;
  config["rope_scaling"] = {
      {"type", "longrope"}, {"short_factor", {1, 1, 1, 2}}, {"long_factor", {1, 2, 3, 4}}};
  const ModelConfig c = parse(config);
  EXPECT_EQ(c.rope().dims, 8);
  EXPECT_EQ(c.max_context, 1024);  // longer ones change the frequencies: only when asked for
  EXPECT_EQ(c.context_limit, 4096);
  EXPECT_NEAR(c.rope().attention_factor, std::sqrt(1 + std::log(4.0) / std::log(1024.0)), 1e-12);
  EXPECT_EQ(make_rope_table(c.rope(), 16, 1024).inverse_frequencies.size(), 4u);
  EXPECT_GT(make_rope_table(c.rope(), 16, 1024).inverse_frequencies[1],
            make_rope_table(c.rope(), 16, 1025).inverse_frequencies[1]);
  config["rope_scaling"]["long_factor"] = {1, 2, 3};
  EXPECT_THAT(failure(config), HasSubstr("rope_scaling.long_factor"));
}

TEST(ModelConfig, Qwen) {
  json config = with(llama(), "num_key_value_heads", 2);
  config["model_type"] = "qwen2";
  config["sliding_window"] = 1000;
  const ModelConfig qwen2 = parse(config);
  EXPECT_TRUE(qwen2.layer(0).qkv_bias);
  EXPECT_FALSE(qwen2.layer(0).o_bias);
  EXPECT_EQ(qwen2.layer(0).qk_norm, QkNorm::None);
  EXPECT_EQ(windows(qwen2), (Windows{0, 0}));  // only with use_sliding_window
  config["use_sliding_window"] = true;
  EXPECT_EQ(windows(parse(config)), (Windows{0, 0}));  // from layer 28 on, there are 2
  config["max_window_layers"] = 1;
  EXPECT_EQ(windows(parse(config)), (Windows{0, 1000}));
  config["max_window_layers"] = 0;
  EXPECT_EQ(windows(parse(config)), (Windows{1000, 1000}));
  config["layer_types"] = {"sliding_attention", "full_attention"};
  EXPECT_EQ(windows(parse(config)), (Windows{1000, 0}));

  const ModelConfig qwen3 = parse(with(with(llama(), "num_key_value_heads", 2), "model_type", "qwen3"));
  EXPECT_EQ(qwen3.layer(0).qk_norm, QkNorm::PerHead);
  EXPECT_FALSE(qwen3.layer(0).qkv_bias);
  EXPECT_EQ(qwen3.head_dim, 128);
}

TEST(ModelConfig, Olmo3sWindowedLayersRotateUnscaled) {
  json config = with(with(llama(), "model_type", "olmo3"), "num_hidden_layers", 5);
  config["sliding_window"] = 32;
  config["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 8.0}, {"original_max_position_embeddings", 64}};
  const ModelConfig c = parse(config);
  EXPECT_EQ(windows(c), (Windows{32, 32, 32, 0, 32}));
  EXPECT_EQ(c.layer(3).rope.factor, 8);
  EXPECT_EQ(c.layer(0).rope, (RopeConfig{.theta = 500000}));
  EXPECT_EQ(parse(with(config, "rope_theta", 777.0)).layer(0).rope.theta, 777);
  EXPECT_EQ(c.layer(0).norms, NormPlace::After);
  EXPECT_FLOAT_EQ(c.norm_eps, 1e-5f);
}

TEST(ModelConfig, LayersWithBasesOfTheirOwn) {
  json config = with(with(llama(), "model_type", "granite_swa"), "num_hidden_layers", 5);
  EXPECT_EQ(windows(parse(config)), (Windows{0, 128, 128, 128, 0}));
  EXPECT_EQ(parse(config).layer(4).rope.theta, 10000);
  config["layer_rope_theta"] = {0, 500.0, 10000, 10000, 0.0};
  const ModelConfig c = parse(config);
  EXPECT_TRUE(c.layer(0).rope.none && c.layer(4).rope.none);
  EXPECT_EQ(c.layer(1).rope.theta, 500);
  EXPECT_EQ(c.layer(2).rope.theta, 10000);
  EXPECT_EQ(c.rope().theta, 500);  // of those that rotate
  EXPECT_EQ(parse(with(config, "no_rope_layers", {0, 1, 1, 1, 0})), c);
  for (const json& other : {json::array({0, 1, 1, 1, 1}), json::array({0, 1}), json(3)}) {
    EXPECT_THAT(failure(with(config, "no_rope_layers", other)), HasSubstr("no_rope_layers"));
  }
  for (const json& bad : {json(3), json::array({0, 1}), json::array({0, 1, 2, 3, -4}),
                          json::array({0, 2, 2, 2, "2"}), json::array({2, 2, 2, 2, 1e300})}) {
    EXPECT_THAT(failure(with(config, "layer_rope_theta", bad)), HasSubstr("layer_rope_theta"));
  }
  EXPECT_THAT(failure(with(config, "model_type", "granite")), HasSubstr("layer_rope_theta"));
}

TEST(ModelConfig, QueriesThatGrow) {
  json config = with(with(llama(), "model_type", "ministral3"), "num_key_value_heads", 2);
  EXPECT_THAT(failure(config), HasSubstr("rope_parameters: missing"));  // whose defaults are scaled ones
  config["rope_parameters"] = {{"rope_type", "yarn"},
                               {"factor", 16.0},
                               {"mscale", 1.0},
                               {"mscale_all_dim", 1.0},
                               {"llama_4_scaling_beta", 0.5},
                               {"original_max_position_embeddings", 100}};
  const ModelConfig c = parse(config);
  EXPECT_EQ(c.rope().attention_factor, 1);
  const QueryGrowth growth = c.layer(1).query_growth;
  EXPECT_EQ(growth, (QueryGrowth{.beta = 0.5, .step = 100}));
  EXPECT_EQ(growth.at(0), 1.0f);
  EXPECT_EQ(growth.at(99), 1.0f);
  EXPECT_FLOAT_EQ(growth.at(100), 1 + 0.5f * std::log(2.0f));
  EXPECT_FLOAT_EQ(growth.at(799), 1 + 0.5f * std::log(8.0f));
  config["rope_parameters"]["llama_4_scaling_beta"] = 0;
  EXPECT_EQ(parse(config).layer(0).query_growth, QueryGrowth());
  for (const json& bad : {json(-1), json("0.1"), json(1e30), json::array()}) {
    config["rope_parameters"]["llama_4_scaling_beta"] = bad;
    EXPECT_THAT(failure(config), HasSubstr("rope_parameters.llama_4_scaling_beta"));
  }
  config["rope_parameters"] = {{"rope_type", "default"}, {"llama_4_scaling_beta", 0.5}};
  EXPECT_THAT(failure(config), HasSubstr("rope_parameters.original_max_position_embeddings"));
  config["model_type"] = "llama";
  EXPECT_THAT(failure(config), HasSubstr("llama_4_scaling_beta: is not supported"));
}

TEST(ModelConfig, HunyuansAlphaIsALargerBase) {
  json config = with(llama(), "model_type", "hunyuan_v1_dense");
  config["rope_scaling"] = {{"type", "dynamic"}, {"alpha", 50.0}, {"factor", 1.0}};
  const ModelConfig c = parse(config);
  EXPECT_EQ(c.rope().scaling, RopeConfig::Scaling::None);
  EXPECT_NEAR(c.rope().theta, 10000 * std::pow(50.0, 16.0 / 14), 1e-6 * c.rope().theta);
  EXPECT_EQ(c.max_context, 2048);
  EXPECT_TRUE(c.layer(0).norms_rotated);
  for (const json& bad : {json(0), json(-2), json("50"), json(1e9)}) {
    config["rope_scaling"]["alpha"] = bad;
    EXPECT_THAT(failure(config), HasSubstr("rope_scaling.alpha"));
  }
  config["rope_scaling"]["alpha"] = 1e6;
  EXPECT_THAT(failure(with(config, "rope_theta", 1e12)), HasSubstr("rope_scaling.alpha"));
  config["rope_scaling"].erase("alpha");
  EXPECT_EQ(parse(config).rope().scaling, RopeConfig::Scaling::Dynamic);
  // Of another family's dynamic scaling it is no part.
  config["rope_scaling"]["alpha"] = 50;
  EXPECT_EQ(parse(with(config, "model_type", "llama")).rope().scaling, RopeConfig::Scaling::Dynamic);
}

TEST(ModelConfig, GlmErnieAndSeedOss) {
  const json base = with(llama(), "num_key_value_heads", 2);
  for (const char* type : {"glm", "glm4"}) {
    const json config = with(base, "model_type", type);
    EXPECT_EQ(parse(config).head_dim, 128);
    EXPECT_EQ(parse(config).rope().dims, 64);
    EXPECT_EQ(parse(with(config, "partial_rotary_factor", 1.0)).rope().dims, 0);
    EXPECT_EQ(parse(with(config, "rope_parameters", {{"partial_rotary_factor", 0.25}})).rope().dims, 32);
    EXPECT_TRUE(parse(config).layer(0).qkv_bias);
    EXPECT_FALSE(parse(config).layer(0).o_bias);
    EXPECT_FALSE(parse(with(config, "attention_bias", false)).layer(0).qkv_bias);
    EXPECT_FLOAT_EQ(parse(config).norm_eps, 1.5625e-7f);
  }
  EXPECT_EQ(parse(with(base, "model_type", "glm4")).layer(0).norms, NormPlace::Both);
  const json ernie = with(base, "model_type", "ernie4_5");
  EXPECT_TRUE(parse(ernie).tied_embeddings);
  EXPECT_EQ(parse(ernie).rope().theta, 500000);
  EXPECT_FALSE(parse(ernie).layer(0).mlp_bias);
  const LayerSpec biased = parse(with(ernie, "use_bias", true)).layer(0);
  EXPECT_TRUE(biased.qkv_bias && biased.o_bias && biased.mlp_bias);
  const LayerSpec seed = parse(with(base, "model_type", "seed_oss")).layer(0);
  EXPECT_TRUE(seed.qkv_bias);
  EXPECT_FALSE(seed.o_bias || seed.mlp_bias);
  EXPECT_TRUE(parse(with(with(base, "model_type", "seed_oss"), "attention_out_bias", true)).layer(0).o_bias);
}

TEST(ModelConfig, ScalingThatExtendsTheContext) {
  json config = with(llama(), "rope_scaling", {{"type", "linear"}, {"factor", 4}});
  EXPECT_EQ(parse(config).max_context, 8192);  // Vicuna 16k writes the original length
  config["rope_scaling"]["type"] = "dynamic";
  EXPECT_EQ(parse(config).max_context, 2048);  // longer ones change the frequencies: only when asked for
  EXPECT_EQ(parse(config).context_limit, 8192);
  config["rope_scaling"] = {
      {"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 512}};
  EXPECT_EQ(parse(config).max_context, 2048);  // already extended
  config["max_position_embeddings"] = 512;
  EXPECT_EQ(parse(config).max_context, 2048);
  config["rope_scaling"]["factor"] = 1e6;
  EXPECT_GT(parse(config).max_context, 0);
}

TEST(ModelConfig, NewerRopeKeyHoldsTheta) {
  const json config = with(llama(), "rope_parameters", {{"rope_type", "default"}, {"rope_theta", 500000.0}});
  EXPECT_EQ(parse(config).rope().theta, 500000.0);
}

TEST(ModelConfig, YarnAttentionFactor) {
  json scaling = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 512}};
  EXPECT_EQ(parse(with(llama(), "rope_scaling", scaling)).rope().attention_factor, 0.0);
  scaling["mscale"] = 1.0;
  scaling["mscale_all_dim"] = 1.0;
  EXPECT_EQ(parse(with(llama(), "rope_scaling", scaling)).rope().attention_factor, 1.0);
  scaling["attention_factor"] = 1.25;
  EXPECT_EQ(parse(with(llama(), "rope_scaling", scaling)).rope().attention_factor, 1.25);
}

TEST(ModelConfig, ErrorsNameFileAndField) {
  EXPECT_THAT(failure(json::array()), HasSubstr("config.json"));
  EXPECT_THAT(failure(with(llama(), "model_type", "gpt2")), HasSubstr("config.json: model_type: \"gpt2\""));
  for (const char* key :
       {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"}) {
    json config = llama();
    config.erase(key);
    EXPECT_THAT(failure(config), HasSubstr(std::string("config.json: ") + key + ": missing"));
    for (const json& bad : {json(0), json(-5), json(1.5), json("64"), json(true), json(INT64_MAX),
                            json(UINT64_MAX), json(1e30), json::array()}) {
      EXPECT_THAT(failure(with(llama(), key, bad)), HasSubstr(std::string("config.json: ") + key)) << bad;
    }
  }
  EXPECT_THAT(failure(with(llama(), "num_key_value_heads", 3)), HasSubstr("num_key_value_heads"));
  EXPECT_THAT(failure(with(llama(), "head_dim", 15)), HasSubstr("head_dim"));
  EXPECT_THAT(failure(with(llama(), "num_attention_heads", 3)), HasSubstr("hidden_size"));
  EXPECT_THAT(failure(with(llama(), "hidden_act", "gelu")), HasSubstr("hidden_act"));
  EXPECT_THAT(failure(with(llama(), "rms_norm_eps", -1)), HasSubstr("rms_norm_eps"));
  EXPECT_THAT(failure(with(llama(), "rope_theta", 0)), HasSubstr("rope_theta"));
  EXPECT_THAT(failure(with(llama(), "tie_word_embeddings", "yes")), HasSubstr("tie_word_embeddings"));
  EXPECT_THAT(failure(with(llama(), "partial_rotary_factor", 0.2)), HasSubstr("partial_rotary_factor"));
  EXPECT_THAT(failure(with(llama(), "partial_rotary_factor", 0)), HasSubstr("partial_rotary_factor"));
  EXPECT_THAT(failure(with(llama(), "quantization_config", json::object())),
              HasSubstr("quantization_config"));
  EXPECT_THAT(failure(with(llama(), "quantization_config", {{"quant_method", "mxfp4"}})),
              HasSubstr("quantization_config"));
  EXPECT_THAT(failure(with(llama(), "max_position_embeddings", INT64_MAX)),
              HasSubstr("max_position_embeddings"));
}

TEST(ModelConfig, ErrorsInLayers) {
  for (const char* key :
       {"attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar", "embedding_multiplier",
        "residual_multiplier", "num_local_experts", "no_rope_layers"}) {
    EXPECT_THAT(failure(with(llama(), key, 8)), AllOf(HasSubstr(key), HasSubstr("not supported")));
  }
  json gemma = with(llama(), "model_type", "gemma2");
  for (const json& bad : {json(0), json(-1), json("8"), json(1e30), json::array()}) {
    for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar",
                            "sliding_window", "sliding_window_pattern"}) {
      EXPECT_THAT(failure(with(gemma, key, bad)), HasSubstr(key)) << bad;
    }
  }
  for (const json& bad : {json("full_attention"), json::array({"full_attention"}),
                          json::array({"full_attention", "chunked_attention"}), json::array({1, 2})}) {
    EXPECT_THAT(failure(with(gemma, "layer_types", bad)), HasSubstr("layer_types"));
  }
  EXPECT_THAT(failure(with(llama(), "layer_types", {"full_attention", "sliding_attention"})),
              HasSubstr("layer_types"));
}

TEST(ModelConfig, ErrorsInRopeScaling) {
  const auto scaled = [](json scaling) { return with(llama(), "rope_scaling", std::move(scaling)); };
  EXPECT_THAT(failure(scaled("linear")), HasSubstr("rope_scaling: expected an object"));
  EXPECT_THAT(failure(scaled({{"type", "mrope"}})), HasSubstr("rope_scaling.rope_type: \"mrope\""));
  EXPECT_THAT(failure(scaled({{"type", "longrope"}})), HasSubstr("rope_scaling.short_factor"));
  EXPECT_THAT(failure(scaled({{"type", "linear"}})), HasSubstr("rope_scaling.factor: missing"));
  EXPECT_THAT(failure(scaled({{"type", "linear"}, {"factor", 0}})), HasSubstr("rope_scaling.factor"));
  EXPECT_THAT(failure(scaled({{"type", "linear"}, {"factor", "4"}})), HasSubstr("rope_scaling.factor"));
  EXPECT_THAT(failure(scaled({{"type", "llama3"}, {"factor", 8}})), HasSubstr("low_freq_factor: missing"));
  EXPECT_THAT(failure(scaled({{"type", "llama3"},
                              {"factor", 8},
                              {"low_freq_factor", 4},
                              {"high_freq_factor", 4},
                              {"original_max_position_embeddings", 8192}})),
              HasSubstr("high_freq_factor"));
  EXPECT_THAT(failure(scaled({{"rope_type", "frequency_factors"}, {"factors", {1, 2}}})),
              HasSubstr("factors"));
}

}  // namespace
}  // namespace augur
