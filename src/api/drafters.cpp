#include "api/drafters.h"

#include <utility>

#include "base/error.h"
#include "plan/keys.h"

namespace augur {

void Drafters::load(const DrafterSource& source, std::string_view head, std::string files) {
  files_ = std::move(files);
  for (const DrafterType& type : drafter_types()) {
    if (type.needs_head && type.name != head) continue;
    models_[std::string(type.name)] = type.load(source);
  }
}

std::vector<std::string> Drafters::names() const {
  std::vector<std::string> names;
  for (const auto& [name, model] : models_) names.push_back(name);
  return names;
}

std::unique_ptr<Drafter> Drafters::make(const std::string& name, const SpeculationPlan& plan,
                                        std::int64_t context) const {
  return models_.at(name)->make({.ngram_min = value_of(plan, &SpeculationPlan::ngram_min),
                                 .ngram_max = value_of(plan, &SpeculationPlan::ngram_max),
                                 .exit_layer = value_of(plan, &SpeculationPlan::exit_layer),
                                 .context = context});
}

std::string Drafters::cost_key(const std::string& name, const SpeculationPlan& plan) const {
  std::string key = name;
  if (find_drafter_type(name).needs_head) key += " " + files_;
  // An early exit's costs depend on where it is.
  if (const int exit = value_of(plan, &SpeculationPlan::exit_layer); exit > 0)
    key += fmt::format(" exit {}", exit);
  return key;
}

std::span<const std::string> drafters_of(const SpeculationPlan& plan) {
  return plan.plain() ? std::span<const std::string>() : std::span<const std::string>(plan.drafters);
}

}  // namespace augur
