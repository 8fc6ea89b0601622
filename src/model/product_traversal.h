#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>

#include "kernels/backend.h"

namespace augur {

/// A number of a plan, as files call it; from `least` to `largest`.
struct PlanField {
  const char* name;
  int& (*in)(GemmPlan& plan);
  int least, largest;
};
inline constexpr std::array<PlanField, 7> kPlanFields = {{
    {.name = "one_row_panels",
     .in = [](GemmPlan& p) -> int& { return p.one_row.panels; },
     .least = 1,
     .largest = 64},
    {.name = "one_row_near_lines",
     .in = [](GemmPlan& p) -> int& { return p.one_row.near_lines; },
     .least = 0,
     .largest = 1 << 16},
    {.name = "one_row_far_lines",
     .in = [](GemmPlan& p) -> int& { return p.one_row.far_lines; },
     .least = 0,
     .largest = 1 << 16},
    {.name = "few_rows_panels",
     .in = [](GemmPlan& p) -> int& { return p.few_rows.panels; },
     .least = 1,
     .largest = 64},
    {.name = "few_rows_near_lines",
     .in = [](GemmPlan& p) -> int& { return p.few_rows.near_lines; },
     .least = 0,
     .largest = 1 << 16},
    {.name = "few_rows_far_lines",
     .in = [](GemmPlan& p) -> int& { return p.few_rows.far_lines; },
     .least = 0,
     .largest = 1 << 16},
    {.name = "block_kib",
     .in = [](GemmPlan& p) -> int& { return p.block_kib; },
     .least = 1,
     .largest = 1 << 16},
}};

/// $AUGUR_GEMM_PLAN: the numbers of kPlanFields, as "1,0,0,1,24,320,192". Nothing where it is not set;
/// Error naming it for anything else.
std::optional<GemmPlan> forced_plan();

/// The plan as that variable takes it.
std::string to_string(const GemmPlan& plan);

/// The plan with which products with these matrices, which are of one type, take the least time on this
/// machine, chosen among a few candidates by measurement: some tenths of a second. One that is not at
/// least 3% faster than GemmPlan's own isn't taken. Nothing: they are too small for its way over memory
/// to count, or the kernels know no plans. Nothing else may run on the backend meanwhile.
std::optional<GemmPlan> fastest_plan(Backend& backend, std::span<const PackedMatrix* const> matrices);

}  // namespace augur
