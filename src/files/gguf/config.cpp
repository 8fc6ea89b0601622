#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <span>
#include <unordered_set>

#include "base/elementary.h"
#include "base/error.h"
#include "files/gguf/model.h"
#include "files/json_reader.h"

namespace augur {

namespace {

using Json = nlohmann::json;

/// `<architecture>.<key>`
class Keys {
 public:
  explicit Keys(const GgufFile& file) : file_(file), prefix_(file.architecture() + ".") {}

  std::string full(std::string_view key) const { return prefix_ + std::string(key); }

  /// An integer; for values that may be given by layer, the one that all layers share.
  std::optional<std::int64_t> find_size(std::string_view key) const {
    const auto name = full(key);
    const auto it = file_.metadata().find(name);
    if (it == file_.metadata().end()) return std::nullopt;
    std::int64_t value = 0;
    if (it->second.type == GgufType::Array) {
      const auto by_layer = *file_.find_ints(name);
      const bool equal =
          std::adjacent_find(by_layer.begin(), by_layer.end(), std::not_equal_to<>()) == by_layer.end();
      if (by_layer.empty() || !equal) {
        throw Error(ErrorKind::Unsupported, "{}: {}: layers of different sizes are not supported",
                    file_.name(), name);
      }
      value = by_layer.front();
    } else {
      value = *file_.find_int(name);
    }
    constexpr std::int64_t kMax = 1 << 30;
    if (value <= 0 || value > kMax)
      throw Error("{}: {}: expected 1 to {}, found {}", file_.name(), name, kMax, value);
    return value;
  }
  std::int64_t size(std::string_view key) const {
    const auto value = find_size(key);
    if (!value) throw Error("{}: the metadata lack {}", file_.name(), full(key));
    return *value;
  }
  std::optional<std::int64_t> find_int(std::string_view key) const { return file_.find_int(full(key)); }
  std::optional<double> find_float(std::string_view key) const { return file_.find_float(full(key)); }
  double number(std::string_view key) const {
    const auto value = find_float(key);
    if (!value) throw Error("{}: the metadata lack {}", file_.name(), full(key));
    return *value;
  }

