#include "api/live_costs.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "decode/cost_probe.h"

namespace augur {
namespace {

// Together they are what a first start may take on a model whose step takes some ten ms.
constexpr double kTargetBudgetMs = 2400;
constexpr double kDrafterBudgetMs = 500;

MeasuredCosts::Curve curve_of(const CostCurve& from) {
  MeasuredCosts::Curve to;
  for (std::size_t i = 0; i < CostCurve::kRows.size(); ++i) {
    to.rows.push_back(static_cast<int>(CostCurve::kRows[i]));
    to.ms.push_back(from.value(i));
  }
  return to;
}

}  // namespace

LiveCosts::LiveCosts(Model& target, Decoder& decoder, std::span<const LoadedDrafter> drafters,
                     CostCache cache, std::string draft_identity)
    : target_(target),
      decoder_(decoder),
      drafters_(drafters),
      cache_(std::move(cache)),
      draft_identity_(std::move(draft_identity)) {}

LiveCosts::~LiveCosts() {
  if (!target_known_) return;
  store();
  cache_.save();
}

const LoadedDrafter& LiveCosts::find(const std::string& name) const {
  return *std::find_if(drafters_.begin(), drafters_.end(),
                       [&](const LoadedDrafter& d) { return d.name == name; });
}

void LiveCosts::prepare(const SpeculationOptions& options, bool anew) {
  bool measured = false;
  CostModel& costs = decoder_.costs();
  if (!target_known_ || anew) {
    if (anew || !cache_.load_target(costs)) {
      // Drafters were measured in the same circumstances.
      cache_.drop();
      measure_target(target_, costs, kTargetBudgetMs);
      measured = true;
    }
    target_known_ = true;
  }
  for (const std::string& type : drafter_names(options)) {
    // An early exit's costs depend on where it is.
    const std::string key = fmt::format(
        "{}{}{}", type, find_drafter_type(type).needs_head ? " " + draft_identity_ : std::string(),
        options.exit_layer > 0 ? fmt::format(" exit {}", options.exit_layer) : std::string());
    Known& known = known_[type];
    const bool same = known.key == key;
    if (same && !anew) continue;
    const LoadedDrafter& drafter = find(type);
    const auto make = [&](std::int64_t context) {
      return drafter.model->make({.ngram_min = options.ngram_min,
                                  .ngram_max = options.ngram_max,
                                  .exit_layer = options.exit_layer,
                                  .context = std::min(context, target_.context())});
    };
    const std::unique_ptr<Drafter> sample = make(64);
    const std::string name(sample->name());
    if (anew || !cache_.load_drafter(key, costs.drafter(name))) {
      DraftCosts fresh;
      measure_drafter(target_, make, fresh, kDrafterBudgetMs);
      costs.drafter(name) = fresh;
      measured = true;
    }
    known = {name, key};
  }
  if (!measured) return;
  store();
  cache_.save();
}

MeasuredCosts LiveCosts::report() const {
  const CostModel& costs = decoder_.costs();
  MeasuredCosts report{.context = costs.reference_context(),
                       .verify = target_known_ ? curve_of(costs.verify_curve()) : MeasuredCosts::Curve{},
                       .growth_one = costs.growth_one(),
                       .growth_many = costs.growth_many(),
                       .other_ms = costs.other_ms(),
                       .drafters = {},
                       .file = cache_.file().string()};
  for (const auto& [type, known] : known_) {
    const DraftCosts& draft = decoder_.costs().drafter(known.name);
    report.drafters.push_back(
        {type, curve_of(draft.root()),
         draft.levels().observed() ? curve_of(draft.levels()) : MeasuredCosts::Curve{}});
  }
  return report;
}

void LiveCosts::store() {
  cache_.store_target(decoder_.costs());
  for (const auto& [type, known] : known_) {
    const DraftCosts& costs = decoder_.costs().drafter(known.name);
    if (costs.measured()) cache_.store_drafter(known.key, costs);
  }
}

}  // namespace augur
