#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "files/gguf/model.h"
#include "support/test_files.h"

namespace augur {
namespace {

using test::bytes_of;
using test::expect_error;
using test::GgufBuilder;
using Json = nlohmann::json;

/// The metadata of a model of two heads of size 4, one layer; `more` adds to it.
GgufBuilder small_model(const std::string& architecture) {
  GgufBuilder builder;
  const auto key = [&](const char* name) { return architecture + "." + name; };
  builder.text("general.architecture", architecture)
      .u32(key("block_count"), 1)
      .u32(key("context_length"), 64)
      .u32(key("embedding_length"), 8)
      .u32(key("feed_forward_length"), 16)
      .u32(key("attention.head_count"), 2)
      .u32(key("attention.head_count_kv"), 1)
      .f32(key("attention.layer_norm_rms_epsilon"), 1e-6f)
      .f32(key("rope.freq_base"), 500000)
      .floats("token_embd.weight", {8, 3}, std::vector<float>(24, 1));
  return builder;
}

std::shared_ptr<const GgufFile> parse(const std::string& text) {
  return std::make_shared<const GgufFile>(GgufFile::parse(bytes_of(text), "f.gguf"));
}

std::vector<float> count_from_zero(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

std::string name_in_llama(std::string_view name) {
  return hugging_face_name(*find_gguf_architecture("llama"), name);
}

TEST(GgufNames, DependOnTheArchitecture) {
  const GgufArchitecture& gemma = *find_gguf_architecture("gemma3");
  EXPECT_EQ(hugging_face_name(gemma, "blk.3.ffn_norm.weight"),
            "model.layers.3.pre_feedforward_layernorm.weight");
  EXPECT_EQ(gguf_tensor_name(gemma, "model.layers.3.post_attention_layernorm.weight"),
            "blk.3.post_attention_norm.weight");
  EXPECT_EQ(gguf_tensor_name(gemma, "model.layers.3.self_attn.q_proj.weight"), "blk.3.attn_q.weight");
}

TEST(GgufNames, AreHuggingFaces) {
  EXPECT_EQ(name_in_llama("token_embd.weight"), "model.embed_tokens.weight");
  EXPECT_EQ(name_in_llama("output_norm.weight"), "model.norm.weight");
  EXPECT_EQ(name_in_llama("output.weight"), "lm_head.weight");
  EXPECT_EQ(name_in_llama("blk.12.attn_q.bias"), "model.layers.12.self_attn.q_proj.bias");
  EXPECT_EQ(name_in_llama("blk.0.attn_output.weight"), "model.layers.0.self_attn.o_proj.weight");
  EXPECT_EQ(name_in_llama("blk.0.attn_k_norm.weight"), "model.layers.0.self_attn.k_norm.weight");
  EXPECT_EQ(name_in_llama("blk.0.attn_norm.weight"), "model.layers.0.input_layernorm.weight");
  EXPECT_EQ(name_in_llama("blk.0.ffn_norm.weight"), "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(name_in_llama("blk.7.ffn_down.weight"), "model.layers.7.mlp.down_proj.weight");
  for (const char* other : {"", "x", "blk.weight", "blk..weight", "blk.1.weight", "blk.x.attn_q.weight",
                            "blk.1.ssm_in.weight", "rope_freqs.weight"}) {
    EXPECT_EQ(name_in_llama(other), other);
  }
}

TEST(GgufNames, LayersThatDraftComeBehindTheModels) {
  const GgufArchitecture& qwen = *find_gguf_architecture("qwen35");
  const std::pair<const char*, const char*> names[] = {
      {"blk.3.attn_qkv.weight", "model.layers.3.linear_attn.in_proj_qkv.weight"},
      {"blk.3.ssm_a", "model.layers.3.linear_attn.A"},
      {"blk.3.ssm_in.weight", "model.layers.3.linear_attn.in_proj_qkvz.weight"},  // of older files
      {"blk.3.ssm_conv1d.weight", "model.layers.3.linear_attn.conv1d.weight"},
      {"blk.3.post_attention_norm.weight", "model.layers.3.post_attention_layernorm.weight"},
      {"blk.4.attn_q.weight", "mtp.layers.0.self_attn.q_proj.weight"},
      {"blk.4.nextn.eh_proj.weight", "mtp.fc.weight"},
      {"blk.4.nextn.enorm.weight", "mtp.pre_fc_norm_embedding.weight"},
      {"blk.4.nextn.hnorm.weight", "mtp.pre_fc_norm_hidden.weight"},
      {"blk.4.nextn.shared_head_norm.weight", "mtp.norm.weight"},
      {"blk.5.ffn_up.weight", "mtp.layers.1.mlp.up_proj.weight"}};
  for (const auto& [gguf, hugging_face] : names) {
    EXPECT_EQ(hugging_face_name(qwen, gguf, 4), hugging_face);
    EXPECT_EQ(gguf_tensor_name(qwen, hugging_face, 4), gguf);
  }
  // Hugging Face's for rows whose name has a suffix in GGUF only.
  EXPECT_EQ(gguf_tensor_name(qwen, "model.layers.3.linear_attn.dt_bias", 4), "blk.3.ssm_dt.bias");
  EXPECT_EQ(hugging_face_name(qwen, "blk.3.ssm_dt.bias", 4), "model.layers.3.linear_attn.dt_bias.bias");
  EXPECT_EQ(hugging_face_name(qwen, "blk.4.unheard_of.weight", 4), "mtp.layers.0.unheard_of.weight");
  for (const char* other : {"blk.-1.attn_q.weight", "blk.99999999999999999999.attn_q.weight", "blk..ssm_a",
                            ".ssm_a", "ssm_a", "blk.3.ssm_a.weight.x"}) {
    EXPECT_EQ(hugging_face_name(qwen, other, 4), other);
  }
  for (const char* none :
       {"mtp.", "mtp.unheard_of.weight", "mtp.layers.x.mlp.up_proj.weight", "mtp.layers.0"})
    EXPECT_EQ(gguf_tensor_name(qwen, none, 4), "");
  EXPECT_EQ(gguf_tensor_name(*find_gguf_architecture("qwen3"), "mtp.fc.weight", 4), "");
}

TEST(GgufWeights, UndoesTheRowOrderOfLlama) {
  // Head 0 holds rows 0-3 in Hugging Face's order; llama.cpp stores them as 0, 2, 1, 3.
  const std::vector<float> stored = {0, 0, 2, 2, 1, 1, 3, 3, 4, 4, 6, 6, 5, 5, 7, 7};
  const auto text = small_model("llama")
                        .floats("blk.0.attn_q.weight", {2, 8}, stored)
                        .floats("blk.0.attn_q.bias", {8}, {0, 2, 1, 3, 4, 6, 5, 7})
                        .floats("blk.0.attn_k.weight", {1, 4}, {0, 2, 1, 3})
                        .floats("blk.0.attn_v.weight", {1, 4}, {0, 1, 2, 3})
                        .build();
  const auto store = open_gguf_weights(parse(text));
  const std::string prefix = "model.layers.0.self_attn.";
  std::vector<float> values(16);
  read_rows(store->require(prefix + "q_proj.weight", {8, 2}), 0, 8, values.data());
  for (int i = 0; i < 16; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], static_cast<float>(i / 2));
  read_rows(store->require(prefix + "q_proj.weight", {8, 2}), 5, 2, values.data());
  EXPECT_EQ(values[0], 5);
  EXPECT_EQ(values[2], 6);
  values.resize(8);
  read_rows(store->require(prefix + "q_proj.bias", {8}), 0, 1, values.data());
  EXPECT_EQ(values, count_from_zero(8));
  values.resize(4);
  read_rows(store->require(prefix + "k_proj.weight", {4, 1}), 0, 4, values.data());
  EXPECT_EQ(values, count_from_zero(4));
  read_rows(store->require(prefix + "v_proj.weight", {4, 1}), 0, 4, values.data());
  EXPECT_EQ(values, count_from_zero(4));
}

TEST(GgufWeights, LeavesTheRowOrderOfQwen) {
  for (const char* architecture : {"qwen2", "qwen3"}) {
    const auto text =
        small_model(architecture).floats("blk.0.attn_q.weight", {1, 8}, count_from_zero(8)).build();
    const auto store = open_gguf_weights(parse(text));
    std::vector<float> values(8);
    read_rows(store->require("model.layers.0.self_attn.q_proj.weight", {8, 1}), 0, 8, values.data());
    EXPECT_EQ(values, count_from_zero(8));
  }
}

TEST(GgufWeights, RefusesWhatItCannotRead) {
  const auto refused = [](const GgufBuilder& builder, std::initializer_list<std::string_view> parts) {
    const std::string text = builder.build();
    expect_error([&] { open_gguf_weights(parse(text)); }, parts);
  };
  refused(GgufBuilder().text("general.architecture", "llama"), {"f.gguf", "vocabulary only"});
  refused(small_model("mamba"), {"f.gguf", "mamba", "llama"});
  refused(small_model("llama").u32("split.count", 3), {"f.gguf", "split"});
  refused(small_model("llama").floats("blk.0.attn_q.weight", {1, 7}, count_from_zero(7)),
          {"attn_q", "7 rows", "2 heads"});
  refused(small_model("llama").tensor_at("x", 0, {1}, 0, ""), {"overlaps"});
  refused(small_model("llama").tensor("x", 1, {1}, std::string(64, 'x')), {"end of the file", "62 bytes"});
  refused(small_model("llama").floats("model.norm.weight", {1}, {1}).floats("output_norm.weight", {1}, {1}),
          {"model.norm.weight"});
}

TEST(GgufConfig, IsHuggingFaces) {
  const auto text = small_model("llama").u32("tokenizer.ggml.eos_token_id", 2).build();
  EXPECT_EQ(gguf_config(*parse(text)), Json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 8,
    "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
    "head_dim": 4, "rms_norm_eps": 1e-6, "rope_theta": 500000.0, "rope_scaling": null,
    "max_position_embeddings": 64, "tie_word_embeddings": true, "attention_bias": false, "mlp_bias": false,
    "vocab_size": 3, "eos_token_id": 2, "torch_dtype": "bfloat16"})"));
}

TEST(GgufConfig, KnowsTheFamilies) {
  const auto qwen2 =
      gguf_config(*parse(small_model("qwen2").floats("output.weight", {8, 3}, count_from_zero(24)).build()));
  EXPECT_EQ(qwen2["architectures"], Json({"Qwen2ForCausalLM"}));
  EXPECT_EQ(qwen2["tie_word_embeddings"], false);
  const auto qwen3 = gguf_config(*parse(small_model("qwen3")
                                            .u32("qwen3.attention.key_length", 16)
                                            .u32("qwen3.attention.value_length", 16)
                                            .build()));
  EXPECT_EQ(qwen3["model_type"], "qwen3");
  EXPECT_EQ(qwen3["head_dim"], 16);
  EXPECT_EQ(qwen3["attention_bias"], false);
  const auto biased =
      gguf_config(*parse(small_model("llama").floats("blk.0.attn_q.bias", {8}, count_from_zero(8)).build()));
  EXPECT_EQ(biased["attention_bias"], true);
}

TEST(GgufConfig, AWindowMakesALlamaFileMistrals) {
  const auto read = [](std::uint32_t window) {
    return gguf_config(*parse(small_model("llama").u32("llama.attention.sliding_window", window).build()));
  };
  EXPECT_EQ(read(8)["model_type"], "mistral");
  EXPECT_EQ(read(8)["sliding_window"], 8);
  EXPECT_EQ(read(0)["model_type"], "llama");
  const Json qwen =
      gguf_config(*parse(small_model("qwen3").u32("qwen3.attention.sliding_window", 8).build()));
  EXPECT_EQ(qwen["use_sliding_window"], true);
  EXPECT_EQ(qwen["sliding_window"], 8);
}

TEST(GgufConfig, WhatAFileHasDecidesBetweenModelsOfOneArchitecture) {
  const auto type = [](const GgufBuilder& builder) {
    return gguf_config(*parse(builder.build()))["model_type"].get<std::string>();
  };
  EXPECT_EQ(type(small_model("olmo2")), "olmo2");
  EXPECT_EQ(type(small_model("olmo2").u32("olmo2.attention.sliding_window", 8)), "olmo3");
  EXPECT_EQ(type(small_model("mistral3")), "mistral");
  const auto ministral = small_model("mistral3")
                             .f32("mistral3.attention.temperature_scale", 0.25f)
                             .u32("mistral3.rope.scaling.original_context_length", 16);
  EXPECT_EQ(type(ministral), "ministral3");
  const Json scaling = gguf_config(*parse(ministral.build()))["rope_scaling"];
  EXPECT_EQ(scaling["rope_type"], "default");
  EXPECT_EQ(scaling["llama_4_scaling_beta"], 0.25);
  EXPECT_EQ(scaling["original_max_position_embeddings"], 16);
}

TEST(GgufConfig, AShareOfTheHeadThatRotatesIsSaidWhereItIsNotTheWholeByDefault) {
  EXPECT_EQ(gguf_config(*parse(small_model("glm4").build()))["partial_rotary_factor"], 1.0);
  EXPECT_FALSE(gguf_config(*parse(small_model("llama").build())).contains("partial_rotary_factor"));
}

TEST(GgufConfig, OtherArchitecturesGiveTheirVocabulary) {
  const auto text =
      GgufBuilder().text("general.architecture", "gpt2").strings("tokenizer.ggml.tokens", {"a", "b"}).build();
  EXPECT_EQ(gguf_config(*parse(text)), (Json{{"model_type", "gpt2"}, {"vocab_size", 2}}));
}

TEST(GgufConfig, RefusesMissingAndAbsurdValues) {
  const auto refused = [](const GgufBuilder& builder, std::initializer_list<std::string_view> parts) {
    const std::string text = builder.build();
    expect_error([&] { gguf_config(*parse(text)); }, parts);
  };
  refused(GgufBuilder(), {"f.gguf", "general.architecture"});
  refused(GgufBuilder().text("general.architecture", "llama").floats("t", {1}, {1}),
          {"f.gguf", "llama.embedding_length"});
  refused(small_model("llama").u32("llama.vocab_size", 0).u32("llama.attention.key_length", 0),
          {"key_length", "0"});
  refused(small_model("granite").u32("granite.attention.sliding_window", 8),
          {"granite.attention.sliding_window"});
  refused(small_model("llama").f32("llama.rope.scale_linear", std::numeric_limits<float>::quiet_NaN()),
          {"rope.scale_linear", "expected a finite number"});
  refused(small_model("glm4").array("glm4.rope.dimension_sections", GgufType::I32,
                                    std::vector<std::int32_t>{1, 1, 0, 0}),
          {"glm4.rope.dimension_sections", "positions"});
  refused(small_model("glm4").u32("glm4.nextn_predict_layers", 1), {"glm4.nextn_predict_layers"});
  refused(small_model("mistral3").f32("mistral3.attention.temperature_scale", 0.1f),
          {"mistral3.rope.scaling.original_context_length"});
  refused(small_model("llama").u32("llama.rope.dimension_count", 6), {"rope.dimension_count", "4", "6"});
  refused(small_model("llama").strings("tokenizer.ggml.tokens", {"a", "b", "c", "d"}),
          {"token_embd", "3", "4"});
  refused(small_model("llama").u32("tokenizer.ggml.bos_token_id", 4000000000),
          {"bos_token_id", "4000000000"});
  refused(small_model("llama").text("llama.rope.scaling.type", "longrope"),
          {"rope.scaling.type", "longrope"});
}

TEST(GgufConfig, SizesByLayerMustAgree) {
  const auto model = [](const std::vector<std::uint32_t>& heads) {
    return GgufBuilder()
        .text("general.architecture", "llama")
        .u32("llama.embedding_length", 8)
        .array("llama.attention.head_count", GgufType::U32, heads)
        .floats("token_embd.weight", {8, 3}, std::vector<float>(24))
        .build();
  };
  expect_error([&] { gguf_config(*parse(model({2, 4}))); }, {"attention.head_count", "layers"});
  expect_error([&] { gguf_config(*parse(model({}))); }, {"attention.head_count"});
  expect_error([&] { gguf_config(*parse(model({2, 2}))); }, {"feed_forward_length"});  // the next key
}

TEST(GgufConfig, RopeScaling) {
  const auto scaling = [](const GgufBuilder& builder) {
    return gguf_config(*parse(builder.build()))["rope_scaling"];
  };
  EXPECT_EQ(scaling(small_model("llama").text("llama.rope.scaling.type", "none")), nullptr);
  EXPECT_EQ(scaling(small_model("llama").f32("llama.rope.scale_linear", 2)),
            (Json{{"rope_type", "linear"}, {"factor", 2.0}}));
  EXPECT_EQ(
      scaling(
          small_model("llama").text("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 4)),
      (Json{{"rope_type", "linear"}, {"factor", 4.0}}));
  EXPECT_EQ(scaling(small_model("qwen2")
                        .text("qwen2.rope.scaling.type", "yarn")
                        .f32("qwen2.rope.scaling.factor", 4)
                        .u32("qwen2.rope.scaling.original_context_length", 32768)),
            (Json{{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}}));
  // A factor to what YaRN multiplies by anyway, of which 1 changes nothing.
  for (const float relative : {1.0f, 0.5f}) {
    EXPECT_EQ(scaling(small_model("qwen2")
                          .text("qwen2.rope.scaling.type", "yarn")
                          .f32("qwen2.rope.scaling.factor", 16)
                          .f32("qwen2.rope.scaling.attn_factor", relative))["attention_factor"],
              relative * (0.1 * std::log(16.0) + 1));
  }
}

/// A Llama model with heads of 64 and the frequency factors that llama.cpp's converter writes.
GgufBuilder model_with_factors(const std::vector<float>& factors) {
  return GgufBuilder()
      .text("general.architecture", "llama")
      .u32("llama.block_count", 1)
      .u32("llama.context_length", 131072)
      .u32("llama.embedding_length", 128)
      .u32("llama.feed_forward_length", 16)
      .u32("llama.attention.head_count", 2)
      .f32("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .f32("llama.rope.freq_base", 500000)
      .floats("rope_freqs.weight", {factors.size()}, factors);
}

TEST(GgufConfig, RecognisesTheLawOfLlama3) {
  std::vector<float> factors;
  for (int i = 0; i < 32; ++i) {  // as Hugging Face's _compute_llama3_parameters, in float32
    const float wavelength = 2 * std::numbers::pi_v<float> * std::pow(500000.0f, static_cast<float>(i) / 32);
    if (wavelength < 8192.0f / 4) {
      factors.push_back(1);
    } else if (wavelength > 8192.0f) {
      factors.push_back(32);
    } else {
      const float smooth = (8192 / wavelength - 1) / (4 - 1);
      factors.push_back(1 / ((1 - smooth) / 32 + smooth));
    }
  }
  const auto text = model_with_factors(factors).build();
  EXPECT_EQ(gguf_config(*parse(text))["rope_scaling"], (Json{{"rope_type", "llama3"},
                                                             {"factor", 32.0},
                                                             {"low_freq_factor", 1.0},
                                                             {"high_freq_factor", 4.0},
                                                             {"original_max_position_embeddings", 8192}}));
  EXPECT_EQ(open_gguf_weights(parse(text))->find("rope_freqs.weight"), nullptr);
  factors[20] *= 1.01f;  // another law: given as it is
  const auto other = gguf_config(*parse(model_with_factors(factors).build()))["rope_scaling"];
  EXPECT_EQ(other["rope_type"], "frequency_factors");
  EXPECT_EQ(other["factors"].get<std::vector<float>>(), factors);
}

TEST(GgufConfig, RefusesBadFrequencyFactors) {
  expect_error(
      [] {
        gguf_config(*parse(model_with_factors({1, 2}).build()));
      },
      {"rope_freqs.weight", "[32]", "[2]"});
  expect_error([] { gguf_config(*parse(model_with_factors(std::vector<float>(32)).build())); },
               {"rope_freqs.weight"});
}

TEST(GgufConfig, GenerationStopsAtEverySpecialEnd) {
  const auto text = GgufBuilder()
                        .u32("tokenizer.ggml.bos_token_id", 1)
                        .u32("tokenizer.ggml.eos_token_id", 2)
                        .u32("tokenizer.ggml.eot_token_id", 3)
                        .u32("tokenizer.ggml.eom_token_id", 2)
                        .u32("tokenizer.ggml.padding_token_id", 0xffffffff)
                        .build();
  EXPECT_EQ(gguf_generation_config(*parse(text)), (Json{{"bos_token_id", 1}, {"eos_token_id", {2, 3}}}));
}

TEST(GgufConfig, GenerationSuppressesTokens) {
  const auto with = [](const std::vector<std::int32_t>& ids) {
    return gguf_generation_config(*parse(GgufBuilder()
                                             .strings("tokenizer.ggml.tokens", {"a", "b", "c"})
                                             .array("tokenizer.ggml.suppress_tokens", GgufType::I32, ids)
                                             .build()));
  };
  EXPECT_EQ(with({2, 0}), (Json{{"suppress_tokens", {2, 0}}}));
  EXPECT_EQ(with({}), Json::object());
  expect_error([&] { with({3}); }, {"tokenizer.ggml.suppress_tokens", "id 3 is outside the vocabulary of 3"});
}

TEST(GgufVocabularyReader, ReadsAllParts) {
  const auto text = GgufBuilder()
                        .text("tokenizer.ggml.model", "llama")
                        .text("tokenizer.ggml.pre", "default")
                        .strings("tokenizer.ggml.tokens", {"<unk>", "a", "\xff"})
                        .array("tokenizer.ggml.scores", GgufType::F32, std::vector<float>{0, -1, -2})
                        .array("tokenizer.ggml.token_type", GgufType::I32, std::vector<std::int32_t>{2, 1, 6})
                        .strings("tokenizer.ggml.merges", {"a b"})
                        .u32("tokenizer.ggml.unknown_token_id", 0)
                        .u32("tokenizer.ggml.fim_pre_token_id", 1)
                        .u32("tokenizer.ggml.fim_mid_token_id", 2)
                        .u32("tokenizer.ggml.middle_token_id", 1)
                        .u32("tokenizer.ggml.suffix_token_id", 2)
                        .boolean("tokenizer.ggml.add_bos_token", true)
                        .build();
  const auto vocabulary = gguf_vocabulary(*parse(text));
  ASSERT_TRUE(vocabulary);
  EXPECT_EQ(vocabulary->file, "f.gguf");
  EXPECT_EQ(vocabulary->model, "llama");
  EXPECT_EQ(vocabulary->pre, "default");
  EXPECT_EQ(vocabulary->tokens, (std::vector<std::string>{"<unk>", "a", "\xff"}));
  EXPECT_EQ(vocabulary->scores, (std::vector<float>{0, -1, -2}));
  EXPECT_EQ(vocabulary->token_types, (std::vector<std::int32_t>{2, 1, 6}));
  EXPECT_EQ(vocabulary->merges, std::vector<std::string>{"a b"});
  EXPECT_EQ(vocabulary->unk, 0);
  EXPECT_EQ(vocabulary->fim_prefix, 1);
  EXPECT_EQ(vocabulary->fim_middle, 2) << "the later name counts";
  EXPECT_EQ(vocabulary->fim_suffix, 2);
  EXPECT_EQ(vocabulary->fim_file, std::nullopt);
  EXPECT_EQ(vocabulary->bos, std::nullopt);
  EXPECT_EQ(vocabulary->add_bos, true);
  EXPECT_EQ(vocabulary->add_space_prefix, std::nullopt);
  EXPECT_FALSE(gguf_vocabulary(*parse(GgufBuilder().build())));
}

TEST(GgufVocabularyReader, RefusesPartsThatDoNotFit) {
  const auto refused = [](const GgufBuilder& builder, std::initializer_list<std::string_view> parts) {
    const std::string text = builder.build();
    expect_error([&] { gguf_vocabulary(*parse(text)); }, parts);
  };
  const auto vocabulary = [] {
    return GgufBuilder().text("tokenizer.ggml.model", "gpt2").strings("tokenizer.ggml.tokens", {"a", "b"});
  };
  refused(vocabulary().array("tokenizer.ggml.scores", GgufType::F32, std::vector<float>{0}),
          {"scores", "1", "2"});
  refused(vocabulary().array("tokenizer.ggml.token_type", GgufType::I32, std::vector<std::int32_t>{1, 1, 1}),
          {"token_type", "3", "2"});
  refused(vocabulary().array("tokenizer.ggml.token_type", GgufType::I32, std::vector<std::int32_t>{1, 9}),
          {"token_type", "9"});
  refused(vocabulary().u32("tokenizer.ggml.eos_token_id", 2), {"eos_token_id", "2"});
  refused(GgufBuilder().text("tokenizer.ggml.model", "gpt2").strings("tokenizer.ggml.tokens", {}),
          {"0 tokens"});
  refused(GgufBuilder().u32("tokenizer.ggml.model", 1), {"tokenizer.ggml.model", "string"});
}

TEST(GgufModel, SurvivesDamage) {
  const auto whole = small_model("llama")
                         .text("tokenizer.ggml.model", "llama")
                         .strings("tokenizer.ggml.tokens", {"a", "b", "c"})
                         .u32("tokenizer.ggml.eos_token_id", 2)
                         .floats("blk.0.attn_q.weight", {2, 8}, count_from_zero(16))
                         .build();
  test::expect_survives_damage(whole, [](std::string_view text) {
    const auto file = std::make_shared<const GgufFile>(GgufFile::parse(bytes_of(text), "f.gguf"));
    gguf_config(*file).dump();
    gguf_vocabulary(*file);
    const auto store = open_gguf_weights(file);
    for (const auto& [key, tensor] : store->tensors()) {
      if (tensor.bytes.empty()) continue;
      std::vector<float> row(tensor.bytes.size() * 2);
      read_rows(tensor, 0, 1, row.data());
    }
  });
}

}  // namespace
}  // namespace augur
