#include "draft/formats/head_loader.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "model/families.h"

namespace augur {
namespace {

nlohmann::json layer_part(const nlohmann::json& config) {
  const auto it = config.find("transformer_layer_config");
  return it != config.end() && it->is_object() ? *it : config;
}

/// The configuration is that of a whole model with recurrent layers: the head's layers are like those of it
/// that attend, with experts where such are stored.
ModelConfig attending_layers(const nlohmann::json& json, const WeightStore& store, const std::string& prefix,
                             const Family& family, const std::string& file) {
  ModelConfig layers = ModelConfig::from_json(json, file);
  LayerSpec layer = layers.layer(layers.first_attention());
  const std::string router = fmt::format("{}{}.weight", prefix, family.names.router);
  layer.experts = store.find(router) != nullptr ? layers.experts() : ExpertSpec{};
  layers.kinds = {layer};
  layers.kind_of.clear();
  return layers;
}

/// What ModelConfig is to read for the head's layers: keys that say something else in heads, or are left out,
/// are filled in.
ModelConfig head_layers(nlohmann::json json, const DrafterSource& source, std::size_t count,
                        const std::string& name, const std::string& file) {
  // MiMo's layers are Qwen2's. Other names that are no decoder's ("eagle") stand for Llama's layers, and so
  // do those of targets with experts: heads have none.
  const Family* family = find_family(name);
  const bool decoder = family != nullptr && family->experts == ExpertRule::None;
  json["model_type"] = name == "mimo" ? "qwen2" : decoder ? name : "llama";
  json["num_hidden_layers"] = count;
  // Heads see the whole text, but where a format says what their rows see (BlockMask).
  for (const char* key : {"layer_types", "num_experts", "num_local_experts"}) json.erase(key);
  json["sliding_window"] = nullptr;
  const ModelConfig& target = source.target.config();
  if (!json.contains("vocab_size") || json["vocab_size"].is_null()) json["vocab_size"] = target.vocab;
  ModelConfig layers = ModelConfig::from_json(json, file);
  if (layers.hidden % PackedMatrix::kPanel != 0) {
    throw Error(ErrorKind::Unsupported, "{}: hidden_size: {} is not supported: expected a multiple of {}",
                file, layers.hidden, PackedMatrix::kPanel);
  }
  return layers;
}

ModelConfig read_layers(const nlohmann::json& json, const WeightStore& store,
                        std::span<const std::string> prefixes, const DrafterSource& source,
                        const std::string& file) {
  const auto type = json.find("model_type");
  const std::string name = type != json.end() && type->is_string() ? type->get<std::string>() : "llama";
  const Family* family = find_family(name);
  ModelConfig layers = family != nullptr && family->delta
                           ? attending_layers(json, store, prefixes.front(), *family, file)
                           : head_layers(json, source, prefixes.size(), name, file);
  layers.layers = static_cast<int>(prefixes.size());
  const ModelConfig& target = source.target.config();
  if (layers.vocab != target.vocab) {
    throw Error("{}: vocab_size: the head is made for {} tokens, {} has {}", file, layers.vocab,
                source.target_path, target.vocab);
  }
  // Whatever the configuration calls them: a bias is there when it is stored.
  const auto stored = [&](const char* matrix) {
    return store.find(prefixes.front() + matrix + ".bias") != nullptr;
  };
  for (LayerSpec& layer : layers.kinds) {
    layer.qkv_bias = stored("self_attn.q_proj");
    layer.o_bias = stored("self_attn.o_proj");
    layer.mlp_bias = stored("mlp.down_proj");
    layer.qk_norm =
        store.find(prefixes.front() + "self_attn.q_norm.weight") != nullptr ? QkNorm::PerHead : QkNorm::None;
  }
  return layers;
}

}  // namespace

std::vector<std::string> stored_layers(const WeightStore& store, const std::string& first) {
  std::vector<std::string> prefixes{first};
  for (;;) {
    std::string next = fmt::format("layers.{}.", prefixes.size());
    if (store.find(next + "self_attn.q_proj.weight") == nullptr) return prefixes;
    prefixes.push_back(std::move(next));
  }
}

HeadLoader::HeadLoader(const DrafterSource& source, std::vector<std::string> layer_prefixes)
    : source_(source),
      store_(source.head->weights()),
      file_(source.head->path().string()),
      json_(source.head->config()),
      layer_json_(layer_part(json_)),
      config_(json_, file_),
      layer_fields_(layer_json_, file_),
      stored_(store_, false),
      prefixes_(std::move(layer_prefixes)),
      packer_(source.weights(), stored_),
      layers_(read_layers(layer_json_, store_, prefixes_, source, file_)) {
  check_fingerprint(file_, json_, source.target.fingerprint(), Strictness::SameModel);
}

std::int64_t HeadLoader::rows_of(const std::string& name) const {
  const StoredTensor* tensor = store_.find(name);
  if (tensor == nullptr) throw Error("{}: tensor {} is missing", file_, name);
  if (tensor->shape.size() != 2) {
    throw Error("{}: tensor {}: expected a matrix, found shape {}", file_, name, to_string(tensor->shape));
  }
  return tensor->shape[0];
}

std::int64_t HeadLoader::length_of(const std::string& name) const {
  const StoredTensor* tensor = store_.find(name);
  if (tensor == nullptr) throw Error("{}: tensor {} is missing", file_, name);
  if (tensor->shape.size() != 1 || tensor->shape[0] < 1) {
    throw Error("{}: tensor {}: expected a vector, found shape {}", file_, name, to_string(tensor->shape));
  }
  return tensor->shape[0];
}

std::vector<int> HeadLoader::layer_ids(const JsonFields& from, const char* key, bool outputs) const {
  const nlohmann::json* ids = from.find(key);
  if (ids == nullptr || !ids->is_array() || ids->empty()) from.fail(key, "expected a list of layers");
  std::vector<int> entered;
  for (const nlohmann::json& id : *ids) {
    const int last = outputs ? target().layers - 1 : target().layers;
    if (!id.is_number_integer() || id < 0 || id > last) {
      from.fail(key, fmt::format("{} is no layer of {}, which has {}", id.dump(), source_.target_path,
                                 target().layers));
    }
    entered.push_back(id.get<int>() + (outputs ? 1 : 0));
  }
  return entered;
}

void HeadLoader::require_hidden(std::int64_t hidden, const char* field) const {
  if (hidden == target().hidden) return;
  throw Error("{}: {}: the head is made for hidden states of {}, those of {} have {}", file_, field, hidden,
              source_.target_path, target().hidden);
}

void HeadLoader::matrix(PackedMatrix& out, const std::string& name, std::int64_t n, std::int64_t k) {
  packer_.matrix(out, name, n, k);
  packer_.reserve(out, n, k);
}

void HeadLoader::pass_over_all_but(std::string_view prefix, std::string_view among) {
  for (const auto& [name, tensor] : store_.tensors()) {
    if (name.starts_with(among) && !name.starts_with(prefix)) stored_.pass_over(name);
  }
}

std::vector<TokenId> HeadLoader::target_ids(std::int64_t entries) {
  pass_over("d2t");
  pass_over("t2d");
  if (!has("d2t")) {
    if (entries == target().vocab) return {};
    throw Error("{}: tensor d2t is missing: the draft vocabulary has {} entries, {} has {} tokens", file_,
                entries, source_.target_path, target().vocab);
  }
  const StoredTensor& offsets = store_.require("d2t", {entries});
  if (offsets.dtype != DType::I64 && offsets.dtype != DType::I32) {
    throw Error("{}: tensor d2t: expected integers, found {}", offsets.file, name(offsets.dtype));
  }
  std::vector<TokenId> ids(static_cast<std::size_t>(entries));
  bool same = entries == target().vocab;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::int64_t offset = 0;
    if (offsets.dtype == DType::I64) {
      std::memcpy(&offset, offsets.bytes.data() + i * sizeof(std::int64_t), sizeof(std::int64_t));
    } else {
      std::int32_t narrow;
      std::memcpy(&narrow, offsets.bytes.data() + i * sizeof narrow, sizeof narrow);
      offset = narrow;
    }
    const auto entry = static_cast<std::int64_t>(i);
    if (offset < -entry || offset >= target().vocab - entry) {
      throw Error("{}: tensor d2t: entry {} has offset {}, {} has {} tokens", offsets.file, i, offset,
                  source_.target_path, target().vocab);
    }
    ids[i] = static_cast<TokenId>(entry + offset);
    same = same && offset == 0;
  }
  if (same) ids.clear();
  return ids;
}

void HeadLoader::tensor(std::vector<float>& out, const std::string& name, const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  const RowReader read = stored_.open(name, shape);
  out.resize(static_cast<std::size_t>(count));
  read(0, 1, out.data());
}

void HeadLoader::open_layers(const LayerForm& first) {
  weights_.resize(prefixes_.size());
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    pack_layer(packer_, layers_, static_cast<int>(i), prefixes_[i], weights_[i],
               i == 0 ? first : LayerForm{});
  }
}

std::unique_ptr<LayerStack> HeadLoader::finish() {
  stored_.all_opened();
  packer_.run(source_.backend, source_.progress);
  return std::make_unique<LayerStack>(source_.target.device(), layers_, source_.target.float_type(),
                                      source_.context, std::move(weights_));
}

}  // namespace augur