 private:
  const GgufFile& file_;
  std::string prefix_;
};

/// Parameters of Llama 3.1's law. The file stores its values only, so we try what models are published with.
constexpr double kLlama3LowFrequencyFactor = 1;
constexpr double kLlama3HighFrequencyFactor = 4;
constexpr double kLlama3OriginalContext = 8192;

double llama3_factor(double theta, std::size_t i, std::size_t count, double factor) {
  const double exponent = static_cast<double>(i) / static_cast<double>(count);
  const double wavelength = 2 * std::numbers::pi * elementary::pow(theta, exponent);
  if (wavelength < kLlama3OriginalContext / kLlama3HighFrequencyFactor) return 1;
  if (wavelength > kLlama3OriginalContext / kLlama3LowFrequencyFactor) return factor;
  const double smooth = (kLlama3OriginalContext / wavelength - kLlama3LowFrequencyFactor) /
                        (kLlama3HighFrequencyFactor - kLlama3LowFrequencyFactor);
  return 1 / ((1 - smooth) / factor + smooth);
}

std::vector<float> read_factors(const GgufFile& file, const GgufTensorInfo& info, std::int64_t count) {
  const StoredTensor tensor = file.tensor(info);
  if (tensor.shape != Shape{count}) {
    throw Error("{}: tensor {}: expected shape [{}], found {}", file.name(), info.name, count,
                to_string(tensor.shape));
  }
  std::vector<float> factors(static_cast<std::size_t>(count));
  read_rows(tensor, 0, 1, factors.data());
  for (const float f : factors) {
    if (!std::isfinite(f) || f <= 0)
      throw Error("{}: tensor {}: expected positive numbers", file.name(), info.name);
  }
  return factors;
}

Json frequency_factors(const GgufFile& file, const GgufTensorInfo& info, std::int64_t dims, double theta) {
  const std::vector<float> factors = read_factors(file, info, dims / 2);
  const double factor = std::round(*std::max_element(factors.begin(), factors.end()));
  bool is_llama3 = true;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double expected = llama3_factor(theta, i, factors.size(), factor);
    is_llama3 = is_llama3 && std::abs(factors[i] - expected) <= 1e-4 * expected;
  }
  if (!is_llama3) return {{"rope_type", "frequency_factors"}, {"factors", factors}};
  return {{"rope_type", "llama3"},
          {"factor", factor},
          {"low_freq_factor", kLlama3LowFrequencyFactor},
          {"high_freq_factor", kLlama3HighFrequencyFactor},
          {"original_max_position_embeddings", static_cast<int>(kLlama3OriginalContext)}};
}

/// LongRoPE's two tensors; its other parameters are metadata.
Json long_rope(const GgufFile& file, const Keys& keys, std::int64_t dims) {
  const auto* longer = file.find_tensor("rope_factors_long.weight");
  const auto* shorter = file.find_tensor("rope_factors_short.weight");
  if (longer == nullptr || shorter == nullptr) {
    throw Error("{}: tensor rope_factors_{}.weight is missing", file.name(),
                longer == nullptr ? "long" : "short");
  }
  Json scaling = {{"rope_type", "longrope"},
                  {"short_factor", read_factors(file, *shorter, dims / 2)},
                  {"long_factor", read_factors(file, *longer, dims / 2)},
                  {"original_max_position_embeddings", keys.size("rope.scaling.original_context_length")}};
  if (const auto value = keys.find_float("rope.scaling.attn_factor")) scaling["attention_factor"] = *value;
  return scaling;
}

/// Ministral 3's queries grow by the rotation's original context, whatever scaling there is.
void add_query_growth(const Keys& keys, Json& config) {
  const auto beta = keys.find_float("attention.temperature_scale");
  if (!beta || *beta == 0) return;
  Json& scaling = config["rope_scaling"];
  if (scaling.is_null()) scaling = {{"rope_type", "default"}};
  scaling["llama_4_scaling_beta"] = *beta;
  scaling["original_max_position_embeddings"] = keys.size("rope.scaling.original_context_length");
}

Json rope_scaling(const GgufFile& file, const GgufArchitecture& known, const Keys& keys, std::int64_t dims,
                  double theta) {
  const auto type = file.find_string(keys.full("rope.scaling.type"));
  if (file.find_tensor("rope_factors_long.weight") != nullptr ||
      file.find_tensor("rope_factors_short.weight") != nullptr) {
    return long_rope(file, keys, dims);
  }
  const auto* factors = file.find_tensor("rope_freqs.weight");
  if (factors != nullptr) {
    if (type && *type != "none") {
      throw Error(ErrorKind::Unsupported, "{}: {} is {} and there are rope_freqs: not supported", file.name(),
                  keys.full("rope.scaling.type"), *type);
    }
    return frequency_factors(file, *factors, dims, theta);
  }
  if (!type) {  // before scaling types there was only linear scaling
    if (const auto linear = keys.find_float("rope.scale_linear"); linear && *linear != 1) {
      return {{"rope_type", "linear"}, {"factor", *linear}};
    }
    return nullptr;
  }
  if (*type == "none") return nullptr;
  if (*type == "linear") return {{"rope_type", "linear"}, {"factor", keys.number("rope.scaling.factor")}};
  if (*type != "yarn") {
    throw Error(ErrorKind::Unsupported, "{}: {}: {:?} is not supported", file.name(),
                keys.full("rope.scaling.type"), *type);
  }
  const double factor = keys.number("rope.scaling.factor");
  Json yarn = {{"rope_type", "yarn"}, {"factor", factor}};
  if (const auto context = keys.find_size("rope.scaling.original_context_length")) {
    yarn["original_max_position_embeddings"] = *context;
  }
  if (const auto value = keys.find_float("rope.scaling.attn_factor")) {
    yarn["attention_factor"] = *value * gguf_yarn_magnitude(factor);
  } else if (const auto all = keys.find_float("rope.scaling.yarn_log_multiplier"); all && *all != 0) {
    yarn["mscale"] = 1.0;
    yarn["mscale_all_dim"] = *all;
  }
  if (const auto value = keys.find_float("rope.scaling.yarn_beta_fast")) yarn["beta_fast"] = *value;
  if (const auto value = keys.find_float("rope.scaling.yarn_beta_slow")) yarn["beta_slow"] = *value;
  if (!known.yarn_truncates) yarn["truncate"] = false;
  return yarn;
}

/// Rows of the embedding, which may be more than the tokens; else what the metadata say.
std::optional<std::int64_t> vocabulary_size(const GgufFile& file, const Keys& keys) {
  std::int64_t tokens = 0;
  if (const auto it = file.metadata().find("tokenizer.ggml.tokens"); it != file.metadata().end()) {
    tokens = static_cast<std::int64_t>(it->second.count);
  }
  if (const auto* embedding = file.find_tensor("token_embd.weight")) {
    if (embedding->shape.front() < tokens) {
      throw Error("{}: tensor token_embd.weight: {} rows for {} tokens", file.name(),
                  embedding->shape.front(), tokens);
    }
    return embedding->shape.front();
  }
  if (const auto size = keys.find_size("vocab_size")) return size;
  if (tokens > 0) return tokens;
  return std::nullopt;
}

/// A window of 0 is none.
void add_windows(const GgufFile& file, const GgufArchitecture& known, const Keys& keys, Json& config) {
  const std::string name = keys.full("attention.sliding_window");
  const auto window = file.find_int(name);
  if (!window || *window == 0) {
    if (window || known.windows_stated) config["sliding_window"] = nullptr;
    return;
  }
  config["sliding_window"] = keys.size("attention.sliding_window");
  if (known.windows_opt_in) {
    config["use_sliding_window"] = true;
    config["max_window_layers"] = 0;  // where the file has no pattern
  }
  const auto pattern = keys.full("attention.sliding_window_pattern");
  const auto it = file.metadata().find(pattern);
  if (it == file.metadata().end()) return;
  if (it->second.type != GgufType::Array) {
    config["sliding_window_pattern"] = keys.size("attention.sliding_window_pattern");
    return;
  }
  Json types = Json::array();
  const std::vector<std::int64_t> by_layer = *file.find_ints(pattern);
  for (const std::int64_t windowed : by_layer) {
    types.push_back(windowed != 0 ? "sliding_attention" : "full_attention");
  }
  config["layer_types"] = types;
}

/// The size of those layers that have any; 0: none has. Error where they differ.
std::int64_t size_of_layers(const GgufFile& file, const std::string& key,
                            std::span<const std::int64_t> by_layer) {
  std::int64_t size = 0;
  for (const std::int64_t of_layer : by_layer) {
    if (of_layer == 0) continue;
    if (of_layer < 0 || (size != 0 && of_layer != size))
      throw Error(ErrorKind::Unsupported, "{}: {}: layers of different sizes are not supported", file.name(),
                  key);
    size = of_layer;
  }
  return size;
}

/// Layers whose number of key heads is 0 have none, but what is called `other`.
void add_layer_types(const GgufFile& file, const Keys& keys, const char* other, Json& config) {
  const std::string name = keys.full("attention.head_count_kv");
  const auto by_layer = file.find_ints(name);
  if (!by_layer) throw Error("{}: {}: expected a list by layer", file.name(), name);
  Json types = Json::array();
  for (const std::int64_t of_layer : *by_layer) types.push_back(of_layer == 0 ? other : "full_attention");
  config["num_key_value_heads"] = gguf_kv_heads(file).value_or(0);
  config["layer_types"] = types;
}

void add_convolutions(const GgufFile& file, const Keys& keys, Json& config) {
  add_layer_types(file, keys, "conv", config);
  config["conv_L_cache"] = keys.size("shortconv.l_cache");
  config["block_auto_adjust_ff_dim"] = false;
}

bool any_tensor_ends(const GgufFile& file, std::string_view end) {
  const auto& infos = file.tensor_infos();
  return std::any_of(infos.begin(), infos.end(),
                     [&](const GgufTensorInfo& info) { return info.name.ends_with(end); });
}

/// Granite's keys, or Nemotron-H's.
void add_mamba(const GgufFile& file, const GgufArchitecture& known, const Keys& keys, Json& config) {
  const std::int64_t heads = keys.size("ssm.time_step_rank");
  const std::int64_t values = keys.size("ssm.inner_size");
  if (values % heads != 0) {
    throw Error("{}: {}: expected a multiple of {} {}, found {}", file.name(), keys.full("ssm.inner_size"),
                keys.full("ssm.time_step_rank"), heads, values);
  }
  const auto set = [&](const char* granite, const char* nemotron, Json value) {
    config[known.single_blocks ? nemotron : granite] = std::move(value);
  };
  set("mamba_n_heads", "mamba_num_heads", heads);
  set("mamba_d_head", "mamba_head_dim", values / heads);
  set("mamba_n_groups", "n_groups", keys.size("ssm.group_count"));
  set("mamba_d_state", "ssm_state_size", keys.size("ssm.state_size"));
  set("mamba_d_conv", "conv_kernel", keys.size("ssm.conv_kernel"));
  set("mamba_conv_bias", "use_conv_bias", any_tensor_ends(file, ".ssm_conv1d.bias"));
}

/// Layers of one block: those with a feed-forward have its width, those with attention key heads, and
/// recurrent ones neither.
void add_single_blocks(const GgufFile& file, const GgufArchitecture& known, const Keys& keys, Json& config) {
  const std::int64_t blocks = keys.size("block_count");
  const auto by_layer = [&](const char* key) {
    const auto values = file.find_ints(keys.full(key));
    if (!values) throw Error("{}: {}: expected a list by layer", file.name(), keys.full(key));
    if (std::ssize(*values) != blocks) {
      throw Error("{}: {}: expected a list of {}, found {}", file.name(), keys.full(key), blocks,
                  values->size());
    }
    return *values;
  };
  const auto layers = static_cast<std::size_t>(gguf_layers(file));
  constexpr const char* kHeads = "attention.head_count_kv";
  constexpr const char* kWidth = "feed_forward_length";
  const std::vector<std::int64_t> heads = by_layer(kHeads);
  const std::vector<std::int64_t> widths = by_layer(kWidth);
  const std::int64_t key_heads = size_of_layers(file, keys.full(kHeads), std::span(heads).first(layers));
  const std::int64_t width = size_of_layers(file, keys.full(kWidth), std::span(widths).first(layers));
  Json types = Json::array();
  for (std::size_t i = 0; i < layers; ++i) {
    types.push_back(widths[i] > 0  ? known.experts ? "moe" : "mlp"
                    : heads[i] > 0 ? "full_attention"
                                   : "linear_attention");
  }
  const bool recurs = std::find(types.begin(), types.end(), "linear_attention") != types.end();
  config["layers_block_type"] = std::move(types);
  config["num_key_value_heads"] = key_heads;
  config["intermediate_size"] = width;
  if (recurs) add_mamba(file, known, keys, config);
}

/// Nemotron 3's.
void add_shared_by_sigmoids(const GgufFile& file, const Keys& keys, Json& config) {
  config["n_routed_experts"] = keys.size("expert_count");
  config["num_experts_per_tok"] = keys.size("expert_used_count");
  config["moe_intermediate_size"] = keys.size("expert_feed_forward_length");
  config["moe_shared_expert_intermediate_size"] = keys.size("expert_shared_feed_forward_length");
  config["norm_topk_prob"] = file.find_bool(keys.full("expert_weights_norm")).value_or(false);
  config["routed_scaling_factor"] = keys.find_float("expert_weights_scale").value_or(1.0);
  config["n_group"] = keys.find_int("expert_group_count").value_or(1);
  if (const auto latent = keys.find_size("moe_latent_size")) config["moe_latent_size"] = *latent;
}

void add_delta_rules(const GgufFile& file, const GgufArchitecture& known, const Keys& keys, Json& config) {
  const std::int64_t heads = keys.size("ssm.time_step_rank");
  const std::int64_t values = keys.size("ssm.inner_size");
  if (values % heads != 0) {
    throw Error("{}: {}: expected a multiple of {} {}, found {}", file.name(), keys.full("ssm.inner_size"),
                keys.full("ssm.time_step_rank"), heads, values);
  }
  config["linear_num_key_heads"] = keys.size("ssm.group_count");
  config["linear_num_value_heads"] = heads;
  config["linear_key_head_dim"] = keys.size("ssm.state_size");
  config["linear_value_head_dim"] = values / heads;
  config["linear_conv_kernel_dim"] = keys.size("ssm.conv_kernel");
  if (known.delta_interleaved) config["linear_value_heads_interleaved"] = true;
  const std::string name = keys.full("attention.recurrent_layers");
  const auto recurrent = file.find_ints(name);
  if (!recurrent) {
    config["full_attention_interval"] = keys.find_size("full_attention_interval").value_or(4);
    return;
  }
  const std::int64_t blocks = keys.size("block_count");
  if (std::ssize(*recurrent) != blocks)
    throw Error("{}: {}: expected a list of {}, found {}", file.name(), name, blocks, recurrent->size());
  Json types = Json::array();
  for (std::int64_t i = 0; i < gguf_layers(file); ++i) {
    types.push_back((*recurrent)[static_cast<std::size_t>(i)] != 0 ? "linear_attention" : "full_attention");
  }
  config["layer_types"] = types;
}

/// Which layers rotate, all by one base; a file need not say it.
void add_rotating_layers(const GgufFile& file, const Keys& keys, Json& config) {
  const auto pattern = file.find_ints(keys.full("attention.rope_pattern"));
  if (!pattern) return;
  Json thetas = Json::array();
  for (const std::int64_t rotates : *pattern) thetas.push_back(rotates != 0 ? config["rope_theta"] : Json(0));
  config["layer_rope_theta"] = thetas;
}

void add_experts(const GgufArchitecture& known, const Keys& keys, Json& config) {
  config["num_local_experts"] = keys.size("expert_count");
  config["num_experts_per_tok"] = keys.size("expert_used_count");
  if (const auto width = keys.find_size("expert_feed_forward_length")) {
    config[std::string(known.expert_width)] = *width;
  }
  const auto shared = keys.find_size("expert_shared_feed_forward_length");
  if (shared && !known.shared_expert) config["shared_expert_intermediate_size"] = *shared;
  if (known.normalised_experts) config["norm_topk_prob"] = true;
  if (known.conv) config["num_dense_layers"] = keys.find_int("leading_dense_block_count").value_or(0);
}

void add_scales(const GgufArchitecture& known, const Keys& keys, std::int64_t hidden, std::int64_t heads,
                Json& config) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"attn_logit_softcapping", "attn_logit_softcapping"},
      {"final_logit_softcapping", "final_logit_softcapping"},
      {"embedding_scale", "embedding_multiplier"},
      {"residual_scale", "residual_multiplier"},
      {"attention.scale", "attention_multiplier"},
      {"logit_scale", "logits_scaling"},
      {"rope.freq_base_swa", "rope_local_base_freq"}};
  for (const auto& [gguf, hugging_face] : kNames) {
    if (const auto value = keys.find_float(gguf); value && *value != 0) config[hugging_face] = *value;
  }
  if (known.query_scalar_layers == 0) return;
  const bool largest = config["num_hidden_layers"] == known.query_scalar_layers;
  config["query_pre_attn_scalar"] = largest ? Json(hidden / heads) : config["head_dim"];
}

