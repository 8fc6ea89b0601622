#include "engine/drafters.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/own_environment.h"
#include "draft/host_drafter.h"
#include "engine/plan_names.h"
#include "plan/keys.h"

namespace augur {
namespace {

/// Whether the setting, "TYPE.KEY", is one of the type.
bool is_of(std::string_view setting, std::string_view type) {
  return setting.starts_with(type) && setting.rfind('.') == type.size();
}

std::map<std::string, std::string> settings_of(std::string_view type, const SpeculationPlan& plan) {
  std::map<std::string, std::string> values;
  for (const auto& [setting, value] : plan.drafter_settings) {
    if (is_of(setting, type)) values.emplace(setting.substr(type.size() + 1), value);
  }
  return values;
}

OwnSettings own_settings(std::string_view type, const SpeculationPlan& plan) {
  const std::map<std::string, std::string> values = settings_of(type, plan);
  return {fmt::format("drafter {}", type), {values.begin(), values.end()}};
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

void Drafters::take_custom(const std::map<std::string, CustomDrafterType>& types, std::int32_t vocab) {
  custom_ = &types;
  vocab_ = vocab;
}

std::vector<std::string> Drafters::names() const {
  std::vector<std::string> names;
  for (const auto& [name, loaded] : models_) names.push_back(name);
  if (custom_ == nullptr) return names;
  for (const auto& [name, type] : *custom_) names.push_back(name);
  return names;
}

void Drafters::forget_learnt() {
  for (auto& [name, loaded] : models_) loaded.model->forget_learnt();
  if (custom_ == nullptr) return;
  const HostEnvironment host;
  for (const auto& [name, type] : *custom_) {
    if (type.forget) type.forget();
  }
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
  if (custom(name)) return make_custom(name, plan, text);
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

std::unique_ptr<Drafter> Drafters::make_custom(const std::string& name, const SpeculationPlan& plan,
                                               const SequenceSpec& text) const {
  const auto built_in = [&](const std::string& wanted) {
    const auto found = models_.find(names_users(wanted) ? wanted : find_drafter_type(wanted).name);
    if (found == models_.end())
      throw Error(refused("custom_drafters"), "drafter {}: there is no drafter '{}' in this engine", name,
                  wanted);
    return make(found->first, plan, text);
  };
  return make_host_drafter(
      custom_->at(name),
      {.context = text.tokens, .vocab = vocab_, .settings = settings_of(name, plan), .built_in = built_in});
}

std::string Drafters::cost_key(const std::string& name, const SpeculationPlan& plan) const {
  // LiveCosts keeps nothing of a name like that for other processes.
  if (custom(name)) return name;
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
