#include "files/backbone_names.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace augur {

namespace {

constexpr std::string_view kBackbone = "backbone.";
constexpr std::string_view kModel = "model.";

/// Since transformers 5.8 the class calls it "model", too, and some folders follow it.
std::string usual_name(std::string_view name) {
  if (!name.starts_with(kBackbone) && !name.starts_with(kModel)) return std::string(name);
  const std::string_view part = name.substr(name.find('.') + 1);
  if (part == "embeddings.weight") return "model.embed_tokens.weight";
  if (part == "norm_f.weight") return "model.norm.weight";
  return std::string(kModel).append(part);
}

}  // namespace

void rename_backbone(const nlohmann::json& config, WeightStore& store) {
  const auto type = config.find("model_type");
  if (type == config.end() || *type != "nemotron_h") return;
  std::vector<std::string> names;
  std::vector<StoredTensor> renamed;
  for (const auto& [name, tensor] : store.tensors()) {
    std::string usual = usual_name(name);
    if (usual == name) continue;
    names.push_back(name);
    renamed.push_back(tensor);
    renamed.back().name = std::move(usual);
  }
  store.replace(names, std::move(renamed));
}

}  // namespace augur
