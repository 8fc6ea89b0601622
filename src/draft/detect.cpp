#include "draft/detect.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "files/gguf/model.h"
#include "files/mapped_file.h"

namespace augur {
namespace {

bool has_file(const Checkpoint& head, const char* name) {
  return file_exists(head.path() / name);
}

bool has_key(const Checkpoint& head, const char* key) {
  const auto it = head.config().find(key);
  return it != head.config().end() && !it->is_null();
}

bool has_tensor(const Checkpoint& head, std::string_view part) {
  const auto& tensors = head.weights().tensors();
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const auto& entry) { return entry.first.find(part) != std::string::npos; });
}

bool has_model_type(const Checkpoint& head, std::string_view type) {
  const auto it = head.config().find("model_type");
  return it != head.config().end() && it->is_string() && it->get<std::string>() == type;
}

/// The key by which speculators names what it trained. Its P-EAGLE is a variant of EAGLE-3 here.
bool is_speculator(const Checkpoint& head, std::string_view type) {
  const auto it = head.config().find("speculators_model_type");
  return it != head.config().end() && it->is_string() && it->get<std::string>() == type;
}

constexpr std::string_view kOwnLayers = "mtp";

/// Layers that draft, in a model's files or, where only they were written (llama.cpp's mtp-*.gguf), alone.
bool has_own_layers(const Checkpoint& head) {
  if (head.is_gguf()) {  // whose weights need not be what can be opened
    const GgufArchitecture* known = gguf_architecture_of(*head.gguf());
    if (known != nullptr && !known->delta) return false;  // Nemotron 3's are of another kind
    const auto& infos = head.gguf()->tensor_infos();
    return std::any_of(infos.begin(), infos.end(), [](const GgufTensorInfo& info) {
      return info.name.find(".nextn.eh_proj.") != std::string::npos;
    });
  }
  const WeightStore* weights = head.find_weights();
  return weights != nullptr && weights->find("mtp.fc.weight") != nullptr;
}

bool has_model_layers(const Checkpoint& head) {
  const auto& tensors = head.weights().tensors();
  constexpr std::string_view kLayers = "model.layers.";
  const auto it = tensors.lower_bound(kLayers);
  return it != tensors.end() && it->first.starts_with(kLayers);
}

/// A GGUF file of a model, as it is for every program.
bool is_model_file(const Checkpoint& head) {
  return head.is_gguf() && head.gguf()->architecture() != kHeadArchitecture;
}

bool same_place(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code ignored;
  return !b.empty() && std::filesystem::equivalent(a, b, ignored);
}

/// The first rule that holds decides. Rules that look at files and keys come before those that open weights.
struct Rule {
  std::string_view type;
  bool (*holds)(const Checkpoint& head);
};

constexpr Rule kRules[] = {
    {kOwnLayers,
     [](const Checkpoint& h) { return is_model_file(h) && has_own_layers(h) && !has_model_layers(h); }},
    {kDraftModelType, is_model_file},
    {"medusa", [](const Checkpoint& h) { return has_file(h, "medusa_lm_head.pt"); }},
    {"hydra", [](const Checkpoint& h) { return has_file(h, "hydra_lm_head.pt"); }},
    {"medusa", [](const Checkpoint& h) { return has_key(h, "medusa_num_heads"); }},
    {"medusa", [](const Checkpoint& h) { return has_model_type(h, "medusa"); }},
    {"hydra", [](const Checkpoint& h) { return has_key(h, "hydra_num_heads"); }},
    {"eagle3", [](const Checkpoint& h) { return is_speculator(h, "eagle3") || is_speculator(h, "peagle"); }},
    {"eagle", [](const Checkpoint& h) { return is_speculator(h, "eagle"); }},
    {"mtp", [](const Checkpoint& h) { return is_speculator(h, "mtp"); }},
    {"dspark", [](const Checkpoint& h) { return is_speculator(h, "dspark"); }},
    {"dflash", [](const Checkpoint& h) { return is_speculator(h, "dflash"); }},
    {"layerskip", [](const Checkpoint& h) { return has_key(h, "exit_layer") && !has_key(h, "hidden_size"); }},
    {"dspark", [](const Checkpoint& h) { return has_tensor(h, "markov_head."); }},
    {"dflash", [](const Checkpoint& h) { return has_key(h, "dflash_config"); }},
    {"dflash",
     [](const Checkpoint& h) { return has_key(h, "block_size") && has_key(h, "target_layer_ids"); }},
    {"eagle3", [](const Checkpoint& h) { return has_tensor(h, "midlayer.hidden_norm."); }},
    {"eagle3", [](const Checkpoint& h) { return has_tensor(h, "layers.0.hidden_norm."); }},
    {"mtp", [](const Checkpoint& h) { return has_tensor(h, ".eh_proj.") || has_tensor(h, "mtp_layers."); }},
    {kOwnLayers, [](const Checkpoint& h) { return has_own_layers(h) && !has_model_layers(h); }},
    {"eagle", [](const Checkpoint& h) { return h.weights().find("fc.weight") != nullptr; }},
};

}  // namespace

std::string_view own_drafter_type(const Checkpoint& model) {
  return has_own_layers(model) ? kOwnLayers : std::string_view();
}

std::string_view detect_drafter_type(const Checkpoint& head, const std::filesystem::path& target) {
  if (same_place(head.path(), target) && has_own_layers(head)) return kOwnLayers;
  const Rule* rule =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) { return r.holds(head); });
  return rule == std::end(kRules) ? kDraftModelType : rule->type;
}

}  // namespace augur