/// What the other architectures of llama.cpp's are for: positions of images, layers that draft. Those with
/// delta rules have both; of texts' tokens all positions are the same.
void refuse_extensions(const GgufFile& file, const GgufArchitecture& known, const Keys& keys) {
  if (known.delta) return;
  const std::string sections = keys.full("rope.dimension_sections");
  for (const std::int64_t dims : file.find_ints(sections).value_or(std::vector<std::int64_t>())) {
    if (dims != 0)
      throw Error(ErrorKind::Unsupported, "{}: {}: other positions than text's are not supported",
                  file.name(), sections);
  }
  const std::string drafting = keys.full("nextn_predict_layers");
  if (!known.drafts && file.find_int(drafting).value_or(0) != 0) {
    throw Error(ErrorKind::Unsupported, "{}: {}: layers that draft are not supported for this architecture",
                file.name(), drafting);
  }
}

void add_special_ids(const GgufFile& file, Json& config) {
  const Json ids = gguf_generation_config(file);
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
    if (ids.contains(key)) config[key] = ids[key];
  }
}

/// An id; absent also when it is the converter's -1.
std::optional<std::int64_t> checked_special_id(const GgufFile& file, std::string_view key, std::int64_t id) {
  if (id == -1 || id == 0xffffffff) return std::nullopt;
  const auto tokens = file.metadata().find("tokenizer.ggml.tokens");
  const auto count = tokens == file.metadata().end() ? 0 : static_cast<std::int64_t>(tokens->second.count);
  if (id < 0 || (count > 0 && id >= count) || id > INT32_MAX) {
    throw Error("{}: {}: id {} is outside the vocabulary of {}", file.name(), key, id, count);
  }
  return id;
}

