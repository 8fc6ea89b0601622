#include "files/text_part.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "files/gguf/architectures.h"

namespace augur {

namespace {

struct Whole {
  std::string_view model_type;
  std::string_view text_type;  ///< `model_type` of the text model, where `text_config` has none
  // What else Hugging Face's class of the text model assumes; 0: these are always there.
  int heads = 0;
  int vocab = 0;
};

constexpr std::array kWholes = {
    Whole{.model_type = "mistral3", .text_type = "mistral"},
    Whole{.model_type = "gemma3", .text_type = "gemma3_text", .heads = 8, .vocab = 262208},
    Whole{.model_type = "qwen3_5", .text_type = "qwen3_5_text"},
    Whole{.model_type = "qwen3_5_moe", .text_type = "qwen3_5_moe_text"},
};

/// What the text model is called alone; empty: not known.
std::string_view class_of(const nlohmann::json& model_type) {
  const auto known = gguf_architectures();
  const auto found =
      std::ranges::find_if(known, [&](const GgufArchitecture& one) { return model_type == one.model_type; });
  return found == known.end() ? std::string_view() : found->model_class;
}

const Whole* whole_of(const nlohmann::json& config) {
  if (!config.is_object() || !config.contains("text_config")) return nullptr;
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) return nullptr;
  const auto& name = type->get_ref<const std::string&>();
  const auto found = std::ranges::find(kWholes, name, &Whole::model_type);
  return found == kWholes.end() ? nullptr : &*found;
}

/// In files before and since transformers 4.52; the order matters.
constexpr std::pair<std::string_view, std::string_view> kTextPrefixes[] = {
    {"language_model.model.", "model."},
    {"language_model.lm_head.", "lm_head."},
    {"model.language_model.", "model."},
};
constexpr std::string_view kOtherPrefixes[] = {
    "vision_tower.", "multi_modal_projector.", "model.vision_tower.", "model.multi_modal_projector.",
    "visual.",       "model.visual."};

}  // namespace

bool has_text_part(const nlohmann::json& config) {
  return whole_of(config) != nullptr;
}

nlohmann::json text_part(const nlohmann::json& config, const std::string& file) {
  const Whole* const whole = whole_of(config);
  if (whole == nullptr) return config;
  nlohmann::json text = config["text_config"];
  if (!text.is_object()) throw Error("{}: text_config: expected an object", file);
  if (!text.contains("model_type")) text["model_type"] = whole->text_type;
  text["architectures"] = {class_of(text["model_type"])};
  if (whole->heads > 0 && !text.contains("num_attention_heads")) text["num_attention_heads"] = whole->heads;
  if (whole->vocab > 0 && !text.contains("vocab_size")) text["vocab_size"] = whole->vocab;
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id", "tie_word_embeddings",
                          "torch_dtype", "dtype", "quantization_config"}) {
    if (!text.contains(key) && config.contains(key)) text[key] = config[key];
  }
  return text;
}

void keep_text_part(WeightStore& store) {
  std::vector<std::string> names;
  std::vector<StoredTensor> kept;
  for (const auto& [name, tensor] : store.tensors()) {
    const auto begins = [&, &name = name](std::string_view prefix) { return name.starts_with(prefix); };
    if (std::ranges::any_of(kOtherPrefixes, begins)) {
      names.push_back(name);
      continue;
    }
    for (const auto& [prefix, alone] : kTextPrefixes) {
      if (!begins(prefix)) continue;
      names.push_back(name);
      kept.push_back(tensor);
      kept.back().name = std::string(alone) + name.substr(prefix.size());
      break;
    }
  }
  store.replace(names, std::move(kept));
}

}  // namespace augur
