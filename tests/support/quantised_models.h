#pragma once
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files/gguf/gguf.h"
#include "files/gguf/writer.h"
#include "kernels/quantize.h"
#include "model/quantize_model.h"
#include "support/random_tensors.h"
#include "support/stories.h"

namespace augur::testing_support {

/// stories260k in another type; its feed-forward rows of 172 stay bf16.
inline std::filesystem::path write_quantised_stories(const std::filesystem::path& folder, DType type) {
  ThreadPool pool(2);
  const std::filesystem::path path = folder / (std::string(name(type)) + ".gguf");
  quantize_model(pool, Checkpoint::open(stories_path()), path, {.type = type});
  return path;
}

/// A folder with a random model whose rows are whole blocks of every type, with the vocabulary of
/// stories260k: a Llama, or with `experts` > 0 a Qwen2-MoE, which has a shared expert beside them.
inline void write_random_model(const std::filesystem::path& folder, int experts = 0) {
  constexpr std::int64_t kHidden = 256, kFeedForward = 512, kKeys = 128, kVocab = 512;
  std::filesystem::copy_file(stories_path() / "tokenizer.model", folder / "tokenizer.model",
                             std::filesystem::copy_options::overwrite_existing);
  nlohmann::json config = nlohmann::json::parse(R"({"model_type": "llama", "hidden_size": 256,
    "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 64, "vocab_size": 512, "max_position_embeddings": 512, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "tie_word_embeddings": false, "bos_token_id": 1, "eos_token_id": 2})");
  if (experts > 0) {
    config.update({{"model_type", "qwen2_moe"},
                   {"num_experts", experts},
                   {"num_experts_per_tok", 2},
                   {"moe_intermediate_size", kHidden},
                   {"shared_expert_intermediate_size", kFeedForward}});
  }
  std::ofstream(folder / "config.json") << config;
  std::vector<SafetensorsWriter::Entry> entries;
  const auto add = [&](const std::string& name, const Shape& shape) {
    entries.push_back({.name = name, .dtype = DType::F32, .shape = shape});
  };
  add("model.embed_tokens.weight", {kVocab, kHidden});
  add("lm_head.weight", {kVocab, kHidden});
  add("model.norm.weight", {kHidden});
  for (int layer = 0; layer < 2; ++layer) {
    const std::string at = "model.layers." + std::to_string(layer) + ".";
    add(at + "input_layernorm.weight", {kHidden});
    add(at + "post_attention_layernorm.weight", {kHidden});
    add(at + "self_attn.q_proj.weight", {kHidden, kHidden});
    add(at + "self_attn.k_proj.weight", {kKeys, kHidden});
    add(at + "self_attn.v_proj.weight", {kKeys, kHidden});
    add(at + "self_attn.o_proj.weight", {kHidden, kHidden});
    const auto feed_forward = [&](const std::string& part, std::int64_t width) {
      add(at + part + ".gate_proj.weight", {width, kHidden});
      add(at + part + ".up_proj.weight", {width, kHidden});
      add(at + part + ".down_proj.weight", {kHidden, width});
    };
    if (experts == 0) {
      feed_forward("mlp", kFeedForward);
      continue;
    }
    add(at + "self_attn.q_proj.bias", {kHidden});
    add(at + "self_attn.k_proj.bias", {kKeys});
    add(at + "self_attn.v_proj.bias", {kKeys});
    add(at + "mlp.gate.weight", {experts, kHidden});
    for (int e = 0; e < experts; ++e) feed_forward("mlp.experts." + std::to_string(e), kHidden);
    feed_forward("mlp.shared_expert", kFeedForward);
    add(at + "mlp.shared_expert_gate.weight", {1, kHidden});
  }
  write_random_tensors(folder / "model.safetensors", entries);
}

/// A GGUF file anew, every matrix in the type that `type_of` gives for its name.
inline void rewrite_gguf(const std::filesystem::path& from, const std::filesystem::path& to,
                         const std::function<DType(const std::string&)>& type_of) {
  const GgufFile file = GgufFile::open(from);
  GgufMetadata metadata;
  for (const auto& [key, value] : file.metadata()) metadata.copy(key, value);
  std::vector<GgufWriter::Entry> entries;
  for (const GgufTensorInfo& info : file.tensor_infos()) {
    entries.push_back({info.name, info.shape.size() == 2 ? type_of(info.name) : DType::F32, info.shape});
  }
  GgufWriter writer(to, metadata, entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const StoredTensor tensor = file.tensor(file.tensor_infos()[i]);
    const bool matrix = tensor.shape.size() == 2;
    const std::int64_t rows = matrix ? tensor.shape[0] : 1;
    std::vector<float> values(static_cast<std::size_t>(rows * tensor.shape.back()));
    read_rows(tensor, 0, rows, values.data());
    if (!matrix) {
      writer.write(std::as_bytes(std::span<const float>(values)));
      continue;
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(*storage_bytes(entries[i].dtype, tensor.shape)));
    quantize_blocks(entries[i].dtype, values.data(), std::ssize(values), bytes.data());
    writer.write(bytes);
  }
  writer.finish();
}

/// What files of several types look like: queries, keys and values of three; gate and up of two.
inline DType mixed_type(const std::string& tensor) {
  const auto is = [&](const char* part) { return tensor.find(part) != std::string::npos; };
  return is("attn_q")     ? DType::Q4_K
         : is("attn_k")   ? DType::Q5_0
         : is("attn_v")   ? DType::Q6_K
         : is("ffn_gate") ? DType::Q4_1
         : is("ffn_up")   ? DType::Q4_0
         : is("ffn_down") ? DType::Q5_K
         : is("output.")  ? DType::Q6_K
                          : DType::Q8_0;
}

/// The same of the smallest types.
inline DType low_type(const std::string& tensor) {
  const auto is = [&](const char* part) { return tensor.find(part) != std::string::npos; };
  return is("attn_q")                      ? DType::IQ4_XS
         : is("attn_k")                    ? DType::IQ4_NL
         : is("attn_v")                    ? DType::Q3_K
         : is("ffn_gate") || is("ffn_up")  ? DType::MXFP4
         : is("ffn_down") || is("output.") ? DType::Q2_K
                                           : DType::Q3_K;
}

}  // namespace augur::testing_support