std::optional<std::int64_t> special_id(const GgufFile& file, std::string_view key) {
  const auto id = file.find_int(key);
  return id ? checked_special_id(file, key, *id) : std::nullopt;
}

std::vector<std::int64_t> listed_ids(const GgufFile& file, std::string_view key) {
  std::vector<std::int64_t> ids;
  for (const std::int64_t id : file.find_ints(key).value_or(std::vector<std::int64_t>())) {
    if (const auto special = checked_special_id(file, key, id)) ids.push_back(*special);
  }
  return ids;
}

}  // namespace

const GgufArchitecture* gguf_architecture_of(const GgufFile& file) {
  const std::string& name = file.architecture();
  return find_gguf_architecture(
      name, {.experts = file.find_int(name + ".expert_count").value_or(0) > 0,
             .window = file.find_int(name + ".attention.sliding_window").value_or(0) != 0,
             .query_growth = file.find_float(name + ".attention.temperature_scale").value_or(0) != 0});
}

std::optional<std::int64_t> gguf_kv_heads(const GgufFile& file) {
  const std::string name = file.architecture() + ".attention.head_count_kv";
  const auto it = file.metadata().find(name);
  if (it == file.metadata().end()) return std::nullopt;
  if (it->second.type != GgufType::Array) return file.find_int(name);
  return size_of_layers(file, name, *file.find_ints(name));
}

