#include <memory>
#include <type_traits>

#include "augur/augur.h"
#include "c_api/failure.h"
#include "c_api/handles.h"
#include "c_api/structs.h"

using namespace augur::c_api;

namespace {

static_assert(std::is_same_v<int, std::int32_t>, "rows are given as they are");

augur_cost_curve curve(const augur::MeasuredCosts::Curve& from) {
  return {.rows = from.rows.data(), .ms = from.ms.data(), .count = from.rows.size()};
}

}  // namespace

augur_costs* augur_engine_measure_costs(augur_engine* engine, int32_t anew) {
  return guarded([&] {
    return give<augur_costs>(std::make_shared<augur::MeasuredCosts>(held(engine)->costs(anew != 0)));
  });
}

void augur_costs_free(augur_costs* costs) {
  free_handle(costs);
}

int32_t augur_costs_get_target(const augur_costs* costs, augur_target_costs* target) {
  return status([&] {
    const auto from = held(costs);
    const augur::MeasuredCosts::Experts& experts = from->experts;
    answer({.size = 0,
            .context = from->context,
            .verify = curve(from->verify),
            .growth_one = from->growth_one,
            .growth_many = from->growth_many,
            .other_ms = from->other_ms,
            .file = from->file.c_str(),
            .experts = experts.count,
            .active = experts.active,
            .expert_layers = experts.layers,
            .expert_ms = experts.ms,
            .expert_rows = experts.rows.data(),
            .experts_expected = experts.expected.data(),
            .experts_even = experts.even.data(),
            .expert_row_count = experts.rows.size()},
           target, "augur_target_costs");
  });
}

int32_t augur_costs_get_drafter(const augur_costs* costs, size_t index, augur_draft_costs* drafter) {
  return guarded(
      [&] {
        const auto from = held(costs);
        if (index >= from->drafters.size()) return int32_t{0};
        const augur::MeasuredCosts::Draft& draft = from->drafters[index];
        answer({.size = 0,
                .name = draft.name.c_str(),
                .first_level = curve(draft.first_level),
                .level = curve(draft.level)},
               drafter, "augur_draft_costs");
        return int32_t{1};
      },
      int32_t{-1});
}
