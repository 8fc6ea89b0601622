#include "engine/drafters.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "plan/keys.h"

namespace augur {
namespace {

/// Whether the setting, "TYPE.KEY", is one of the type.
bool is_of(std::string_view setting, std::string_view type) {
  return setting.starts_with(type) && setting.substr(type.size()).starts_with('.');
}

OwnSettings own_settings(std::string_view type, const SpeculationPlan& plan) {
  OwnSettings::Values values;
  for (const auto& [setting, value] : plan.drafter_settings) {
    if (is_of(setting, type)) values.emplace(setting.substr(type.size() + 1), value);
  }
  return {fmt::format("drafter {}", type), std::move(values)};
}

}  // namespace

void Drafters::load(const DrafterSource& source, std::string_view head, const std::string& files) {
  for (const DrafterType& type : drafter_types()) {
    if (type.needs_head && type.name != head) continue;
    std::string vocabulary;
    if (type.projects && source.vocabulary != nullptr) vocabulary = source.vocabulary->name();
    models_[std::string(type.name)] = {type.load(source), type.name, type.needs_head ? files : std::string(),
                                       std::move(vocabulary)};
  }
}

void Drafters::load_named(const std::string& name, std::string_view type, const DrafterSource& source,
                          std::string files) {
  const DrafterType& found = find_drafter_type(type);
  models_[name] = {found.load(source), found.name, std::move(files), {}};
}

std::vector<std::string> Drafters::names() const {
  std::vector<std::string> names;
  for (const auto& [name, loaded] : models_) names.push_back(name);
  return names;
}

void Drafters::forget_learnt() {
  for (auto& [name, loaded] : models_) loaded.model->forget_learnt();
}

std::int64_t Drafters::learnt_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [name, loaded] : models_) bytes += loaded.model->learnt_bytes();
  return bytes;
}

void Drafters::limit_learnt(std::int64_t bytes) {
  for (auto& [name, loaded] : models_) {
    loaded.model->limit_learnt(bytes);
    bytes -= loaded.model->learnt_bytes();
  }
}

bool Drafters::drop_learnt() {
  return std::any_of(models_.begin(), models_.end(),
                     [](const auto& named) { return named.second.model->drop_learnt(); });
}

std::unique_ptr<Drafter> Drafters::make(const std::string& name, const SpeculationPlan& plan,
                                        const SequenceSpec& text) const {
  const Loaded& loaded = models_.at(name);
  const DrafterSettings settings{.ngram_min = value_of(plan, &SpeculationPlan::ngram_min),
                                 .ngram_max = value_of(plan, &SpeculationPlan::ngram_max),
                                 .exit_layer = value_of(plan, &SpeculationPlan::exit_layer),
                                 .context = text.tokens,
                                 .owner = text.owner,
                                 .keep_output = text.keep_output,
                                 .own = own_settings(loaded.type, plan)};
  std::unique_ptr<Drafter> drafter = loaded.model->make(settings);
  settings.own.check_all_read();
  return drafter;
}

std::string Drafters::cost_key(const std::string& name, const SpeculationPlan& plan) const {
  const Loaded& loaded = models_.at(name);
  std::string key(loaded.type);
  if (!loaded.files.empty()) key += " " + loaded.files;
  if (!loaded.vocabulary.empty()) key += " " + loaded.vocabulary;
  // An early exit's costs depend on where it is.
  if (const int exit = value_of(plan, &SpeculationPlan::exit_layer); exit > 0)
    key += fmt::format(" exit {}", exit);
  for (const auto& [setting, value] : plan.drafter_settings) {
    if (is_of(setting, loaded.type)) key += fmt::format(" {}={}", setting, value);
  }
  return key;
}

std::span<const std::string> drafters_of(const SpeculationPlan& plan) {
  return plan.plain() ? std::span<const std::string>() : std::span<const std::string>(plan.drafters);
}

std::string_view drafter_beside(const SpeculationPlan& plan, bool has_grammar) {
  constexpr std::string_view kType = "grammar";
  if (!has_grammar || plan.plain() || plan.verification != Verification::Walk) return {};
  const std::vector<std::string>& names = plan.drafters;
  return std::find(names.begin(), names.end(), kType) == names.end() ? kType : std::string_view();
}

}  // namespace augur