std::int64_t gguf_layers(const GgufFile& file) {
  const Keys keys(file);
  const std::int64_t blocks = keys.size("block_count");
  const std::int64_t drafting = keys.find_int("nextn_predict_layers").value_or(0);
  if (drafting < 0 || drafting >= blocks) {
    throw Error("{}: {}: expected less than {} {}, found {}", file.name(), keys.full("nextn_predict_layers"),
                keys.full("block_count"), blocks, drafting);
  }
  return blocks - drafting;
}

double gguf_yarn_magnitude(double factor) {
  return 0.1 * elementary::log(factor) + 1;
}

nlohmann::json gguf_generation_config(const GgufFile& file) {
  Json result = Json::object();
  if (const auto bos = special_id(file, "tokenizer.ggml.bos_token_id")) result["bos_token_id"] = *bos;
  if (const auto pad = special_id(file, "tokenizer.ggml.padding_token_id")) result["pad_token_id"] = *pad;
  std::vector<std::int64_t> eos;
  std::unordered_set<std::int64_t> known;
  const auto add = [&](std::int64_t id) {
    if (known.insert(id).second) eos.push_back(id);
  };
  for (const char* key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    if (const auto id = special_id(file, key)) add(*id);
  }
  // Ollama's list, in which any number of ids may end a turn.
  for (const std::int64_t id : listed_ids(file, "tokenizer.ggml.eos_token_ids")) add(id);
  if (eos.size() == 1) result["eos_token_id"] = eos.front();
  if (eos.size() > 1) result["eos_token_id"] = eos;
  if (const auto ids = listed_ids(file, kSuppressedKey); !ids.empty()) result["suppress_tokens"] = ids;
  return result;
}

