#include "draft/detect.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

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

/// The first rule that holds decides. Rules that look at files and keys come before those that open weights.
struct Rule {
  std::string_view type;
  bool (*holds)(const Checkpoint& head);
};

constexpr Rule kRules[] = {
    {kDraftModelType,
     [](const Checkpoint& h) { return h.is_gguf() && h.gguf()->architecture() != kHeadArchitecture; }},
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
    {"eagle", [](const Checkpoint& h) { return h.weights().find("fc.weight") != nullptr; }},
};

}  // namespace

std::string_view detect_drafter_type(const Checkpoint& head) {
  const Rule* rule =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) { return r.holds(head); });
  return rule == std::end(kRules) ? kDraftModelType : rule->type;
}

}  // namespace augur