nlohmann::json gguf_config(const GgufFile& file) {
  const std::string& architecture = file.architecture();
  if (architecture.empty()) throw Error("{}: the metadata lack general.architecture", file.name());
  if (architecture == kHeadArchitecture) {
    const auto text = file.find_string(kHeadConfigKey);
    if (!text) throw Error("{}: the metadata lack {}", file.name(), kHeadConfigKey);
    Json config = parse_json(*text, file.name());
    if (!config.is_object()) throw Error("{}: {}: expected an object", file.name(), kHeadConfigKey);
    return config;
  }
  const Keys keys(file);
  const GgufArchitecture* known = gguf_architecture_of(file);
  Json config = Json::object();
  config["model_type"] = known == nullptr ? architecture : known->model_type;
  if (const auto size = vocabulary_size(file, keys)) config["vocab_size"] = *size;
  add_special_ids(file, config);
  if (known == nullptr || file.tensor_infos().empty()) return config;

  refuse_extensions(file, *known, keys);
  const std::int64_t hidden = keys.size("embedding_length");
  const std::int64_t heads = keys.size("attention.head_count");
  const std::int64_t head_dim = keys.find_size("attention.key_length").value_or(hidden / heads);
  if (const auto value = keys.find_size("attention.value_length"); value && *value != head_dim) {
    throw Error("{}: {}: expected the head size {}, found {}", file.name(),
                keys.full("attention.value_length"), head_dim, *value);
  }
  // Layers of one block do not rotate, whatever a file says.
  const std::int64_t rotated =
      known->single_blocks ? head_dim : keys.find_size("rope.dimension_count").value_or(head_dim);
  if (rotated > head_dim || rotated % 2 != 0) {
    throw Error("{}: {}: expected an even number up to the head size {}, found {}", file.name(),
                keys.full("rope.dimension_count"), head_dim, rotated);
  }
  config["architectures"] = {known->model_class};
  config["hidden_act"] = known->activation;
  config["hidden_size"] = hidden;
  if (!known->single_blocks) {
    // Files of models that have experts in all layers need not say it.
    const auto intermediate = keys.find_size("feed_forward_length");
    config["intermediate_size"] = intermediate || !known->experts ? keys.size("feed_forward_length")
                                                                  : keys.size("expert_feed_forward_length");
  }
  config["num_hidden_layers"] = known->drafts ? gguf_layers(file) : keys.size("block_count");
  config["num_attention_heads"] = heads;
  if (known->conv) {
    add_convolutions(file, keys, config);
  } else if (known->single_blocks) {
    add_single_blocks(file, *known, keys, config);
  } else if (known->mamba) {
    add_layer_types(file, keys, "mamba", config);
    add_mamba(file, *known, keys, config);
  } else {
    config["num_key_value_heads"] = keys.find_size("attention.head_count_kv").value_or(heads);
  }
  config["head_dim"] = head_dim;
  if (rotated != head_dim || known->rotary_share) {
    config["partial_rotary_factor"] = static_cast<double>(rotated) / static_cast<double>(head_dim);
  }
  if (known->delta) add_delta_rules(file, *known, keys, config);
  if (known->single_blocks) {
    const auto eps = keys.find_float("attention.layer_norm_rms_epsilon");
    config["layer_norm_epsilon"] = eps ? *eps : keys.number("attention.layer_norm_epsilon");
  } else {
    config[known->conv ? "norm_eps" : "rms_norm_eps"] = keys.number("attention.layer_norm_rms_epsilon");
  }
  const auto theta = keys.find_float("rope.freq_base");
  config["rope_theta"] = theta.value_or(known->theta);
  config["rope_scaling"] = rope_scaling(file, *known, keys, rotated, config["rope_theta"].get<double>());
  if (known->nope) {
    const bool rotates = file.find_bool(keys.full("rope.scaling.finetuned")).value_or(true);
    config["position_embedding_type"] = rotates ? "rope" : "nope";
  }
  if (known->layer_thetas) add_rotating_layers(file, keys, config);
  if (known->query_growth) add_query_growth(keys, config);
  config["max_position_embeddings"] = keys.size("context_length");
  config["tie_word_embeddings"] = file.find_tensor("output.weight") == nullptr;
  const auto says = [&](std::string_view key, const char* bias) {
    config[std::string(key)] = file.find_tensor(bias) != nullptr;
  };
  if (!known->qkv_bias_always && !known->conv && !known->delta)
    config[std::string(known->attention_bias)] = any_tensor_ends(file, ".attn_q.bias");
  if (!known->output_bias.empty()) says(known->output_bias, "blk.0.attn_output.bias");
  if (known->mlp_bias) config["mlp_bias"] = any_tensor_ends(file, ".ffn_up.bias");
  if (known->experts && known->single_blocks) {
    add_shared_by_sigmoids(file, keys, config);
  } else if (known->experts) {
    add_experts(*known, keys, config);
  } else if (known->shared_expert) {
    config["num_local_experts"] = 0;
  }
  if (known->shared_expert) {
    const auto shared = keys.find_size("expert_shared_feed_forward_length");
    config["shared_intermediate_size"] = shared ? *shared : keys.size("feed_forward_length");
  }
  if (known->windows) {
    add_windows(file, *known, keys, config);
  } else if (file.find_int(keys.full("attention.sliding_window")).value_or(0) != 0) {
    throw Error(ErrorKind::Unsupported, "{}: {}: sliding windows are not supported for this architecture",
                file.name(), keys.full("attention.sliding_window"));
  }
  add_scales(*known, keys, hidden, heads, config);
  config["torch_dtype"] = "bfloat16";
  return config;
}

std::optional<GgufVocabulary> gguf_vocabulary(const GgufFile& file) {
  const auto model = file.find_string("tokenizer.ggml.model");
  auto tokens = file.find_strings("tokenizer.ggml.tokens");
  if (!model || *model == "none" || !tokens) return std::nullopt;
  if (tokens->empty() || tokens->size() > INT32_MAX) {
    throw Error("{}: tokenizer.ggml.tokens: {} tokens", file.name(), tokens->size());
  }
  GgufVocabulary result;
  result.file = file.name();
  result.model = *model;
  result.pre = file.find_string("tokenizer.ggml.pre").value_or("");
  result.tokens = std::move(*tokens);
  const auto check_length = [&](std::string_view key, std::size_t length) {
    if (length == result.tokens.size()) return;
    throw Error("{}: {}: {} entries for {} tokens", file.name(), key, length, result.tokens.size());
  };
  if (auto scores = file.find_floats("tokenizer.ggml.scores")) {
    check_length("tokenizer.ggml.scores", scores->size());
    result.scores = std::move(*scores);
  }
  if (const auto types = file.find_ints("tokenizer.ggml.token_type")) {
    check_length("tokenizer.ggml.token_type", types->size());
    result.token_types.reserve(types->size());
    for (const auto type : *types) {
      if (type < 0 || type > 6)
        throw Error("{}: tokenizer.ggml.token_type: unknown type {}", file.name(), type);
      result.token_types.push_back(static_cast<std::int32_t>(type));
    }
  }
  if (auto merges = file.find_strings("tokenizer.ggml.merges")) result.merges = std::move(*merges);
  result.bos = special_id(file, "tokenizer.ggml.bos_token_id");
  result.eos = special_id(file, "tokenizer.ggml.eos_token_id");
  result.eot = special_id(file, "tokenizer.ggml.eot_token_id");
  // The later names, then those of older files.
  const auto either = [&](std::string_view key, std::string_view older) {
    const auto id = special_id(file, key);
    return id ? id : special_id(file, older);
  };
  result.fim_prefix = either("tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id");
  result.fim_suffix = either("tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.suffix_token_id");
  result.fim_middle = either("tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.middle_token_id");
  result.fim_pad = special_id(file, "tokenizer.ggml.fim_pad_token_id");
  result.fim_repository = special_id(file, "tokenizer.ggml.fim_rep_token_id");
  result.fim_file = special_id(file, "tokenizer.ggml.fim_sep_token_id");
  result.unk = special_id(file, "tokenizer.ggml.unknown_token_id");
  result.pad = special_id(file, "tokenizer.ggml.padding_token_id");
  result.add_bos = file.find_bool("tokenizer.ggml.add_bos_token");
  result.add_space_prefix = file.find_bool("tokenizer.ggml.add_space_prefix");
  return result;
}

}  // namespace augur
